// Opens a report in Chromium and fails on anything a reader would stumble over.
//   node page.mjs REPORT.html FOLDER-FOR-PICTURES      ($CHROMIUM: the browser)
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const [report, pictures] = process.argv.slice(2);
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

for (const way of ways) {
  const context = await browser.newContext({
    viewport: { width: way.width, height: 900 },
    colorScheme: way.colorScheme,
    javaScriptEnabled: way.scripts,
    offline: true,
  });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) errors.push(`it asked for ${request.url()}`);
  });
  await page.goto(pathToFileURL(resolve(report)).href);
  await page.waitForTimeout(300);
  check(way, errors.join("; "), errors.length === 0);
  check(way, "no title", (await page.locator("h1").count()) === 1);
  const text = await page.locator("body").innerText();
  check(way, "the answer is missing", (await page.locator(".answer .lead").count()) === 1);
  check(way, "not a number", !/\b(NaN|undefined|Infinity|null)\b/.test(text));
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
    await zoomed(page, way);
  }
  await context.close();
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
