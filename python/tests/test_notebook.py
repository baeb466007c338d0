#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The notebook in examples/ is executed and ends in a figure: python3 -m unittest, with the wheel installed."""

import base64
import os
import re
import tempfile
import unittest

NOTEBOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/notebook.ipynb")


class Notebook(unittest.TestCase):
    def test_it_ends_in_a_figure(self):
        try:
            import nbclient
            import nbformat
        except ImportError:
            self.skipTest("nbclient is not installed")
        book = nbformat.read(NOTEBOOK, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": folder}}).execute()
        code = [cell for cell in book.cells if cell.cell_type == "code"]
        shown = [output.data for cell in code for output in cell.outputs if "data" in output]
        self.assertIn("<table>", shown[0]["text/html"])
        self.assertIn("48 runs", shown[0]["text/html"])
        cells = re.findall(r"<td>(.*?)</td>", shown[1]["text/html"])
        self.assertEqual(len(cells), 16)
        self.assertGreater(len(set(cells)), 4, "the tunables change nothing")
        figure = base64.b64decode(shown[-1]["image/png"])
        self.assertTrue(figure.startswith(b"\x89PNG"))
        if "SCHEDLAB_FIGURE" in os.environ:
            with open(os.environ["SCHEDLAB_FIGURE"], "wb") as file:
                file.write(figure)


if __name__ == "__main__":
    unittest.main()
