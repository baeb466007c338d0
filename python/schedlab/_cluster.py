# Sweeps on a Dask cluster.
# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps on a Dask cluster: the client has the plan and the file of results, the workers execute runs."""

import atexit
import hashlib
import math
import queue
import threading
import time
from concurrent.futures import CancelledError

import distributed

from ._schedlab import Error, Worker

# Seconds that a task should take: much longer than what Dask adds to it.
TASK_S = 1.0

# Seconds that Dask's scheduler and client need for a task.
COST_S = 0.005

# Tasks for each thread of the workers: one runs, the others wait for it.
TASKS_PER_THREAD = 3

# Seconds between two looks at the number of workers, and for runs of other processes.
LOOK_S = 1.0


def sweep(dispatch, client, show):
    """Execute all runs of `dispatch` on the workers of `client`; `show(over, runs)` is called now and then."""
    if getattr(client, "asynchronous", False):
        raise Error("client: an asynchronous client; expected distributed.Client(...) without asynchronous=True")
    try:
        _Sweep(dispatch, client, show).run()
    finally:
        dispatch.release()


class _Sweep:
    def __init__(self, dispatch, client, show):
        self.dispatch, self.client, self.show = dispatch, client, show
        text = dispatch.files()
        digest = hashlib.sha256(text.encode()).hexdigest()
        # A task, not scattered data: Dask does it again if the worker that has the result dies.
        self.files = client.submit(_same, (digest, text), key=f"schedlab-files-{digest}")
        self.flying = {}
        self.over = queue.SimpleQueue()
        self.run_s = None
        self.threads, self.looked = 0, -math.inf

    def run(self):
        done, known, _, left = self.dispatch.counts()
        runs = done + known + left
        try:
            while True:
                self.submit()
                done, known, _, left = self.dispatch.counts()
                self.show(done + known, runs)
                if left == 0:
                    return
                self.collect()
        finally:
            self.client.cancel([future for future, _ in self.flying.values()], force=True)

    def submit(self):
        """Keep all threads of all workers busy."""
        if time.monotonic() - self.looked > LOOK_S:
            self.threads, self.looked = sum(self.client.nthreads().values()), time.monotonic()
        # Tasks that wait for the first worker show a cluster that it is needed.
        most = TASKS_PER_THREAD * max(self.threads, 1)
        while len(self.flying) < most:
            keys, requests = self.dispatch.take(self.size())
            if not keys:
                return
            name = "schedlab-" + (keys[0] if len(keys) == 1 else hashlib.sha256("".join(keys).encode()).hexdigest())
            future = self.client.submit(_execute, self.files, requests, key=name)
            self.flying[name] = future, keys
            future.add_done_callback(self.over.put)

    def size(self):
        """The number of runs of a task: fewer at the end, so that all workers end together."""
        if self.run_s is None:
            return 1
        left = self.dispatch.counts()[3] - sum(len(keys) for _, keys in self.flying.values())
        share = math.ceil(left / (2 * TASKS_PER_THREAD * max(self.threads, 1)))
        task_s = max(TASK_S, COST_S * self.threads)
        return max(1, min(share, int(task_s / max(self.run_s, 1e-6))))

    def collect(self):
        """Wait for tasks that end, and store their results."""
        ended = self.next()
        results = [result for result in map(self.result, ended) if result is not None]
        for took_s, runs, _ in results:
            run_s = took_s / runs
            self.run_s = run_s if self.run_s is None else 0.8 * self.run_s + 0.2 * run_s
        self.dispatch.accept([reply for _, _, reply in results])

    def result(self, future):
        """What a task gave; none if it gave nothing."""
        _, keys = self.flying[future.key]
        try:
            return future.result()
        except Exception as problem:
            self.failed(problem, keys)
        finally:
            del self.flying[future.key]

    def next(self):
        ended = []
        try:
            ended.append(self.over.get(timeout=LOOK_S))
            while True:
                ended.append(self.over.get_nowait())
        except queue.Empty:
            return [future for future in ended if future.key in self.flying]

    def failed(self, problem, keys):
        """A task without a result: its workers died, it was lost, or it cannot be done there."""
        if isinstance(problem, distributed.KilledWorker):
            self.dispatch.died(keys)
        elif isinstance(problem, CancelledError) and self.client.status == "running":
            self.dispatch.lost(keys)
        elif isinstance(problem, CancelledError):
            raise Error("the Dask scheduler is gone; finished results are kept, and the same call goes on") from problem
        elif isinstance(problem, ImportError):
            raise Error(f"a Dask worker has no schedlab ({problem}); expected the same wheel on all workers") from problem
        else:
            raise Error(f"a Dask worker: {problem}") from problem


def _same(value):
    return value


_lock = threading.Lock()
_workers = {}
# The temporary folders of the files.
atexit.register(_workers.clear)


def _execute(files, requests):
    """In a worker: the time in seconds, the number of runs, and the reply."""
    began = time.perf_counter()
    digest, text = files
    with _lock:
        worker = _workers.get(digest)
        if worker is None:
            worker = _workers[digest] = Worker(text)
    runs, reply = worker.run(requests)
    return time.perf_counter() - began, runs, reply
