// SPDX-License-Identifier: GPL-2.0-only
// The worker, as functions that give promises.

import { Mistakes } from "./engine.js";

export class Laboratory {
  #worker;
  #waiting = new Map();
  #last = 0;

  constructor(onProgress, onNote = () => {}) {
    Object.assign(this, { onProgress, onNote });
    this.#start();
  }

  #start() {
    this.#worker = new Worker("worker.js", { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#heard(data);
    this.#worker.onerror = (event) => this.#fail(event.message ?? "the worker could not be started");
    this.loaded = this.#ask({ do: "load" });
  }

  #ask(task) {
    const id = ++this.#last;
    this.#worker.postMessage({ ...task, id });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #heard(data) {
    if (data.progress) return this.onProgress(data.progress);
    if (data.note) return this.onNote(data.note);
    const { resolve, reject } = this.#waiting.get(data.id);
    this.#waiting.delete(data.id);
    if (data.mistakes) reject(new Mistakes(data.mistakes));
    else resolve(data.ok);
  }

  #fail(message) {
    for (const { reject } of this.#waiting.values()) reject(new Mistakes([{ part: "run", index: 0, line: 0, message }]));
    this.#waiting.clear();
  }

  async check(setUp) {
    await this.loaded;
    return this.#ask({ do: "check", setUp });
  }

  async run(setUp) {
    await this.loaded;
    return this.#ask({ do: "run", setUp });
  }

  moment(run, event) { return this.#ask({ do: "moment", run, event }); }

  /** Ends a run, and with it the worker; a new one is loaded. */
  stop() {
    this.#worker.terminate();
    this.#fail("stopped");
    this.#start();
  }
}
