// SPDX-License-Identifier: GPL-2.0-only
// Tests of the site in a headless browser; "make site-test" builds it and runs them.
//
//   node out/site-test/site.mjs [FOLDER]      FOLDER: the site (default: out/site)
//
// CHROMIUM names the browser; with FIREFOX the tests that compare hashes are run in that one, too. Screenshots are written to out/screenshots. Figures are printed: size, times, events a second.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const root = path.resolve(process.argv[2] ?? "out/site");
const shots = path.resolve("out/screenshots");
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const MOST_BYTES = 3_000_000;
const MOST_FIRST_RUN_MS = 2000;
const LEAST_EVENTS_A_SECOND = 1_000_000;

const TYPES = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".json": "application/json", ".png": "image/png", ".svg": "image/svg+xml", ".wasm": "application/wasm" };

/** The site on a free port of the loopback address. */
function serve() {
  const server = http.createServer((request, response) => {
    const file = path.join(root, decodeURIComponent(new URL(request.url, "http://x").pathname).replace(/\/$/, "/index.html"));
    fs.readFile(file, (error, bytes) => {
      response.writeHead(error ? 404 : 200, { "content-type": TYPES[path.extname(file)] ?? "text/plain" });
      response.end(bytes);
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const tests = [];
const test = (name, run, inFirefox = false) => tests.push({ name, run, inFirefox });

/** The runs of tests/golden, by workload: what it is called with, and for how long. */
const GOLDEN = {
  volanomark: ["volanomark --rooms 1 --count 10", "10s"],
  hackbench: ["hackbench --groups 1", "1s"],
  "kernel-build": ["kernel-build", "1s"],
  late: ["late", "1s"],
  "massive-intr": ["massive-intr", "500ms"],
  mixed: ["mixed", "1s"],
  "closed-loop-server": ["closed-loop-server", "500ms"],
  "rt-over-normal": ["rt-over-normal", "1s"],
};

function goldenRuns() {
  const lines = fs.readFileSync("tests/golden/hashes.txt", "utf8").trim().split("\n");
  return lines.map((line) => {
    const [, hash, workload, machine, name, variant, seed] = line.match(/^(\S+) {2}(\S+) on (\S+), (\S+) ?(\S*), seed (\d+)$/);
    const [text, duration] = GOLDEN[workload];
    const source = (words) => ({ name: words, text: "" });
    const setUp = { policies: [{ name, variant, settings: "" }], machine: source(machine), workload: source(text), seed: Number(seed), duration };
    return { line, hash, setUp };
  });
}

async function opened(page, address) {
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("requestfailed", (request) => problems.push(`${request.url()}: failed`));
  await page.goto(address);
  await page.waitForFunction(() => document.documentElement.dataset.ready);
  return problems;
}

async function run(page) {
  await page.evaluate(() => delete document.documentElement.dataset.ran);
  // By the document: the page may still scroll smoothly.
  await page.evaluate(() => document.querySelector("#go").click());
  await page.waitForFunction(() => document.documentElement.dataset.ran, { timeout: 120_000 });
  return page.evaluate(() => ({ ms: Number(document.documentElement.dataset.ran), hashes: [...document.querySelectorAll(".run .hash")].map((place) => place.textContent) }));
}

async function violations(page) {
  await page.addScriptTag({ path: axe });
  const found = await page.evaluate(() => window.axe.run(document));
  return found.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.target.join(" ")).slice(0, 3).join(", ")}`);
}

test("the page is small", () => {
  const needed = fs.readdirSync(root).filter((name) => !fs.statSync(path.join(root, name)).isDirectory()).map((name) => path.join(root, name));
  const policies = fs.readdirSync(path.join(root, "policies")).filter((name) => name.endsWith(".wasm") || name === "names.json").map((name) => path.join(root, "policies", name));
  const bytes = [...needed, ...policies].reduce((sum, file) => sum + fs.statSync(file).size, 0);
  console.log(`  ${bytes} bytes`);
  assert.ok(bytes < MOST_BYTES);
});

test("every golden hash stands in the page", async ({ browser, address }) => {
  const page = await browser.newPage();
  await opened(page, `${address}index.html`);
  const runs = goldenRuns();
  const done = await page.evaluate(async (setUps) => {
    const { Laboratory } = await import("./laboratory.js");
    const laboratory = new Laboratory(() => {});
    await laboratory.loaded;
    const results = [];
    for (const setUp of setUps) {
      const { runs: [one] } = await laboratory.run(setUp);
      results.push({ hash: one.hash, events: one.events, ms: one.ms });
    }
    return results;
  }, runs.map(({ setUp }) => setUp));
  const wrong = runs.filter(({ hash }, i) => done[i].hash !== hash).map(({ line }, i) => `${line}: ${done[i].hash}`);
  assert.deepEqual(wrong, []);
  const sum = (name) => done.reduce((total, one) => total + one[name], 0);
  const rate = Math.round(sum("events") / (sum("ms") / 1000));
  console.log(`  ${done.length} hashes; ${sum("events")} events, ${rate} a second`);
  if (rate < LEAST_EVENTS_A_SECOND) console.log(`  SLOW: less than ${LEAST_EVENTS_A_SECOND} events a second`);
  await page.close();
}, true);

test("the command of a run gives its hash in the terminal", async ({ browser, address }) => {
  const schedlab = process.env.SCHEDLAB;
  if (!schedlab) return console.log("  skipped: SCHEDLAB names no program");
  const page = await browser.newPage();
  await opened(page, `${address}index.html`);
  const { hashes } = await run(page);
  const commands = await page.evaluate(() => [...document.querySelectorAll(".run pre.command code")].map((place) => place.textContent));
  commands.forEach((command, i) => {
    const printed = execFileSync("sh", ["-c", command.replace(/^schedlab/, `"${schedlab}"`)], { encoding: "utf8" });
    assert.match(printed, new RegExp(hashes[i]));
  });
  await page.close();
});

test("the first run is quick, and nothing goes wrong", async ({ browser, address }) => {
  const page = await browser.newPage();
  const problems = await opened(page, `${address}index.html`);
  const { ms, hashes } = await run(page);
  console.log(`  first run: ${ms} ms`);
  if (ms > MOST_FIRST_RUN_MS) console.log(`  SLOW: more than ${MOST_FIRST_RUN_MS} ms`);
  assert.equal(hashes.length, 2);
  assert.deepEqual(problems, []);
  await page.close();
}, true);

test("every example runs, and its schedulers differ", async ({ browser, address }) => {
  const page = await browser.newPage();
  const problems = await opened(page, `${address}index.html`);
  const number = await page.$$eval("#examples button", (buttons) => buttons.length);
  assert.ok(number > 3);
  for (let i = 0; i < number; i++) {
    await page.evaluate((which) => {
      delete document.documentElement.dataset.ran;
      document.querySelectorAll("#examples button")[which].click();
    }, i);
    await page.waitForFunction(() => document.documentElement.dataset.ran, { timeout: 60_000 });
    const [ran, hashes] = await page.evaluate(() => [document.documentElement.dataset.ran, [...document.querySelectorAll(".run .hash")].map((place) => place.textContent)]);
    assert.notEqual(ran, "failed", `example ${i}`);
    assert.notEqual(hashes[0], hashes[1], `example ${i}`);
  }
  assert.deepEqual(problems, []);
  await page.close();
});

test("a run can be stopped, and the next one runs", async ({ browser, address }) => {
  const page = await browser.newPage();
  await opened(page, `${address}index.html`);
  await page.evaluate(() => {
    document.querySelector("#duration").value = "10h";
    delete document.documentElement.dataset.ran;
    document.querySelector('[data-source="workload"] select').value = "hogs";
    document.querySelector('[data-source="workload"] select').onchange();
    document.querySelector("#go").click();
  });
  await page.waitForFunction(() => document.querySelector("#progress").value > 0);
  await page.evaluate(() => document.querySelector("#stop").click());
  await page.waitForFunction(() => document.documentElement.dataset.ran === "failed");
  assert.equal(await page.$eval("#run-error", (place) => place.textContent), "stopped");
  await page.evaluate(() => { document.querySelector("#duration").value = "1s"; });
  const { hashes } = await run(page);
  assert.equal(hashes.length, 2);
  await page.close();
});

test("a link holds the whole set-up", async ({ browser, address }) => {
  const page = await browser.newPage();
  await opened(page, `${address}index.html`);
  await page.evaluate(() => [...document.querySelectorAll("#examples button")].find((button) => button.textContent.includes("desktop")).click());
  await page.waitForFunction(() => document.documentElement.dataset.ran, { timeout: 60_000 });
  await page.evaluate(() => {
    const area = document.querySelector('[data-source="workload"] textarea');
    area.value = area.value.replace('title = "', 'title = "changed: ');
    area.dispatchEvent(new Event("input"));
  });
  await page.waitForFunction((before) => location.hash.length !== before, {}, await page.evaluate(() => location.hash.length));
  const { hashes } = await run(page);
  const other = await browser.newPage();
  await opened(other, page.url());
  await other.waitForFunction(() => document.documentElement.dataset.ran, { timeout: 60_000 });
  const again = await other.evaluate(() => [...document.querySelectorAll(".run .hash")].map((place) => place.textContent));
  assert.deepEqual(again, hashes);
  const text = await other.evaluate(() => document.querySelector('[data-source="workload"] textarea').value);
  assert.match(text, /title = "changed: /);
  await page.close();
  await other.close();
});

test("it works without a network on the second visit", async ({ browser, address }) => {
  const page = await browser.newPage();
  await opened(page, `${address}index.html`);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
  // The worker of the page sees what this visit fetches.
  await opened(page, `${address}index.html`);
  const { hashes } = await run(page);
  await new Promise((resolve) => server.close(resolve) && server.closeAllConnections());
  try {
    await opened(page, `${address}index.html`);
    assert.deepEqual((await run(page)).hashes, hashes);
  } finally {
    await new Promise((resolve) => server.listen(Number(new URL(address).port), "127.0.0.1", resolve));
  }
  await page.close();
});

test("a mistake is shown under its line", async ({ browser, address }) => {
  const page = await browser.newPage();
  await opened(page, `${address}index.html`);
  await page.select('[data-source="workload"] select', "hogs");
  await page.evaluate(() => {
    const area = document.querySelector('[data-source="workload"] textarea');
    area.value = 'duration = "1s"\n[task.hog]\nprogramme = "run 1ms"\n';
    area.dispatchEvent(new Event("input"));
  });
  await page.waitForSelector('[data-source="workload"] .editor .mistake');
  const said = await page.$eval('[data-source="workload"] .editor .mistake', (place) => place.textContent);
  assert.match(said, /^hogs\.toml:3: /);
  assert.match(said, /program/);
  await run(page);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.ran), "failed");
  await page.close();
});

test("a policy is edited and compiled in the page", async ({ browser, address }) => {
  if (!fs.existsSync(path.join(root, "compiler"))) return console.log("  skipped: this site has no compiler (make site COMPILER=yes)");
  const page = await browser.newPage();
  await opened(page, `${address}index.html`);
  await page.evaluate(() => [...document.querySelectorAll("#examples button")].find((button) => button.textContent.includes("Rounds")).click());
  await page.waitForFunction(() => document.documentElement.dataset.ran, { timeout: 60_000 });
  const edit = async (from, to) => {
    await page.evaluate(() => { document.querySelector(".policy-choice.first details.text").open = true; });
    await page.waitForFunction(() => document.querySelector(".policy-choice.first textarea").value.includes("POLICY(rr"));
    await page.evaluate((before, after) => {
      const area = document.querySelector(".policy-choice.first textarea");
      if (!area.value.includes(before)) throw new Error(`no "${before}" in the source`);
      area.value = area.value.replaceAll(before, after);
      area.dispatchEvent(new Event("input"));
    }, from, to);
  };
  const label = () => page.$eval(".run h3", (place) => place.textContent);
  const before = await page.$eval(".run .hash", (place) => place.textContent);
  await edit("POLICY(rr", "/* changed, not in what it does */\nPOLICY(rr");
  const began = Date.now();
  const same = await run(page);
  console.log(`  compiled and run in ${Date.now() - began} ms`);
  assert.equal(await label(), "rr.c");
  assert.equal(same.hashes[0], before, "the page's compiler and the site's give different policies");
  await edit("/* changed", "oops /* changed");
  await run(page);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.ran), "failed");
  assert.ok(await page.$(".policy-choice.first .editor .mistake"), "no message under a line of the source");
  await page.close();
});

test("the keyboard goes from event to event", async ({ browser, address }) => {
  const page = await browser.newPage();
  await opened(page, `${address}index.html`);
  await run(page);
  await page.focus(".timeline canvas");
  const heard = new Set();
  for (let i = 0; i < 5; i++) {
    await page.keyboard.press("ArrowRight");
    await new Promise((resolve) => setTimeout(resolve, 400));
    heard.add(await page.$eval(".moments", (place) => place.textContent));
  }
  assert.ok(heard.size >= 4, `${heard.size} different moments`);
  await page.close();
});

for (const [width, height] of [[1280, 900], [390, 844]]) {
  for (const scheme of ["light", "dark"]) {
    test(`it is accessible and fits: ${width} pixels, ${scheme}`, async ({ browser, address }) => {
      const page = await browser.newPage();
      await page.setViewport({ width, height, isMobile: width < 500, hasTouch: width < 500 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await opened(page, `${address}index.html`);
      await run(page);
      fs.mkdirSync(shots, { recursive: true });
      await new Promise((resolve) => setTimeout(resolve, 500));
      await page.screenshot({ path: path.join(shots, `playground-${width}-${scheme}.png`) });
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
      await page.waitForFunction(() => document.querySelector(".policy-choice textarea").value.length > 0);
      assert.deepEqual(await violations(page), []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
      for (const other of ["docs/index.html", "policies/o1.html"]) {
        await page.goto(address + other);
        assert.deepEqual(await violations(page), [], other);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${other} scrolls sideways`);
      }
      await page.close();
    });
  }
}

