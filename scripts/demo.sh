#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The demonstration: compares three Linux schedulers on the paper's benchmark and on an interactive mix; replays a recording.
# usage: scripts/demo.sh [FOLDER]     writes reports and traces to FOLDER (default: out/demo)
set -eu
cd "$(dirname "$0")/.."
out=${1:-out/demo}
schedlab=${SCHEDLAB:-${CARGO_TARGET_DIR:-target}/release/schedlab}
policies=linux24:2.3.99,elsc,o1
mkdir -p "$out"

say() {
    printf '\n==== %s\n\n' "$1"
}

say "An interactive mix (editor, browser, music, a compilation, hogs) on 2 processors"
"$schedlab" compare --policies $policies --workload mixed --machine athlon-mp-1900-2p \
    --report "$out/mixed.html" --trace "$out/mixed.pftrace"

for rooms in 5 10 15 20; do
    say "VolanoMark, $rooms rooms, on the paper's machine with 4 processors"
    "$schedlab" compare --policies $policies --workload "volanomark --rooms $rooms" \
        --machine netfinity-7000-4p --report "$out/volanomark-$rooms.html" \
        --json "$out/volanomark-$rooms.json" >"$out/volanomark-$rooms.txt"
    case $rooms in
    20) cat "$out/volanomark-20.txt" ;;
    *) echo "  (the tables are in $out/volanomark-$rooms.txt)" ;;
    esac
done

say "Throughput at four times the load: the stock scheduler becomes slower with more tasks, ELSC hardly does"
python3 scripts/scaling.py "5 rooms=$out/volanomark-5.json" "10 rooms=$out/volanomark-10.json" \
    "15 rooms=$out/volanomark-15.json" "20 rooms=$out/volanomark-20.json"

say "A recorded make -j4, replayed under its own scheduler and under every other one"
"$schedlab" replay examples/recordings/make-j4-gcc.perf-script.txt.zst --policies all \
    --report "$out/what-if.html" --trace "$out/what-if.tar" >"$out/what-if.txt"
sed -n '1,/^Recalculations/p' "$out/what-if.txt"
echo "  (the rest is in $out/what-if.txt)"

say "Results"
printf '  %s\n' "$out"/*.html
echo "  $out/what-if.tar        all traces on one timeline: open it in https://ui.perfetto.dev"
echo "  $out/mixed-*.pftrace    open them in https://ui.perfetto.dev"

say "Next steps"
echo "  $schedlab --help"
echo "  cargo install --path crates/cli     # installs schedlab into your PATH"
