// SPDX-License-Identifier: GPL-2.0-only
// Who ran where, drawn: rows are CPUs or tasks; all timelines of a page show one window of time.

import { clock, duration, element } from "./dom.js";
import { firstAfter, Stays } from "./stays.js";

const AXIS = 24;
const COLOURS = 8;
const LEFT = { 2: "then it was preempted", 3: "then it yielded", 4: "then it had to leave this CPU", 5: "then it slept", 6: "then it waited for a disk", 7: "then it exited" };

/** The window of time that is shown, and the cursor in it. */
export class View {
  constructor(end) {
    Object.assign(this, { end, from: 0, to: end, cursor: 0, listeners: [] });
  }

  get width() { return this.to - this.from; }

  show(from, to) {
    const width = Math.min(Math.max(to - from, Math.min(1000, this.end)), this.end);
    this.from = Math.min(Math.max(from, 0), this.end - width);
    this.to = this.from + width;
    this.changed();
  }

  /** Zooms by a factor about a time. */
  zoom(factor, about = (this.from + this.to) / 2) {
    this.show(about - (about - this.from) * factor, about + (this.to - about) * factor);
  }

  pan(by) { this.show(this.from + by, this.to + by); }

  /** Moves the cursor; the window follows it. */
  point(time) {
    this.cursor = Math.min(Math.max(time, 0), this.end);
    const { width } = this;
    if (this.cursor < this.from || this.cursor > this.to) this.show(this.cursor - width * 0.2, this.cursor + width * 0.8);
    else this.changed();
  }

  changed() { for (const listener of this.listeners) listener(); }
}

export class Timeline {
  constructor(run, index, view, groups, hooks) {
    Object.assign(this, { run, view, groups, hooks });
    this.stays = new Stays(run);
    this.canvas = element("canvas", { tabIndex: 0, role: "slider" });
    this.canvas.setAttribute("aria-label", `Time in the run of ${run.label}`);
    this.canvas.setAttribute("aria-valuemin", "0");
    this.canvas.setAttribute("aria-valuemax", String(run.kept_until_ns));
    this.note = element("p", { className: "note" });
    const swatch = element("i", { className: `swatch c${index}` });
    this.element = element("figure", { className: "timeline" }, [
      element("h3", {}, [swatch, run.label]),
      element("div", { className: "frame" }, [this.canvas]),
      this.note,
    ]);
    this.#listen();
    view.listeners.push(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.rows = "cpu";
  }

  set rows(kind) {
    this.kind = kind;
    this.lanes = kind === "cpu" ? this.stays.cpus() : this.stays.tasks();
    const many = this.lanes.length;
    const roomy = matchMedia("(max-width: 640px)").matches ? 24 : 30;
    this.box = kind === "task" ? 13 : many <= 4 ? roomy : many <= 16 ? 18 : 9;
    this.strip = kind === "task" ? 0 : many <= 4 ? 14 : many <= 16 ? 7 : 3;
    this.pitch = this.box + this.strip + (many <= 16 && kind === "cpu" ? 6 : 2);
    this.canvas.style.height = `${AXIS + many * this.pitch + 6}px`;
    const { kept_until_ns, duration_ns } = this.run;
    const kept = kept_until_ns < duration_ns ? `The events of the first ${duration(kept_until_ns)} of ${duration(duration_ns)} are kept here; all figures are of the whole run. ` : "";
    this.note.textContent = kept + this.stays.leftOut(kind);
    this.note.hidden = !this.note.textContent;
    this.draw();
  }

  get gutter() { return this.kind === "cpu" ? 58 : Math.min(120, this.canvas.clientWidth * 0.28); }

  x(time) { return this.gutter + ((time - this.view.from) / this.view.width) * (this.canvas.clientWidth - this.gutter); }

  time(x) { return this.view.from + ((x - this.gutter) / (this.canvas.clientWidth - this.gutter)) * this.view.width; }

  draw() {
    if (!this.pending) this.pending = requestAnimationFrame(() => { this.pending = 0; this.#paint(); });
  }

  #paint() {
    const { canvas, view } = this;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!width) return;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const style = getComputedStyle(canvas);
    const paint = (name) => style.getPropertyValue(name).trim();
    this.paint = { fg: paint("--fg"), muted: paint("--muted"), line: paint("--line"), soft: paint("--soft"), alert: paint("--alert"),
      colours: Array.from({ length: COLOURS }, (_, i) => paint(`--c${i}`)) };
    const c = canvas.getContext("2d");
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.#axis(c, width, height);
    this.lanes.forEach((lane, i) => this.#lane(c, lane, AXIS + i * this.pitch, width));
    const x = this.x(view.cursor);
    if (x >= this.gutter) {
      c.fillStyle = this.paint.alert;
      c.fillRect(x - 0.75, 0, 1.5, height);
    }
    canvas.setAttribute("aria-valuenow", String(Math.round(view.cursor)));
    canvas.setAttribute("aria-valuetext", this.hooks.spoken(this.run));
  }

  #axis(c, width, height) {
    const { from, to } = this.view;
    const rough = (to - from) / Math.max(2, (width - this.gutter) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    c.textAlign = "center";
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = this.x(at);
      c.fillStyle = this.paint.line;
      c.fillRect(x, AXIS - 5, 1, height);
      c.fillStyle = this.paint.muted;
      if (x > this.gutter + 18 && x < width - 22) c.fillText(short(clock(at, to - from)), x, 10);
    }
  }

  #lane(c, lane, y, width) {
    const { gutter, box, strip, paint } = this;
    c.textAlign = "right";
    c.fillStyle = paint.muted;
    if (this.pitch >= 12) c.fillText(fitted(c, lane.name, gutter - 10), gutter - 8, y + box / 2);
    c.fillStyle = paint.soft;
    c.fillRect(gutter, y, width - gutter, box);
    c.save();
    c.beginPath();
    c.rect(gutter, y - 1, width - gutter, box + strip + 2);
    c.clip();
    this.#boxes(c, lane, y, width);
    if (lane.overhead) this.#overhead(c, lane.overhead, y, width);
    if (strip && lane.depth) this.#depth(c, lane.depth, y + box + 1, width);
    c.restore();
  }

