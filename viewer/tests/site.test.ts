/** The page that opens recordings by itself, from disk and from a web server. SITE is its folder, made by tools/make-site.mjs. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, ElementHandle, Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browsers, click, folder, open, press, repository, serve, text, visit } from "./pages";
import { simulated } from "./recordings";

const site = process.env["SITE"] ?? "";
const sample = (name: string) => join(repository, "samples", name);

/** Files of each kind. Those of one entry are opened together. */
const KINDS: [kind: string, files: () => string[]][] = [
  ["a boot", () => [sample("slow-boot.etl")]],
  ["a shutdown", () => [sample("slow-shutdown.etl")]],
  ["a sleep", () => [sample("slow-sleep.etl")]],
  ["an archive of Linux logs", () => [sample("linux-boot.tar.xz")]],
  ["a kernel log and a journal", () => unpacked("linux-boot.tar.xz", "lab/dmesg.txt", "lab/journal.export")],
  ["a network capture", () => [sample("netboot-slow-link.pcap.xz")]],
  ["firmware tables", () => [sample("firmware-FBPT.bin.xz")]],
  ["file operations", () => [sample("four-byte-reads.csv.gz")]],
  ["Windows event logs", () => eventLogs()],
];

function unpacked(archive: string, ...members: string[]): string[] {
  execFileSync("tar", ["xJf", sample(archive), "-C", folder, ...members]);
  return members.map((member) => join(folder, member));
}

function eventLogs(): string[] {
  const logs = join(folder, "logs");
  mkdirSync(logs, { recursive: true });
  execFileSync(process.env["WRITE_EVENT_LOGS"] ?? join(repository, "target/debug/examples/write_event_logs"), [
    logs,
    "xml",
  ]);
  return readdirSync(logs).map((name) => join(logs, name));
}

/** The names of transitions and lanes, once the page has laid them out: the same twice in a row. */
async function settledNames(page: Page): Promise<string[]> {
  let last: string[] = [];
  for (let tries = 0; tries < 40; tries++) {
    const names = await page.$$eval(".chips button, .name .text", (all) =>
      all.map((each) => (each as HTMLElement).innerText),
    );
    if (names.length > 0 && names.join("\n") === last.join("\n")) return names;
    last = names;
    await new Promise((done) => setTimeout(done, 250));
  }
  throw new Error(`the lanes do not settle: ${last.join(", ")}`);
}

/** What a person reads on the page of a recording. */
async function read(page: Page): Promise<string[]> {
  await page.waitForSelector(".ribbon .phase, .pane h2");
  const shown = [await text(page, "header .machine"), await text(page, ".headline"), await text(page, ".ribbon")];
  shown.push(...(await settledNames(page)));
  for (const tab of ["1", "3", "6", "7"]) {
    await press(page, tab);
    shown.push(await text(page, ".pane"));
  }
  // The program knows the folders of the files, a browser does not.
  return shown.map((text) => text.replaceAll(/\/\S*\/(?=[^/\s]+\.(etl|xz|xml))/g, ""));
}

async function choose(page: Page, files: string[]): Promise<void> {
  const input = (await page.$('input[type="file"]')) as ElementHandle<HTMLInputElement>;
  await input.uploadFile(...files);
}

describe.skipIf(!existsSync(join(site, "onoff.html"))).each(browsers)("the page without a server in %s", (name) => {
  let browser: Browser;
  let host: Server;
  let origin: string;
  const file = pathToFileURL(join(site, "onoff.html")).href;
  beforeAll(async () => {
    browser = await open(name);
    host = createServer((request, response) => {
      const path = join(site, request.url === "/" ? "index.html" : (request.url ?? ""));
      if (!existsSync(path)) return response.writeHead(404).end();
      response
        .writeHead(200, {
          "content-type": path.endsWith(".html") ? "text/html; charset=utf-8" : "application/octet-stream",
        })
        .end(readFileSync(path));
    }).listen(0, "127.0.0.1");
    await new Promise((done) => host.once("listening", done));
    origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}/`;
  }, 60_000);
  afterAll(async () => {
    host?.close();
    await browser?.close();
  });

  it.each(KINDS)(
    "shows %s as the program does",
    async (_kind, files) => {
      const paths = files();
      const own = await serve(...paths);
      const expected = await visit(browser, own.url);
      const told = await read(expected.page);
      await expected.page.close();
      own.stop();
      const { page, faults } = await visit(browser, file);
      await choose(page, paths);
      await page.waitForFunction(() => document.querySelector("header, .lost"), { timeout: 110_000 });
      expect(await read(page)).toEqual(told);
      expect([...faults, ...expected.faults]).toEqual([]);
      await page.close();
    },
    120_000,
  );

  it("answers questions, opens other files, and explains what it cannot read, from a web server", async () => {
    const { page, faults } = await visit(browser, `${origin}#phase=WinLogonInit&tab=why`);
    await choose(page, [sample("slow-boot.etl")]);
    await page.waitForSelector(".chain li", { timeout: 60_000 });
    expect(await text(page, ".chain")).toMatch(/5\.88\s*s/);
    await page.click('.chip input[type="checkbox"]');
    await page.waitForSelector(".prediction b", { timeout: 60_000 });
    expect(await text(page, ".prediction")).toContain("30.0 s → 23.6 s");
    const noise = join(folder, "noise.bin");
    writeFileSync(noise, new Uint8Array(4096).fill(7));
    await click(page, "header button", "Open files");
    await choose(page, [noise]);
    await page.waitForSelector(".lost");
    expect(await text(page, ".lost")).toContain("noise.bin: unknown format");
    // Two recordings at once, by drag and drop.
    const dropped = [sample("slow-shutdown.etl"), simulated("slow-sleep", "other-sleep")].map((path) =>
      readFileSync(path).toString("base64"),
    );
    await page.evaluate((contents) => {
      const dataTransfer = new DataTransfer();
      contents.forEach((content, index) =>
        dataTransfer.items.add(
          new File([Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))], `dropped-${index}.etl`),
        ),
      );
      dispatchEvent(new DragEvent("drop", { dataTransfer }));
    }, dropped);
    await page.waitForSelector('select[aria-label="Recording"]', { timeout: 60_000 });
    expect(
      await page.$$eval('select[aria-label="Recording"] option', (all) => all.map((each) => each.textContent)),
    ).toEqual(["dropped-0.etl", "dropped-1.etl"]);
    expect(faults).toEqual([]);
    await page.close();
  }, 120_000);

  it("says why a browser cannot read recordings", async () => {
    const { page } = await visit(browser, file);
    await page.evaluate(() => Reflect.deleteProperty(window, "WebAssembly"));
    await choose(page, [sample("slow-boot.etl")]);
    await page.waitForSelector(".lost");
    expect(await text(page, ".lost")).toContain("WebAssembly is missing");
    await page.close();
  });
});
