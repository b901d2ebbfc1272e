/**
 * Screenshots for the README and the book. ONOFF_WRITE_PICTURES=1 (`make pictures`) creates them; each must stay small.
 */

import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { browsers, open, repository, settled, singleFile, visit } from "./pages";
import { comparisonRuns } from "./recordings";

const folder = join(repository, "docs/src/how-to/pictures");
const MAX_BYTES = 200_000;
const writes = process.env["ONOFF_WRITE_PICTURES"] === "1";
const boot = join(repository, "samples/slow-boot.etl");

const PICTURES: [name: string, recordings: () => string[], address: string, scrolled: number][] = [
  ["view-boot", () => [boot], "theme=light&phase=PostBoot&tab=account", 0],
  ["view-path", () => [boot], "theme=light&phase=WinLogonInit&tab=why&range=13~23&fold=processors~disks", 0],
  [
    "view-compare",
    () => {
      const { baseline, candidate } = comparisonRuns();
      return ["--baseline", ...baseline, "--candidate", ...candidate, "--include", "untrained", "--include", "analysis-tracing"];
    },
    "theme=light&fold=processors~disks",
    330,
  ],
];

it.skipIf(!writes)("creates the pictures", async () => {
  mkdirSync(folder, { recursive: true });
  const browser = await open("chrome");
  for (const [name, recordings, address, scrolled] of PICTURES) {
    const { page } = await visit(browser, `${pathToFileURL(singleFile(...recordings())).href}#${address}`);
    await settled(page);
    await page.$eval(".pane", (pane, top) => (pane.scrollTop = top), scrolled);
    await settled(page);
    await page.screenshot({ path: join(folder, `${name}.png`) as `${string}.png` });
    await page.close();
  }
  await browser.close();
}, 180_000);

it("finds small pictures", () => {
  expect(browsers.length).toBeGreaterThan(0);
  for (const [name] of PICTURES) {
    const path = join(folder, `${name}.png`);
    expect(existsSync(path), `${path}: run 'make pictures'`).toBe(true);
    expect(statSync(path).size).toBeLessThan(MAX_BYTES);
  }
});
