/** The page shows the same numbers as the commands, also for large and damaged recordings. */

import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browsers, click, open, press, repository, run, serve, settled, text, visit } from "./pages";
import { simulated, withDamagedTime } from "./recordings";

const sample = (name: string) => join(repository, "samples", name);

let large: string;
let damaged: string;
let short: string;
beforeAll(() => {
  large = simulated("benchmark", "large", (scenario) => scenario, "65MiB");
  short = simulated("short-boot", "short");
  damaged = withDamagedTime(short, 16);
}, 400_000);

/** Cells of the column of a table with this heading. */
async function column(page: Page, heading: string): Promise<string[]> {
  return page.$$eval(
    ".pane table",
    (tables, heading) => {
      const heads = [...(tables[0]?.querySelectorAll("th") ?? [])].map((head) => head.innerText.replace(/ [↑↓]$/, ""));
      const index = heads.indexOf(heading);
      return [...(tables[0]?.querySelectorAll("tbody tr") ?? [])].map(
        (row) => (row.children[index] as HTMLElement | undefined)?.innerText ?? "",
      );
    },
    heading,
  );
}

/** Rows of the CSV output of a command, as objects. */
function rows(...args: string[]): Record<string, string>[] {
  const [head, ...lines] = run(...args, "--format", "csv")
    .trim()
    .split(/\r?\n/)
    .map((line) =>
      line.match(/("([^"]|"")*"|[^,]*)(,|$)/g)?.map((cell) => cell.replace(/,$/, "").replace(/^"|"$/g, "")),
    );
  return lines.map((cells) => Object.fromEntries((head ?? []).map((name, index) => [name, cells?.[index] ?? ""])));
}

describe.each(browsers)("in %s", (name) => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await open(name);
  }, 60_000);
  afterAll(async () => browser?.close());

  it("shows the phases of a large recording while it reads the rest", async () => {
    const server = await serve(large);
    const { page, faults } = await visit(browser, server.url);
    await page.waitForSelector(".ribbon .phase", { timeout: 200_000 });
    const phases = await text(page, ".ribbon .track");
    expect(await text(page, "header .trust")).toMatch(/^Reading large\.etl/);
    expect(await page.$("canvas")).toBeNull();
    await press(page, "3");
    expect(await text(page, ".pane")).toMatch(/Being read/);
    // The server answers meanwhile.
    const answered = await page.evaluate(async () => {
      const began = performance.now();
      await fetch("steps?recording=0&from=0&to=1000");
      return performance.now() - began;
    });
    expect(answered).toBeLessThan(2_000);
    await page.waitForSelector("canvas", { timeout: 250_000 });
    await page.waitForFunction(() => !document.querySelector(".pending"));
    expect(await text(page, ".ribbon .track")).toBe(phases);
    expect(await text(page, ".headline")).toMatch(/Fix first/);
    expect(await page.$eval('[role="tab"][aria-selected="true"]', (tab) => tab.id)).toBe("tab-account");
    expect(faults).toEqual([]);
    await page.close();
    server.stop();
  }, 500_000);

  it("says what to fix first in the words of the command", async () => {
    const server = await serve(sample("slow-boot.etl"));
    const { page } = await visit(browser, server.url);
    const sentence = /Fix first: .*/.exec(run("diagnose", sample("slow-boot.etl")))?.[0] ?? "nothing";
    expect(await text(page, ".headline")).toContain(sentence.replace(/ \d+ more findings? below\.$/, "").trim());
    await page.close();
    server.stop();
  }, 100_000);

  it("ends a recording before a damaged time, as the commands do", async () => {
    const server = await serve(damaged);
    const { page } = await visit(browser, server.url);
    await page.waitForSelector(".ribbon .phase");
    await click(page, ".crumbs button", "Everything");
    expect(await text(page, ".crumbs")).toMatch(/to 12\.7 s/);
    expect(run("cpu", damaged).split("\n")[0]).toBe(run("cpu", short).split("\n")[0]);
    expect(run("info", damaged)).toContain("11,190 events in 12.7 s");
    await press(page, "7");
    expect(await text(page, ".pane")).toContain("isolated_time");
    await page.close();
    server.stop();
  }, 100_000);

  it("lists file transfers and DHCP exchanges of a range", async () => {
    const capture = sample("netboot-slow-link.pcap.xz");
    const server = await serve(capture);
    const { page, faults } = await visit(browser, server.url);
    await page.waitForSelector(".ribbon .phase");
    await click(page, ".crumbs button", "Everything");
    await press(page, "4");
    await page.waitForSelector(".grid tbody tr");
    const expected = rows("netboot", capture).filter((row) => row["kind"] === "tftp" || row["kind"] === "http");
    expect(expected.length).toBeGreaterThan(0);
    expect(await column(page, "file")).toEqual(expected.map((row) => row["name"]));
    await page.select(".zones select", "dhcp");
    await page.waitForFunction(() => document.querySelector(".grid tbody")?.textContent?.includes("DHCPv"));
    expect((await column(page, "exchange")).length).toBeGreaterThan(0);
    expect(faults).toEqual([]);
    await page.close();
    server.stop();
  }, 100_000);

  it("lists firmware measurements of a range", async () => {
    const tables = sample("firmware-FBPT.bin.xz");
    const server = await serve(tables);
    const { page, faults } = await visit(browser, server.url);
    await page.waitForSelector(".ribbon .phase");
    await click(page, ".crumbs button", "Everything");
    await press(page, "4");
    await page.waitForSelector(".grid tbody tr");
    const measured = rows("firmware", tables).filter(
      (row) => row["end_ns"] && !/^(stage|phase|point)$/.test(row["kind"] ?? ""),
    );
    expect(await text(page, ".pane figcaption")).toContain(`: ${measured.length} rows`);
    // Sorted by the time without nested work, longest first.
    await click(page, ".grid th button", "without nested work");
    const longest = [...measured].sort((a, b) => Number(b["self_ns"]) - Number(a["self_ns"]))[0];
    expect((await column(page, "module"))[0]).toBe(longest?.["module"]);
    expect(faults).toEqual([]);
    await page.close();
    server.stop();
  }, 100_000);

  it("sorts plain tables both ways and aligns their numbers", async () => {
    const server = await serve(sample("slow-boot.etl"));
    const { page } = await visit(browser, `${server.url}#phase=WinLogonInit&tab=account`);
    await page.waitForSelector(".pane table tbody tr");
    const received = await column(page, "Subject");
    await click(page, ".pane th button", "Time");
    expect(await page.$eval(".pane th[aria-sort='descending']", (head) => (head as HTMLElement).innerText)).toBe(
      "Time ↓",
    );
    const largest = (await column(page, "Subject"))[0];
    await click(page, ".pane th button", "Time");
    expect((await column(page, "Subject")).at(-1)).toBe(largest);
    expect(await page.$eval(".pane th[aria-sort='ascending']", (head) => getComputedStyle(head).textAlign)).toBe(
      "right",
    );
    await click(page, ".pane th button", "Time");
    expect(await column(page, "Subject")).toEqual(received);
    await click(page, ".pane th button", "Subject");
    const names = await column(page, "Subject");
    expect(names).toEqual([...names].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })));
    await settled(page);
    await page.close();
    server.stop();
  }, 100_000);
});
