// SPDX-License-Identifier: GPL-2.0-only
// The form that describes a set-up.

import { allSources } from "./compiler.js";
import { c, Editor } from "./editor.js";
import { element } from "./dom.js";

export class Form {
  constructor(form, catalogue, onChange) {
    this.catalogue = catalogue;
    this.onChange = onChange;
    this.policies = [...form.querySelectorAll(".policy-choice")].map((place, i) => new PolicyChoice(place, i, catalogue, onChange));
    const source = (name) => form.querySelector(`[data-source="${name}"]`);
    this.workload = new SourceChoice(source("workload"), "Workload", catalogue.workloads, onChange);
    this.machine = new SourceChoice(source("machine"), "Machine", catalogue.machines, onChange);
    this.seed = form.querySelector("#seed");
    this.duration = form.querySelector("#duration");
    for (const input of [this.seed, this.duration]) input.oninput = onChange;
  }

  get setUp() {
    return {
      policies: this.policies.map((policy) => policy.value),
      machine: this.machine.value,
      workload: this.workload.value,
      seed: Number.parseInt(this.seed.value, 10) || 0,
      duration: this.duration.value,
    };
  }

  set setUp(setUp) {
    setUp.policies.forEach((policy, i) => { this.policies[i].value = policy; });
    this.machine.value = setUp.machine;
    this.workload.value = setUp.workload;
    this.seed.value = setUp.seed;
    this.duration.value = setUp.duration;
  }

  /** Shows each mistake where it was made; those of no place are returned. */
  show(mistakes) {
    const of = (part, index = 0) => mistakes.find((mistake) => mistake.part === part && mistake.index === index) ?? null;
    this.policies.forEach((policy, i) => policy.mistake(of("policy", i), of("source", i)));
    this.machine.mistake(of("machine"));
    this.workload.mistake(of("workload"));
    mark(this.duration, document.querySelector("#duration-error"), of("duration"));
    return mistakes.filter((mistake) => mistake.part === "run");
  }
}

