// Opens the laboratory in Firefox and compares it with the command line: random cases and a verdict.
//   node lab-firefox.mjs LAB.html DRIVELAB STUDY.json CASES SEED     ($FIREFOX: the browser)
import puppeteer from "puppeteer-core";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { concluded, differences, native } from "./lab-native.mjs";

const [path, drivelab, study, count, seed] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "lab-"));
const browser = await puppeteer.launch({ browser: "firefox", executablePath: process.env.FIREFOX, headless: true, protocolTimeout: 900000 });
const page = await browser.newPage();
const failures = [];
page.on("pageerror", (error) => failures.push(error.message));
page.on("dialog", (dialog) => {
  failures.push(`dialog: ${dialog.message()}`);
  dialog.dismiss();
});
await page.goto(pathToFileURL(resolve(path)).href);
await page.waitForFunction(() => window.lab?.begun, { timeout: 120000 });

const asked = (question) => laboratory.ask(question).then((ok) => ({ ok }), ({ message }) => ({ refused: message }));
const ask = (question) => page.evaluate(asked, question);
const drawn = await page.evaluate(() => [player.plays.length, document.querySelectorAll("#first td").length]);
if (drawn.join() !== "2,9") failures.push(`films and figures: ${drawn}`);
failures.push(...(await differences(Number(count), Number(seed), ask, (words) => native(drivelab, folder, words))));
const included = await ask({ verb: "study", name: "ahci-or-ide" });
if (included.ok?.json.trimEnd() !== (await concluded(study))) failures.push(`study ahci-or-ide: ${included.refused ?? "other bytes"}`);
const trouble = await page.evaluate(() => document.getElementById("trouble").hidden);
if (!trouble) failures.push("the page reports a trouble");
await browser.close();
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(`Firefox: ${count} cases and a study, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
