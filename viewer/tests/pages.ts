/** Creates pages with the program under test and opens them in Chromium or Firefox. */

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import puppeteer, { type Browser, type Page } from "puppeteer-core";

export const repository = resolve(import.meta.dirname, "../..");
const program = process.env["ONOFF"] ?? join(repository, "target/debug/onoff");

const EXECUTABLES = {
  chrome: ["/usr/bin/chromium", "/usr/bin/google-chrome"],
  firefox: ["/usr/bin/firefox-esr", "/usr/bin/firefox"],
} as const;

export const browsers = (Object.keys(EXECUTABLES) as (keyof typeof EXECUTABLES)[]).filter((name) =>
  EXECUTABLES[name].some(existsSync),
);

export async function open(name: keyof typeof EXECUTABLES, more: string[] = []): Promise<Browser> {
  const executablePath = EXECUTABLES[name].find(existsSync);
  if (!executablePath) throw new Error(`${name} is not installed`);
  const args =
    name === "chrome"
      ? [
          "--no-sandbox",
          "--disable-gpu",
          "--disable-quic",
          "--disable-background-networking",
          "--disable-component-update",
          "--disable-sync",
        ]
      : [];
  return puppeteer.launch({ browser: name, executablePath, args: [...args, ...more], headless: true });
}

export const folder = mkdtempSync(join(tmpdir(), "onoff-pages-"));
let made = 0;

/** Writes the single-file page of recordings and returns its path. */
export function singleFile(...recordings: string[]): string {
  const path = join(folder, `page-${(made += 1)}.html`);
  execFileSync(program, ["view", ...recordings, "-o", path], { stdio: ["ignore", "ignore", "inherit"] });
  return path;
}

/** Output of the program. */
export const run = (...args: string[]): string => execFileSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28 });

/** Starts a server; `stop` ends it. */
export async function serve(...recordings: string[]): Promise<{ url: string; stop: () => void }> {
  const child = spawn(program, ["view", ...recordings, "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise<string>((found, failed) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const match = /http:\/\/127\.0\.0\.1:\d+\/\S+\//.exec(text);
      if (match) found(match[0]);
    });
    child.on("exit", (code) => failed(new Error(`onoff view ended with ${code}`)));
  });
  return { url, stop: () => child.kill("SIGINT") };
}

/** Opens a page. `faults` collects script errors and requests to anything but the page's own server. */
export async function visit(
  browser: Browser,
  address: string,
  width = 1_280,
  height = 800,
): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`script: ${error instanceof Error ? error.message : String(error)}`));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`console: ${message.text()}`);
  });
  const own = address.startsWith("file:") ? (address.split("#")[0] ?? address) : new URL(address).origin;
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(own) && !url.startsWith("data:") && !url.startsWith("blob:") && !url.endsWith("/favicon.ico"))
      faults.push(`request to ${url}`);
  });
  await page.setViewport({ width, height });
  await page.goto(address, { waitUntil: "load" });
  await page.waitForSelector("main");
  return { page, faults };
}

/** Visible text of an element. */
export async function text(page: Page, selector: string): Promise<string> {
  return page.$eval(selector, (element) => (element as HTMLElement).innerText);
}

export async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key as Parameters<Page["keyboard"]["press"]>[0]);
  await settled(page);
}

/** Waits until the page has drawn its current state. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 120)))),
  );
}

/** Clicks the first element that matches `selector` and contains the text `containing`. */
export async function click(page: Page, selector: string, containing: string): Promise<void> {
  const found = await page.evaluateHandle(
    (selector, containing) =>
      [...document.querySelectorAll(selector)].find((each) => (each as HTMLElement).innerText.includes(containing)) ??
      null,
    selector,
    containing,
  );
  const element = found.asElement();
  if (!element) throw new Error(`no ${selector} with "${containing}"`);
  await (element as import("puppeteer-core").ElementHandle<Element>).click();
  await settled(page);
}
