// SPDX-License-Identifier: GPL-2.0-only
// Set-ups to begin with.

const policy = (text) => {
  const [name, variant = "", settings = ""] = text.split(":");
  return { name, variant, settings, source: "" };
};

/** The example of Liu and Layland (JACM 1973): 97 % of a CPU, which rate-monotonic priorities cannot schedule. */
const PERIODIC = `# Two periodic tasks that need 97 % of a CPU together.  A timer gives each its next job at the begin of its period;
# "response" is the time from then until the job is done.  The long task is late if it is more than 7 ms.

title = "2 ms of every 5, and 4 ms of every 7"
duration = "350ms"

[channel.jobs]                 # jobs.0 for the short task, jobs.1 for the long one
count = 2
capacity = 8

[task.timer]
count = 2
class = "fifo"
rt_priority = 99
program = """
forever
  timer period {i == 0 ? 5ms : 7ms}
  start-clock
  send jobs.{i}
end
"""

[task.short]
period = "5ms"
runtime = "2ms"
program = """
forever
  receive jobs.0
  take-clock
  run 2ms
  stop-clock response-short
end
"""

[task.long]
period = "7ms"
runtime = "4ms"
program = """
forever
  receive jobs.1
  take-clock
  run 4ms
  stop-clock response
end
"""
`;

const example = (title, first, second, workload, machine, duration = "", text = "") => ({
  title,
  setUp: {
    policies: [policy(first), policy(second)],
    machine: { name: machine, text: "" },
    workload: { name: workload, text },
    seed: 1,
    duration,
  },
});

export const EXAMPLES = [
  example("A chat server, 2001", "linux24:2.3.99", "elsc", "volanomark --rooms 10 --count 5", "netfinity-7000-4p"),
  example("A busy desktop", "linux24:2.4.16", "cfs:6.5", "mixed", "athlon-mp-1900-2p", "3s"),
  example("Pipes and sockets", "o1:2.6.11", "eevdf:6.12", "hackbench -g 1", "netfinity-7000-4p"),
  example("Rounds or feedback", "rr", "mlfq", "producer-consumer", "ideal-1"),
  example("A lottery or strides", "lottery", "stride", "hogs --nice 0,5,10", "ideal-1", "2s"),
  example("Deadlines or priorities", "edf:dynamic", "edf:rm", "periodic", "ideal-1", "", PERIODIC),
];
