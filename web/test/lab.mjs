// Opens the laboratory in Chromium and compares it with the command line, byte for byte.
//   node lab.mjs LAB.html DRIVELAB FOLDER-FOR-PICTURES CASES SEED     ($CHROMIUM: the browser)
import { chromium } from "playwright-core";
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { findings } from "./axe.mjs";
import { randomCases } from "./lab-cases.mjs";

const [path, drivelab, pictures, count, seed] = process.argv.slice(2);
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

// What the command line prints; a refusal where it prints none.
function native(words) {
  try {
    const options = { cwd: folder, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] };
    return { printed: execFileSync(drivelab, words, options).toString().trimEnd() };
  } catch (error) {
    const printed = error.stdout?.toString().trimEnd();
    return printed ? { printed } : { refused: error.stderr?.toString() ?? String(error) };
  }
}

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
  for (const { words, question } of randomCases(Number(count), Number(seed))) {
    const [expected, answer] = [native(words), await ask(page, question)];
    const same = expected.printed === undefined ? answer.refused !== undefined : answer.ok?.json?.trimEnd() === expected.printed;
    check(`drivelab ${words.join(" ")}: ${answer.refused ?? "other bytes"} ${expected.refused ?? ""}`, same);
  }
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
  check("study ahci-or-ide differs from the command line's", included === native(["study", "ahci-or-ide", "--json", "--no-archive"]).printed);
  const words = await third.frameLocator("#report").locator(".lead").first().innerText();
  check(`the report has no answer: ${words}`, words.length > 20);
  const took = await third.locator("#progress-said").innerText();
  console.log(`study ahci-or-ide: ${took}`);
  await third.screenshot({ path: join(pictures, "lab-concluded.png"), fullPage: true });
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
  await page.locator("#film-1 canvas").focus();
  await page.keyboard.press("ArrowRight");
  check("a picture is not read by keys", /cylinder|Read/.test(await page.locator("#said").textContent()));
  await page.locator("#form select[name=iodepth]").focus();
  await page.keyboard.press("ArrowUp");
  await page.locator("#form button[type=submit]").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#first table"), null, { timeout: 60000 });
  await closed(page, "keyboard");
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
    await page.screenshot({ path: join(pictures, `lab-${name}.png`), fullPage: true });
    await closed(page, name);
  }
}

// Under a processor that is slower by this factor, as Chromium throttles it.
async function pace(slower) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const control = await context.newCDPSession(page);
  await control.send("Emulation.setCPUThrottlingRate", { rate: slower });
  const began = Date.now();
  await page.goto(address);
  await page.waitForFunction(() => window.lab?.begun, null, { timeout: 120000 });
  const ready = Date.now() - began;
  const { answer } = await page.evaluate(() => lab.times);
  const frames = await page.evaluate(async () => {
    player.run(true);
    player.frames.length = 0;
    await new Promise((done) => setTimeout(done, 3000));
    return player.frames.length / 3;
  });
  console.log(`processor slower by ${slower}: two arms answered ${Math.round(answer)} ms after they were asked for, page and films ready after ${ready} ms, ${frames.toFixed(0)} frames a second`);
  await context.close();
}

const parts = { cases, hostile, studies, stopped, lessons, keyboard, looks, pace: () => pace(1).then(() => pace(4)) };
for (const [name, part] of Object.entries(parts)) {
  if (!process.env.ONLY || process.env.ONLY.split(",").includes(name)) await part();
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
