// Opens the laboratory in Chromium and compares it with the command line, byte for byte.
//   node lab.mjs LAB.html DRIVELAB STUDY.json FOLDER-FOR-PICTURES CASES SEED
// STUDY.json is written meanwhile: `study ahci-or-ide`, concluded by the command line. $CHROMIUM is the
// browser, $VIEWER an address of `drivelab view`, $ONLY names some of the parts.
import { chromium } from "playwright-core";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { findings } from "./axe.mjs";
import * as line from "./lab-native.mjs";

const [path, drivelab, study, pictures, count, seed] = process.argv.slice(2);
const address = pathToFileURL(resolve(path)).href;
const folder = mkdtempSync(join(tmpdir(), "lab-"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
let passed = 0;
let failed = 0;
const check = (what, good) => {
  if (good) passed += 1;
  else {
    failed += 1;
    console.log(`failed: ${what}`);
  }
};

const native = (words) => line.native(drivelab, folder, words);

// A page in a profile of its own; requests beyond it are counted.
async function opened(hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.strange = [];
  page.on("request", (request) => {
    const url = request.url();
    const own = url.split("#")[0] === address || /^(blob|data|about):/.test(url);
    if (!own) page.strange.push(url);
  });
  page.on("dialog", (dialog) => {
    page.strange.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("pageerror", (error) => page.strange.push(`error: ${error.message}`));
  await page.goto(address + hash);
  await page.waitForFunction(() => window.lab?.begun, null, { timeout: 120000 });
  return page;
}

async function closed(page, what) {
  check(`${what}: ${page.strange.join(", ")}`, page.strange.length === 0);
  await page.context().close();
}

const ask = (page, question) => page.evaluate((asked) => laboratory.ask(asked).then((ok) => ({ ok }), ({ message }) => ({ refused: message })), question);

async function cases() {
  const page = await opened();
  for (const difference of await line.differences(Number(count), Number(seed), (question) => ask(page, question), native)) check(difference, false);
  console.log(`${count} random cases compared`);
  await closed(page, "cases");
}

const experiment = (change) => `#e=${encodeURIComponent(JSON.stringify(change))}`;

async function hostile() {
  const links = [
    "#e=%", "#e=", "#e=null", "#e=[]", "#e=%7B", `#e=${"x".repeat(5000)}`,
    experiment({ drive: "<img src=x onerror=alert(1)>" }),
    experiment({ drive: "../../etc/passwd" }),
    experiment({ bs: "4k\"\n[base]\ndrive=\"x" }),
    experiment({ seed: "1;alert(1)" }),
    experiment({ seed: 1e99 }),
    experiment({ "</script><script>alert(1)</script>": "1" }),
    experiment({ arms: [{ controller: "ide" }] }),
    experiment({ arms: [{ controller: "$(reboot)" }, {}] }),
    experiment({ arms: [{ exec: "rm" }, {}] }),
    experiment({ runtime: "99999999s" }),
    `#e=${encodeURIComponent('{"__proto__":{"drive":"x"},"constructor":1}')}`,
    experiment({ blocks: "1000000000" }),
  ];
  for (const link of links) {
    const page = await opened(link);
    const said = await page.locator("#trouble").innerText();
    check(`${link.slice(0, 80)} is not refused in words: ${said}`, /^This link (is not|cannot)/.test(said) && said.length > 40);
    check(`${link.slice(0, 80)} made an element`, (await page.locator("#trouble img, #trouble script").count()) === 0);
    await closed(page, link.slice(0, 80));
  }
}

async function concluded(page, button) {
  await page.locator(button).click();
  await page.waitForFunction(() => document.getElementById("stop").disabled && !document.getElementById("result").hidden, null, { timeout: 900000 });
  return (await page.locator("#json").textContent()).trimEnd();
}

async function studies() {
  const change = { runtime: "20s", blocks: "6", drive: "hitachi-hts542516k9sa00", iodepth: "8" };
  const page = await opened(experiment(change));
  const first = await concluded(page, "#study-own");
  writeFileSync(join(folder, "my-study.toml"), await page.locator("#toml").textContent());
  check("the own study differs from the command line's", first === native(["study", "my-study.toml", "--json", "--no-archive"]).printed);
  const [command] = (await page.locator("#commands").textContent()).split("\n").filter((line) => line.startsWith("drivelab run"));
  const run = native([...command.split(" ").slice(1), "--no-archive"]).printed;
  check("the command differs from the run", run === (await page.evaluate(() => lab.answers.runs[0].json)));
  await page.locator("#link").click();
  const link = await page.evaluate(() => location.hash);
  await closed(page, "own study");
  const other = await opened(link);
  check("the link gives another result", (await concluded(other, "#study-own")) === first);
  await closed(other, "shared link");
  const third = await opened();
  const included = await concluded(third, "#study-included");
  check("study ahci-or-ide differs from the command line's", included === (await line.concluded(study)));
  const words = await third.frameLocator("#report").locator(".lead").first().innerText();
  check(`the report has no answer: ${words}`, words.length > 20);
  const took = await third.locator("#progress-said").innerText();
  console.log(`study ahci-or-ide: ${took}`);
  for (const colorScheme of ["light", "dark"]) {
    await third.emulateMedia({ colorScheme });
    for (const finding of await findings(third)) check(`concluded, ${colorScheme}: ${finding}`, false);
    await third.locator("#conclude").screenshot({ path: join(pictures, `lab-${colorScheme}-concluded.png`) });
  }
  await third.setViewportSize({ width: 390, height: 844 });
  check("the report scrolls sideways", await third.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await third.locator("#conclude").screenshot({ path: join(pictures, "lab-phone-concluded.png") });
  await closed(third, "ahci-or-ide");
}

async function stopped() {
  const page = await opened();
  await page.locator("#study-included").click();
  await page.waitForFunction(() => document.getElementById("progress-said").textContent.includes("of"), null, { timeout: 120000 });
  await page.locator("#stop").click();
  await page.waitForFunction(() => document.getElementById("stop").disabled, null, { timeout: 5000 });
  check("a stopped study is not said to be stopped", (await page.locator("#progress-said").innerText()) === "Stopped.");
  const answer = await ask(page, { verb: "run", target: "drive:generic-nvme", options: { number_ios: "100" } });
  check("nothing is answered after a stop", answer.ok !== undefined);
  await closed(page, "stop");
}

async function lessons() {
  const page = await opened();
  const forms = await page.locator("#lessons form").count();
  check(`${forms} lessons`, forms === 12);
  const answers = [];
  for (let at = 0; at < forms; at += 1) {
    const form = page.locator(`#lesson-${at}`);
    await form.locator("input").first().check();
    await form.locator("button").click();
    await form.locator(".verdict").waitFor({ timeout: 120000 });
    answers.push(Number(await form.getAttribute("data-right")));
    console.log(`lesson ${at + 1}: ${(await form.locator("[role=status]").innerText()).replace(/\s+/g, " ")}`);
  }
  for (const finding of await findings(page)) check(`lessons: ${finding}`, false);
  check(`answers ${answers}`, answers.join() === "1,1,0,2,1,2,1,2,2,2,1,2");
  await closed(page, "lessons");
}

// Keys alone: play, step, change a setting, run, and read a picture.
async function keyboard() {
  const page = await opened("", { reducedMotion: "reduce" });
  check("it moves although motion is reduced", (await page.locator("#play").getAttribute("aria-pressed")) === "false");
  const reached = new Set();
  for (let at = 0; at < 150; at += 1) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.name || document.activeElement.tagName));
  }
  for (const id of ["play", "back", "step", "scrub", "speed", "drive", "iodepth", "controller", "link", "study-own", "included", "study-included", "choice"]) {
    check(`${id} is not reached by Tab`, reached.has(id));
  }
  await page.locator("#step").focus();
  for (let at = 0; at < 40; at += 1) await page.keyboard.press("Enter");
  const said = await page.locator("#said").textContent();
  check(`a step says ${said}`, said.startsWith("Arm A: "));
  await page.locator("#film-1 canvas").first().focus();
  await page.keyboard.press("ArrowRight");
  check("a picture is not read by keys", /cylinder|Read/.test(await page.locator("#said").textContent()));
  await page.locator("#form select[name=iodepth]").focus();
  await page.keyboard.press("ArrowUp");
  await page.locator("#form button[type=submit]").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#first table"), null, { timeout: 60000 });
  await closed(page, "keyboard");
}

// What people ask, found from the first screen by its words and answered by the model.
async function questions() {
  const asked = [
    ["Why are random writes faster than random reads?", /acknowledged before the medium has it.*random reads: [\d.,]+ a second; random writes, cached: [\d.,]+ a second/],
    ["Does NCQ make it slower?", /NCQ off, elevator: [\d.,]+ a second; NCQ on: [\d.,]+ a second/],
    ["What does queue depth 32 buy?", /depth 1: [\d.,]+ a second; depth 32: [\d.,]+ a second/],
  ];
  const page = await opened("", { reducedMotion: "reduce" });
  for (const [words, answer] of asked) {
    const link = page.getByRole("link", { name: words });
    check(`${words} is not on the first screen`, (await link.boundingBox()).y < 300);
    await link.click();
    const lesson = page.locator(await link.getAttribute("href"));
    const { y } = await lesson.boundingBox();
    check(`${words} leads to ${y}`, y > -20 && y < 880);
    await lesson.locator("input").first().check();
    await lesson.locator("button").click();
    await lesson.locator(".verdict").waitFor({ timeout: 120000 });
    const said = (await lesson.innerText()).replace(/\s+/g, " ");
    console.log(`${words} ${said}`);
    check(`${words}: ${said}`, answer.test(said));
  }
  await closed(page, "questions");
}

// The page as `drivelab view` serves it, under the policy of a header.
async function served() {
  if (!process.env.VIEWER) return;
  const page = await (await browser.newContext()).newPage();
  page.strange = [];
  page.on("pageerror", (error) => page.strange.push(`error: ${error.message}`));
  page.on("console", (message) => message.type() === "error" && page.strange.push(message.text()));
  await page.goto(process.env.VIEWER);
  await page.getByRole("link", { name: "Laboratory" }).click();
  await page.waitForFunction(() => window.lab?.begun, null, { timeout: 120000 });
  check("the served page has no answer", (await page.locator("#first td").count()) === 9);
  const study = await ask(page, { verb: "study", name: "ahci-or-ide", blocks: 6, specimens: 1, only: ["random-read-32"] });
  check(`the served page concludes nothing: ${study.refused}`, study.ok?.json.includes("drivelab.study/"));
  await closed(page, "served");
}

async function looks() {
  const ways = [
    { name: "light", viewport: { width: 1280, height: 900 }, colorScheme: "light" },
    { name: "dark", viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
    { name: "phone", viewport: { width: 390, height: 844 }, colorScheme: "light" },
    { name: "flash", viewport: { width: 1280, height: 900 }, colorScheme: "light", hash: experiment({ drive: "generic-sata", rw: "randwrite", runtime: "1s", arms: [{}, { "write-cache": "off" }] }) },
  ];
  for (const { name, hash, ...way } of ways) {
    const page = await opened(hash ?? "", { ...way, reducedMotion: "reduce" });
    await page.evaluate(() => player.seek(player.end / 2));
    check(`${name}: it scrolls sideways`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    for (const finding of await findings(page)) check(`${name}: ${finding}`, false);
    for (const part of ["header", "#watch", "#change", "#conclude", "#learn"]) {
      await page.locator(part).first().screenshot({ path: join(pictures, `lab-${name}-${part.replace("#", "")}.png`) });
    }
    await closed(page, name);
  }
}

// Under a processor that is slower by this factor, as Chromium throttles it. Other work on the machine
// slows it further: the processor time of a picture says what the page itself takes.
async function paced(slower) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const control = await context.newCDPSession(page);
  await control.send("Emulation.setCPUThrottlingRate", { rate: slower });
  await page.goto(address);
  await page.waitForFunction(() => window.lab?.begun, null, { timeout: 120000 });
  const { answered } = await page.evaluate(() => lab.times);
  await control.send("Performance.enable", { timeDomain: "threadTicks" });
  const worked = async () => (await control.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  const before = await worked();
  const frames = await page.evaluate(async () => {
    player.seek(0);
    player.run(true);
    let [count, counts] = [0, true];
    const next = () => requestAnimationFrame(() => counts && (count += 1, next()));
    next();
    await new Promise((done) => setTimeout(done, 3000));
    counts = false;
    return count;
  });
  const each = ((await worked()) - before) / frames;
  await context.close();
  return { answered, rate: frames / 3, each: each * 1e3 };
}

async function pace() {
  for (const slower of [1, 4]) {
    const found = [];
    for (let at = 0; at < 5; at += 1) found.push(await paced(slower));
    const median = (key) => found.map((one) => one[key]).sort((one, other) => one - other)[2];
    console.log(`processor slower by ${slower}, medians of 5: first answer ${median("answered").toFixed(0)} ms after the page was asked for, ${median("rate").toFixed(0)} frames a second, ${median("each").toFixed(1)} ms of processor time each`);
  }
}

const parts = { cases, hostile, studies, stopped, lessons, questions, keyboard, looks, served };
// A speed is no matter of right and wrong: it is measured where it is asked for.
if (process.env.ONLY) parts.pace = pace;
for (const [name, part] of Object.entries(parts)) {
  const began = Date.now();
  if (process.env.ONLY && !process.env.ONLY.split(",").includes(name)) continue;
  await part();
  console.log(`${name}: ${((Date.now() - began) / 1000).toFixed(0)} s`);
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
