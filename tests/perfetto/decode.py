#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Decodes a Perfetto trace with Perfetto's own bindings and compares every event in it.

usage: decode.py FILE.pftrace EXPECTED.json

EXPECTED.json is the list of events the trace was written from.  What the file must hold is worked
out here from those events alone, without the writer's help.
"""

import json
import sys
from collections import defaultdict

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

STATES = {"Preempted": 0x100, "Yielded": 0, "Moved": 0, "Idle": 0, "Sleeping": 1, "DiskSleep": 2, "Exited": 0x20}
FLAGS = {"Task": 0x01, "Irq": 0x09}
CLONE_THREAD = 0x10000
RUNNABLE = {"Preempted", "Yielded", "Moved"}
MAX_PRIORITY_TRACKS = 64
MAX_BUNDLE = 1 << 16
SCHED_YIELD = 24  # its number on x86-64


class Expected:
    """A model of the machine, fed with the events one by one."""

    def __init__(self, trace):
        self.trace = trace
        self.tasks, self.leaders = {}, {}
        self.cpu_of, self.waits_on, self.running = {}, {}, {}
        self.switches, self.wakings, self.order = {}, defaultdict(list), {}
        self.forks, self.births, self.newborn = defaultdict(list), {}, set()
        self.processes, self.threads = {}, {}
        self.totals, self.priority_tasks, self.notices = defaultdict(int), [], []
        self.values = {("runnable",): 0, **{("waiting", cpu): 0 for cpu in range(trace["nr_cpus"])}}
        self.samples = defaultdict(list)
        for cpu in range(trace["nr_cpus"]):
            self.switches[cpu] = [(0, 0, 0, 120, "swapper")] * 2
            self.order[cpu] = [("switch", 0, 0)] * 2
            self.births[cpu] = list(self.order[cpu])
        self.now = 0
        self.run()

    def run(self):
        trace = self.trace
        for record in trace["records"]:
            if record.get("time", self.now) > self.now:
                self.sample()
                self.now = record["time"]
            getattr(self, "on_" + record["kind"])(record)
            self.count_tasks()
        self.sample()
        self.samples[("runnable",)].append((trace["end"], self.values[("runnable",)]))

    def sample(self):
        for key, value in self.values.items():
            track = self.samples[key]
            if not track or track[-1][1] != value:
                track.append((self.now, value))

    def count_tasks(self):
        for cpu in range(self.trace["nr_cpus"]):
            self.values[("waiting", cpu)] = 0
        for cpu in self.waits_on.values():
            self.values[("waiting", cpu)] += 1
        self.values[("runnable",)] = len(self.waits_on) + len(self.running)

    def pid(self, task):
        return 0 if task is None else task + 1

    def prio(self, task):
        if task is None:
            return 120
        info = self.tasks[task]
        return 99 - info["rt_priority"] if info["class"] in ("Fifo", "Rr") else 120 + info["nice"]

    def name(self, task):
        return "swapper" if task is None else self.tasks[task]["name"]

    def on_task(self, record):
        task = record["task"]
        self.tasks[task] = dict(record)
        leader = self.leaders.setdefault(record["process"], task)
        self.threads[self.pid(task)] = (self.pid(leader), record["name"])
        if leader == task:
            self.processes[self.pid(task)] = (0, record["name"])

    def on_fork(self, record):
        child, parent = record["task"], record["parent"]
        if parent is not None:
            cpu, time, by = record["cpu"], record["time"], self.pid(parent)
            thread = self.threads[self.pid(child)][0] != self.pid(child)
            flags = CLONE_THREAD if thread else 0
            self.forks[cpu].append((time, by, "task_newtask", self.pid(child), self.name(child), flags))
            self.forks[cpu].append((time, by, "sched_process_fork", by, self.name(parent), self.pid(child), self.name(child)))
            self.births[cpu].append(("fork", time, self.pid(child)))
            self.newborn.add(child)
        if parent is not None and self.pid(child) in self.processes:
            ppid = self.threads[self.pid(parent)][0]
            self.processes[self.pid(child)] = (ppid, self.name(child))

    def on_waking(self, record):
        task, cpu = record["task"], record["cpu"]
        target = self.cpu_of.get(task, cpu)
        row = (record["time"], self.pid(task), target, self.prio(task), FLAGS[record["by"]], self.name(task))
        self.wakings[cpu].append(row)
        self.order[cpu].append(("waking", record["time"], self.pid(task)))

    def on_wakeup(self, record):
        task, cpu = record["task"], record["cpu"]
        if task in self.newborn:
            self.newborn.remove(task)
            by = self.pid(self.running.get(cpu))
            row = (record["time"], by, "sched_wakeup_new", self.pid(task), self.name(task), self.prio(task), record["target"])
            self.forks[cpu].append(row)
            self.births[cpu].append(("wakeup_new", record["time"], self.pid(task)))
        if record["task"] not in self.running.values():
            self.waits_on[record["task"]] = self.cpu_of[record["task"]] = record["target"]

    def on_migrate(self, record):
        if record["task"] in self.waits_on:
            self.waits_on[record["task"]] = self.cpu_of[record["task"]] = record["to"]

    def on_switch(self, record):
        cpu, prev, next_task = record["cpu"], record["prev"], record["next"]
        state = record["prev_state"]
        row = (record["time"], STATES[state], self.pid(next_task), self.prio(next_task), self.name(next_task))
        self.switches[cpu].append(row)
        for order in self.order, self.births:
            order[cpu].append(("switch", record["time"], self.pid(next_task)))
        self.running.pop(cpu, None)
        if state in RUNNABLE:
            self.waits_on[prev] = cpu
        if next_task is not None:
            self.waits_on.pop(next_task, None)
            self.running[cpu] = next_task
            self.cpu_of[next_task] = cpu

    def on_nice(self, record):
        self.tasks[record["task"]]["nice"] = record["nice"]

    def on_class(self, record):
        info = self.tasks[record["task"]]
        info["class"], info["rt_priority"] = record["class"], record["rt_priority"]

    def on_priority(self, record):
        task = record["task"]
        if task not in self.priority_tasks and len(self.priority_tasks) < MAX_PRIORITY_TRACKS:
            self.priority_tasks.append(task)
        elif task not in self.priority_tasks:
            self.notices = [f"only the first {MAX_PRIORITY_TRACKS} tasks have one"]
        if task in self.priority_tasks:
            self.values[("priority", self.pid(task))] = record["priority"]

    def on_mark(self, record):
        self.grow(("mark", self.trace["marks"][record["mark"]]), record["count"])

    def on_latency(self, record):
        self.values[("latency", self.trace["marks"][record["mark"]])] = record["ns"]

    def on_count(self, record):
        self.grow(("count", self.trace["counters"][record["counter"]]), record["by"])

    def grow(self, key, by):
        self.totals[key] += by
        self.values[key] = self.totals[key]

    def on_other(self, record):
        """Exits, yields and costs: nothing in the file but a system call, and the switch that follows."""


class Decoded:
    """What the file says, through Perfetto's bindings."""

    def __init__(self, path):
        trace = pb.Trace()
        with open(path, "rb") as file:
            data = file.read()
        trace.ParseFromString(data)
        assert_no_unknown_fields(trace)
        self.bytes = defaultdict(int, total=len(data))
        self.switches, self.wakings, self.forks = defaultdict(list), defaultdict(list), defaultdict(list)
        # Readers sort by time and take, among equals, earlier bundles first and a bundle's switches
        # before its wakings.  What they make of a CPU must be the order of the events themselves: of
        # switches and wakings, and of switches and births.
        self.order, self.births = defaultdict(list), defaultdict(list)
        self.processes, self.threads = {}, {}
        self.tracks, self.samples, self.instants = {}, defaultdict(list), []
        self.system, self.attributes = None, {}
        for index, packet in enumerate(trace.packet):
            self.read(index, packet)

    def read(self, index, packet):
        kind = packet.WhichOneof("data")
        self.bytes[kind] += packet.ByteSize()
        check("every packet has a sequence", packet.trusted_packet_sequence_id != 0, True)
        check("only bundles are without a time", packet.HasField("timestamp"), kind != "ftrace_events")
        check("the kernel release comes first", kind == "system_info", index == 0)
        getattr(self, kind)(packet)

    def system_info(self, packet):
        self.system = packet.system_info
        check("flags", packet.sequence_flags, pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)

    def trace_attributes(self, packet):
        self.attributes = {a.key: a.string_value for a in packet.trace_attributes.attribute}

    def ftrace_events(self, packet):
        cpu, sched = packet.ftrace_events.cpu, packet.ftrace_events.compact_sched
        names = list(sched.intern_table)
        check("names are interned once", len(names), len(set(names)))
        switches = columns(sched.switch_timestamp, sched.switch_prev_state, sched.switch_next_pid,
                           sched.switch_next_prio, [names[i] for i in sched.switch_next_comm_index])
        wakings = columns(sched.waking_timestamp, sched.waking_pid, sched.waking_target_cpu, sched.waking_prio,
                          sched.waking_common_flags, [names[i] for i in sched.waking_comm_index])
        events = packet.ftrace_events.event
        yields = [event for event in events if event.WhichOneof("event") == "sys_enter"]
        check("system calls", {event.sys_enter.id for event in yields} <= {SCHED_YIELD}, True)
        forks = [fork_row(event) for event in events if event.WhichOneof("event") != "sys_enter"]
        check("a bundle is bounded", 0 < len(switches) + len(wakings) + len(events) <= MAX_BUNDLE, True)
        self.forks[cpu] += forks
        self.switches[cpu] += switches
        self.wakings[cpu] += wakings
        for order in self.order, self.births:
            order[cpu] += [("switch", time, pid) for time, _, pid, _, _ in switches]
        self.order[cpu] += [("waking", time, pid) for time, pid, _, _, _, _ in wakings]
        self.births[cpu] += [("fork", row[0], row[3]) for row in forks if row[2] == "task_newtask"]
        self.births[cpu] += [("wakeup_new", row[0], row[3]) for row in forks if row[2] == "sched_wakeup_new"]

    def process_tree(self, packet):
        for process in packet.process_tree.processes:
            check(f"process {process.pid} is new", process.pid in self.processes, False)
            self.processes[process.pid] = (process.ppid, " ".join(process.cmdline))
        for thread in packet.process_tree.threads:
            check(f"thread {thread.tid} is new", thread.tid in self.threads, False)
            self.threads[thread.tid] = (thread.tgid, thread.name)

    def track_descriptor(self, packet):
        track = packet.track_descriptor
        check(f"track {track.uuid} is new", track.uuid in self.tracks, False)
        check("a parent is described first", not track.parent_uuid or track.parent_uuid in self.tracks, True)
        self.tracks[track.uuid] = track

    def track_event(self, packet):
        event = packet.track_event
        if event.type == pb.TrackEvent.TYPE_INSTANT:
            self.instants.append(event.name)
        else:
            check("type", event.type, pb.TrackEvent.TYPE_COUNTER)
            self.samples[self.key(self.tracks[event.track_uuid])].append((packet.timestamp, event.counter_value))

    def key(self, track):
        """What a track shows, in the words of the model."""
        parent, name = self.tracks[track.parent_uuid], track.name
        if parent.HasField("thread"):
            check("thread group", self.threads[parent.thread.tid][0], parent.thread.pid)
            return (name, parent.thread.tid)
        if parent.name == "run queues":
            return ("runnable",) if name == "runnable tasks" else ("waiting", int(name.removeprefix("waiting for CPU ")))
        if parent.name == "workload" and name.endswith(" latency"):
            check("unit", track.counter.unit, pb.CounterDescriptor.UNIT_TIME_NS)
            return ("latency", name.removesuffix(" latency"))
        return ({"workload": "mark", "policy": "count"}[parent.name], name)


