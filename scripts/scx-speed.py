#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How fast schedlab runs published sched_ext schedulers, with checks and the hash of the trace on.

usage: scx-speed.py [SCHEDULER...]

Prints context switches for each second of CPU time, at 8 tasks on 4 CPUs and at 10,000 tasks on 64 CPUs; how many times slower
a switch is there; and all that as a ratio to EEVDF, a policy of schedlab's own, since machines differ.  Two runs of different length
are compared, so that loading does not count.  Runs schedlab from PATH, or $SCHEDLAB; schedulers are programs on PATH or in the bin/
folder that scx-schedulers.sh fills; those that are missing are left out, and said.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

SCHEDULERS = ["scx_simple", "scx_bpfland"]
BASE = "eevdf"

# Nothing but switches: each task runs for 10 µs and yields.
WORKLOAD = """title = "Tasks that yield"
[task.yielder]
count = {tasks}
program = \"\"\"
forever
  run 10us
  yield
end
\"\"\"
"""

# Tasks, CPUs, and the length of both runs in ms.
SIZES = [(8, 4, 500, 2500), (10_000, 64, 10, 110)]


def environment():
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    own = os.environ.get("SCHEDLAB_SCX", os.path.join(cache, "schedlab", "scx"))
    return dict(os.environ, PATH=os.path.join(own, "bin") + os.pathsep + os.environ["PATH"])


def spent(command, where):
    """CPU time of a run in s, and its context switches."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=where, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"scx-speed.py: {' '.join(command)}: {done.stderr.strip()}")
    time = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time, json.loads(done.stdout)["total"]["nr_switches"]


def rate(scheduler, workload, cpus, short, long, where):
    """Switches for each second of CPU time."""
    program = os.environ.get("SCHEDLAB", "schedlab")
    command = [program, "run", "--policy", scheduler, "--workload", workload, "--machine", f"ideal-{cpus}", "--format", "json"]
    runs = [spent(command + ["--duration", f"{length}ms"], where) for length in (short, long)]
    (time, switches), (more_time, more_switches) = runs
    return (more_switches - switches) / max(more_time - time, 1e-3)


def main():
    where = environment()
    names = [BASE] + (sys.argv[1:] or SCHEDULERS)
    base = None
    print(f"{'':24} {'8 tasks, 4 CPUs':>20} {'10,000 tasks, 64 CPUs':>24} {'slower':>8} {'to ' + BASE:>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if name != BASE and not shutil.which(name.split()[0], path=where["PATH"]):
                print(f"scx-speed.py: SKIPPED {name}: it is not on PATH (scripts/scx-schedulers.sh {name})", file=sys.stderr)
                continue
            rates = []
            for tasks, cpus, short, long in SIZES:
                path = os.path.join(folder, f"yield-{tasks}.toml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(WORKLOAD.format(tasks=tasks))
                rates.append(rate(name, path, cpus, short, long, where))
            base = base or rates
            small, large = rates
            print(f"{name:24} {small:18,.0f}/s {large:22,.0f}/s {small / large:7.1f}x {base[0] / small:9.1f}x")


if __name__ == "__main__":
    main()
