#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Throughput at growing load: reads results of `schedlab compare --json`, from the smallest load to the largest.

usage: scaling.py LABEL=FILE.json LABEL=FILE.json ...
"""

import json
import sys


def results(path):
    """For each policy: throughput, tasks examined per schedule() call, recalculations."""
    with open(path, encoding="utf-8") as file:
        runs = json.load(file)["runs"]
    return {f"{run['policy']} {run['variant']}".strip(): figures(run) for run in runs}


def figures(run):
    scheduler = run["scheduler"]
    return {
        "messages/s": run["marks"][0]["per_second"],
        "tasks examined per schedule()": scheduler["examined_mean"],
        "recalculations": scheduler["recalculations"],
    }


def main(arguments):
    labels = [argument.split("=", 1)[0] for argument in arguments]
    loads = [results(argument.split("=", 1)[1]) for argument in arguments]
    for what, digits in (("messages/s", 0), ("tasks examined per schedule()", 1), ("recalculations", 0)):
        ratio = f"{'last/first':>12}" if what == "messages/s" else ""
        print(f"{what:<32}" + "".join(f"{label:>12}" for label in labels) + ratio)
        for policy in loads[0]:
            row = [load[policy][what] for load in loads]
            ratio = f"{row[-1] / row[0]:12.2f}" if ratio else ""
            print(f"  {policy:<30}" + "".join(f"{value:12,.{digits}f}" for value in row) + ratio)
        print()


if __name__ == "__main__":
    if len(sys.argv) < 3 or not all("=" in argument for argument in sys.argv[1:]):
        sys.exit("usage: scaling.py LABEL=FILE.json LABEL=FILE.json ...")
    main(sys.argv[1:])
