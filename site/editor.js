// SPDX-License-Identifier: GPL-2.0-only
// A text area for TOML or C with numbered lines, colours, and mistakes under their lines.

const LINE = 20;
const PADDING = 10;

export class Editor {
  constructor(label, onInput, colour = toml) {
    this.colour = colour;
    this.element = make("div", "editor");
    this.numbers = make("div", "numbers");
    this.numbers.setAttribute("aria-hidden", "true");
    this.shown = make("pre");
    this.shown.setAttribute("aria-hidden", "true");
    this.area = make("textarea");
    Object.assign(this.area, { spellcheck: false, autocapitalize: "off", wrap: "off" });
    this.area.setAttribute("aria-label", label);
    this.sheet = make("div", "sheet");
    this.sheet.append(this.shown, this.area);
    this.element.append(this.numbers, this.sheet);
    this.area.oninput = () => { this.#draw(); onInput(); };
  }

  get text() { return this.area.value; }

  set text(text) {
    this.area.value = text;
    this.mistake(null);
    this.#draw();
  }

  /** Marks a line and says under it what is wrong; null: nothing is. */
  mistake(mistake) {
    this.sheet.querySelectorAll(".wrong, .mistake").forEach((mark) => mark.remove());
    this.area.toggleAttribute("aria-invalid", Boolean(mistake));
    if (mistake) this.area.setAttribute("aria-invalid", "true");
    if (!mistake) return;
    const line = Math.max(mistake.line, 1);
    const wrong = make("div", "wrong");
    wrong.style.top = `${PADDING + (line - 1) * LINE}px`;
    const said = make("div", "mistake");
    said.style.top = `${PADDING + line * LINE + 2}px`;
    said.textContent = mistake.message;
    said.setAttribute("role", "status");
    this.sheet.append(wrong, said);
    // Shown without moving the page.
    const top = (line - 4) * LINE;
    if (this.element.scrollTop > top || this.element.scrollTop + this.element.clientHeight < top + 8 * LINE) this.element.scrollTop = Math.max(0, top);
  }

  #draw() {
    const lines = this.area.value.split("\n");
    this.numbers.textContent = lines.map((_, i) => i + 1).join("\n");
    this.shown.replaceChildren(...lines.flatMap((line) => [...this.colour(line), "\n"]));
  }
}

/** The colours of a line of C; comments of several lines are known by the kernel's style. */
export function c(line) {
  if (/^\s*(\/\*|\*|\*\/)/.test(line)) return [span("comment", line)];
  if (/^\s*#/.test(line)) return [span("table", line)];
  const comment = line.search(/\/[*/]/);
  if (comment >= 0) return [...strings(line.slice(0, comment)), span("comment", line.slice(comment))];
  return strings(line);
}

function toml(line) {
  if (/^\s*\[/.test(line)) return [span("table", line)];
  const comment = line.search(/(^|\s)#/);
  if (comment >= 0) return [...strings(line.slice(0, comment)), span("comment", line.slice(comment))];
  return strings(line);
}

function strings(text) {
  const parts = text.split(/("(?:[^"\\]|\\.)*")/);
  return parts.filter(Boolean).map((part) => (part.startsWith('"') && part.length > 1 ? span("string", part) : part));
}

function span(kind, text) {
  const element = make("span", kind);
  element.textContent = text;
  return element;
}

function make(tag, kind = "") {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  return element;
}
