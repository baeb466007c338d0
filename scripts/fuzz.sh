#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fuzzes each reader of recordings, and that of sched_ext objects, starting from the samples of the tests.
# usage: scripts/fuzz.sh [SECONDS-EACH]     needs a nightly Rust and cargo-fuzz (cargo install cargo-fuzz)
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-120}
samples=crates/readers/tests/samples

seed() {
    target=$1
    shift
    mkdir -p "fuzz/corpus/$target"
    cp "$@" "fuzz/corpus/$target/"
}

seed perf_data $samples/*.data
seed ftrace $samples/*.ftrace
seed perfetto $samples/*.pftrace fuzz/found/*.pftrace
mkdir -p fuzz/corpus/perf_script
zstd -dcq examples/recordings/hackbench-4g.perf-script.txt.zst | head -200 >fuzz/corpus/perf_script/hackbench.txt
mkdir -p fuzz/corpus/object
${BPF_CLANG:-clang-19} --target=bpf -mcpu=v3 -O2 -g -c crates/cli/tests/schedulers/fifo.bpf.c -o fuzz/corpus/object/fifo.bpf.o

for target in perf_data perf_script ftrace perfetto object; do
    cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536
done
