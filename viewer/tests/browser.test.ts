/** The page in real browsers: journeys that answer questions by what stands in the page, and what must never happen. */

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fiveAndFive } from "./recordings";
import { browsers, click, open, press, repository, served, settled, singleFile, text, visit } from "./pages";

const sample = (name: string) => join(repository, "samples", name);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const included = ["--include", "untrained", "--include", "analysis-tracing"];
let sides: { baseline: string[]; candidate: string[] };
beforeAll(() => {
  sides = fiveAndFive();
}, 120_000);

it("at least one browser is installed", () => expect(browsers.length).toBeGreaterThan(0));

describe.each(browsers)("in %s", (name) => {
  let browser: Browser;
  let address: string;
  let stop: () => void;
  beforeAll(async () => {
    browser = await open(name);
    ({ url: address, stop } = await served(sample("slow-boot.etl"), sample("slow-shutdown.etl")));
  }, 60_000);
  afterAll(async () => {
    stop?.();
    await browser?.close();
  });

  it("tells which driver held PreSMSS", async () => {
    const { page, faults } = await visit(browser, address);
    await click(page, ".phase", "PreSMSS");
    await press(page, "2");
    expect(await text(page, ".pane figcaption")).toContain("PreSMSS");
    expect(await text(page, ".pane tbody tr:first-child")).toContain("LegacyScan");
    await press(page, "1");
    expect(await text(page, ".pane dl")).toMatch(/first start of smss\.exe[\s\S]*measured/);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("tells which file the disk read most in a marked range", async () => {
    const { page, faults } = await visit(browser, address);
    const canvas = await page.$("canvas");
    const box = await canvas?.boundingBox();
    if (!box) throw new Error("no canvas");
    await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await press(page, "4");
    await page.waitForFunction(() => document.querySelectorAll(".columns table").length === 3);
    await settled(page);
    const files = await page.$$eval(".columns figure", (figures) => (figures[2] as HTMLElement).innerText);
    expect(files).toMatch(/\\|:|not known/);
    expect(files).toMatch(/(ms|s)\b/);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("goes everywhere by keys alone, and comes back by its address", async () => {
    const { page, faults } = await visit(browser, address);
    await press(page, "]", "]", "f");
    expect(await text(page, ".pane h2")).toBe("SMSSInit");
    const before = await text(page, ".crumbs span");
    await new Promise((done) => setTimeout(done, 300));
    const link = page.url();
    expect(link).toContain("phase=SMSSInit");
    const again = await visit(browser, link);
    expect(await text(again.page, ".crumbs span")).toBe(before);
    expect(await text(again.page, ".pane h2")).toBe("SMSSInit");
    // A page behind another draws nothing.
    await again.page.close();
    await page.bringToFront();
    await press(page, "0", "/");
    await page.keyboard.type("soundshaper");
    await settled(page);
    expect(await text(page, "#found")).toContain("SoundShaper");
    await press(page, "Escape");
    expect(await page.$("dialog")).toBeNull();
    await press(page, "?");
    expect(await text(page, "dialog h2")).toBe("Keys");
    expect([...faults, ...again.faults]).toEqual([]);
    await page.close();
  });

  it("says of PostBoot what onoff boot says, and how the idle time was found", async () => {
    const { page, faults } = await visit(browser, address);
    await click(page, ".phase", "PostBoot");
    await press(page, "1");
    expect(await text(page, ".pane dl")).toMatch(/5\.00 s, then 10\.0 s of idle time/);
    const cells = await page.$$eval(".band .cell", (all) => all.map((cell) => [cell.className, cell.getAttribute("title") ?? ""]));
    expect(cells.map(([look]) => look)).toEqual(["cell busy", "cell idle"]);
    expect(cells[1]![1]).toContain("10.0 s of 10.0 s idle time found");
    expect(faults).toEqual([]);
    await page.close();
  });

  it("shows the other recording", async () => {
    const { page, faults } = await visit(browser, address);
    await page.select('select[aria-label="Recording"]', "1");
    await settled(page);
    expect(await text(page, ".headline")).toMatch(/shutdown/i);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("tells what explains the difference of five and five runs, a dot for each", async () => {
    const file = singleFile("--baseline", ...sides.baseline, "--candidate", ...sides.candidate, ...included);
    const { page, faults } = await visit(browser, pathToFileURL(file).href);
    expect(await text(page, ".headline")).toMatch(/The boot is .* slower/);
    // The change that was made: SoundShaper takes five seconds longer. What was not changed explains nothing of WinLogonInit.
    expect(await text(page, ".explained")).toMatch(/in WinLogonInit: SoundShaper takes longer, \+5\.0\d s/);
    const rows = await page.$$eval(".compare tbody tr", (all) =>
      all.map((row) => ({ what: (row as HTMLElement).innerText.split("\t")[0]?.trim(), dots: row.querySelectorAll(".dot").length, verdict: row.className })));
    const row = (what: string) => rows.find((each) => each.what === what);
    expect(row("WinLogonInit")).toMatchObject({ dots: 10, verdict: "slower" });
    expect(row("SMSSInit")).toMatchObject({ dots: 10, verdict: "same" });
    expect(row("LegacyScan.start")).toMatchObject({ dots: 10, verdict: "faster" });
    const marks = async (name: string) => {
      await page.$eval('input[type="search"]', (input) => ((input as HTMLInputElement).value = ""));
      await page.type('input[type="search"]', name);
      await settled(page);
      return page.$$eval(".name .mark", (all) => all.map((each) => (each as HTMLElement).innerText));
    };
    expect(await marks("legacyscan")).toEqual([expect.stringMatching(/^-8\d\d ms$/)]);
    expect(await marks("usbxhci")).toEqual([]);
    await page.$eval('input[type="search"]', (input) => (input as HTMLInputElement).blur());
    // The other side is shown at the same distance from the start of the same phase.
    await click(page, ".phase", "WinLogonInit");
    await press(page, "f", "w", "b");
    expect(await text(page, "h1")).toMatch(/^baseline: before-\d\.etl/);
    const phase = await page.$eval('.phase[aria-pressed="true"]', (element) => (element as HTMLElement).innerText);
    expect(phase).toContain("WinLogonInit");
    await page.evaluate(axe);
    const violations = await page.evaluate(async () => {
      const found = await (window as unknown as { axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe.run();
      return found.violations.map((each) => `${each.id}: ${each.nodes[0]?.html ?? ""}`);
    });
    expect(violations).toEqual([]);
    expect(faults).toEqual([]);
    await page.close();
  }, 60_000);

  it("has no fault that axe finds, light and dark", async () => {
    const { page } = await visit(browser, address);
    for (const theme of ["light", "dark"]) {
      for (const tab of ["1", "2", "3", "4", "5"]) {
        await page.evaluate((theme) => (document.documentElement.dataset["theme"] = theme), theme);
        await press(page, tab);
        await page.evaluate(axe);
        const violations = await page.evaluate(async () => {
          const found = await (window as unknown as { axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe.run();
          return found.violations.map((each) => `${each.id}: ${each.nodes[0]?.html ?? ""}`);
        });
        expect(violations, `${theme}, tab ${tab}`).toEqual([]);
      }
    }
    await page.close();
  }, 60_000);

  it("answers nobody without the token, and no other name or origin", async () => {
    const url = new URL(address);
    const ask = async (path: string, headers: Record<string, string> = {}) => (await fetch(`${url.origin}${path}`, { headers })).status;
    expect(await ask(url.pathname)).toBe(200);
    expect(await ask("/")).toBe(403);
    expect(await ask(`/${"0".repeat(32)}/`)).toBe(403);
    expect(await ask(url.pathname, { origin: "http://evil.example" })).toBe(403);
  });

  it("opens from disk without a server", async () => {
    const file = singleFile(sample("slow-boot.etl"));
    const { page, faults } = await visit(browser, pathToFileURL(file).href);
    expect(await text(page, ".headline")).toMatch(/30\.0 s/);
    await press(page, "]", "f");
    expect(await text(page, ".pane h2")).toBe("PreSMSS");
    const drawn = await page.$eval("canvas", (canvas) => {
      const image = (canvas as HTMLCanvasElement).getContext("2d")?.getImageData(0, 0, (canvas as HTMLCanvasElement).width, (canvas as HTMLCanvasElement).height);
      return new Set(new Uint32Array(image?.data.buffer ?? new ArrayBuffer(0))).size;
    });
    expect(drawn).toBeGreaterThan(4);
    expect(faults).toEqual([]);
    await page.close();
  });
});
