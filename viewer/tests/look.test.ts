/**
 * Compares scaled-down screenshots with stored ones, with a tolerance for fonts and browser versions.
 * ONOFF_WRITE_PICTURES=1 (`make pictures`) overwrites the stored ones; review them before you commit.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { browsers, open, repository, settled, singleFile, visit } from "./pages";

const folder = join(import.meta.dirname, "looks");
const writes = process.env["ONOFF_WRITE_PICTURES"] === "1";
const sample = (name: string) => join(repository, "samples", name);
const [WIDTH, HEIGHT] = [320, 200];
/** Maximum share of pixels that may differ by more than a fifth of full brightness, percent. */
const MAX_PERCENT = 4;

const LOOKS: [name: string, recording: string, address: string][] = [
  ["boot-light", "slow-boot.etl", "theme=light"],
  ["boot-dark", "slow-boot.etl", "theme=dark&phase=WinLogonInit&tab=why"],
  ["sleep", "slow-sleep.etl", "theme=light"],
  ["linux", "linux-boot.tar.xz", "theme=light&tab=findings"],
  ["netboot", "netboot-slow-link.pcap.xz", "theme=dark"],
];

/** Scales a picture down; returns its pixel data and PNG. */
async function scaledDown(page: Page, png: string): Promise<{ pixels: number[]; png: string }> {
  return page.evaluate(
    async (source, width, height) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [width, height];
      const context = canvas.getContext("2d");
      if (!context) throw new Error("no canvas");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, width, height);
      return { pixels: [...context.getImageData(0, 0, width, height).data], png: canvas.toDataURL("image/png") };
    },
    png,
    WIDTH,
    HEIGHT,
  );
}

/** Share of pixels with a channel that differs by more than a fifth of full brightness, percent. */
function differingPercent(one: number[], other: number[]): number {
  let count = 0;
  for (let at = 0; at < one.length; at += 4) {
    const far = [0, 1, 2].some((channel) => Math.abs((one[at + channel] ?? 0) - (other[at + channel] ?? 0)) > 51);
    if (far) count += 1;
  }
  return (count * 400) / Math.max(1, one.length);
}

it("counts differing pixels", () => {
  const white = new Array(400).fill(255);
  expect(differingPercent(white, white)).toBe(0);
  expect(
    differingPercent(
      white,
      white.map((value, at) => (at < 40 ? 0 : value)),
    ),
  ).toBe(10);
  expect(
    differingPercent(
      white,
      white.map((value) => value - 40),
    ),
  ).toBe(0);
});

let browser: Browser;
let canvasPage: Page;
beforeAll(async () => {
  expect(browsers).toContain("chrome");
  browser = await open("chrome");
  canvasPage = await browser.newPage();
}, 60_000);
afterAll(async () => browser?.close());

it.each(LOOKS)(
  "%s matches the stored screenshot",
  async (name, recording, address) => {
    const { page } = await visit(browser, `${pathToFileURL(singleFile(sample(recording))).href}#${address}`);
    await settled(page);
    await settled(page);
    const shot = await page.screenshot({ encoding: "base64" });
    await page.close();
    const now = await scaledDown(canvasPage, `data:image/png;base64,${shot}`);
    const stored = join(folder, `${name}.png`);
    if (writes) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(stored, Buffer.from(now.png.split(",")[1] ?? "", "base64"));
    }
    expect(existsSync(stored), `${stored}: run 'make pictures'`).toBe(true);
    const before = await scaledDown(canvasPage, `data:image/png;base64,${readFileSync(stored).toString("base64")}`);
    expect(differingPercent(now.pixels, before.pixels), `percent of pixels; see ${stored}`).toBeLessThan(MAX_PERCENT);
  },
  60_000,
);
