// SPDX-License-Identifier: GPL-2.0-only
// The page: form, runs, timelines, and the moment at the cursor.

import { count, duration, element } from "./dom.js";
import { Mistakes } from "./engine.js";
import { EXAMPLES } from "./examples.js";
import { Form } from "./form.js";
import { Laboratory } from "./laboratory.js";
import * as link from "./link.js";
import { Moments } from "./moments.js";
import { Player } from "./player.js";
import { Timeline, View } from "./timeline.js";

const find = (selector) => document.querySelector(selector);
const status = (text) => { find("#status").textContent = text; };

const laboratory = new Laboratory(showProgress, showNote);
let form;
let shown = null;

/** Groups of tasks, each with a colour, in order of first appearance in any run. */
class Groups {
  constructor(runs) {
    const names = runs.flatMap((run) => run.tasks.filter(Boolean).map(([, group]) => group));
    this.names = [...new Set(names)];
    this.numbers = new Map(this.names.map((name, i) => [name, i]));
  }

  colour(name) { return this.numbers.get(name) ?? 6; }
}

async function begin() {
  const catalogue = await laboratory.loaded;
  form = new Form(find("#set-up"), catalogue, changed);
  form.setUp = (await link.read(location.hash.slice(1))) ?? EXAMPLES[0].setUp;
  find("#examples").append(...EXAMPLES.map(({ title, setUp }) => element("li", {}, [
    element("button", { type: "button", textContent: title, onclick: () => { form.setUp = setUp; changed(); run(); } }),
  ])));
  find("#set-up").onsubmit = (event) => { event.preventDefault(); run(); };
  find("#stop").onclick = () => laboratory.stop();
  find("#share").onclick = share;
  addEventListener("hashchange", async () => {
    const setUp = await link.read(location.hash.slice(1));
    if (setUp && JSON.stringify(setUp) !== JSON.stringify(form.setUp)) {
      form.setUp = setUp;
      run();
    }
  });
  document.documentElement.dataset.ready = "true";
  navigator.serviceWorker?.register("offline.js").catch(() => {});
  if (location.hash) run();
}

let checking = 0;

/** The set-up has changed: is it right, and which address is it? */
function changed() {
  clearTimeout(checking);
  const mine = (checking = setTimeout(async () => {
    const { setUp } = form;
    history.replaceState(null, "", `#${await link.written(setUp)}`);
    const mistakes = await laboratory.check(setUp).then(() => [], (error) => error.list ?? []);
    // A later change or a run has its own answer.
    if (mine === checking) showMistakes(mistakes);
  }, 250));
}

function showMistakes(mistakes) {
  const general = form.show(mistakes);
  const place = find("#run-error");
  place.hidden = general.length === 0;
  place.textContent = general.map(({ message }) => message).join("\n");
}

