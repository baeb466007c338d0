"use strict";
// Runs in the report under test.
const found = [];
for (const b of document.querySelectorAll(".tabs button")) b.click();
const table = [...document.querySelectorAll("#tasks table.sortable")].pop();
table.tHead.rows[0].cells[4].click();
const column = [...table.tBodies[0].rows].map((r) => Number(r.cells[4].dataset.sort));
found.push("sorted=" + column.every((x, i) => i === 0 || column[i - 1] >= x));
for (const p of document.querySelectorAll(".panel")) p.hidden = false;
let figures = 0, empty = 0;
for (const svg of document.querySelectorAll("svg.figure")) {
  const box = svg.getBBox();
  figures += 1;
  if (!(box.width > 50 && box.height > 20)) empty += 1;
}
const labels = [...document.querySelectorAll("th.label")].filter((l) => l.textContent.length > 4);
found.push("squeezed=" + labels.filter((l) => l.clientWidth < 40).length);
found.push("figures=" + figures, "empty=" + empty);
found.push("wide=" + (document.documentElement.scrollWidth > innerWidth));
found.push("fetched=" + performance.getEntriesByType("resource").filter((r) => !r.name.startsWith("data:")).length);
const pre = document.createElement("pre");
pre.id = "probe";
pre.textContent = found.join(" ");
document.body.append(pre);
