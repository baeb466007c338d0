// SPDX-License-Identifier: GPL-2.0-only
// Elements, and numbers as texts.

/** An element with these properties and children. */
export function element(tag, properties = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "role") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/** A duration in ns with three digits and its unit. */
export function duration(ns) {
  const [divisor, unit] = ns < 1e3 ? [1, "ns"] : ns < 1e6 ? [1e3, "µs"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  const value = ns / divisor;
  const digits = unit === "ns" || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/** A point in time, as exact as what the window shows. */
export function clock(ns, window) {
  const [divisor, unit] = window < 2e6 ? [1e3, "µs"] : window < 2e9 ? [1e6, "ms"] : [1e9, "s"];
  const step = window / divisor / 500;
  const digits = Math.min(3, Math.max(0, Math.ceil(-Math.log10(step))));
  return `${(ns / divisor).toFixed(digits)} ${unit}`;
}

export function count(number) {
  return number.toLocaleString("en");
}
