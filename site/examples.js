// SPDX-License-Identifier: GPL-2.0-only
// Set-ups to begin with.

const policy = (text) => {
  const [name, variant = "", settings = ""] = text.split(":");
  return { name, variant, settings, source: "" };
};

const example = (title, first, second, workload, machine, duration = "") => ({
  title,
  setUp: {
    policies: [policy(first), policy(second)],
    machine: { name: machine, text: "" },
    workload: { name: workload, text: "" },
    seed: 1,
    duration,
  },
});

export const EXAMPLES = [
  example("A chat server, 2001", "linux24:2.3.99", "elsc", "volanomark --rooms 10 --count 5", "netfinity-7000-4p"),
  example("A busy desktop", "linux24:2.4.16", "cfs:6.5", "mixed", "athlon-mp-1900-2p", "3s"),
  example("Pipes and sockets", "o1:2.6.11", "eevdf:6.12", "hackbench -g 1", "netfinity-7000-4p"),
  example("Rounds or feedback", "rr", "mlfq", "producer-consumer", "ideal-1"),
  example("A lottery or strides", "lottery", "stride", "nice-pair", "ideal-1", "2s"),
  example("Deadlines or priorities", "edf:dynamic", "edf:rm", "rt-over-normal", "ideal-2", "1s"),
];
