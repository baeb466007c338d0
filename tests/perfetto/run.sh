#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Writes example traces and has Perfetto's own Python bindings decode and compare every event.
# usage: tests/perfetto/run.sh [FOLDER]     keeps the bindings and the traces there (target/perfetto)
set -eu
cd "$(dirname "$0")/../.."
folder=${1:-target/perfetto}
if [ ! -x "$folder/venv/bin/python" ]; then
    python3 -m venv "$folder/venv"
fi
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check -r tests/perfetto/requirements.txt
cargo run --quiet -p schedlab-trace --example write_traces -- "$folder/traces"
for trace in "$folder"/traces/*.pftrace; do
    "$folder/venv/bin/python" tests/perfetto/decode.py "$trace" "${trace%.pftrace}.json"
done
