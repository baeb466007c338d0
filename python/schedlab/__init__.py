# Python package of the simulator.
# SPDX-License-Identifier: GPL-2.0-only
"""Compare CPU schedulers, old and new, in a deterministic simulator."""

import difflib
import html
import os
import tempfile
import warnings

from ._progress import Progress as _Progress
from ._schedlab import Dispatch as _Dispatch, Error, __version__, load as _load, measure as _measure, runs as _runs, sweep as _sweep

__all__ = ["Error", "Results", "compare", "load", "measure", "policy", "run", "sweep", "__version__"]


class Results:
    """Runs as columns: what each was made of, its seed, its trace's hash, its error, and what was measured.

    pyarrow, pandas, polars, DuckDB and others that know Arrow's PyCapsules take it as it is: `polars.DataFrame(results)`.
    """

    def __init__(self, columns):
        self._columns = columns
        self.__arrow_c_schema__ = columns.__arrow_c_schema__
        self.__arrow_c_array__ = columns.__arrow_c_array__
        self.__arrow_c_stream__ = columns.__arrow_c_stream__

    def __len__(self):
        return len(self._columns)

    @property
    def columns(self):
        """All columns as lists, by their names."""
        return {name: self._columns.list(name) for name in self._columns.names()}

    def __getitem__(self, name):
        column = self._columns.list(name)
        if column is None:
            near = difflib.get_close_matches(name, self._columns.names(), 1)
            raise KeyError(f'there is no column "{name}"' + (f'; did you mean "{near[0]}"?' if near else ""))
        return column

    def __repr__(self):
        return f"<schedlab.Results: {len(self)} runs, {len(self._columns.names())} columns>"

    def _repr_html_(self):
        """The first columns of the first runs, for notebooks."""
        columns = [(name, column) for name, column in self.columns.items() if any(v is not None for v in column)][:10]
        cell = lambda value: "" if value is None else html.escape(f"{value:,.6g}" if isinstance(value, float) else str(value))
        head = "".join(f"<th>{html.escape(name)}</th>" for name, _ in columns)
        rows = zip(*(column[:20] for _, column in columns))
        body = "".join("<tr>" + "".join(f"<td>{cell(v)}</td>" for v in row) + "</tr>" for row in rows)
        more = f"<p>{len(self)} runs, {len(self._columns.names())} columns</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def to_arrow(self):
        """A pyarrow.Table, without a copy."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self):
        """A pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.columns)

    def to_parquet(self, path):
        """Write a Parquet file with pyarrow."""
        import pyarrow.parquet

        pyarrow.parquet.write_table(self.to_arrow(), path)


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


def measure(recording):
    """Measure a recording of perf, ftrace or Perfetto: results of one row."""
    columns, lacks = _measure(os.fspath(recording))
    for text in lacks:
        warnings.warn(text, stacklevel=2)
    return Results(columns)


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
