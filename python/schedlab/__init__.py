# Python package of the simulator.
# SPDX-License-Identifier: GPL-2.0-only
"""Compare CPU schedulers, old and new, in a deterministic simulator."""

import os
import tempfile
import warnings

from ._progress import Progress as _Progress
from ._schedlab import Dispatch as _Dispatch, Error, __version__, load as _load, runs as _runs, sweep as _sweep

__all__ = ["Error", "Results", "compare", "load", "policy", "run", "sweep", "__version__"]


class Results:
    """Runs as columns: what each was made of, its seed, its trace's hash, its error, and what was measured."""

    def __init__(self, columns):
        self.columns = columns

    def __len__(self):
        return len(self.columns["seed"])

    def __getitem__(self, name):
        return self.columns[name]

    def __repr__(self):
        return f"<schedlab.Results: {len(self)} runs, {len(self.columns)} columns>"

    def _repr_html_(self):
        """The first columns of the first runs, for notebooks."""
        names = [n for n, column in self.columns.items() if any(v is not None for v in column)][:10]
        cell = lambda value: "" if value is None else _escape(f"{value:,.6g}" if isinstance(value, float) else str(value))
        head = "".join(f"<th>{_escape(name)}</th>" for name in names)
        rows = zip(*(self.columns[name][:20] for name in names))
        body = "".join("<tr>" + "".join(f"<td>{cell(v)}</td>" for v in row) + "</tr>" for row in rows)
        more = f"<p>{len(self)} runs, {len(self.columns)} columns</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def to_pandas(self):
        """A pandas.DataFrame; tunables and other values that are numbers become numbers."""
        import pandas

        return pandas.DataFrame({name: _numbers(column) for name, column in self.columns.items()})

    def to_arrow(self):
        """A pyarrow.Table."""
        import pyarrow

        return pyarrow.table({name: _numbers(column) for name, column in self.columns.items()})


def run(policy, workload, machine="desktop", *, seed=1, duration=None):
    """Run a workload under one policy: results of one run.  A run that fails is an `Error`."""
    results = Results(_runs(_plan([policy], workload, machine, [seed], duration), 1, None))
    if results["error"][0] is not None:
        raise Error(results["error"][0])
    return results


def compare(policies, workloads, machines="desktop", *, seeds=1, duration=None, jobs=None, progress=None):
    """Run workloads under several policies, each on each machine with each seed.

    A run that fails is a row with its error.
    """
    with _Progress(progress) as show:
        results = Results(_runs(_plan(policies, workloads, machines, seeds, duration), jobs, show))
    _warn(results)
    return results


def sweep(
    plan=None, output=None, *, policies=(), workloads=(), machines=(), seeds=None, duration=None, vary=None,
    constraints=(), design=None, samples=None, design_seed=1, jobs=None, shard=None, extend=False, retry_failed=False,
    client=None, progress=None,
):
    """Do all runs of a plan that `output` does not have yet, and return all results of that file.

    `plan` is the path of a plan in TOML; the other arguments replace what it says, `vary` and `constraints` add to it.
    With `client`, a `distributed.Client`, the workers of a Dask cluster execute the runs; they need the same wheel.
    A run that fails is a row with its error.
    """
    if output is None:
        raise Error("output: missing; expected the file of results")
    parts = _plan(policies, workloads, machines or (() if plan else "desktop"), seeds, duration)
    parts["vary"] = [f"{name}={_values(values)}" for name, values in (vary or {}).items()]
    parts["constraints"] = _texts(constraints)
    parts["plan"] = None if plan is None else os.fspath(plan)
    if design is not None:
        parts["design"] = (design, samples, design_seed)
    target = {"output": os.fspath(output), "shard": shard, "extend": extend, "retry_failed": retry_failed}
    with _Progress(progress) as show:
        if client is None:
            _sweep(parts, target, jobs, show)
        else:
            from . import _cluster

            _cluster.sweep(_Dispatch(parts, target), client, show)
    results = load(output)
    _warn(results)
    return results


def load(*files):
    """Results of files of sweeps, or of JSON of the program's `run` and `compare`."""
    return Results(_load([os.fspath(file) for file in files]))


def policy(name, source):
    """A policy as C text, which declares POLICY(name, ...); use the result wherever a policy is named."""
    folder = tempfile.mkdtemp(prefix="schedlab-")
    path = os.path.join(folder, f"{name}.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    return path


def _warn(results):
    failed = [error for error in results["error"] if error is not None]
    if failed:
        warnings.warn(f"{len(failed)} of {len(results)} runs failed; the first: {failed[0]}", stacklevel=3)


def _plan(policies, workloads, machines, seeds, duration):
    return {
        "policies": _texts(policies),
        "workloads": _texts(workloads),
        "machines": _texts(machines),
        "seeds": None if seeds is None else _values(seeds),
        "duration": duration,
    }


def _texts(values):
    return [values] if isinstance(values, str) else [str(value) for value in values]


def _values(values):
    if isinstance(values, (str, int)):
        return str(values)
    return ",".join(str(value) for value in values)


def _numbers(column):
    """A column of texts that are all numbers, as numbers."""
    texts = [value for value in column if value is not None]
    if not texts or not all(isinstance(value, str) for value in texts):
        return column
    try:
        return [None if value is None else int(value) for value in column]
    except ValueError:
        return column


def _escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