function mark(input, place, mistake) {
  place.hidden = !mistake;
  place.textContent = mistake?.message ?? "";
  if (mistake) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

function options(list) {
  return list.map(([value, text]) => element("option", { value, textContent: text ?? value }));
}

class PolicyChoice {
  constructor(place, index, catalogue, onChange) {
    const which = ["First", "Second"][index];
    this.catalogue = catalogue;
    this.name = element("select", { ariaLabel: `${which} scheduler` }, options(catalogue.policies.map((policy) => [policy.name])));
    this.variant = element("select", { ariaLabel: `Variant of the ${which.toLowerCase()} scheduler` });
    this.about = element("p", { className: "about" });
    this.settings = element("input", { className: "wide", placeholder: "name=value", spellcheck: false, ariaLabel: `Settings of the ${which.toLowerCase()} scheduler` });
    this.error = element("p", { className: "error", id: `policy-error-${index}`, hidden: true });
    this.settings.setAttribute("aria-describedby", this.error.id);
    this.tunables = element("dl");
    const list = element("div", { className: "tunables", tabIndex: 0, ariaLabel: "Settings there are", role: "group" }, [this.tunables]);
    this.details = element("details", {}, [element("summary", { textContent: "Settings" }), this.settings, list]);
    this.editor = new Editor(`Source of the ${which.toLowerCase()} scheduler`, () => { this.#compared(); onChange(); }, c);
    this.compiles = element("p", { className: "about" });
    this.reset = element("button", { type: "button", textContent: "Undo all changes", hidden: true });
    this.reset.onclick = () => { this.editor.text = this.shipped; this.#compared(); onChange(); };
    this.text = element("details", { className: "text" }, [element("summary", { textContent: "Source in C" }), this.compiles, this.editor.element, this.reset]);
    this.text.ontoggle = () => { if (this.text.open) this.#sourced(); };
    this.changed = "";
    place.append(element("div", { className: "fields" }, [this.name, this.variant]), this.about, this.details, this.text, this.error);
    this.name.onchange = () => { this.settings.value = ""; this.changed = ""; this.#named(); onChange(); };
    this.variant.onchange = onChange;
    this.settings.oninput = onChange;
    this.#named();
  }

  #named() {
    const policy = this.catalogue.policies.find((one) => one.name === this.name.value) ?? this.catalogue.policies[0];
    const variants = policy.variants.map(({ name }) => [name]);
    this.variant.replaceChildren(...options(variants.length ? variants : [["", "one version"]]));
    this.variant.disabled = variants.length < 2;
    this.about.textContent = policy.summary + (policy.knows_future ? " It knows the future: no real scheduler can be like it." : "");
    this.tunables.replaceChildren(...policy.tunables.flatMap(({ name, initial, doc }) => [
      element("dt", { textContent: `${name}=${initial.join(",")}` }),
      element("dd", { textContent: doc }),
    ]));
    this.details.hidden = policy.tunables.length === 0;
    if (this.text.open) this.#sourced();
  }

  /** Shows the text of the policy; it is fetched when somebody looks. */
  async #sourced() {
    const { files, compiler } = await allSources();
    this.shipped = files.policies[this.name.value]?.[`${this.name.value}.c`] ?? "";
    this.editor.text = this.changed || this.shipped;
    this.editor.area.readOnly = !compiler;
    this.compiles.textContent = compiler ? "A changed text is compiled in this page when you press Run." : "This copy of the site has no compiler (make site COMPILER=yes), so the text cannot be changed.";
    this.#compared();
  }

  #compared() {
    this.changed = this.editor.text === this.shipped ? "" : this.editor.text;
    this.reset.hidden = !this.changed;
  }

  get value() { return { name: this.name.value, variant: this.variant.value, settings: this.settings.value, source: this.changed }; }

  set value({ name, variant, settings, source }) {
    this.changed = source;
    if (source) this.text.open = true;
    this.name.value = name;
    this.#named();
    if (variant) this.variant.value = variant;
    this.settings.value = settings;
    this.details.open = Boolean(settings);
  }

  mistake(mistake, inSource) {
    mark(this.settings, this.error, mistake);
    if (mistake && this.settings.value) this.details.open = true;
    else this.settings.removeAttribute("aria-invalid");
    this.editor.mistake(inSource);
    if (inSource) this.text.open = true;
  }
}

/** A machine or a workload: one that comes with schedlab, with options, or its text, edited. */
class SourceChoice {
  constructor(place, label, list, onChange) {
    this.list = list;
    const id = label.toLowerCase();
    const names = options(list.map(({ name, title, summary }) => [name, `${name}: ${title ?? summary}`]));
    this.name = element("select", { ariaLabel: label }, names);
    this.options = element("input", { className: "wide", placeholder: "options, such as --rooms 5", spellcheck: false, ariaLabel: `Options of the ${id}` });
    this.about = element("p", { className: "about" });
    this.usage = element("pre", { className: "usage", tabIndex: 0, ariaLabel: "Options there are", role: "group" });
    this.error = element("p", { className: "error", id: `${id}-error`, hidden: true });
    this.options.setAttribute("aria-describedby", this.error.id);
    this.editor = new Editor(`${label} as TOML`, () => { this.#compared(); onChange(); });
    this.edited = element("p", { className: "about" });
    this.reset = element("button", { type: "button", textContent: "Undo all changes", hidden: true });
    this.help = element("details", {}, [element("summary", { textContent: "Options" }), this.usage]);
    this.details = element("details", { className: "text" }, [element("summary", { textContent: "Edit the text" }), this.editor.element, this.reset]);
    const heading = element("p", { className: "label", id: `${id}-label`, textContent: label });
    place.append(heading, element("div", { className: "fields" }, [this.name, this.options]), this.about, this.error, this.help, this.details);
    this.hasOptions = label === "Workload";
    this.options.hidden = !this.hasOptions;
    if (!this.hasOptions) this.name.parentElement.style.gridTemplateColumns = "minmax(0, 1fr)";
    this.name.onchange = () => { this.options.value = ""; this.#named(); onChange(); };
    this.options.oninput = onChange;
    this.reset.onclick = () => { this.#named(); onChange(); };
    this.#named();
  }

  get chosen() { return this.list.find((one) => one.name === this.name.value) ?? this.list[0]; }

  #named() {
    const { title, summary, cpus, text, help } = this.chosen;
    this.about.textContent = cpus ? `${title}; ${cpus === 1 ? "one CPU" : `${cpus} CPUs`}` : summary;
    this.usage.textContent = help ?? "";
    this.help.hidden = !help;
    this.details.hidden = !text;
    this.editor.text = text ?? "";
    this.#compared();
  }

  #compared() {
    const { text, own } = this.chosen;
    const differs = this.editor.text !== text;
    // A text that does not come with schedlab is always given with the set-up.
    this.isEdited = Boolean(text) && (own || differs);
    this.reset.hidden = !differs;
  }

  get value() {
    const words = [this.name.value, this.hasOptions ? this.options.value.trim() : ""];
    return { name: words.filter(Boolean).join(" "), text: this.isEdited ? this.editor.text : "" };
  }

  set value({ name, text }) {
    const [first, ...rest] = name.trim().split(/\s+/);
    if (!this.list.some((one) => one.name === first)) this.list.push({ name: first, title: "", summary: "", text: text || null, own: true });
    if (![...this.name.options].some((option) => option.value === first)) this.name.append(...options([[first]]));
    this.name.value = first;
    this.options.value = rest.join(" ");
    this.#named();
    this.details.open = Boolean(text);
    if (text) this.editor.text = text;
    this.#compared();
  }

  mistake(mistake) {
    const inText = mistake && mistake.line > 0;
    this.editor.mistake(inText ? mistake : null);
    if (inText) this.details.open = true;
    mark(this.options, this.error, inText ? null : mistake);
  }
}
