#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A sweep on a Dask cluster of real processes: python3 -m unittest, with the wheel and distributed installed."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import schedlab

try:
    import distributed
except ImportError:
    distributed = None

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TEMPLATE = os.path.join(SOURCE, "policy/template/template.c")
MACHINE = os.path.join(SOURCE, "machines/desktop.toml")

# A policy, a workload and a machine in files that only the client can find: their paths are relative.  "hogs" draws no
# random number; a workload that draws some has other results with each seed.
PLAN = """\
policies = ["mine/mine.c", "o1"]
workloads = ["noise.toml", "hogs"]
machines = ["box.toml", "ideal-2"]
seeds = 6
duration = "{duration}"

[vary]
o1.max_timeslice_ms = [20, 50, 100, 200]
o1.min_timeslice_ms = [1, 5]
"""

NOISE = """\
title = "Tasks that run and sleep at random"
duration = "1s"

[task.noise]
count = 8
program = '''
forever
  run exp(300us)
  sleep exp(500us)
  mark done
end
'''
"""

CLIENT = """\
import sys, distributed, schedlab
with distributed.Client(scheduler_file=sys.argv[1]) as client:
    runs = schedlab.sweep("plan.toml", sys.argv[2], client=client)
print(len(runs))
"""

RUNS = """\
SELECT key, hash, labels, command, seed, seed_used, trace_hash, ended, error FROM run JOIN setup ON setup.id = run.setup
ORDER BY key
"""

VALUES = """\
SELECT key, name, label, unit, better, value FROM value JOIN metric ON metric.id = value.metric JOIN run ON run.id = value.run
ORDER BY key, name
"""


def rows(path):
    """All that a file says of its runs, in an order of its own."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        return file.execute(RUNS).fetchall(), file.execute(VALUES).fetchall()


def count(path):
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            return file.execute("SELECT count(*) FROM run").fetchone()[0]
    except sqlite3.Error:
        return 0


class Cluster:
    """A scheduler and workers on the loopback interface, each a process with a folder of its own."""

    def __init__(self, folder, nr_workers):
        self.folder, self.processes = folder, []
        self.file = os.path.join(folder, "scheduler.json")
        self.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", self.file)
        self.workers = [self.worker() for _ in range(nr_workers)]

    def start(self, *arguments, **variables):
        folder = os.path.join(self.folder, str(len(self.processes)))
        os.mkdir(folder)
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            command = [sys.executable, "-m", "dask", *arguments]
            environment = {**os.environ, "TMPDIR": folder, **variables}
            process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment)
        self.processes.append(process)
        return process

    def worker(self, **variables):
        flags = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--scheduler-file", self.file]
        return self.start("worker", *flags, **variables)

    def client(self, nr_workers):
        client = distributed.Client(scheduler_file=self.file)
        client.wait_for_workers(nr_workers, timeout=60)
        return client

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


@unittest.skipIf(distributed is None, "distributed is not installed")
class OnACluster(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.mkdir(os.path.join(self.folder, "client"))
        os.chdir(os.path.join(self.folder, "client"))
        with open(TEMPLATE, encoding="utf-8") as file:
            template = file.read().replace("NAME", "mine")
        os.mkdir("mine")
        self.write("mine/mine.c", '#include "own.h"\n' + template)
        self.write("mine/own.h", "/* Part of the policy. */\n")
        self.write("noise.toml", NOISE)
        shutil.copy(MACHINE, "box.toml")
        self.plan("2s")

    def write(self, name, text):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def plan(self, duration):
        self.write("plan.toml", PLAN.replace("{duration}", duration))

    def cluster(self, nr_workers):
        cluster = Cluster(self.folder, nr_workers)
        self.addCleanup(cluster.close)
        return cluster

    def wait_for_runs(self, path, wanted, process=None):
        while count(path) < wanted:
            if process is not None:
                self.assertIsNone(process.poll(), "the client ended before it was killed")
            time.sleep(0.01)

    def test_a_killed_worker_and_a_killed_client_change_nothing(self):
        schedlab.sweep("plan.toml", "local.db", jobs=1)
        cluster = self.cluster(4)
        with cluster.client(4):
            pass
        command = [sys.executable, "-c", CLIENT, cluster.file, "far.db"]
        first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.wait_for_runs("far.db", 10, first)
        first.kill()
        first.communicate()
        before = count("far.db")
        second = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.wait_for_runs("far.db", before + 20, second)
        cluster.workers[1].send_signal(signal.SIGKILL)
        printed, _ = second.communicate(timeout=300)
        local = rows("local.db")
        self.assertLess(before + 20, len(local[0]))
        self.assertEqual(int(printed), len(local[0]))
        self.assertEqual(rows("far.db"), local)

    def test_a_policy_that_kills_its_workers_is_a_failed_run(self):
        with open(TEMPLATE, encoding="utf-8") as file:
            text = file.read().replace("NAME", "wild")
        at = text.index("{", text.index("fifo_enqueue("))
        self.write("wild.c", text[: at + 1] + " __builtin_trap();" + text[at + 1 :])
        cluster = self.cluster(6)
        with cluster.client(6) as client, self.assertWarns(UserWarning):
            runs = schedlab.sweep(
                policies=["o1", "wild.c"], workloads="hogs", machines="ideal-1", duration="10ms", output="wild.db",
                client=client,
            )
        errors = dict(zip(runs["policy"], runs["error"]))
        self.assertEqual(errors, {"o1:2.6.11": None, "wild": "every process that executed this run died"})

    def test_errors_reach_the_user_and_no_claim_remains(self):
        cluster = self.cluster(0)
        poor = cluster.worker(CC="no-such-compiler")
        with cluster.client(1) as client, self.assertRaisesRegex(schedlab.Error, "a Dask worker: .*no-such-compiler"):
            schedlab.sweep("plan.toml", "a.db", client=client)
        poor.kill()
        cluster.worker()
        with cluster.client(1) as client:
            self.assertEqual(len(schedlab.sweep("plan.toml", "a.db", client=client)), 216)
        with contextlib.closing(sqlite3.connect("a.db")) as file:
            self.assertEqual(file.execute("SELECT count(*) FROM claim").fetchone(), (0,))


if __name__ == "__main__":
    unittest.main()
