#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Records what a real kernel calls of the scheduler noted.h, under the deterministic clock:
#     record.sh > linux-VERSION.events                           tasks of guest.sh
#     record.sh SEED COUNT [CPUS] > scripts.events               random scripts of scripted.c
# Needs schedlab on PATH, cc, clang-19 and what `schedlab vm` needs.  Each line is a time in µs, an event and its numbers (with
# more than one CPU, before them the CPU); @NAME is an operation of the scheduler with process and argument.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cp guest.sh scripts.sh "$work"
${BPF_CLANG:-clang-19} --target=bpf -mcpu=v3 -O2 -g -c noted.bpf.c -o "$work/noted.bpf.o"
cc -O1 -Wall -o "$work/scripted" scripted.c
cd "$work"
cpus=${3:-1}
if [ $# -gt 0 ]; then
	set -- --with scripts.sh --with scripted -- sh scripts.sh "$1" "$2"
else
	set -- --with guest.sh -- sh guest.sh
fi
time='s/^.*\[0*([0-9]+)\] [^ ]+ +([0-9]+)\.([0-9]+): /\2\3 \1 /'
[ "$cpus" -gt 1 ] || time='s/^.*\[[0-9]+\] [^ ]+ +([0-9]+)\.([0-9]+): /\1\2 /'
schedlab vm --cpus "$cpus" --no-record --scheduler "schedlab dev attach noted.bpf.o" --with noted.bpf.o "$@" |
	sed -nE '
		s/^ *.*-([0-9]+) +(\[[0-9]+\].*) sys_sched_yield\(\)/\2 yield \1/
		'"$time"'
		s/bpf_trace_printk: //p
		s/tracing_mark_write: //p
		s/ yield / yield /p
		s/sched_wakeup: .* pid=([0-9]+) .*/wakeup \1/p
		s/sched_wakeup_new: .* pid=([0-9]+) .*/wakeup_new \1/p
		s/sched_process_fork: .* pid=([0-9]+) .* child_pid=([0-9]+).*/fork \1 \2/p
		s/sched_process_exit: .* pid=([0-9]+) .*/exit \1/p
		s/sched_switch: .*prev_pid=([0-9]+) .*prev_prio=([0-9]+) prev_state=([A-Z+]+) .*next_pid=([0-9]+) next_prio=([0-9]+).*/switch \1 \2 \3 \4 \5/p
	'
