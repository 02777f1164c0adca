// What axe finds wrong with a page for those who cannot see it or use no mouse.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// The serious and the critical findings, a line each.
export async function findings(page) {
  // As a debugger would: the policy of a page lets no script in.
  await page.evaluate(`${axe}; undefined`);
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document, { resultTypes: ["violations"] });
    return result.violations.map(({ id, impact, nodes }) => ({
      id, impact, where: nodes.slice(0, 3).map((node) => `${node.target.join(" ")}: ${node.any.concat(node.all, node.none).map((it) => it.message).join(", ")}`),
    }));
  });
  const isSerious = ({ impact }) => impact === "serious" || impact === "critical";
  return found.filter(isSerious).map(({ id, impact, where }) => `${impact}: ${id} at ${where.join("; ")}`);
}
