/** The page in real browsers: typical tasks, accessibility, isolation from the network. */

import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { comparisonRuns, simulated, replaceOnce } from "./recordings";
import { duration } from "../src/time";
import { browsers, click, open, press, repository, run, serve, settled, singleFile, text, visit } from "./pages";

const sample = (name: string) => join(repository, "samples", name);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const included = ["--include", "untrained", "--include", "analysis-tracing"];
const samples = process.env["ONOFF_SAMPLES"] ?? join(repository, "../shared/samples");
const slowStop = join(samples, "linux/shutdown-slowstop.tar.xz");

const ALL_GROUPS =
  "firmware~network~processors~disks~critical_path~devices~services~session~notifications~power~processes~log";

/** Each kind of recording, with the expected content of its page. */
const KINDS: [
  kind: string,
  recordings: string[],
  expected: { headline: RegExp; phases: string[]; groups: string[] },
][] = [
  [
    "a Windows boot with firmware stages at negative times",
    ["slow-boot.etl"],
    {
      headline: /^Boot: 30\.0 s/,
      phases: ["firmware", "loader", "PreSMSS", "PostBoot"],
      groups: ["Firmware", "CPU", "Critical path", "Services", "Log"],
    },
  ],
  [
    "a Windows shutdown",
    ["slow-shutdown.etl"],
    { headline: /^Shutdown: 13\.6 s/, phases: ["UserSession", "SystemSession"], groups: ["Notifications", "Services"] },
  ],
  [
    "a Windows sleep",
    ["slow-sleep.etl"],
    {
      headline: /^Sleep and wake: 11\.5 s/,
      phases: ["SuspendServices", "Asleep", "PostResume"],
      groups: ["Power requests"],
    },
  ],
  [
    "a Linux boot",
    ["linux-boot.tar.xz"],
    { headline: /^Boot: 40\.1 s/, phases: ["kernel", "user space"], groups: ["Services", "Log"] },
  ],
  [
    "a network boot",
    ["netboot-slow-link.pcap.xz"],
    { headline: /Network boot of 52:54:00:77:00:01/, phases: ["DHCP", "boot program"], groups: ["Network boot"] },
  ],
];
let shellWaits: string;
let sides: { baseline: string[]; candidate: string[] };
beforeAll(() => {
  sides = comparisonRuns();
  shellWaits = simulated("shell-waits-for-service", "shell-waits");
}, 120_000);

it("finds at least one installed browser", () => expect(browsers.length).toBeGreaterThan(0));