def fork_row(event):
    """A fork or the first wakeup after one."""
    head, kind = (event.timestamp, event.pid), event.WhichOneof("event")
    body = getattr(event, kind)
    if kind == "task_newtask":
        return (*head, kind, body.pid, body.comm, body.clone_flags)
    if kind == "sched_process_fork":
        return (*head, kind, body.parent_pid, body.parent_comm, body.child_pid, body.child_comm)
    check("kind of event", kind, "sched_wakeup_new")
    return (*head, kind, body.pid, body.comm, body.prio, body.target_cpu)


def assert_no_unknown_fields(trace):
    """A field number or wire type the schema does not know would be dropped or kept silently."""
    copy = pb.Trace()
    copy.CopyFrom(trace)
    copy.DiscardUnknownFields()
    check("bytes without unknown fields", copy.ByteSize(), trace.ByteSize())


def columns(deltas, *others):
    """Rows from columns; the first column holds differences of times."""
    check("columns are equally long", {len(column) for column in others}, {len(deltas)})
    times, now = [], 0
    for delta in deltas:
        now += delta
        times.append(now)
    return list(zip(times, *others))


def check(what, got, expected):
    if got != expected:
        sys.exit(f"{sys.argv[1]}: {what}: got {got!r}, expected {expected!r}")


