#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sets two results of `schedlab compare --json` side by side: how throughput bears more load.

usage: scaling.py SMALL.json LARGE.json
"""

import json
import sys


def results(path):
    """For each policy: throughput, tasks examined per schedule() call, recalculations."""
    with open(path, encoding="utf-8") as file:
        runs = json.load(file)["runs"]
    return {name(run): (throughput(run), examined(run), run["scheduler"]["recalculations"]) for run in runs}


def name(run):
    return f"{run['policy']} {run['variant']}".strip()


def throughput(run):
    """Messages per second of simulated time."""
    return run["marks"][0]["per_second"]


def examined(run):
    return run["scheduler"]["examined_mean"]


def main(small_path, large_path):
    small, large = results(small_path), results(large_path)
    print(f"{'':16}{'messages/s':>24}{'':10}{'examined per call':>24}{'recalculations':>20}")
    print(f"{'':16}{'small':>12}{'large':>12}{'ratio':>10}{'small':>12}{'large':>12}{'small':>10}{'large':>10}")
    for policy, (rate, looked, passes) in small.items():
        rate_large, looked_large, passes_large = large[policy]
        print(
            f"{policy:16}{rate:12,.0f}{rate_large:12,.0f}{rate_large / rate:10.2f}"
            f"{looked:12.1f}{looked_large:12.1f}{passes:10,}{passes_large:10,}"
        )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: scaling.py SMALL.json LARGE.json")
    main(sys.argv[1], sys.argv[2])