  /** Boxes narrower than a pixel are drawn as one. */
  #boxes(c, lane, y, width) {
    const { start_ns, end_ns, task, reason } = this.run.columns;
    const { view, box, paint, stays } = this;
    let done = -Infinity;
    c.textAlign = "left";
    for (let i = lane.first(view.from); i < lane.list.length; i++) {
      const stay = lane.list[i];
      if (start_ns[stay] > view.to) break;
      const left = Math.max(this.x(start_ns[stay]), this.gutter - 2);
      const right = Math.min(this.x(end_ns[stay]), width + 2);
      if (right < done + 0.5) continue;
      const shown = Math.max(right - left, 0.8);
      done = left + shown;
      const colour = this.groups.colour(stays.group(task[stay]));
      c.fillStyle = paint.colours[colour % COLOURS];
      if (reason[stay] === 0) {
        c.globalAlpha = 0.55;
        c.fillRect(left, y + box / 2 - 1, shown, 2);
        c.globalAlpha = 1;
        continue;
      }
      const gap = shown > 4 ? 0.8 : 0;
      c.fillRect(left, y, shown - gap, box);
      if (shown > 30 && box >= 13) {
        c.fillStyle = readable(paint.colours[colour % COLOURS]);
        c.fillText(fitted(c, this.kind === "cpu" ? stays.name(task[stay]) : `CPU ${this.run.columns.cpu[stay]}`, shown - 9), left + 4, y + box * (this.kind === "cpu" ? 0.3 : 0.5) + 0.5);
      }
    }
  }

  /** The kernel's own time, dark at the foot of the row; per pixel as tall as its share. */
  #overhead(c, list, y, width) {
    const { overhead_start_ns: starts, overhead_end_ns: ends } = this.run.columns;
    const { view, box, paint } = this;
    const shares = new Float32Array(Math.ceil(width) + 2);
    for (let i = firstAfter(list, ends, view.from); i < list.length; i++) {
      const span = list[i];
      if (starts[span] > view.to) break;
      const left = Math.max(this.x(starts[span]), 0);
      const right = Math.min(this.x(ends[span]), width);
      for (let x = Math.floor(left); x < right; x++) shares[x] += Math.min(right, x + 1) - Math.max(left, x);
    }
    const most = Math.max(3, Math.round(box * 0.45));
    c.fillStyle = paint.fg;
    shares.forEach((share, x) => {
      if (share > 0.02) c.fillRect(x, y + box - most * Math.min(share, 1), 1, most * Math.min(share, 1));
    });
  }

  /** How many tasks wait, as an area below the row; full height is the most of any row. */
  #depth(c, depth, y, width) {
    const { view, strip, paint } = this;
    const most = this.stays.deepest || 1;
    c.fillStyle = paint.muted;
    c.globalAlpha = 0.5;
    let i = Math.max(0, depth.at(view.from));
    for (let x = this.gutter; x < width; x += 1) {
      const until = this.time(x + 1);
      let peak = i < depth.times.length && depth.times[i] <= until ? depth.counts[i] : 0;
      while (i + 1 < depth.times.length && depth.times[i + 1] <= until) peak = Math.max(peak, depth.counts[++i]);
      const tall = (peak / most) * strip;
      if (tall > 0) c.fillRect(x, y, 1, Math.max(tall, 1));
    }
    c.globalAlpha = 1;
  }

  /** The stay at a point of the canvas; -1: none. */
  at(x, y) {
    const lane = this.lanes[Math.floor((y - AXIS) / this.pitch)];
    if (!lane || x < this.gutter) return -1;
    const { start_ns, end_ns } = this.run.columns;
    const near = (this.view.width / this.canvas.clientWidth) * 2;
    const time = this.time(x);
    for (let i = lane.first(time - near); i < lane.list.length && start_ns[lane.list[i]] <= time + near; i++) {
      if (end_ns[lane.list[i]] >= time - near) return lane.list[i];
    }
    return -1;
  }

  /** What a stay was, in words. */
  told(stay) {
    const { start_ns, end_ns, task, cpu, reason } = this.run.columns;
    const length = duration(end_ns[stay] - start_ns[stay]);
    const from = clock(start_ns[stay], this.view.width);
    const what = reason[stay] === 0 ? `waited on the run queue of CPU ${cpu[stay]}` : `ran on CPU ${cpu[stay]}`;
    const then = LEFT[reason[stay]] ?? "";
    const group = this.stays.group(task[stay]);
    return { name: this.stays.name(task[stay]), text: [`${what} for ${length}, from ${from}`, then, `group ${group}`].filter(Boolean).join("; ") };
  }

  #listen() {
    const { canvas, view, hooks } = this;
    const pointers = new Map();
    let moved = 0;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.onpointerdown = (event) => {
      pointers.set(event.pointerId, place(event));
      canvas.setPointerCapture(event.pointerId);
      moved = 0;
    };
    canvas.onpointermove = (event) => {
      const now = place(event);
      const before = pointers.get(event.pointerId);
      if (!before) return hooks.hover(this, this.at(now.x, now.y), event);
      const per = view.width / (canvas.clientWidth - this.gutter);
      if (pointers.size === 2) this.#pinch(pointers, event.pointerId, now);
      else if (Math.abs(now.x - before.x) > 0) {
        moved += Math.abs(now.x - before.x);
        if (moved > 3) view.pan((before.x - now.x) * per);
      }
      pointers.set(event.pointerId, now);
    };
    canvas.onpointerup = (event) => {
      pointers.delete(event.pointerId);
      if (moved <= 3) {
        const { x, y } = place(event);
        if (x >= this.gutter) hooks.point(this.time(x));
        if (event.pointerType === "touch") hooks.hover(this, this.at(x, y), event);
      }
    };
    canvas.onpointercancel = (event) => pointers.delete(event.pointerId);
    canvas.onpointerleave = (event) => hooks.hover(this, -1, event);
    canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) view.zoom(Math.exp(event.deltaY / 200), this.time(place(event).x));
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
        view.pan(((event.deltaX || event.deltaY) / canvas.clientWidth) * view.width);
      } else return;
      event.preventDefault();
    }, { passive: false });
    canvas.onkeydown = (event) => hooks.key(event);
  }

  #pinch(pointers, id, now) {
    const [a, b] = [...pointers].map(([key, at]) => ({ key, at }));
    const other = a.key === id ? b.at : a.at;
    const before = Math.abs(pointers.get(id).x - other.x);
    const after = Math.abs(now.x - other.x);
    if (before > 8 && after > 8) this.view.zoom(before / after, this.time((now.x + other.x) / 2));
  }
}

/** A number without zeros at the end of its fraction. */
function short(text) {
  return text.replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
}

/** As much of a text as fits. */
function fitted(c, text, width) {
  if (width < 8) return "";
  if (c.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && c.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return end > 1 ? `${text.slice(0, end)}…` : "";
}

/** Black or white, whichever can be read on a colour written as #rrggbb. */
function readable(colour) {
  const part = (i) => {
    const value = Number.parseInt(colour.slice(i, i + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  return light > 0.18 ? "#000000" : "#ffffff";
}
