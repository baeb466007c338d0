#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# In the guest: random scripts, and what happens meanwhile.  scripts.sh SEED COUNT
tracing=/sys/kernel/tracing
echo 65536 > $tracing/buffer_size_kb
for event in switch wakeup wakeup_new process_fork process_exit; do
	echo 1 > $tracing/events/sched/sched_$event/enable
done
echo 1 > $tracing/events/syscalls/sys_enter_sched_yield/enable
echo 1 > $tracing/events/bpf_trace/bpf_trace_printk/enable
echo > $tracing/trace
echo 1 > $tracing/tracing_on
./scripted "$1" "$2"
echo 0 > $tracing/tracing_on
cat $tracing/trace
