// Opens a report in Chromium and fails on anything a reader would stumble over.
//   node page.mjs REPORT.html FOLDER-FOR-PICTURES      ($CHROMIUM: the browser)
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const [report, pictures] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu"],
});
const ways = [
  { name: "light", width: 1200, colorScheme: "light", scripts: true },
  { name: "dark", width: 1200, colorScheme: "dark", scripts: true },
  { name: "phone", width: 400, colorScheme: "light", scripts: true },
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
  check(way, "the answer is missing", /\b(Yes|No|Nothing)\b/.test(text));
  check(way, "not a number", !/\b(NaN|undefined|Infinity|null)\b/.test(text));
  const pictures_drawn = await page.locator("canvas").count();
  check(way, "no pictures", way.scripts ? pictures_drawn > 3 : true);
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
  await page.screenshot({ path: `${pictures}/${way.name}.png`, fullPage: true });
  await context.close();
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
