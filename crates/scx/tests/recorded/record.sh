#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Records what a real kernel calls of the scheduler noted.h, on one CPU under the deterministic clock:
#     record.sh > linux-VERSION.events          needs schedlab on PATH, clang-19 and what `schedlab vm` needs
# Each line is a time in µs, an event and its numbers; @NAME is an operation of the scheduler with process and argument.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cp guest.sh "$work"
${BPF_CLANG:-clang-19} --target=bpf -mcpu=v3 -O2 -g -c noted.bpf.c -o "$work/noted.bpf.o"
cd "$work"
schedlab vm --cpus 1 --no-record --scheduler "schedlab dev attach noted.bpf.o" --with guest.sh --with noted.bpf.o -- sh guest.sh |
	sed -nE '
		s/^.* ([0-9]+)\.([0-9]+): bpf_trace_printk: /\1\2 /p
		s/^.* ([0-9]+)\.([0-9]+): sched_wakeup: .* pid=([0-9]+) .*/\1\2 wakeup \3/p
		s/^.* ([0-9]+)\.([0-9]+): sched_wakeup_new: .* pid=([0-9]+) .*/\1\2 wakeup_new \3/p
		s/^.* ([0-9]+)\.([0-9]+): sched_process_fork: .* pid=([0-9]+) .* child_pid=([0-9]+).*/\1\2 fork \3 \4/p
		s/^.* ([0-9]+)\.([0-9]+): sched_process_exit: .* pid=([0-9]+) .*/\1\2 exit \3/p
		s/^.* ([0-9]+)\.([0-9]+): sched_switch: .*prev_pid=([0-9]+) .*prev_prio=([0-9]+) prev_state=([A-Z+]+) .*next_pid=([0-9]+) next_prio=([0-9]+).*/\1\2 switch \3 \4 \5 \6 \7/p
	'
