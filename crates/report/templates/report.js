"use strict";
// Everything can be read without this script; it adds tabs, sorting, copying and hovering.
document.documentElement.classList.add("js");

function button(text, onclick) {
  const b = document.createElement("button");
  b.type = "button";
  b.textContent = text;
  b.onclick = onclick;
  return b;
}

function sortBy(table, column) {
  const head = table.tHead.rows[0].cells[column];
  const way = head.dataset.way === "down" ? "up" : "down";
  for (const cell of table.tHead.rows[0].cells) delete cell.dataset.way;
  head.dataset.way = way;
  const key = (row) => {
    const cell = row.cells[column];
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    if (cell.tagName === "TD" && cell.className !== "label") return -Infinity;
    return cell.textContent;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number"
    ? b - a : String(a).localeCompare(String(b), "en", { numeric: true });
  const sign = way === "down" ? 1 : -1;
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => sign * (compare(key(a), key(b)) || 0));
  table.tBodies[0].append(...rows);
}

/** Adds what the script adds, to a document or to a part of it. */
function enhance(root) {
  // Panels become tabs; choosing a scheduler or group in one place leaves the others alone.
  for (const panels of root.querySelectorAll(".panels")) {
    const all = [...panels.children];
    if (all.length < 2) continue;
    const tabs = document.createElement("div");
    tabs.className = "tabs";
    const label = document.createElement("span");
    label.textContent = panels.dataset.label;
    tabs.append(label);
    const show = (chosen) => all.forEach((panel, i) => {
      panel.hidden = panel !== chosen;
      tabs.children[i + 1].setAttribute("aria-pressed", String(panel === chosen));
    });
    for (const panel of all) tabs.append(button(panel.dataset.name, () => show(panel)));
    panels.prepend(tabs);
    show(all[0]);
  }

  for (const pre of root.querySelectorAll("pre.command")) {
    const text = pre.textContent;
    const copy = button("Copy", async () => {
      try {
        await navigator.clipboard.writeText(text);
        copy.textContent = "Copied";
      } catch {
        // Files may not write to the clipboard everywhere: select, so that Ctrl-C does.
        getSelection().selectAllChildren(pre.firstChild);
        copy.textContent = "Press Ctrl-C";
      }
      setTimeout(() => { copy.textContent = "Copy"; }, 2000);
    });
    pre.append(copy);
  }

  for (const table of root.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      cell.tabIndex = 0;
      cell.onclick = () => sortBy(table, column);
      cell.onkeydown = (event) => { if (event.key === "Enter") sortBy(table, column); };
    });
  }

  // Highlights all stays of the task under the pointer.
  for (const svg of root.querySelectorAll("svg.figure")) {
    const stays = svg.querySelectorAll("[data-key]");
    if (!stays.length) continue;
    svg.onmouseover = (event) => {
      const stay = event.target.closest("[data-key]");
      svg.classList.toggle("lit", Boolean(stay));
      for (const s of stays) s.classList.toggle("on", Boolean(stay) && s.dataset.key === stay.dataset.key);
    };
    svg.onmouseleave = () => svg.classList.remove("lit");
  }
}

enhance(document);
