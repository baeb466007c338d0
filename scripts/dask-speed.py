#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What Dask adds to a run: a sweep with two threads of this process, and on two workers of a Dask cluster.

Wants the wheel and distributed: out/venv/bin/python scripts/dask-speed.py [RUNS [DURATION [ROUNDS]]]. The two are measured in
turns; for each the median of the rounds is printed. CPU time is that of all processes.
"""

import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../python/tests"))

import schedlab
from test_cluster import Cluster

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def main():
    runs, duration, rounds = (sys.argv[1:] + ["2000", "1s", "3"][len(sys.argv) - 1 :])[:3]
    plan = dict(
        policies="o1", workloads="late", machines="ideal-4", duration=duration, seeds=int(runs) // 20,
        vary={"o1.max_timeslice_ms": [20, 50, 100, 200, 400], "o1.min_timeslice_ms": [1, 2, 5, 10]}, progress=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(folder, 2)
        pids = [os.getpid()] + [process.pid for process in cluster.processes]
        try:
            with cluster.client(2) as client:
                ways = {"two threads": {"jobs": 2}, "two workers": {"client": client}}
                taken = {name: [] for name in ways}
                for turn in range(int(rounds)):
                    for name, way in ways.items():
                        began, before = time.perf_counter(), cpu_s(pids)
                        results = schedlab.sweep(output=os.path.join(folder, f"{name}-{turn}.db"), **plan, **way)
                        taken[name].append((time.perf_counter() - began, cpu_s(pids) - before))
        finally:
            cluster.close()
    nr_runs = len(results)
    medians = {}
    for name, times in taken.items():
        wall, cpu = (statistics.median(column) for column in zip(*times))
        medians[name] = wall, cpu
        print(f"{name}: {nr_runs / wall:.0f} runs/s, {1000 * cpu / nr_runs:.3f} ms of CPU time a run")
    (wall, cpu), (far_wall, far_cpu) = medians["two threads"], medians["two workers"]
    print(f"efficiency: {100 * wall / far_wall:.0f} % in time, {100 * cpu / far_cpu:.0f} % in CPU time")
    print(f"added: {1000 * (far_cpu - cpu) / nr_runs:.3f} ms of CPU time a run")


if __name__ == "__main__":
    main()
