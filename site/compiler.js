// SPDX-License-Identifier: GPL-2.0-only
// Compiles a policy in the page, with clang for WebAssembly (@yowasp/clang), as the site's own policies were compiled.

import { Mistakes } from "./engine.js";

let loading = null;
const done = new Map();

/** The files that a policy may include, as folders in folders, and the compiler's flags. */
let sources = null;

export async function allSources() {
  sources ??= await (await fetch("policies/sources.json")).json();
  return sources;
}

async function compiler(note) {
  note("The compiler is being loaded: about 100 MB, once.");
  loading ??= import("./compiler/bundle.js");
  return loading;
}

/** The module of a policy with this text; `index` says whose it is in the set-up. */
export async function compile(name, text, index, note) {
  const key = `${name}\n${text}`;
  if (!done.has(key)) done.set(key, await compiled(name, text, index, note));
  return done.get(key);
}

async function compiled(name, text, index, note) {
  const { files, flags } = await allSources();
  const { runClang } = await compiler(note);
  const path = `policies/${name}/${name}.c`;
  const own = { ...files, policies: { ...files.policies, [name]: { ...files.policies[name], [`${name}.c`]: text } } };
  const folders = ["policy", "policies", "native"].map((folder) => `-I${folder}`);
  const said = [];
  const stderr = (bytes) => { if (bytes) said.push(new TextDecoder().decode(bytes)); };
  note(`${name}.c is being compiled.`);
  try {
    const arguments_ = [...flags, ...folders, `-Wl,--export=schedlab_policy_${name}`, "-o", "policy.wasm", path];
    const made = await runClang(["clang", ...arguments_], own, { stdout: () => {}, stderr });
    return await WebAssembly.compile(made["policy.wasm"]);
  } catch (error) {
    throw new Mistakes([mistake(said.join(""), path, index) ?? { part: "run", index, line: 0, message: `${name}.c: ${said.join("") || error.message}` }]);
  }
}

/** The compiler's first error in the policy's own file. */
function mistake(said, path, index) {
  for (const line of said.split("\n")) {
    const [, file, number, message] = line.match(/^([^:]+):(\d+):\d+: (?:fatal )?error: (.*)$/) ?? [];
    if (file === path) return { part: "source", index, line: Number(number), message };
  }
  return null;
}
