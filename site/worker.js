// SPDX-License-Identifier: GPL-2.0-only
// Runs simulations beside the page, so that the page never waits.
//
//   {id, do: "load"}                      -> {id, ok: catalogue}
//   {id, do: "check", setUp}              -> {id, ok} or {id, mistakes}
//   {id, do: "run", setUp}                -> {progress}..., {id, ok: {runs, html}} or {id, mistakes}
//   {id, do: "moment", run, event}        -> {id, ok: moment}

import { Engine, Mistakes } from "./engine.js";

let module;
let policies;
/** Knows what there is; runs nothing. */
let reader;
/** Has the last runs. */
let engine;

async function compiled(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

async function load() {
  const names = await (await fetch("policies/names.json")).json();
  const all = names.map((name) => compiled(`policies/${name}.wasm`));
  const [main, ...others] = await Promise.all([compiled("engine.wasm"), ...all]);
  module = main;
  policies = Object.fromEntries(names.map((name, i) => [name, others[i]]));
  reader = new Engine(module, policies);
  return reader.ask({ ask: "catalogue" });
}

/** Every press of the button has an engine of its own: no run can disturb a later one. */
function run(setUp) {
  let part = 0;
  const chosen = new Set(setUp.policies.map((policy) => policy.name));
  const named = Object.fromEntries([...chosen].filter((name) => policies[name]).map((name) => [name, policies[name]]));
  const progress = (now, end, events) => postMessage({ progress: { part, now, end, events } });
  reader.ask({ ask: "check", ...setUp });
  engine = new Engine(module, named, progress);
  const runs = setUp.policies.map((_, policy) => {
    part = policy;
    const began = performance.now();
    const summary = engine.ask({ ask: "run", set_up: setUp, policy });
    const ms = performance.now() - began;
    return { ...summary, ms, columns: engine.columns(summary.columns) };
  });
  return { runs, html: engine.ask({ ask: "report" }).html };
}

const tasks = {
  load,
  check: ({ setUp }) => reader.ask({ ask: "check", ...setUp }),
  run: ({ setUp }) => run(setUp),
  moment: ({ run: index, event }) => engine.ask({ ask: "moment", run: index, event }),
};

onmessage = async ({ data }) => {
  try {
    const ok = await tasks[data.do](data);
    const transfer = (ok.runs ?? []).flatMap((one) => Object.values(one.columns).map((column) => column.buffer));
    postMessage({ id: data.id, ok }, transfer);
  } catch (error) {
    const general = [{ part: "run", index: 0, line: 0, message: error.message }];
    postMessage({ id: data.id, mistakes: error instanceof Mistakes ? error.list : general });
  }
};
