# Progress of sweeps.
# SPDX-License-Identifier: GPL-2.0-only
"""How far a sweep is: a bar of tqdm, in notebooks and on terminals."""

import sys


class Progress:
    """A context whose value is called with the number of runs that are over and the number of all runs.

    With `wanted` None there is a bar if tqdm is installed and somebody can see it.
    """

    def __init__(self, wanted):
        self.bar = None
        self.bar_type = _tqdm(wanted)

    def __enter__(self):
        return self.show if self.bar_type else _nothing

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()

    def show(self, over, runs):
        if self.bar is None:
            self.bar = self.bar_type(total=runs, unit="run")
        self.bar.update(over - self.bar.n)


def _nothing(_over, _runs):
    pass


def _tqdm(wanted):
    if wanted is None:
        wanted = sys.stderr.isatty() or "ipykernel" in sys.modules
        required = False
    else:
        required = wanted
    if not wanted:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if required:
            raise
        return None
    return tqdm