describe.each(browsers)("in %s", (name) => {
  let browser: Browser;
  let address: string;
  let stop: () => void;
  beforeAll(async () => {
    browser = await open(name);
    ({ url: address, stop } = await serve(sample("slow-boot.etl"), sample("slow-shutdown.etl")));
  }, 60_000);
  afterAll(async () => {
    stop?.();
    await browser?.close();
  });

  it("shows which driver blocked PreSMSS", async () => {
    const { page, faults } = await visit(browser, address);
    await click(page, ".phase", "PreSMSS");
    await press(page, "3");
    expect(await text(page, ".pane figcaption")).toContain("PreSMSS");
    expect(await text(page, ".pane tbody tr:first-child")).toContain("LegacyScan");
    await press(page, "1");
    expect(await text(page, ".pane dl")).toMatch(/first start of smss\.exe[\s\S]*measured/);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("shows the most-read file in a selected range", async () => {
    const { page, faults } = await visit(browser, `${address}#range=0~45.03`);
    const canvas = await page.$("canvas");
    const box = await canvas?.boundingBox();
    if (!box) throw new Error("no canvas");
    await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await press(page, "4");
    await page.select(".zones select", "disk");
    await page.waitForSelector(".grid tbody tr");
    await settled(page);
    // First by path, longest disk time first; then by path and process.
    const first = () => text(page, ".grid tbody tr:first-child");
    expect(await first()).toMatch(/AgGlFaultHistory\.db/);
    await click(page, ".zones button", "process");
    await page.waitForFunction(() => document.querySelector(".grid thead")?.textContent?.includes("process"));
    expect(await first()).toMatch(/svchost\.exe[\s\S]*AgGlFaultHistory\.db/);
    expect(page.url()).toBeTruthy();
    await new Promise((done) => setTimeout(done, 300));
    expect(page.url()).toMatch(/about=disk.*by=path/);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("shows the critical path of a phase as sentences and as a flame graph", async () => {
    const { page, faults } = await visit(browser, `${address}#fold=processors~disks`);
    await click(page, ".phase", "WinLogonInit");
    await press(page, "f", "2");
    await page.waitForSelector(".chain li");
    // The scenario's slow service waits six seconds during its initialization.
    const longest = await page.$$eval(".chain li", (all) =>
      all.map((each) => (each as HTMLElement).innerText).find((line) => /5\.88\s*s/.test(line)),
    );
    expect(longest).toMatch(/shapersvc\.exe \(\d+: SoundShaper\) waited for a timer/);
    await page.evaluate(() => (document.querySelector(".chain li .evidence[aria-expanded]") as HTMLElement).click());
    await settled(page);
    expect(await text(page, ".chain .raw")).toMatch(/onoff events slow-boot\.etl --range \d+ns \d+ns/);
    await press(page, "5");
    await click(page, ".choices button", "Waits");
    await page.waitForSelector(".flame button");
    const frames = await page.$$eval(".flame button", (all) =>
      all.map((each) => each.getAttribute("aria-label") ?? ""),
    );
    expect(frames[0]).toMatch(/^winlogon\.exe \(\d+\), 9\.17 s, 100\.0 %, level 1$/);
    expect(frames.find((each) => each.startsWith("shapersvc.exe"))).toMatch(/ level 3$/);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("predicts the boot without chosen findings, as 'onoff what-if' does", async () => {
    const recording = sample("slow-boot.etl");
    const file = pathToFileURL(singleFile(recording)).href;
    for (const where of [address, file]) {
      const { page, faults } = await visit(browser, where);
      const boxes = await page.$$('.chip input[type="checkbox"]');
      expect(boxes.length).toBe(4);
      await boxes[0]!.focus();
      for (const chosen of [[0], [0, 1], [0, 1, 2, 3]]) {
        for (const index of chosen)
          if (!(await boxes[index]!.evaluate((box) => (box as HTMLInputElement).checked)))
            await boxes[index]!.press(" ");
        if (where === file && chosen.length === 2) {
          await page.waitForFunction(() =>
            document.querySelector(".prediction")?.textContent?.includes("run: onoff view FILE"),
          );
          continue;
        }
        await page.waitForFunction(
          (count) =>
            (document.querySelector(".prediction code")?.textContent?.match(/--(ungroup|without|pend)/g)?.length ??
              0) >= count,
          {},
          chosen.length,
        );
        // The answer about the boxes checked before may come first.
        await page.waitForNetworkIdle({ idleTime: 500 });
        await page.waitForFunction(() => document.querySelector(".prediction")?.textContent?.includes(" → "));
        let answer: ReturnType<typeof JSON.parse>, spoken: string, total: string;
        do {
          const options = (await text(page, ".prediction code")).replace("onoff what-if FILE ", "").split(" ");
          answer = JSON.parse(run("what-if", recording, ...options, "--format", "json"));
          total = `${duration(answer.measured_ns)} → ${duration(answer.predicted.ns)}`;
          spoken = await text(page, ".prediction");
        } while (spoken.includes("Predicting"));
        expect(spoken).toContain(total);
        expect(spoken).toContain(
          `First culprit then: ${answer.bottleneck.kind} ${answer.bottleneck.name}, ${duration(answer.bottleneck.ns)}.`,
        );
        const drawn = await page.$$eval(".predicted [role=img]", (all) =>
          all.map((each) => each.getAttribute("aria-label")),
        );
        expect(drawn).toEqual(
          answer.phases.map(
            (row: { phase: string; measured_ns: number; predicted: { ns: number } }) =>
              `${row.phase}: ${duration(row.predicted.ns)} instead of ${duration(row.measured_ns)}`,
          ),
        );
      }
      await new Promise((done) => setTimeout(done, 300));
      expect(page.url()).toContain("whatif=0%7E1%7E2%7E3");
      await click(page, ".prediction button", "Clear");
      expect(await page.$(".predicted")).toBeNull();
      // The same with the keyboard.
      await click(page, ".chip button", "SoundShaper");
      await press(page, "x");
      await page.waitForSelector(".prediction b");
      expect(faults).toEqual([]);
      await page.close();
    }
  }, 120_000);

  it("shows what explorer waited for", async () => {
    // The scenario's shell waits for the service MenuProvider, which uses six seconds of CPU.
    const own = await serve(shellWaits);
    const { page, faults } = await visit(browser, own.url);
    await page.type('input[type="search"]', "explorer");
    await settled(page);
    expect(await text(page, ".names")).toContain("explorer.exe");
    await page.$eval('input[type="search"]', (input) => (input as HTMLInputElement).blur());
    await click(page, ".phase", "ExplorerInit");
    await press(page, "2");
    await page.waitForSelector(".chain li");
    const steps = await page.$$eval(".chain li", (all) => all.map((each) => (each as HTMLElement).innerText));
    expect(
      steps.some((line) => /5\.48 s[\s\S]*MenuProvider\) ran and readied thread \d+/.test(line)),
      steps.join("\n"),
    ).toBe(true);
    await press(page, "3");
    expect(await text(page, ".pane tbody tr:first-child")).toMatch(/^MenuProvider[\s\S]*5\.48 s/);
    expect(faults).toEqual([]);
    await page.close();
    own.stop();
  });

  it("shows what kept PostBoot busy", async () => {
    const { page, faults } = await visit(browser, address);
    await click(page, ".phase", "PostBoot");
    await press(page, "3");
    const rows = await page.$$eval(".pane tbody tr", (all) =>
      all.map((each) => (each as HTMLElement).innerText.replaceAll("\t", " ")),
    );
    expect(rows[0]).toMatch(/^idle /);
    // The scenario's startup program: 4.60 s of 5.00 s busy time.
    expect(rows[1]).toMatch(/^CloudBox\.exe program[\s\S]*4\.60 s[\s\S]*keeping the computer busy/);
    expect(faults).toEqual([]);
    await page.close();
  });

  it.skipIf(!existsSync(slowStop))(
    "shows which unit delayed a shutdown (real recording, skipped without the samples)",
    async () => {
      const { page, faults } = await visit(browser, pathToFileURL(singleFile(slowStop)).href);
      await page.select(
        'select[aria-label="Transition"]',
        await page.$$eval('select[aria-label="Transition"] option', (all) =>
          String(all.findIndex((each) => each.textContent === "Shutdown")),
        ),
      );
      await settled(page);
      expect(await text(page, ".headline")).toMatch(/^Shutdown: at least 8\.55 s/);
      await click(page, ".phase", "stop units");
      await press(page, "3");
      // The unit was configured to take five seconds to stop.
      expect(await text(page, ".pane tbody tr:first-child")).toMatch(/slowstop\.service[\s\S]*5\.02 s/);
      expect(faults).toEqual([]);
      await page.close();
    },
    30_000,
  );

  it.each(KINDS)(
    "opens %s",
    async (_, recordings, expected) => {
      const file = singleFile(...recordings.map((each) => (each.startsWith("--") ? each : sample(each))));
      const { page, faults } = await visit(browser, `${pathToFileURL(file).href}#fold=${ALL_GROUPS}`);
      expect(await text(page, ".headline")).toMatch(expected.headline);
      for (const phase of expected.phases) expect(await text(page, ".ribbon")).toContain(phase);
      const groups = await page.$$eval(".group .fold", (all) =>
        all.map((each) => (each as HTMLElement).innerText.replace(/^\S /, "")),
      );
      for (const group of expected.groups) expect(groups).toContain(group);
      for (const tab of ["1", "2", "3", "4", "5", "6", "7"]) await press(page, tab);
      await page.evaluate(axe);
      const violations = await page.evaluate(async () => {
        const found = await (
          window as unknown as {
            axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
          }
        ).axe.run();
        return found.violations.map((each) => `${each.id}: ${each.nodes[0]?.html ?? ""}`);
      });
      expect(violations).toEqual([]);
      expect(faults).toEqual([]);
      await page.close();
    },
    30_000,
  );

  it("folds the time asleep, marks timeouts and lists phases without a position", async () => {
    const { page, faults } = await visit(browser, pathToFileURL(singleFile(sample("slow-sleep.etl"))).href);
    const asleep = await page.$eval(".asleep", (element) => ({
      said: element.getAttribute("aria-label") ?? "",
      share: element.getBoundingClientRect().width / (element.parentElement?.getBoundingClientRect().width ?? 1),
    }));
    expect(asleep.said).toMatch(/^asleep for 20\.0 s/);
    expect(asleep.share).toBeLessThan(0.08);
    expect(await page.$$eval(".tick", (all) => all.map((each) => each.getAttribute("aria-label")))).toEqual([
      expect.stringMatching(/player\.exe reached its timeout of 2\.00 s/),
    ]);
    expect(await text(page, ".pane")).toContain("BiosInit: 520 ms");
    expect(faults).toEqual([]);
    await page.close();
  });

  it("lists the events of a step and counts the events of a range", async () => {
    const { page, faults } = await visit(browser, address);
    await click(page, ".phase", "WinLogonInit");
    await press(page, "2");
    await page.waitForSelector(".chain li");
    await click(page, ".chain .evidence", "events");
    await page.waitForFunction(() => document.querySelector(".grid thead")?.textContent?.includes("fields"));
    expect(page.url()).toBeTruthy();
    const rows = await page.$$eval(".grid tbody tr", (all) => all.map((each) => (each as HTMLElement).innerText));
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.join("\n")).toMatch(/CSwitch|ReadyThread|SampledProfile|DiskIo/i);
    await press(page, "0");
    await click(page, ".zones button", "provider");
    await page.waitForFunction(() => document.querySelector(".grid thead")?.textContent?.includes("share"));
    expect(await text(page, ".grid")).toContain("Thread");
    expect(faults).toEqual([]);
    await page.close();
  });

  it("undoes, redoes, saves and restores views", async () => {
    const { page, faults } = await visit(browser, address);
    await click(page, ".phase", "PreSMSS");
    await press(page, "f");
    const there = await text(page, ".crumbs span");
    await new Promise((done) => setTimeout(done, 300));
    await press(page, "v");
    await page.type(".naming input", "drivers start");
    await page.keyboard.press("Enter");
    await settled(page);
    expect(await text(page, ".views")).toContain("drivers start");
    await press(page, "Escape");
    await press(page, "0");
    await new Promise((done) => setTimeout(done, 300));
    expect(await text(page, ".crumbs span")).not.toBe(there);
    await press(page, "u");
    expect(await text(page, ".crumbs span")).toBe(there);
    await press(page, "y", "v");
    await click(page, ".views button", "drivers start");
    expect(await text(page, ".crumbs span")).toBe(there);
    await new Promise((done) => setTimeout(done, 300));
    expect(decodeURIComponent(page.url())).toContain("saved=drivers");
    expect(faults).toEqual([]);
    await page.close();
  });

  it("prints phases with their contributors, and findings", async () => {
    const { page } = await visit(browser, address);
    if (name === "chrome") {
      await page.emulateMediaType("print");
      const printed = await text(page, ".printed");
      expect(printed).toContain("SoundShaper 6.08 s");
      expect(printed).toContain("4.37 s on the critical path");
      // On paper the page is narrower: lanes, ribbon and axis have to shrink alike.
      await page.evaluate(() => (document.body.style.width = "700px"));
      const edges = (selector: string) =>
        page.$eval(selector, (element) => {
          const { left, right } = element.getBoundingClientRect();
          return [Math.round(left), Math.round(right)] as const;
        });
      const [canvas, ticks, ribbon] = [
        await edges(".drawing canvas"),
        await edges(".ticks"),
        await edges(".ribbon .track"),
      ];
      expect(Math.abs(canvas[0] - ticks[0]) + Math.abs(canvas[1] - ticks[1])).toBeLessThanOrEqual(4);
      expect(Math.abs(canvas[0] - ribbon[0]) + Math.abs(canvas[1] - ribbon[1])).toBeLessThanOrEqual(4);
      expect(await page.$eval(".tabs", (element) => getComputedStyle(element).display)).toBe("none");
      expect((await page.pdf({ preferCSSPageSize: true })).length).toBeGreaterThan(20_000);
    } else {
      // Puppeteer cannot emulate print media in Firefox; check that the printed element exists.
      expect(await page.$eval(".printed", (element) => element.textContent)).toContain("SoundShaper 6.08 s");
    }
    await page.close();
  });

  it("draws lanes and arrows from the server without user input", async () => {
    const { page, faults } = await visit(browser, `${address}#fold=processors~disks&range=14~20`);
    const colors = () =>
      page.$eval("canvas", (canvas) => {
        const image = (canvas as HTMLCanvasElement)
          .getContext("2d")
          ?.getImageData(0, 0, (canvas as HTMLCanvasElement).width, (canvas as HTMLCanvasElement).height);
        return new Set(new Uint32Array(image?.data.buffer ?? new ArrayBuffer(0))).size;
      });
    let seen = 0;
    for (let tries = 0; tries < 20 && seen < 5; tries += 1) {
      await new Promise((done) => setTimeout(done, 200));
      seen = await colors();
    }
    expect(seen).toBeGreaterThan(4);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("works with the keyboard alone and restores the view from the address", async () => {
    const { page, faults } = await visit(browser, address);
    // The firmware stages come first, at negative times.
    await press(page, "]", "]", "]", "]", "]", "]", "]", "f");
    expect(await text(page, ".pane h2")).toBe("SMSSInit");
    const before = await text(page, ".crumbs span");
    await new Promise((done) => setTimeout(done, 300));
    const link = page.url();
    expect(link).toContain("phase=SMSSInit");
    const again = await visit(browser, link);
    expect(await text(again.page, ".crumbs span")).toBe(before);
    expect(await text(again.page, ".pane h2")).toBe("SMSSInit");
    // A background page is not drawn.
    await again.page.close();
    await page.bringToFront();
    await press(page, "0", "/");
    await page.keyboard.type("soundshaper");
    await settled(page);
    expect(await text(page, "#found")).toContain("SoundShaper");
    await press(page, "Escape");
    expect(await page.$("dialog")).toBeNull();
    await press(page, "?");
    expect(await text(page, "dialog h2")).toBe("Keyboard shortcuts");
    expect([...faults, ...again.faults]).toEqual([]);
    await page.close();
  });

  it("shows the duration of PostBoot and how idle time accumulated", async () => {
    const { page, faults } = await visit(browser, address);
    await click(page, ".phase", "PostBoot");
    await press(page, "1");
    expect(await text(page, ".pane dl")).toMatch(/5\.00 s, then 10\.0 s of idle time/);
    const cells = await page.$$eval(".band .cell", (all) =>
      all.map((cell) => [cell.className, cell.getAttribute("title") ?? ""]),
    );
    expect(cells.map(([look]) => look)).toEqual(["cell busy", "cell idle"]);
    expect(cells[1]![1]).toContain("10.0 s of 10.0 s idle time accumulated");
    expect(faults).toEqual([]);
    await page.close();
  });

  it("switches to another recording", async () => {
    const { page, faults } = await visit(browser, address);
    await page.select('select[aria-label="Recording"]', "1");
    await settled(page);
    expect(await text(page, ".headline")).toMatch(/shutdown/i);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("explains the difference between two sets of five runs, with a dot per run", async () => {
    const file = singleFile("--baseline", ...sides.baseline, "--candidate", ...sides.candidate, ...included);
    const { page, faults } = await visit(browser, pathToFileURL(file).href);
    expect(await text(page, ".headline")).toMatch(/The boot is .* slower/);
    // SoundShaper takes five seconds longer by design; nothing else may explain WinLogonInit.
    expect(await text(page, ".explained")).toMatch(/in WinLogonInit: SoundShaper takes longer, \+5\.0\d s/);
    const rows = await page.$$eval(".compare tbody tr", (all) =>
      all.map((row) => ({
        what: (row as HTMLElement).innerText.split("\t")[0]?.trim(),
        dots: row.querySelectorAll(".dot").length,
        verdict: row.className,
      })),
    );
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
    // Each lane is above the one of the same name on the other side.
    const others = () => page.$$eval(".name.other", (all) => all.map((each) => (each as HTMLElement).innerText.trim()));
    expect((await others()).slice(0, 2)).toEqual(["baseline: phases", "baseline"]);
    await press(page, "o");
    expect(await others()).toEqual([]);
    await press(page, "o");
    expect((await others()).length).toBeGreaterThan(2);
    // The other side is aligned at the start of the same phase.
    await click(page, ".phase", "WinLogonInit");
    await press(page, "f", "w", "b");
    expect(await text(page, "h1")).toMatch(/^baseline: before-\d\.etl/);
    const phase = await page.$eval('.phase[aria-pressed="true"]', (element) => (element as HTMLElement).innerText);
    expect(phase).toContain("WinLogonInit");
    await page.evaluate(axe);
    const violations = await page.evaluate(async () => {
      const found = await (
        window as unknown as {
          axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
        }
      ).axe.run();
      return found.violations.map((each) => `${each.id}: ${each.nodes[0]?.html ?? ""}`);
    });
    expect(violations).toEqual([]);
    expect(faults).toEqual([]);
    await page.close();
  }, 120_000);

  it("has no accessibility violations in either theme", async () => {
    const { page } = await visit(browser, address);
    for (const theme of ["light", "dark"]) {
      for (const tab of ["1", "2", "3", "4", "5", "6", "7"]) {
        await page.evaluate((theme) => (document.documentElement.dataset["theme"] = theme), theme);
        await press(page, tab);
        await page.evaluate(axe);
        const violations = await page.evaluate(async () => {
          const found = await (
            window as unknown as {
              axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
            }
          ).axe.run();
          return found.violations.map((each) => `${each.id}: ${each.nodes[0]?.html ?? ""}`);
        });
        expect(violations, `${theme}, tab ${tab}`).toEqual([]);
      }
    }
    await page.close();
  }, 60_000);

  it("escapes names with markup and scripts, served and from a file", async () => {
    const markup = "<img src=x onerror=window.hacked=1><script>window.hacked=2</script></script><!--";
    const recording = simulated("slow-boot", "hostile", (text) => {
      let it = text.replaceAll('"SoundShaper"', `"${markup}"`);
      it = replaceOnce(it, '"Sound Shaper Licensing"', `"${markup}"`);
      it = replaceOnce(it, '"Legacy document scanner port"', `"${markup}"`);
      return it.replaceAll("profiles.db", "'onclick=alert(1)&amp;.db");
    });
    const hostile = await serve(recording);
    try {
      for (const where of [hostile.url, pathToFileURL(singleFile(recording)).href]) {
        const { page, faults } = await visit(browser, where);
        await click(page, ".phase", "WinLogonInit");
        for (const tab of ["1", "2", "3", "4", "5", "6", "7"]) await press(page, tab);
        await press(page, "6");
        expect(await text(page, ".pane")).toContain("<img src=x onerror=window.hacked=1>");
        await page.type('input[type="search"]', "onerror");
        await settled(page);
        expect(await text(page, ".names")).toContain("<script>");
        expect(
          await page.evaluate(() => [
            (window as unknown as { hacked?: number }).hacked ?? 0,
            document.images.length,
            document.scripts.length,
          ]),
        ).toEqual([0, 0, 2]);
        expect(faults).toEqual([]);
        await page.close();
      }
    } finally {
      hostile.stop();
    }
  }, 60_000);

  it("rejects requests without the token and with another host or origin", async () => {
    const url = new URL(address);
    const ask = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`${url.origin}${path}`, { headers })).status;
    expect(await ask(url.pathname)).toBe(200);
    expect(await ask("/")).toBe(403);
    expect(await ask(`/${"0".repeat(32)}/`)).toBe(403);
    expect(await ask(url.pathname, { origin: "http://evil.example" })).toBe(403);
    // A foreign host name that resolves to 127.0.0.1 is rejected even with the right token.
    const named = (host: string) =>
      new Promise<number>((answered, failed) => {
        const asked = request(
          { host: "127.0.0.1", port: url.port, path: url.pathname, headers: { host } },
          (answer) => (answer.resume(), answered(answer.statusCode ?? 0)),
        );
        asked.on("error", failed);
        asked.end();
      });
    expect(await named(url.host)).toBe(200);
    for (const host of [`rebound.example:${url.port}`, `localhost:${url.port}`, "127.0.0.1"])
      expect(await named(host), host).toBe(403);
  });

  it.skipIf(name !== "chrome")(
    "rejects DNS rebinding (Chromium only: it can map a name)",
    async () => {
      const url = new URL(address);
      const rebound = await open("chrome", ["--host-resolver-rules=MAP rebound.example 127.0.0.1"]);
      const page = await rebound.newPage();
      const answer = await page.goto(`http://rebound.example:${url.port}${url.pathname}`);
      expect(answer?.status()).toBe(403);
      expect(await answer?.text()).not.toContain("slow-boot");
      await rebound.close();
    },
    30_000,
  );

  it("opens from disk without a server", async () => {
    const file = singleFile(sample("slow-boot.etl"));
    const { page, faults } = await visit(browser, pathToFileURL(file).href);
    expect(await text(page, ".headline")).toMatch(/30\.0 s/);
    await click(page, ".phase", "PreSMSS");
    await press(page, "1", "f");
    expect(await text(page, ".pane h2")).toBe("PreSMSS");
    const drawn = await page.$eval("canvas", (canvas) => {
      const image = (canvas as HTMLCanvasElement)
        .getContext("2d")
        ?.getImageData(0, 0, (canvas as HTMLCanvasElement).width, (canvas as HTMLCanvasElement).height);
      return new Set(new Uint32Array(image?.data.buffer ?? new ArrayBuffer(0))).size;
    });
    expect(drawn).toBeGreaterThan(4);
    expect(faults).toEqual([]);
    await page.close();
  });
});
