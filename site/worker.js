// SPDX-License-Identifier: GPL-2.0-only
// Runs simulations beside the page, so that the page never waits.
//
//   {id, do: "load"}                      -> {id, ok: catalogue}
//   {id, do: "check", setUp}              -> {id, ok} or {id, mistakes}
//   {id, do: "run", setUp}                -> {progress} or {note}..., {id, ok: {runs, html}} or {id, mistakes}
//   {id, do: "moment", run, event}        -> {id, ok: moment}

import { compile } from "./compiler.js";
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

/** The module of a policy, and what it is called: a policy whose text was changed like its file. */
async function linkable({ name, source }, index) {
  if (!source) return { module: policies[name], shown: name };
  const note = (text) => postMessage({ note: text });
  return { module: await compile(name, source, index, note), shown: `${index ? "second/" : ""}${name}.c` };
}

/** Every press of the button has an engine of its own: no run can disturb a later one. */
async function run(given) {
  let part = 0;
  const linked = await Promise.all(given.policies.map(linkable));
  const progress = (now, end, events) => postMessage({ progress: { part, now, end, events } });
  engine = new Engine(module, {}, progress);
  linked.forEach(({ module, shown }, i) => { if (module) engine.link(given.policies[i].name, module, shown); });
  const setUp = { ...given, policies: given.policies.map((policy, i) => ({ ...policy, name: linked[i].shown })) };
  const runs = setUp.policies.map((_, policy) => {
    part = policy;
    const began = performance.now();
    const summary = engine.ask({ ask: "run", set_up: setUp, policy });
    const ms = performance.now() - began;
    return { ...summary, ms, columns: engine.columns(summary.columns) };
  });
  return { runs, html: engine.ask({ ask: "report" }).html };
}

/** The mistakes in a set-up; settings of a policy whose text was changed are known only when it is compiled. */
function check({ setUp }) {
  try {
    return reader.ask({ ask: "check", ...setUp });
  } catch (error) {
    const known = error.list?.filter(({ part, index }) => part !== "policy" || !setUp.policies[index].source);
    if (known && known.length === 0) return {};
    throw known ? new Mistakes(known) : error;
  }
}

const tasks = {
  load,
  check,
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
