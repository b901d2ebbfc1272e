#!/usr/bin/env node
// What the page of 'onoff view' costs: its bytes, the time to the first picture once the recording is read, JavaScript for a step of
// zoom, the memory of the server, the size of the single file. In Chromium, which counts the time that its scripts take.
//
//   node crates/support/bench/page.mjs PROGRAM RECORDING        (after 'make viewer', which installs what drives the browser)

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import puppeteer from "../viewer/node_modules/puppeteer-core/lib/esm/puppeteer/puppeteer-core.js";

const [program, recording] = process.argv.slice(2);
if (!recording) {
  console.error("usage: node crates/support/bench/page.mjs PROGRAM RECORDING");
  process.exit(64);
}
const STEPS = 200;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const say = (what, value) => console.log(`${what.padEnd(48)} ${value}`);

say("recording, MiB", (statSync(recording).size / 2 ** 20).toFixed(1));
const page = readFileSync(new URL("../../output/page/built/index.html", import.meta.url));
say("the page, packed by gzip, kB", (gzipSync(page, { level: 9 }).length / 1000).toFixed(1));

let began = performance.now();
const server = spawn(program, ["view", recording, "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((found, failed) => {
  let text = "";
  server.stdout.on("data", (chunk) => {
    text += chunk;
    const match = /http:\/\/127\.0\.0\.1:\d+\/\S+\//.exec(text);
    if (match) found(match[0]);
  });
  server.on("exit", (code) => failed(new Error(`onoff view ended with ${code}`)));
});
say("reading and indexing, s", ((performance.now() - began) / 1000).toFixed(2));
const memory = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
say("memory of the server once read, MiB", `${memory("VmRSS").toFixed(0)} (of it the mapped file ${memory("RssFile").toFixed(0)}; at most ${memory("VmHWM").toFixed(0)})`);

const browser = await puppeteer.launch({ browser: "chrome", executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"], headless: true });
const tab = await browser.newPage();
await tab.setViewport({ width: 1600, height: 900 });
began = performance.now();
await tab.goto(url, { waitUntil: "domcontentloaded" });
await tab.waitForFunction(
  () => {
    const canvas = document.querySelector("canvas");
    const image = canvas?.width && canvas.height ? canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height) : null;
    return image !== null && new Set(new Uint32Array(image.data.buffer)).size > 4;
  },
  { polling: 20, timeout: 60_000 },
);
say("first picture after that, s", ((performance.now() - began) / 1000).toFixed(2));

await pause(1_000);
const [scripts, answers] = [[], []];
for (let step = 0; step < STEPS; step += 1) {
  const before = (await tab.metrics()).ScriptDuration;
  const asked = performance.now();
  // In to a thousandth of the recording and out again, a little to the side now and then.
  await tab.keyboard.press(step % 40 < 18 ? "w" : step % 40 < 20 ? "d" : step % 40 < 38 ? "s" : "a");
  await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  answers.push(performance.now() - asked);
  await pause(90);
  scripts.push(((await tab.metrics()).ScriptDuration - before) * 1000);
}
say(`JavaScript of a step of zoom, median of ${STEPS}, ms`, `${median(scripts).toFixed(1)} (at most ${Math.max(...scripts).toFixed(1)})`);
say("until it is on the screen, median, ms", median(answers).toFixed(1));
say("memory of the server after that, MiB", memory("VmRSS").toFixed(0));
await browser.close();
server.kill("SIGINT");

const file = join(mkdtempSync(join(tmpdir(), "onoff-page-")), "page.html");
began = performance.now();
execFileSync(program, ["view", recording, "-o", file], { stdio: ["ignore", "ignore", "inherit"] });
const bytes = statSync(file).size;
say("the single file, MB", `${(bytes / 1e6).toFixed(2)} (packed by gzip ${(gzipSync(readFileSync(file)).length / 1e6).toFixed(2)}), made in ${((performance.now() - began) / 1000).toFixed(1)} s`);
