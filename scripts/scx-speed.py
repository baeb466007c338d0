#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How fast schedlab runs published sched_ext schedulers, with checks and the hash of the trace on.

usage: scx-speed.py [SCHEDULER...]

Prints context switches for each second of CPU time, at 8 tasks on 4 CPUs and at 10,000 tasks on 64 CPUs, and how many times
slower a switch is there.  Two runs of different length are compared, so that loading does not count.  Runs schedlab from PATH, or
$SCHEDLAB; schedulers are programs on PATH or in the bin/ folder that scx-schedulers.sh fills.
"""

import json
import os
import resource
import shutil
import subprocess
import sys

# What switches most: tasks that compute for 10 to 30 µs and sleep as long.
WORKLOAD = """
[[task]]
name = "busy"
count = {tasks}
program = ["loop", "compute 10us..30us", "sleep 10us..30us"]
"""
SIZES = [(8, 4, "300ms", "1300ms"), (10_000, 64, "20ms", "60ms")]


def cpu_time(command, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"scx-speed.py: {' '.join(command)}: {done.stderr.strip()}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, json.loads(done.stdout)["total"]["nr_switches"]
