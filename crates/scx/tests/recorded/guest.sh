#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# In the guest: tasks that compute, sleep, change their nice value and their class, and what happens meanwhile.
cd /sys/kernel/tracing
echo 65536 > buffer_size_kb
for event in switch wakeup wakeup_new process_fork process_exit; do
	echo 1 > events/sched/sched_$event/enable
done
echo 1 > events/bpf_trace/bpf_trace_printk/enable
echo > trace
echo 1 > tracing_on
spin() {
	i=0
	while [ $i -lt "$1" ]; do i=$((i + 1)); done
}
spin 20000 &
spin 20000 &
first=$!
nice -n 5 sh -c 'i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done' &
for j in 1 2 3; do sleep 0.01; done
renice -n 5 -p $first > /dev/null
chrt -f 10 sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; sleep 0.01' &
sleep 0.03
wait
sleep 0.02
echo 0 > tracing_on
cat trace
