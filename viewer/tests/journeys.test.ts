/** What people come to the page for: who a thread waited for, which request was slow, what is lost, what is where. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browsers, click, open, press, repository, run, serve, settled, singleFile, text, visit } from "./pages";
import { simulated } from "./recordings";

const sample = (name: string) => join(repository, "samples", name);
const texts = (page: Page, selector: string) =>
  page.$$eval(selector, (all) => all.map((each) => (each as HTMLElement).innerText));
const blurSearch = (page: Page) => page.$eval('input[type="search"]', (input) => (input as HTMLInputElement).blur());

let slowDriver: string;
let manyProcessors: string;
let lostEvents: string;
let cutShutdown: string;
beforeAll(() => {
  slowDriver = simulated("sleep-slow-driver", "slow-driver");
  manyProcessors = simulated(
    "short-boot",
    "many-processors",
    (scenario) => `${scenario}\n[machine]\nprocessors = 96\n`,
  );
  lostEvents = simulated("lost-events", "lost-events");
  cutShutdown = simulated("shutdown-cut", "shutdown-cut");
}, 240_000);

describe.each(browsers)("in %s", (name) => {
  let browser: Browser;
  let sleep: { url: string; stop: () => void };
  let boot: { url: string; stop: () => void };
  beforeAll(async () => {
    browser = await open(name);
    [sleep, boot] = await Promise.all([serve(slowDriver), serve(sample("slow-boot.etl"))]);
  }, 120_000);
  afterAll(async () => {
    sleep?.stop();
    boot?.stop();
    await browser?.close();
  });

  it("follows a driver's wait from thread to thread to its timer, with the keyboard alone", async () => {
    // The paper's example: thread 44 waits for 64, which waits for 16, which waits for 20, which waits for a timer of 20 s.
    const { page, faults } = await visit(browser, sleep.url);
    await page.type('input[type="search"]', "piwddev power");
    await settled(page);
    await blurSearch(page);
    await settled(page);
    // The request of 20 s, not the query before it.
    await press(page, "ArrowDown");
    await page.waitForSelector(".waits tbody tr");
    const duration = () => text(page, ".facts dl");
    for (let step = 0; step < 4 && !(await duration()).includes("20.0 s"); step += 1)
      await press(page, step % 2 ? "ArrowLeft" : "ArrowRight");
    expect(await duration()).toMatch(/20\.0 s/);
    for (const [waiter, ending] of [
      [44, 64],
      [64, 16],
      [16, 20],
    ]) {
      await page.waitForFunction(
        (tid) => document.querySelector(".waits tbody tr")?.textContent?.includes(`thread ${tid}`),
        {},
        ending,
      );
      const first = await text(page, ".waits tbody tr:first-child");
      expect(first, `thread ${waiter}`).toMatch(/20\.0 s/);
      await page.focus(".waits tbody tr:first-child td:nth-child(4) button");
      await page.keyboard.press("Enter");
      await page.waitForFunction(
        (tid) => document.querySelector(".facts h2")?.textContent?.startsWith(`thread ${tid}`),
        {},
        ending,
      );
    }
    await page.waitForFunction(() => document.querySelector(".waits tbody tr")?.textContent?.includes("timer"));
    expect(faults).toEqual([]);
    await page.close();
  }, 60_000);

  it("draws the chain of a wait as a stair over the lanes, and a link reproduces it", async () => {
    const { page, faults } = await visit(browser, sleep.url);
    await page.type('input[type="search"]', "piwddev power");
    await settled(page);
    await blurSearch(page);
    await press(page, "ArrowDown");
    await page.waitForSelector(".waits tbody tr");
    await click(page, ".waits tbody .evidence", "chain");
    await page.waitForSelector(".rows-names .name");
    const threads = (await texts(page, ".rows-names .name")).map((each) => /thread (\d+)/.exec(each)?.[1]);
    expect(threads).toEqual(expect.arrayContaining(["44"]));
    await new Promise((done) => setTimeout(done, 300));
    expect(page.url()).toMatch(/chain=44/);
    const other = await visit(browser, page.url());
    await other.page.waitForSelector(".rows-names .name");
    expect((await texts(other.page, ".rows-names .name")).map((each) => /thread (\d+)/.exec(each)?.[1])).toEqual(
      threads,
    );
    await press(other.page, "Escape");
    expect(await other.page.$(".rows")).toBeNull();
    expect([...faults, ...other.faults]).toEqual([]);
    await page.close();
    await other.page.close();
  }, 60_000);

  it("shows CPU, disks and threads of one process", async () => {
    const { page, faults } = await visit(browser, boot.url);
    await page.type('input[type="search"]', "CloudBox");
    await settled(page);
    await blurSearch(page);
    await press(page, "ArrowDown");
    await page.waitForSelector(".waits tbody tr");
    await click(page, ".facts button", "CPU, disks and threads");
    await page.waitForSelector(".rows-names .name");
    const rows = await texts(page, ".rows-names .name");
    expect(rows[0]).toMatch(/^CPU\s*full height: \d processors/);
    expect(rows[1]).toMatch(/^Disks/);
    expect(rows.slice(2).every((row) => row.startsWith("thread "))).toBe(true);
    // A click on a bar of a thread selects the thread.
    const canvas = await page.$(".rows-drawing canvas");
    const box = await canvas?.boundingBox();
    if (!box) throw new Error("no canvas");
    let selected = "";
    for (let x = 20; x < box.width && !selected.startsWith("thread"); x += 15) {
      await page.mouse.click(box.x + x, box.y + 75);
      await settled(page);
      selected = await text(page, ".facts h2").catch(() => "");
    }
    expect(selected).toMatch(/^thread \d+/);
    expect(faults).toEqual([]);
    await page.close();
  }, 60_000);

  it("groups and filters events by any field, and tells neighbors apart", async () => {
    const { page, faults } = await visit(browser, `${sleep.url}#tab=use&about=events&by=each`);
    await page.waitForSelector(".grid tbody tr");
    const times = (await texts(page, ".grid tbody tr td:first-child")).filter(Boolean).slice(0, 50);
    expect(
      times.every((time) => /^-?\d+\.\d{7}$/.test(time)),
      times.slice(0, 3).join(),
    ).toBe(true);
    expect(new Set(times).size).toBeGreaterThan(5);
    await page.type(".zones .filter", "piwddev Kernel-Power");
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".grid tbody tr")].every((row) =>
        row.textContent?.toLowerCase().includes("piwddev"),
      ),
    );
    const fields = await page.$$eval('select[aria-label="Add a field"] option', (all) =>
      all.map((each) => each.textContent ?? ""),
    );
    expect(fields).toContain("Irp");
    await click(page, ".zones button", "event");
    await page.select('select[aria-label="Add a field"]', "Irp");
    await page.waitForFunction(() => document.querySelector(".grid thead")?.textContent?.includes("Irp"));
    await page.waitForFunction(() => document.querySelector(".grid thead")?.textContent?.includes("first to last"));
    const rows = await texts(page, ".grid tbody tr");
    expect(
      rows.some((row) => /0x[0-9A-Fa-f]+/.test(row)),
      rows.slice(0, 3).join("\n"),
    ).toBe(true);
    await new Promise((done) => setTimeout(done, 300));
    expect(decodeURIComponent(page.url())).toMatch(/by=event~field:Irp/);
    expect(faults).toEqual([]);
    await page.close();
  }, 60_000);

  it("scrolls any number of rows and sorts both ways", async () => {
    const { page, faults } = await visit(browser, `${boot.url}#tab=use&about=events&by=each`);
    await page.waitForSelector(".grid.long tbody tr");
    expect(await text(page, ".pane figcaption")).toMatch(/rows 1 to 2000 of \d{4,}/);
    expect(await page.$$eval(".grid tbody tr", (all) => all.length)).toBeLessThan(400);
    const first = () => text(page, ".grid tbody tr:not([aria-hidden]) td");
    const start = await first();
    await page.$eval(".pane", (pane) => (pane.scrollTop = 20_000));
    await settled(page);
    expect(Number(await first())).toBeGreaterThan(Number(start));
    await page.$eval(".pane", (pane) => (pane.scrollTop = 0));
    await settled(page);
    await click(page, ".pane figcaption button", "Next rows");
    await page.waitForFunction(() =>
      document.querySelector(".pane figcaption")?.textContent?.includes("rows 2001 to 4000"),
    );
    const sorting = () => page.$$eval(".grid th", (all) => all.map((each) => each.getAttribute("aria-sort")));
    await click(page, ".grid thead button", "thread");
    expect((await sorting())[3]).toBe("descending");
    const largest = Number(await text(page, ".grid tbody tr:not([aria-hidden]) td:nth-child(4)"));
    await click(page, ".grid thead button", "thread");
    expect((await sorting())[3]).toBe("ascending");
    expect(Number(await text(page, ".grid tbody tr:not([aria-hidden]) td:nth-child(4)"))).toBeLessThan(largest);
    expect(faults).toEqual([]);
    await page.close();
  }, 60_000);

  it("offers only tables that the recording has data for", async () => {
    const subjects = async (address: string) => {
      const { page, faults } = await visit(browser, `${address}#tab=use`);
      await page.waitForSelector(".zones select");
      const titles = await page.$$eval(".zones label:first-child option", (all) =>
        all.map((each) => each.textContent ?? ""),
      );
      expect(faults).toEqual([]);
      await page.close();
      return titles;
    };
    const ofSleep = await subjects(sleep.url);
    expect(ofSleep).toEqual(expect.arrayContaining(["CPU", "Power requests", "Notifications", "Events"]));
    expect(ofSleep).not.toContain("Hard faults");
    expect(await subjects(boot.url)).not.toContain("Power requests");
  }, 60_000);

  it("shows the critical path, services and devices above the fold with 96 processors", async () => {
    const { page, faults } = await visit(browser, pathToFileURL(singleFile(manyProcessors)).href);
    const groups = await page.$$eval(".group .fold", (all) =>
      all.map(
        (each) =>
          [
            (each as HTMLElement).innerText.replace(/^\S /, ""),
            each.getBoundingClientRect().bottom <=
              (document.querySelector(".scroller")?.getBoundingClientRect().bottom ?? 0),
          ] as const,
      ),
    );
    const seen = groups.filter(([, isSeen]) => isSeen).map(([group]) => group);
    expect(seen).toEqual(expect.arrayContaining(["CPU", "Disks", "Critical path", "Services", "Devices and drivers"]));
    expect(await text(page, ".names")).toContain("All 96 processors");
    expect(await text(page, ".names")).not.toContain("Processor 95");
    await click(page, ".group .detail", "all 97");
    expect(Number.parseInt(await text(page, ".corner"), 10)).toBeGreaterThan(96);
    expect(faults).toEqual([]);
    await page.close();
  }, 60_000);

  it("brings the lane of a finding into view", async () => {
    const { page, faults } = await visit(browser, `${boot.url}#fold=services`);
    await click(page, ".chip button", "SoundShaper");
    await settled(page);
    const isSeen = await page.$$eval(".name", (all) => {
      const area = document.querySelector(".scroller")?.getBoundingClientRect();
      return all.some((each) => {
        const box = each.getBoundingClientRect();
        return each.textContent?.includes("SoundShaper") && area && box.top >= area.top && box.bottom <= area.bottom;
      });
    });
    expect(isSeen).toBe(true);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("draws a transition that did not end up to its last event, with the command's words", async () => {
    const command = run("shutdown", cutShutdown).split("\n")[0] ?? "";
    const { page, faults } = await visit(browser, pathToFileURL(singleFile(cutShutdown)).href);
    const headline = await text(page, ".headline");
    const number = /at least [\d.]+ m?s/.exec(command)?.[0];
    expect(number, command).toBeTruthy();
    expect(headline).toContain(number);
    expect(await page.$(".phase.open")).not.toBeNull();
    expect(await text(page, ".ribbon")).toMatch(/≥/);
    // The open phase is drawn up to the end of the recording.
    const open = await page.$eval(".phase.open", (phase) => phase.getBoundingClientRect().width);
    expect(open).toBeGreaterThan(100);
    expect(await text(page, ".pane")).toContain("Still running when the recording ended");
    expect(faults).toEqual([]);
    await page.close();
  });

  it("marks where the recorder lost events", async () => {
    const { page, faults } = await visit(browser, `${pathToFileURL(singleFile(lostEvents)).href}#range=5~8`);
    const gap = await page.$eval(".gap", (element) => element.getAttribute("aria-label") ?? "");
    expect(gap).toMatch(/No event for (9\d\d ms|8\d\d ms) from (5\.9\d|6\.0\d) s/);
    await press(page, "7");
    expect(await text(page, ".pane")).toContain("Where the recorder lost all events");
    expect(faults).toEqual([]);
    await page.close();
    const without = await visit(browser, pathToFileURL(singleFile(sample("slow-boot.etl"))).href);
    expect(await without.page.$(".gap")).toBeNull();
    await without.page.close();
  });

  it("fades colors with the legend", async () => {
    const { page, faults } = await visit(browser, boot.url);
    await page.waitForSelector(".legend button");
    await click(page, ".legend button", "waiting for a disk");
    expect(await page.$eval('.legend button[aria-pressed="false"]', (button) => button.textContent)).toBe(
      "waiting for a disk",
    );
    await new Promise((done) => setTimeout(done, 300));
    expect(page.url()).toContain("without-tones=8");
    await click(page, ".legend button", "Show all");
    expect(await page.$('.legend button[aria-pressed="false"]')).toBeNull();
    expect(faults).toEqual([]);
    await page.close();
  });

  it("stays usable with an odd address", async () => {
    for (const odd of [
      "about=__proto__&tab=use",
      "tab=__proto__",
      "finding=99",
      "phase=constructor",
      "slice=1~NaN~2~3~4~5~6~x",
      "thread=__proto__",
      "chain=9~1~2",
      "sort=__proto__&tab=use",
      "range=1e999~-1",
      "pin=99999&hide=-1&move=1.2~3",
      "by=field:__proto__&about=events&tab=use",
      "where=%25%3D%22&about=events&tab=use",
      "process=4294967295~0~x",
    ]) {
      const { page, faults } = await visit(browser, `${boot.url}#${odd}`);
      await settled(page);
      expect(await page.$(".phase"), odd).not.toBeNull();
      expect((await text(page, ".pane")).length, odd).toBeGreaterThan(0);
      expect(faults, odd).toEqual([]);
      await page.close();
    }
  }, 90_000);

  it("colors a phase alike in every recording", async () => {
    const color = async (address: string, phase: string) => {
      const { page } = await visit(browser, address);
      const colors = await page.$$eval(
        ".phase",
        (all, phase) =>
          all.filter((each) => each.textContent?.includes(phase)).map((each) => getComputedStyle(each).backgroundColor),
        phase,
      );
      await page.close();
      return colors[0];
    };
    // With the stages of the firmware before the kernel, and without.
    expect(await color(boot.url, "WinLogonInit")).toBe(
      await color(pathToFileURL(singleFile(lostEvents)).href, "WinLogonInit"),
    );
    expect(await color(boot.url, "WinLogonInit")).not.toBe(await color(boot.url, "ExplorerInit"));
  });
});
