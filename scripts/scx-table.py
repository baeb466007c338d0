#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares published sched_ext schedulers with EEVDF and CFS: the tables of docs/scx.md.

usage: scx-table.py [--write docs/scx.md] [SCHEDULER...]

Runs `schedlab compare --format json` (from PATH, or $SCHEDLAB) once for each workload and machine.  The schedulers are
programs on PATH or in the bin/ folder that scx-schedulers.sh fills; missing ones are left out and named on standard error.
With --write the text between the two marks in that file is replaced; otherwise the tables are printed.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

SCHEDULERS = ["scx_simple", "scx_qmap", "scx_central", "scx_flatcg", "scx_bpfland", "scx_tickless", "scx_p2dq", "scx_lavd",
              "scx_cake", "scx_flash", "scx_rusty"]
BESIDE = ["eevdf", "cfs"]
MACHINES = ["server-2s", "server-512"]
BEGIN, END = "<!-- scx-table.py: begin -->", "<!-- scx-table.py: end -->"


def rate(run):
    """The largest rate of a mark, per second."""
    return f"{max(mark['per_second'] for mark in run['marks']):,.0f}"


def microseconds(ns):
    return f"{ns / 1000:,.0f} µs" if ns < 1_000_000 else f"{ns / 1e6:,.1f} ms"


def editors(run):
    """The 99th percentile of the editors' wakeup latency."""
    group = next(group for group in run["groups"] if group["name"] == "vi")
    return microseconds(group["wakeup_latency_ns"]["p99"])


def run_delay(run):
    """The 99th percentile of the run delay."""
    return microseconds(run["total"]["run_delay_ns"]["p99"])


def switches(run):
    return f"{run['total']['nr_switches']:,}"


# Workload, its further arguments, the heading, and the function that reads the value from a run.
WORKLOADS = [
    ("hackbench -g 32 -l 50", [], "hackbench, messages/s", rate),
    ("massive-intr -n 1000", ["--duration", "500ms"], "massive-intr, p99 of waits", run_delay),
    ("late --task vi:count=64 --task compiler:count=1200", ["--duration", "1s"], "editors among 1,200 compilers, wakeup p99", editors),
    ("sysbench-oltp --threads 600 --transactions 6000", [], "sysbench-oltp, transactions/s", rate),
    ("hogs --count 640", ["--duration", "500ms"], "hogs, switches", switches),
]


def compare(policies, workload, more, machine):
    """The runs by policy, and the errors of missing ones."""
    command = [os.environ.get("SCHEDLAB", "schedlab"), "compare", "--policies", ",".join(policies), "--workload", workload,
               "--machine", machine, *more]
    print(shlex.join(command[1:]), file=sys.stderr)
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run([*command, "--format", "json"], stdout=subprocess.PIPE, stderr=said, text=True, check=False)
        said.seek(0)
        messages = said.read().splitlines()
    try:
        runs = json.loads(done.stdout)["runs"]
    except ValueError:
        runs = []
    return {run["policy"]: run for run in runs}, messages


def cell(runs, policy, figure):
    if policy not in runs:
        return "ended"
    return figure(runs[policy])


def table(policies):
    """The rows of the table, and the results of the checks."""
    columns, findings = [], []
    for machine in MACHINES:
        for workload, more, heading, figure in WORKLOADS:
            runs, messages = compare(policies, workload, more, machine)
            columns.append((machine, heading, [cell(runs, policy, figure) for policy in policies]))
            at = f'--workload "{workload}" --machine {machine} {" ".join(more)}'.rstrip()
            for policy in policies:
                named = [line for line in messages if policy in line and "not run, for" not in line]
                findings += [(policy, line.removeprefix("schedlab: "), at) for line in named]
    return columns, findings


def lines(policies, columns, findings):
    for machine in MACHINES:
        own = [column for column in columns if column[0] == machine]
        yield f"On `{machine}`:"
        yield ""
        yield "| | " + " | ".join(heading for _, heading, _ in own) + " |"
        yield "|:---|" + "---:|" * len(own)
        for row, policy in enumerate(policies):
            yield f"| {policy} | " + " | ".join(cells[row] for _, _, cells in own) + " |"
        yield ""
    yield "What ended runs:"
    yield ""
    if not findings:
        yield "- nothing: all ran to their end."
    for policy, message, at in findings:
        yield f"- {policy}: {message} (`schedlab run --policy {policy} {at}`)"


def main(arguments):
    target = None
    if arguments[:1] == ["--write"]:
        target, arguments = arguments[1], arguments[2:]
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    folder = os.environ.get("SCHEDLAB_SCX", f"{cache}/schedlab/scx")
    os.environ["PATH"] = f"{os.environ['PATH']}:{folder}/bin"
    wanted = arguments or SCHEDULERS
    here = [name for name in wanted if shutil.which(name)]
    for name in wanted:
        if name not in here:
            print(f"scx-table.py: SKIPPED {name}: not found; scripts/scx-schedulers.sh {name} installs it", file=sys.stderr)
    policies = BESIDE + here
    text = "\n".join(lines(policies, *table(policies)))
    if target is None:
        print(text)
        return
    with open(target, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
        _, _, after = rest.partition(END)
    with open(target, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text}\n{END}{after}")


main(sys.argv[1:])
