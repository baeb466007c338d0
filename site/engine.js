// SPDX-License-Identifier: GPL-2.0-only
// The engine: links policies into it, and asks it.

const TEXT = new TextDecoder();

/** An engine with the policies of `modules`, an object of modules by name. */
export class Engine {
  constructor(module, modules, progress = () => {}) {
    this.exports = new WebAssembly.Instance(module, { page: { progress } }).exports;
    for (const [name, policy] of Object.entries(modules)) this.link(name, policy);
  }

  /**
   * Links a policy as a dynamic linker does: data into the engine's memory, functions into its table.  `shown` is what it is called
   * there, if not by its own name.
   */
  link(name, module, shown = "") {
    const { memory, __indirect_function_table: table, __stack_pointer } = this.exports;
    const needs = dynamicNeeds(module);
    const at = this.exports.schedlab_alloc(needs.bytes);
    const slot = table.grow(needs.functions);
    const constant = (value) => new WebAssembly.Global({ value: "i32", mutable: false }, value);
    const { exports } = new WebAssembly.Instance(module, {
      env: {
        memory,
        __indirect_function_table: table,
        __stack_pointer,
        __memory_base: constant(at),
        __table_base: constant(slot),
      },
    });
    const declared = exports[`schedlab_policy_${name}`];
    if (!declared) throw new Error(`${name}.c does not end with POLICY(${name}, ...): a policy must have the name of its file`);
    exports.__wasm_apply_data_relocs?.();
    this.exports.schedlab_link(at + declared.value, ...this.#given(shown));
  }

  /** The engine's answer to a question: its "ok", or an exception with its mistakes. */
  ask(question) {
    try {
      this.exports.schedlab_ask(...this.#given(JSON.stringify(question)));
    } catch (trap) {
      throw new Mistakes([{ part: "run", index: 0, line: 0, message: `the policy crashed: ${this.text() || trap.message}` }]);
    }
    const answer = JSON.parse(this.text());
    if (answer.mistakes) throw new Mistakes(answer.mistakes);
    return answer.ok;
  }

  /** Copies of columns that an answer describes: address, length and type of each. */
  columns(described) {
    const types = { f64: Float64Array, u32: Uint32Array };
    const copy = ([at, length, type]) => new types[type](this.exports.memory.buffer, at, length).slice();
    return Object.fromEntries(Object.entries(described).map(([name, column]) => [name, copy(column)]));
  }

  /** A text in the engine's memory: its address and length. */
  #given(text) {
    const bytes = new TextEncoder().encode(text);
    const at = this.exports.schedlab_alloc(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
    return [at, bytes.length];
  }

  text() {
    const { memory, schedlab_answer, schedlab_answer_len } = this.exports;
    return TEXT.decode(new Uint8Array(memory.buffer, schedlab_answer(), schedlab_answer_len()));
  }
}

/** What is wrong with a question: part, index, line and message of each mistake. */
export class Mistakes extends Error {
  constructor(list) {
    super(list.map((mistake) => mistake.message).join("\n"));
    this.list = list;
  }
}

/** The memory and the functions that a shared library needs, from its section "dylink.0". */
function dynamicNeeds(module) {
  const [section] = WebAssembly.Module.customSections(module, "dylink.0");
  if (!section) throw new Error("this module is not a shared library");
  const bytes = new Uint8Array(section);
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const MEMORY_INFO = 1;
  while (at < bytes.length) {
    const kind = bytes[at++];
    const end = number() + at;
    if (kind === MEMORY_INFO) {
      const size = number();
      const alignment = number();
      if (alignment > 6) throw new Error("the policy's data needs a larger alignment than 64 bytes");
      return { bytes: size, functions: number() };
    }
    at = end;
  }
  return { bytes: 0, functions: 0 };
}