test("no link within the site is broken", () => {
  const pages = fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".html"));
  const broken = [];
  for (const name of pages) {
    const text = fs.readFileSync(path.join(root, name), "utf8");
    for (const [, to] of text.matchAll(/(?:href|src)="([^"#?]+)[^"]*"/g)) {
      if (/^[a-z]+:/.test(to)) continue;
      if (!fs.existsSync(path.join(root, path.dirname(name), to))) broken.push(`${name}: ${to}`);
    }
  }
  assert.deepEqual(broken, []);
});

const server = await serve();
const address = `http://127.0.0.1:${server.address().port}/`;
let passed = 0;
let failed = 0;

async function all(browser, chosen) {
  for (const { name, run: body } of chosen) {
    console.log(name);
    try {
      await body({ browser, address });
      passed += 1;
    } catch (error) {
      failed += 1;
      console.log(`  FAILED: ${error.message}`);
    }
  }
  await browser.close();
}

const { CHROMIUM = "/usr/bin/chromium", FIREFOX } = process.env;
await all(await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] }), tests);
if (FIREFOX) {
  console.log("In Firefox:");
  await all(await puppeteer.launch({ browser: "firefox", executablePath: FIREFOX }), tests.filter(({ inFirefox }) => inFirefox));
}
server.close();
console.log(`${passed} of ${passed + failed} passed`);
process.exitCode = failed ? 1 : 0;
