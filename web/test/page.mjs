// Opens a report in Chromium and fails on anything a reader would stumble over.
//   node page.mjs REPORT.html FOLDER-FOR-PICTURES [RUN.json]      ($CHROMIUM: the browser)
// With the record that the report was made of, what is said of each zoom must be what that says.
import { chromium } from "playwright-core";
import { findings } from "./axe.mjs";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";
import { readFileSync } from "node:fs";

const [report, pictures, record] = process.argv.slice(2);
const kind = /([^/]*)\.html$/.exec(report)[1];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu"],
});
const ways = [
  { name: "light", width: 1200, colorScheme: "light", scripts: true },
  { name: "dark", width: 1200, colorScheme: "dark", scripts: true },
  { name: "phone", width: 390, colorScheme: "light", scripts: true },
  { name: "no-scripts", width: 1200, colorScheme: "light", scripts: false },
];
let passed = 0;
let failed = 0;
const check = (way, what, good) => {
  if (good) passed += 1;
  else {
    failed += 1;
    console.log(`${way.name}: ${what}`);
  }
};

// What the cursor and the zoom say of a run over time is what the data in the page say.
async function zoomed(page, way) {
  const plot = page.locator("[id^=time-][id$=-rate]").first();
  if ((await plot.count()) === 0) return;
  const data = JSON.parse(await page.locator("#data").textContent()).time[0];
  const counts = (cell) => cell.reduce((sum, n, at) => sum + (at % 2 ? n : 0), 0);
  const all = data.cells.reduce((sum, cell) => sum + counts(cell), 0);
  const range = page.locator(`#${data.id}-range`);
  check(way, "the whole run is not counted", (await range.textContent()).includes(`: ${all} requests`));
  await plot.focus();
  await page.keyboard.press("Home");
  const told = await page.locator(`#${data.id}-readout`).textContent();
  const rate = Number(/: ([\d.]+) IOPS/.exec(told)?.[1]);
  const first = counts(data.cells[0]) / data.step_s;
  check(way, `hover says ${told}, the data ${first}`, Math.abs(rate - first) <= 0.01 * first);
  await page.keyboard.press("0");
  await page.keyboard.press("+");
  const seen = /^(\d+) s to (\d+) s: (\d+) requests/.exec(await range.textContent());
  const [from, to, n] = (seen ?? []).slice(1).map(Number);
  const part = data.cells.slice(from / data.step_s, to / data.step_s);
  const expected = part.reduce((sum, cell) => sum + counts(cell), 0);
  check(way, `zoom says ${seen?.[0]}, the data ${expected}`, n === expected && n < all);
  await page.keyboard.press("0");
  check(way, "the zoom has no way back", (await range.textContent()).includes(`: ${all} requests`));
}

// The middle of the bucket of a raw histogram, with its seconds in the record, that holds a quantile.
function rawQuantile(buckets, q) {
  const sums = new Map();
  for (const [low, count] of buckets.flat()) sums.set(low, (sums.get(low) ?? 0) + count);
  const lows = [...sums.keys()].sort((a, b) => a - b);
  const n = lows.reduce((sum, low) => sum + sums.get(low), 0);
  let passed = 0;
  const low = lows.find((low) => (passed += sums.get(low)) >= Math.ceil(n * q));
  return { n, ns: low + 2 ** Math.floor(Math.log2(low)) / 32 };
}

// Zooms in step by step: samples and quantiles are those of the raw histograms of these seconds.
async function raw(page, way) {
  const run = JSON.parse(readFileSync(record, "utf8")).total;
  const { interval_s, buckets_ns } = run.lat_series;
  const whole = rawQuantile(buckets_ns, 0.99);
  check(way, `${whole.n} of ${run.ios} samples`, whole.n === run.ios && whole.n >= 1e8);
  // The finer histogram of the whole run has the same quantile, within a bucket.
  check(way, `p99 ${whole.ns} ns, ${run.lat_ns.p99} in words`, Math.abs(whole.ns / run.lat_ns.p99 - 1) < 0.0625);
  const plot = page.locator("[id^=time-][id$=-rate]").first();
  const range = page.locator("[id^=time-][id$=-range]").first();
  await plot.focus();
  for (const key of ["0", "+", "+", "+", "0"]) {
    await page.keyboard.press(key);
    const told = await range.textContent();
    const [, from, to, n] = /^(\d+) s to (\d+) s: (\d+) requests/.exec(told).map(Number);
    const seen = buckets_ns.slice(from / interval_s, to / interval_s);
    check(way, `zoom says ${n} requests`, n === rawQuantile(seen, 0.5).n);
    for (const [name, q] of [["p50", 0.5], ["p99", 0.99]]) {
      const [, value, unit] = new RegExp(`${name} ([\\d.]+) (µs|ms|s)`).exec(told);
      const ns = Number(value) * { µs: 1e3, ms: 1e6, s: 1e9 }[unit];
      const expected = rawQuantile(seen, q).ns;
      // Three digits are shown; buckets are 6 % apart.
      check(way, `${told}: ${name} is ${expected} ns`, Math.abs(ns / expected - 1) < 0.006);
    }
  }
}

