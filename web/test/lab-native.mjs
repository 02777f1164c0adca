// What the command line answers, for both browsers.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { randomCases } from "./lab-cases.mjs";

// What a command prints; a refusal where it prints none.
export function native(drivelab, folder, words) {
  try {
    const options = { cwd: folder, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] };
    return { printed: execFileSync(drivelab, words, options).toString().trimEnd() };
  } catch (error) {
    const printed = error.stdout?.toString().trimEnd();
    return printed ? { printed } : { refused: error.stderr?.toString() ?? String(error) };
  }
}

// The random cases in which the page and the command line differ, a line each.
export async function differences(count, seed, ask, answerOf) {
  const found = [];
  for (const { words, question } of randomCases(count, seed)) {
    const [expected, answer] = [answerOf(words), await ask(question)];
    const same = expected.printed === undefined ? answer.refused !== undefined : answer.ok?.json?.trimEnd() === expected.printed;
    if (!same) found.push(`drivelab ${words.join(" ")}: ${answer.refused ?? "other bytes"} ${expected.refused ?? ""}`);
  }
  return found;
}

// The study that scripts/check-web has the command line conclude meanwhile.
export async function concluded(file) {
  for (let waited = 0; !existsSync(file); waited += 200) {
    if (waited > 900000) throw new Error(`${file} was not written`);
    await pause(200);
  }
  return readFileSync(file, "utf8").trimEnd();
}
