#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The wheel as its users see it: python3 -m unittest, with the wheel installed."""

import ast
import contextlib
import gc
import importlib
import inspect
import io
import os
import tempfile
import threading
import unittest
import warnings

import schedlab

FIFO = os.path.join(os.path.dirname(__file__), "../../policy/template/template.c")


class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.db = os.path.join(self.folder.name, "a.db")

    def tearDown(self):
        self.folder.cleanup()

    def sweep(self, **more):
        return schedlab.sweep(
            policies="o1", workloads="late", machines="ideal-1", duration="100ms", seeds=3,
            vary={"o1.max_timeslice_ms": [20, 200]}, output=self.db, **more,
        )

    def test_a_run_has_its_measures(self):
        run = schedlab.run("o1:max_timeslice_ms=50", "hogs --count 1", "ideal-1", duration="1s")
        self.assertEqual(run["o1.max_timeslice_ms"], [50])
        self.assertEqual(run["duration_ns"], [1e9])
        self.assertIn("--policy o1:2.6.11:max_timeslice_ms=50", run["command"][0])

    def test_a_comparison_has_a_row_for_each_run(self):
        runs = schedlab.compare(["o1", "eevdf"], "late", ["ideal-1", "ideal-2"], seeds=[1, 2], duration="100ms")
        self.assertEqual(len(runs), 8)
        self.assertIn("<table>", runs._repr_html_())

    def test_a_sweep_resumes_and_gives_the_same(self):
        first = self.sweep(jobs=1)
        self.assertEqual(len(first), 6)
        self.assertEqual(self.sweep().columns, first.columns)
        self.assertEqual(schedlab.load(self.db).columns, first.columns)
        direct = schedlab.compare(["o1:max_timeslice_ms=20"], "late", "ideal-1", seeds=3, duration="100ms")
        self.assertEqual(direct["trace_hash"], first["trace_hash"][:3])

    def test_a_policy_may_be_a_text(self):
        with open(FIFO, encoding="utf-8") as file:
            mine = schedlab.policy("mine", file.read().replace("NAME", "mine"))
        self.assertEqual(schedlab.run(mine, "hogs", "ideal-1", duration="10ms")["policy"], ["mine"])

    def test_a_run_that_fails_is_a_row_and_ends_no_other(self):
        with open(FIFO, encoding="utf-8") as file:
            text = file.read().replace("NAME", "loses").replace("list_add_tail(&ts_of(p)->node, &rq->queue);", "", 1)
        loses = schedlab.policy("loses", text)
        with self.assertWarnsRegex(UserWarning, "1 of 2 runs failed"):
            runs = schedlab.compare(["o1", loses], "hogs", "ideal-1", duration="10ms")
        self.assertIsNone(runs["error"][0])
        self.assertIn("task lost", runs["error"][1])
        with self.assertRaisesRegex(schedlab.Error, "task lost"):
            schedlab.run(loses, "hogs", "ideal-1", duration="10ms")

    def test_errors_are_the_texts_of_the_program(self):
        def says(part, call):
            with self.assertRaises(schedlab.Error) as caught:
                call()
            self.assertIn(part, str(caught.exception))

        says('there is no policy "o2"', lambda: schedlab.run("o2", "late"))
        says("no tunable of this name", lambda: schedlab.run("o1:nothing=1", "late"))
        says("seeds: \"0\" is not valid", lambda: schedlab.compare("o1", "late", seeds=0))
        self.sweep()
        says("the file has the results of another plan", lambda: schedlab.sweep(policies="o1", workloads="late", output=self.db))

    def test_other_threads_go_on_meanwhile(self):
        counted, over = [0], threading.Event()

        def count():
            while not over.is_set():
                counted[0] += 1

        thread = threading.Thread(target=count)
        thread.start()
        before = counted[0]
        schedlab.run("o1", "hogs", "ideal-4", duration="60s")
        over.set()
        thread.join()
        self.assertGreater(counted[0] - before, 1000)

    def test_a_recording_is_measured(self):
        recording = os.path.join(os.path.dirname(FIFO), "../../examples/recordings/hackbench-4g.perf-script.txt.zst")
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            row = schedlab.measure(recording)
        self.assertEqual((row["workload"], row["policy"]), (["hackbench-4g"], ["recorded"]))
        self.assertGreater(row["nr_switches"][0], 1000)
        with self.assertRaisesRegex(schedlab.Error, "nothing.data: the file cannot be opened"):
            schedlab.measure("nothing.data")

    def test_the_stubs_name_what_there_is(self):
        with open(os.path.join(os.path.dirname(schedlab.__file__), "__init__.pyi"), encoding="utf-8") as file:
            stubs = ast.parse(file.read())
        for stub in stubs.body:
            if isinstance(stub, ast.FunctionDef):
                declared = stub.args.posonlyargs + stub.args.args + stub.args.kwonlyargs
                actual = inspect.signature(getattr(schedlab, stub.name)).parameters.values()
                actual = [p.name for p in actual if p.kind is not p.VAR_POSITIONAL]
                self.assertEqual([argument.arg for argument in declared], actual, stub.name)
        named = {stub.name for stub in stubs.body if hasattr(stub, "name")} | {"__version__"}
        self.assertEqual(named, set(schedlab.__all__))

    def test_pandas_takes_the_columns(self):
        pandas = wanted("pandas")
        frame = self.sweep().to_pandas()
        self.assertEqual(frame.pivot_table("nr_switches", "seed", "o1.max_timeslice_ms").shape, (3, 2))
        self.assertTrue(pandas.api.types.is_float_dtype(frame["nr_switches"]))

    def test_arrow_has_types_and_missing_values(self):
        pyarrow = wanted("pyarrow")
        runs = schedlab.compare(["o1:max_timeslice_ms=20", "eevdf"], "late", "ideal-1", duration="100ms", seeds=[7, 2**64 - 1])
        table = pyarrow.table(runs)
        table.validate(full=True)
        self.assertEqual(table.to_pydict(), runs.columns)
        self.assertEqual(table["o1.max_timeslice_ms"].to_pylist(), [20, 20, None, None])
        types = {name: str(table.schema.field(name).type) for name in ["policy", "o1.max_timeslice_ms", "seed", "nr_switches"]}
        expected = {"policy": "large_string", "o1.max_timeslice_ms": "int64", "seed": "uint64", "nr_switches": "double"}
        self.assertEqual(types, expected)
        batch = pyarrow.record_batch(runs)
        batch.validate(full=True)
        self.assertEqual(batch.to_pydict(), runs.columns)
        self.assertEqual(pyarrow.schema(runs), table.schema)
        path = os.path.join(self.folder.name, "runs.parquet")
        runs.to_parquet(path)
        import pyarrow.parquet

        self.assertEqual(pyarrow.parquet.read_table(path).to_pydict(), runs.columns)

    def test_arrow_memory_lives_as_long_as_somebody_holds_it(self):
        pyarrow = wanted("pyarrow")
        runs = self.sweep()
        expected = runs["nr_switches"]
        # Capsules that nobody consumes, and a column that outlives its table.
        runs.__arrow_c_stream__(), runs.__arrow_c_array__(), runs.__arrow_c_schema__()
        column = pyarrow.table(runs)["nr_switches"]
        del runs
        gc.collect()
        self.assertEqual(column.to_pylist(), expected)

    def test_polars_and_duckdb_take_the_columns(self):
        polars, duckdb = wanted("polars"), wanted("duckdb")
        runs = self.sweep()
        frame = polars.DataFrame(runs)
        self.assertEqual(frame.to_dict(as_series=False), runs.columns)
        means = duckdb.sql('SELECT "o1.max_timeslice_ms", count(*) FROM runs GROUP BY 1 ORDER BY 1').fetchall()
        self.assertEqual(means, [(20, 3), (200, 3)])

    def test_tqdm_shows_how_far_a_sweep_is(self):
        wanted("tqdm")
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            self.sweep(progress=True)
        self.assertIn("6/6", shown.getvalue())

    def test_a_wrong_column_gets_the_nearest_name(self):
        with self.assertRaisesRegex(KeyError, 'did you mean "nr_switches"'):
            self.sweep()["nr_switch"]


def wanted(name):
    """A library that `make wheel` installs."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed") from None


if __name__ == "__main__":
    unittest.main()
