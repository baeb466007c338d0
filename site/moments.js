// SPDX-License-Identifier: GPL-2.0-only
// The moment at the cursor: what happened, who runs, who waits, and at what priority.

import { duration, element } from "./dom.js";

/** The least time between two questions, while time goes on. */
const PAUSE_MS = 120;
const MOST_CPUS = 16;

export class Moments {
  constructor(place, laboratory, runs) {
    Object.assign(this, { place, laboratory, runs, asked: null, waiting: false });
    this.told = runs.map(() => null);
    place.replaceChildren(...runs.map((run, i) => element("section", { className: `moment c${i}`, ariaLabel: `The moment in the run of ${run.label}` })));
  }

  /** Shows an event of each run; of several in quick succession the last. */
  show(events) {
    this.asked = events;
    if (!this.waiting) this.#ask();
  }

  async #ask() {
    const events = this.asked;
    this.waiting = true;
    const found = events.map((event, run) => (event < 0 ? null : this.laboratory.moment(run, event).catch(() => null)));
    this.told = await Promise.all(found);
    if (this.place.isConnected) this.told.forEach((moment, i) => this.#draw(moment, i));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    this.waiting = false;
    if (this.asked !== events) this.#ask();
  }

  /** The moment of a run, as a screen reader says it. */
  spoken(run) {
    const moment = this.told[this.runs.indexOf(run)];
    return moment ? `${duration(moment.time_ns)}: ${moment.what}` : "the beginning";
  }

  #draw(moment, i) {
    const section = this.place.children[i];
    const { label } = this.runs[i];
    if (!moment) {
      section.replaceChildren(element("h4", { textContent: label }), element("p", { className: "what", textContent: "Nothing has happened yet." }));
      return;
    }
    const at = `${(moment.time_ns / 1e6).toFixed(3)} ms`;
    const cpus = moment.cpus.slice(0, MOST_CPUS).map((cpu, number) => row(cpu, number));
    const more = moment.cpus.length - MOST_CPUS;
    section.replaceChildren(
      element("h4", { textContent: `${label}, at ${at}` }),
      element("p", { className: "what", textContent: moment.what }),
      element("table", {}, [
        element("thead", {}, [element("tr", {}, ["CPU", "runs", "waiting, the longest first"].map((text) => element("th", { scope: "col", textContent: text })))]),
        element("tbody", {}, cpus),
      ]),
    );
    if (more > 0) section.append(element("p", { className: "note", textContent: `and ${more} more CPUs` }));
  }
}

function row({ running, waiting, waiting_in_all, examined }, number) {
  const small = (text) => element("small", { textContent: text });
  const runs = running ? [running.name, " ", small(`${running.rank}, for ${duration(running.ns)}`)] : [small("idle")];
  if (examined !== null && examined !== undefined) runs.push(element("br"), small(`${examined} examined by the last schedule()`));
  const queue = waiting.map((task) => element("li", {}, [task.name, " ", small(`${task.rank}, ${duration(task.ns)}`)]));
  if (waiting_in_all > waiting.length) queue.push(element("li", { textContent: `and ${waiting_in_all - waiting.length} more` }));
  return element("tr", {}, [
    element("th", { scope: "row", textContent: String(number) }),
    element("td", {}, runs),
    element("td", {}, queue.length ? [element("ol", {}, queue)] : [small("nobody")]),
  ]);
}