async function share() {
  const address = new URL(location.href);
  address.hash = await link.written(form.setUp);
  history.replaceState(null, "", address);
  const button = find("#share");
  try {
    await navigator.clipboard.writeText(address.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "It is in the address bar";
  }
  status("The link to this set-up is in the clipboard or in the address bar.");
  setTimeout(() => { button.textContent = "Copy link"; }, 2000);
}

function busy(yes) {
  find("#go").disabled = yes;
  find("#stop").hidden = !yes;
  find("#progress").hidden = !yes;
  find("#progress").value = 0;
  if (!yes) showNote("");
}

function showNote(text) {
  find("#note").hidden = !text;
  find("#note").textContent = text;
}

function showProgress({ part, now, end }) {
  showNote("");
  const share = Number.isFinite(end) && end < 1e17 ? Math.min(now / end, 1) : 0.5;
  find("#progress").value = (part + share) / 2;
}

async function run() {
  if (find("#go").disabled) return;
  busy(true);
  clearTimeout(checking);
  checking = 0;
  showMistakes([]);
  status("The simulation runs.");
  const began = performance.now();
  const { setUp } = form;
  try {
    history.replaceState(null, "", `#${await link.written(setUp)}`);
    const { runs, html } = await laboratory.run(setUp);
    show(runs, html, setUp);
    document.documentElement.dataset.ran = String(Math.round(performance.now() - began));
    status(`Done: ${runs.map((one) => `${one.label}, trace ${one.hash}`).join("; ")}`);
  } catch (error) {
    if (!(error instanceof Mistakes)) throw error;
    showMistakes(error.list);
    status(error.message);
    document.documentElement.dataset.ran = "failed";
  } finally {
    busy(false);
  }
}

function show(runs, html, setUp) {
  shown?.player.stop();
  find("#results").hidden = false;
  find("#runs").replaceChildren(...runs.map((one, i) => card(one, i, setUp)));
  const groups = new Groups(runs);
  const view = new View(Math.max(...runs.map((one) => one.kept_until_ns)));
  const moments = new Moments(find("#moments"), laboratory, runs);
  const player = new Player(view, runs, moments, {
    play: find("#play"), back: find("#back"), forward: find("#forward"), clock: find("#clock"),
  });
  const hooks = { hover, point: (time) => player.point(time), key: (event) => player.key(event), spoken: (one) => moments.spoken(one) };
  const timelines = runs.map((one, i) => new Timeline(one, i, view, groups, hooks));
  find("#timelines").replaceChildren(...timelines.map((timeline) => timeline.element));
  find("#legend").replaceChildren(...groups.names.slice(0, 24).map((name, i) => element("li", {}, [element("i", { className: `swatch c${i % 8}` }), name])));
  find("#zoom-in").onclick = () => view.zoom(0.5, view.cursor);
  find("#zoom-out").onclick = () => view.zoom(2, view.cursor);
  find("#whole").onclick = () => view.show(0, view.end);
  const rows = find("#rows");
  rows.onchange = () => timelines.forEach((timeline) => { timeline.rows = rows.value; });
  rows.onchange();
  find("#report").innerHTML = html;
  window.enhance?.(find("#report"));
  shown = { player, view, timelines };
  matchMedia("(prefers-color-scheme: dark)").onchange = () => view.changed();
  view.show(0, Math.min(view.end, beginning(runs)));
  player.point(0);
  find("#results-label").focus({ preventScroll: true });
  find("#results").scrollIntoView({ block: "start" });
}

/** A first window in which single boxes can be seen. */
function beginning(runs) {
  const BOXES = 160;
  const ends = runs.map(({ columns, nr_cpus }) => columns.end_ns[Math.min(BOXES * nr_cpus, columns.end_ns.length - 1)] ?? 1);
  return Math.max(...ends);
}

function card(run, index, setUp) {
  const row = (name, value, kind = "") => [element("dt", { textContent: name }), element("dd", { textContent: value, className: kind })];
  // Of a run that is over at once a rate says nothing.
  const rate = run.ms > 100 ? `, ${count(Math.round(run.events / (run.ms / 1000)))} a second` : "";
  const made = element("section", { className: `run c${index}`, ariaLabel: run.label }, [
    element("h3", { textContent: run.label }),
    element("div", { className: "figures" }, headlines(run).map(figure)),
    element("dl", {}, [
      ...row("Trace", run.hash, "hash"),
      ...row("Simulated", `${duration(run.duration_ns)} (${run.end})`),
      ...row("Events", `${count(run.events)}${rate}`),
    ]),
    ...run.warnings.map((text) => element("p", { className: "warning", textContent: text })),
    element("pre", { className: "command" }, [element("code", { textContent: run.command })]),
  ]);
  const edited = ["workload", "machine"].map((part) => setUp[part]).filter(({ text }) => text);
  const { name, source } = setUp.policies[index];
  made.append(...edited.map((part) => download(`${part.name.split(/\s+/)[0]}.toml`, part.text)));
  if (source) made.append(download(`${name}.c`, source));
  return made;
}

/** The first headline, which is the workload's own if it counts something, and two that explain it. */
function headlines({ headlines: all }) {
  const explaining = ["wakeup_latency_p99_ns", "scheduler_share"];
  const others = explaining.map((id) => all.find((one) => one.headline.id === id));
  return [...new Set([all[0], ...others])].filter(Boolean);
}

function figure({ headline, value }) {
  const units = { ns: () => duration(value), "1/s": () => `${count(Math.round(value))} /s`, share: () => `${(value * 100).toFixed(1)} %`, 1: () => count(value) };
  return element("p", { className: "big" }, [units[headline.unit](), element("small", { textContent: headline.label })]);
}

/** An edited text, as the file that the command names. */
function download(file, text) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  return element("p", { className: "note" }, [element("a", { href, download: file, textContent: `Save ${file}` })]);
}

function hover(timeline, stay, event) {
  const tip = find("#tip");
  tip.hidden = stay < 0;
  if (stay < 0) return;
  const { name, text } = timeline.told(stay);
  tip.replaceChildren(element("strong", { textContent: name }), text);
  const { offsetWidth, offsetHeight } = tip;
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - offsetWidth - 8))}px`;
  tip.style.top = `${event.clientY + 18 + offsetHeight > innerHeight ? event.clientY - offsetHeight - 12 : event.clientY + 18}px`;
}

begin().catch((error) => {
  find("#run-error").hidden = false;
  find("#run-error").textContent = `The engine could not be loaded: ${error.message}`;
});

