// Uses the viewer in Chromium as a user would and fails on anything a user would stumble over.
//   node view.mjs http://127.0.0.1:PORT/ FOLDER-FOR-PICTURES      ($CHROMIUM: the browser)
import { chromium } from "playwright-core";
import { findings } from "./axe.mjs";

const [address, pictures] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu"],
});
const ways = [
  { name: "light", width: 1200, colorScheme: "light" },
  { name: "dark", width: 1200, colorScheme: "dark" },
  { name: "phone", width: 390, colorScheme: "light" },
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

// What holds for every page.
async function looked(page, way, name) {
  // Of a page that changes by itself a request never ends.
  await page.waitForLoadState(name === "running" ? "load" : "networkidle");
  const title = await page.title();
  check(way, `${name}: a script of a label ran`, title !== "hacked");
  check(way, `${name}: ${await page.locator("h1").count()} titles`, (await page.locator("h1").count()) === 1);
  check(way, `${name}: no line of links`, (await page.locator("nav a").count()) === 7);
  const text = await page.locator("body").innerText();
  check(way, `${name}: not a number`, !/\b(NaN|undefined|Infinity|null)\b/.test(text));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check(way, `${name}: it scrolls sideways: ${wide}`, wide <= way.width);
  const drawn = await page.locator("canvas").count();
  const places = await page.locator(".plot").count();
  check(way, `${name}: ${drawn} of ${places} pictures`, drawn === places);
  const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const shade = Number(/\d+/.exec(ground)?.[0] ?? 255);
  check(way, `${name}: the ground is ${ground}`, way.colorScheme === "dark" ? shade < 80 : shade > 200);
  for (const finding of await findings(page)) check(way, `${name}: ${finding}`, false);
  await page.screenshot({ path: `${pictures}/view-${name}-${way.name}.png`, fullPage: true });
}

async function used(page, way) {
  await page.goto(address);
  await looked(page, way, "list");
  const rows = await page.locator(".runs tbody tr").count();
  check(way, `${rows} of 65 runs`, rows === 65);

  // Filter by label, with the keyboard alone.
  await page.locator(".filter summary").focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Label or tag").focus();
  await page.keyboard.type("ahci");
  await page.keyboard.press("Enter");
  await page.waitForURL(/label=ahci/);
  check(way, "the filter is not kept", (await page.getByLabel("Label or tag").inputValue()) === "ahci");
  check(way, "the filter does not narrow", (await page.locator(".runs tbody tr").count()) === 6);
  await looked(page, way, "filtered");

  // Choose all runs of two labels: the verdict is that of the two arms.
  await page.goto(address);
  for (const label of ["ide", "ahci"]) {
    const row = page.locator(".runs tbody tr", { has: page.getByText(label, { exact: true }) });
    for (const box of await row.getByRole("checkbox").all()) {
      await box.focus();
      await page.keyboard.press("Space");
    }
  }
  check(way, "not all are chosen", (await page.locator(".runs :checked").count()) === 12);
  await page.getByRole("button", { name: "Compare the chosen runs" }).click();
  await page.waitForURL(/compare\?run=/);
  const verdict = await page.locator(".answer .lead").innerText();
  check(way, `the verdict is ${verdict}`, /^Faster/.test(verdict) && verdict.includes("ahci"));
  await looked(page, way, "comparison");
  await page.getByLabel("Metric that decides").selectOption({ label: "mean latency" });
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.waitForURL(/primary=lat_mean_ns/);
  check(way, "no verdict about latency", /latency/.test(await page.locator(".answer .lead").innerText()));

  // One run, and the way back.
  await page.goto(address);
  await page.locator('.runs a[href^="/run/"]').nth(42).click();
  await looked(page, way, "run");

  // The history of a metric, and its hint.
  await page.goto(`${address}?label=nightly&metric=iops`);
  await page.getByRole("button", { name: "Draw over time" }).click();
  await page.waitForURL(/course\?/);
  check(way, "not every run is a dot", (await page.locator(".course circle").count()) === 40);
  check(way, "no change is marked", (await page.locator(".course .change").count()) === 1);
  const hint = await page.locator(".hint").innerText();
  check(way, `the hint is ${hint}`, /10 % more/.test(hint) && hint.includes("drivelab compare"));
  await looked(page, way, "course");

  // The disk that differs from its peers, among them.
  await page.getByRole("link", { name: "Fleet" }).click();
  check(way, "the slow disk is not found", (await page.locator('a[href="#finding-1"]').innerText()).includes("of host9"));
  check(way, "not every disk is a dot", (await page.locator(".specimens circle").count()) === 12);
  await looked(page, way, "fleet");

  // A study that runs: its count rises without a reload.
  await page.getByRole("link", { name: "Running" }).click();
  await looked(page, way, "running");
  const study = page.locator("section", { has: page.getByText("running", { exact: true }) });
  check(way, `${await study.count()} studies run`, (await study.count()) === 1);
  const done = () => study.locator("progress").evaluate((bar) => bar.value);
  const before = await done();
  const rises = page.waitForFunction((before) => document.querySelector("progress").value > before, before);
  check(way, `${before} runs and no more`, await rises.then(() => true, () => false));
  const words = await study.innerText();
  check(way, `it says ${words}`, words.includes(`${await done()} of 240 runs`));
  check(way, "the finished study is not there", (await page.getByText("finished", { exact: true }).count()) === 1);

  for (const [name, link] of [["machine", "This machine"], ["crash", "Power cuts"], ["articles", "Published comparisons"]]) {
    await page.getByRole("link", { name: link }).click();
    await looked(page, way, name);
  }
  await page.locator('h2 a[href="/articles/1"]').click();
  await looked(page, way, "article");
  await page.goto(`${address}run/01KA9Z00000000000000000000`);
  await looked(page, way, "missing");
}

for (const way of ways) {
  const context = await browser.newContext({
    viewport: { width: way.width, height: 900 },
    colorScheme: way.colorScheme,
  });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  // A page that is missing is asked for on purpose.
  const isMissing = (line) => /run\/01KA9Z0000/.test(line.location().url);
  page.on("console", (line) => line.type() === "error" && !isMissing(line) && errors.push(line.text()));
  page.on("request", (request) => {
    if (!request.url().startsWith(address)) errors.push(`it asked for ${request.url()}`);
  });
  await used(page, way);
  check(way, errors.join("; "), errors.length === 0);
  await context.close();
}
await browser.close();
console.log(`viewer: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
