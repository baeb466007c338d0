// SPDX-License-Identifier: GPL-2.0-only
// The stays of a run by CPU and by task.

const MOST_TASKS = 120;
const MOST_CPUS = 128;

export class Stays {
  constructor(run) {
    this.run = run;
    const { cpu, task, reason, start_ns, end_ns } = run.columns;
    const lanes = (n) => Array.from({ length: n }, () => []);
    this.onCpu = lanes(run.nr_cpus);
    this.ofTask = lanes(run.tasks.length);
    const waits = lanes(run.nr_cpus);
    for (let i = 0; i < task.length; i++) {
      this.ofTask[task[i]].push(i);
      (reason[i] === 0 ? waits : this.onCpu)[cpu[i]].push(i);
    }
    this.overhead = overheadOf(run);
    this.depths = waits.map((list) => new Depth(list, start_ns, end_ns));
    this.deepest = this.depths.reduce((most, { deepest }) => Math.max(most, deepest), 0);
  }

  name(task) { return this.run.tasks[task]?.[0] ?? `task ${task}`; }

  group(task) { return this.run.tasks[task]?.[1] ?? "other"; }

  cpus() {
    return this.onCpu.slice(0, MOST_CPUS).map((list, cpu) => ({ ...this.#lane(`CPU ${cpu}`, list, this.depths[cpu]), overhead: this.overhead[cpu] }));
  }

  tasks() {
    const all = this.ofTask.map((list, task) => ({ task, list })).filter(({ list }) => list.length);
    return all.slice(0, MOST_TASKS).map(({ task, list }) => this.#lane(this.name(task), list, null));
  }

  /** Which rows are not there. */
  leftOut(kind) {
    const [all, most, what] = kind === "cpu" ? [this.onCpu.length, MOST_CPUS, "CPUs"] : [this.ofTask.filter((list) => list.length).length, MOST_TASKS, "tasks"];
    return all > most ? `The first ${most} of ${all} ${what} are shown.` : "";
  }

  #lane(name, list, depth) {
    const { end_ns } = this.run.columns;
    return { name, list, depth, first: (time) => firstAfter(list, end_ns, time) };
  }
}

/** The first of a list of indices whose end is after a time. */
export function firstAfter(list, ends, time) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[list[middle]] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The spans of overhead of each CPU, by index. */
function overheadOf({ columns: { overhead_cpu }, nr_cpus }) {
  const lanes = Array.from({ length: nr_cpus }, () => []);
  overhead_cpu.forEach((cpu, i) => lanes[cpu].push(i));
  return lanes;
}

/** How many tasks wait on a run queue, over time. */
class Depth {
  constructor(waits, start_ns, end_ns) {
    const changes = [...waits.map((i) => [start_ns[i], 1]), ...waits.map((i) => [end_ns[i], -1])];
    changes.sort(([a], [b]) => a - b);
    this.times = [];
    this.counts = [];
    this.deepest = 0;
    let now = 0;
    for (const [time, by] of changes) {
      now += by;
      if (this.times.at(-1) === time) this.counts[this.counts.length - 1] = now;
      else {
        this.times.push(time);
        this.counts.push(now);
      }
      this.deepest = Math.max(this.deepest, now);
    }
  }

  /** The last change at or before a time; -1: none. */
  at(time) {
    let [low, high] = [0, this.times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
