/**
 * Screenshots for the README and the book. ONOFF_WRITE_PICTURES=1 (`make pictures`) creates them; each must stay small.
 */

import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { browsers, open, repository, serve, settled, singleFile, visit } from "./pages";
import { comparisonRuns, simulated } from "./recordings";

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
      return [
        "--baseline",
        ...baseline,
        "--candidate",
        ...candidate,
        "--include",
        "untrained",
        "--include",
        "analysis-tracing",
      ];
    },
    "theme=light&fold=processors~disks",
    330,
  ],
];

/** The chain of a wait, which only a served page computes: thread 44 of the scenario waits for 20 s. */
const CHAIN: [name: string, scenario: string, address: string] = [
  "view-chain",
  "sleep-slow-driver",
  "theme=light&chain=44~2709308500~22709429500&thread=44~2709308500~22709429500~thread 44 of System (4)",
];

it.skipIf(!writes)(
  "creates the pictures",
  async () => {
    mkdirSync(folder, { recursive: true });
    const browser = await open("chrome");
    const take = async (name: string, url: string, scrolled: number, expected = "main") => {
      const { page } = await visit(browser, url);
      await page.waitForSelector(expected);
      await settled(page);
      await page.$eval(".pane", (pane, top) => (pane.scrollTop = top), scrolled);
      await settled(page);
      await page.screenshot({ path: join(folder, `${name}.png`) as `${string}.png` });
      await page.close();
    };
    for (const [name, recordings, address, scrolled] of PICTURES) {
      await take(name, `${pathToFileURL(singleFile(...recordings())).href}#${address}`, scrolled);
    }
    const [name, scenario, address] = CHAIN;
    const { url, stop } = await serve(simulated(scenario, "slow-driver"));
    await take(name, `${url}#${address}`, 0, ".rows-names .name");
    stop();
    await browser.close();
  },
  600_000,
);

it("finds small pictures", () => {
  expect(browsers.length).toBeGreaterThan(0);
  for (const [name] of [...PICTURES, CHAIN]) {
    const path = join(folder, `${name}.png`);
    expect(existsSync(path), `${path}: run 'make pictures'`).toBe(true);
    expect(statSync(path).size).toBeLessThan(MAX_BYTES);
  }
});