// What a button copies is the table before it, as Markdown.
async function copied(page, way) {
  const table = page.locator(".scroll:has(+ button.copy) table").first();
  if ((await table.count()) === 0) return;
  await page.locator("button.copy").first().click();
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).trimEnd().split("\n");
  const rows = table.locator("tr");
  check(way, `${lines.length} lines are copied`, lines.length === (await rows.count()) + 1);
  const columns = await rows.first().locator("th, td").count();
  const cells = (line) => line.split(/(?<!\\)\|/).length - 2;
  check(way, `copied: ${lines[2]}`, lines.every((line) => cells(line) === columns));
  check(way, `copied: ${lines[1]}`, /^\|( --- \|)+$/.test(lines[1]));
  const first = (await rows.nth(1).locator("th, td").first().innerText()).replace(/\s+/g, " ").trim();
  check(way, `copied: ${lines[2]}, not ${first}`, lines[2].startsWith(`| ${first.replaceAll("|", "\\|")}`));
}

// Data is what curves are drawn from, the pictures, and what stands in the cells of tables; all else
// is the page: scripts, style, markup.
const html = readFileSync(report, "utf8");
const bytes = (pattern) => [...html.matchAll(pattern)].reduce((sum, it) => sum + Buffer.byteLength(it[1]), 0);
const parts = { curves: /id="data">(.*?)<\/script>/gs, pictures: /(<svg.*?<\/svg>)/gs, cells: /<td[^>]*>([^<]+)/g };
const sizes = Object.entries(parts).map(([name, pattern]) => [name, bytes(pattern)]);
const own = Buffer.byteLength(html) - sizes.reduce((sum, [, size]) => sum + size, 0);
const said = sizes.map(([name, size]) => `${Math.round(size / 1000)} kB of ${name}`);
console.log(`${Math.round(own / 1000)} kB, and as data ${said.join(", ")}`);
check({ name: kind }, `the page has ${own} bytes without its data`, own <= 300_000);

for (const way of ways) {
  const context = await browser.newContext({
    viewport: { width: way.width, height: 900 },
    colorScheme: way.colorScheme,
    javaScriptEnabled: way.scripts,
    permissions: ["clipboard-read", "clipboard-write"],
    offline: true,
  });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) errors.push(`it asked for ${request.url()}`);
  });
  const begin = Date.now();
  await page.goto(pathToFileURL(resolve(report)).href);
  if (way.scripts && record) {
    await page.locator("canvas").nth((await page.locator(".plot").count()) - 1).waitFor();
    console.log(`${way.name}: opened and drawn in ${Date.now() - begin} ms`);
  }
  await page.waitForTimeout(300);
  check(way, errors.join("; "), errors.length === 0);
  check(way, "no title", (await page.locator("h1").count()) === 1);
  const text = await page.locator("body").innerText();
  check(way, "the answer is missing", (await page.locator(".answer .lead").count()) === 1);
  // A load may have the engine `null`.
  const odd = record ? /\b(NaN|undefined|Infinity)\b/ : /\b(NaN|undefined|Infinity|null)\b/;
  check(way, "not a number", !odd.test(text));
  const places = await page.locator(".plot").count();
  const pictures_drawn = await page.locator("canvas").count();
  check(way, `${pictures_drawn} of ${places} pictures`, !way.scripts || pictures_drawn === places);
  // Sizes are read by the browser itself, not by the page: they are known without scripts too.
  const box = await page.locator("html").boundingBox();
  check(way, `it is ${box.width} wide`, box.width <= way.width + 1);
  if (way.scripts) {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(way, `it scrolls sideways: ${wide}`, wide <= way.width);
    const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const shade = Number(/\d+/.exec(ground)?.[0] ?? 255);
    check(way, `the ground is ${ground}`, way.colorScheme === "dark" ? shade < 80 : shade > 200);
  }
  await page.screenshot({ path: `${pictures}/${kind}-${way.name}.png`, fullPage: true });
  if (way.scripts) {
    await page.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
    const hidden = await page.evaluate(() =>
      [...document.querySelectorAll(".scroll")]
        .filter((it) => it.scrollWidth > it.clientWidth + 1)
        .map((it) => `${it.getAttribute("aria-label") || it.textContent.slice(0, 40)}: ${it.scrollWidth} of ${it.clientWidth}`),
    );
    check(way, `columns are hidden: ${hidden.join("; ")}`, hidden.length === 0);
    for (const finding of await findings(page)) check(way, finding, false);
    await copied(page, way);
    await zoomed(page, way);
    if (record) await raw(page, way);
  }
  await context.close();
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
