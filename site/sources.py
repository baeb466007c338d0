#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints as JSON what the page needs to show and to compile policies: files by folder, and the compiler's flags."""

import json
import os
from pathlib import Path

# Folders of the source, and their names beside a policy (crates/native/build.rs).
FOLDERS = {"policy": "policy", "policies": "policies", "native": "crates/native/include"}


def files(folder):
    """The C files below a folder, as folders in folders."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            found[path.name] = files(path)
        elif path.suffix in (".c", ".h"):
            found[path.name] = path.read_text()
    return found


flags = Path("crates/native/src/cflags.txt").read_text().split() + Path("site/policy-flags.txt").read_text().split()
print(json.dumps({
    "files": {name: files(Path(folder)) for name, folder in FOLDERS.items()},
    "flags": flags + ["-g0", "-fdiagnostics-color=never"],
    "compiler": bool(os.environ.get("SITE_COMPILER")),
}))
