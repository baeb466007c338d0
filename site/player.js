// SPDX-License-Identifier: GPL-2.0-only
// Moves the cursor: to a time, from event to event, or as time goes on.

import { clock } from "./dom.js";

/** How long it takes to play what the window shows. */
const SECONDS_A_WINDOW = 12;

export class Player {
  constructor(view, runs, moments, controls) {
    Object.assign(this, { view, runs, moments, controls, playing: 0 });
    this.events = runs.map(() => -1);
    controls.play.onclick = () => this.toggle();
    controls.back.onclick = () => this.step(-1);
    controls.forward.onclick = () => this.step(1);
  }

  /** Puts the cursor at a time: in each run the last step up to then. */
  point(time) {
    this.events = this.runs.map((run) => lastStep(run, time));
    this.view.point(time);
    this.#told();
  }

  /** To the next event of any run, or the one before. */
  step(way) {
    this.stop();
    const next = this.runs.map((run, i) => nextStep(run, this.events[i], way));
    const times = next.map((event, i) => this.runs[i].columns.time_ns[event] ?? (way > 0 ? Infinity : -Infinity));
    const time = way > 0 ? Math.min(...times) : Math.max(...times);
    if (!Number.isFinite(time)) return;
    const which = times.indexOf(time);
    this.events = this.events.map((event, i) => (i === which ? next[i] : event));
    this.view.point(way > 0 ? time : (this.runs[which].columns.time_ns[next[which]] ?? 0));
    this.#told();
  }

  toggle() {
    if (this.playing) this.stop();
    else this.#start();
  }

  #start() {
    this.controls.play.textContent = "Pause";
    this.controls.play.setAttribute("aria-pressed", "true");
    if (this.view.cursor >= this.view.end) this.view.point(0);
    let last = performance.now();
    const beat = (now) => {
      const rate = this.view.width / (SECONDS_A_WINDOW * 1000);
      const time = this.view.cursor + (now - last) * rate;
      last = now;
      if (time >= this.view.end) {
        this.point(this.view.end);
        return this.stop();
      }
      this.point(time);
      this.playing = requestAnimationFrame(beat);
    };
    this.playing = requestAnimationFrame(beat);
  }

  stop() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.controls.play.textContent = "Play";
    this.controls.play.setAttribute("aria-pressed", "false");
  }

  #told() {
    this.controls.clock.textContent = clock(this.view.cursor, this.view.width);
    this.moments.show(this.events);
  }

  key(event) {
    const by = this.view.width / 8;
    const keys = {
      ArrowRight: () => (event.shiftKey ? this.view.pan(by) : this.step(1)),
      ArrowLeft: () => (event.shiftKey ? this.view.pan(-by) : this.step(-1)),
      "+": () => this.view.zoom(0.6, this.view.cursor),
      "=": () => this.view.zoom(0.6, this.view.cursor),
      "-": () => this.view.zoom(1 / 0.6, this.view.cursor),
      Home: () => this.point(0),
      End: () => this.point(this.view.end),
      " ": () => this.toggle(),
    };
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }
}

/** The last step at or before a time; -1: none. */
function lastStep({ columns: { time_ns, step } }, time) {
  let [low, high] = [0, time_ns.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time_ns[middle] <= time) low = middle + 1;
    else high = middle;
  }
  let event = low - 1;
  while (event >= 0 && !step[event]) event--;
  return event;
}

/** The next step after an event, or the one before it; beyond the ends there is none. */
function nextStep({ columns: { step } }, event, way) {
  let next = event + way;
  while (next >= 0 && next < step.length && !step[next]) next += way;
  return next;
}