def check_rows(what, got, expected):
    for index, (a, b) in enumerate(zip(got, expected)):
        check(f"{what}, row {index}", a, b)
    check(f"{what}, number of rows", len(got), len(expected))


def compare(decoded, expected):
    trace = expected.trace
    check("release", decoded.system.utsname.release, "6.12.0-schedlab")
    check("number of CPUs", decoded.system.num_cpus, trace["nr_cpus"])
    for key in ("policy", "workload", "machine"):
        check(key, decoded.attributes[f"schedlab.{key}"], trace[key])
    for cpu in range(trace["nr_cpus"]):
        check_rows(f"switches of CPU {cpu}", decoded.switches[cpu], expected.switches[cpu])
        check_rows(f"wakings of CPU {cpu}", decoded.wakings[cpu], expected.wakings[cpu])
        check_rows(f"forks on CPU {cpu}", decoded.forks[cpu], expected.forks[cpu])
        for what in "order", "births":
            order = sorted(getattr(decoded, what)[cpu], key=lambda row: row[1])
            check_rows(f"{what} on CPU {cpu}", order, getattr(expected, what)[cpu])
    check("CPUs", set(decoded.switches), set(range(trace["nr_cpus"])))
    check("processes", decoded.processes, expected.processes)
    check("threads", decoded.threads, expected.threads)
    check("notices", decoded.instants, expected.notices)
    for key in sorted(set(decoded.samples) | set(expected.samples), key=str):
        check_rows(f"counter {key}", decoded.samples[key], expected.samples[key])


def report(decoded):
    events = sum(map(len, decoded.switches.values())) + sum(map(len, decoded.wakings.values()))
    samples = sum(map(len, decoded.samples.values()))
    print(f"{sys.argv[1]}: {events} switches and wakings, {samples} samples on {len(decoded.samples)} counter tracks, "
          f"{len(decoded.threads)} tasks: all as expected")
    print(f"  {decoded.bytes['ftrace_events'] / events:.2f} bytes a switch or waking, "
          f"{decoded.bytes['track_event'] / max(samples, 1):.2f} bytes a sample, {decoded.bytes['total']} bytes in all")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: decode.py FILE.pftrace EXPECTED.json")
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = Expected(json.load(file))
    decoded = Decoded(sys.argv[1])
    compare(decoded, expected)
    report(decoded)


if __name__ == "__main__":
    main()
