/** Recordings for tests: scenarios of the repository, simulated with changes made by the test. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, repository } from "./pages";

const simulator = process.env["MAKE_TRACE"] ?? join(repository, "target/debug/examples/make_trace");

/**
 * Simulates a scenario after changing its text; `name` is the file name without its extension. With `size`, such as
 * `65MiB`, the recording goes on until it has that size.
 */
export function simulated(
  scenario: string,
  name: string,
  change: (text: string) => string = (text) => text,
  size = "",
): string {
  const before = readFileSync(join(repository, "crates/support/simulator/scenarios", `${scenario}.toml`), "utf8");
  const after = change(before);
  const description = join(folder, `${name}.toml`);
  writeFileSync(description, after);
  const path = join(folder, `${name}.etl`);
  execFileSync(simulator, [description, path, ...(size ? ["--size", size] : [])], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return path;
}

/** Replaces a text; throws if it does not occur. */
export function replaceOnce(text: string, old: string, by: string): string {
  if (!text.includes(old)) throw new Error(`the scenario has no '${old}'`);
  return text.replace(old, by);
}

/**
 * Five baseline and five candidate boots. In the candidate, the service SoundShaper takes six seconds instead of one and the driver
 * LegacyScan responds 800 ms earlier. Each run has a little jitter.
 */
export function comparisonRuns(): { baseline: string[]; candidate: string[] } {
  const runs = (side: string, sound: number, scan: number) =>
    [0, 1, 2, 3, 4].map((run) => {
      const jitter = [0, 37, -21, 55, -48][run] ?? 0;
      return simulated("slow-boot", `${side}-${run + 1}`, (text) => {
        let it = replaceOnce(text, "seed = 11", `seed = ${20 + run}`);
        it = replaceOnce(it, 'disk_access = "7ms"', `disk_access = "${7 + run / 10}ms"`);
        it = replaceOnce(it, 'start = "3180ms"', `start = "${scan + jitter}ms"`);
        const [head, rest] = it.split('name = "SoundShaper"') as [string, string];
        return `${head}name = "SoundShaper"${rest.replace(/init = "[^"]*"/, `init = "${sound + jitter * 2}ms"`)}`;
      });
    });
  return { baseline: runs("before", 1_000, 3_180), candidate: runs("after", 6_000, 2_380) };
}

/** Adds hours to the last time of a recording that is not compressed, as a damaged record has, and returns the path of the copy. */
export function withDamagedTime(path: string, hours: number): string {
  const bytes = readFileSync(path);
  let latest = { ticks: 0n, at: 0 };
  for (let buffer = bytes.readUInt32LE(0); buffer + 0x48 < bytes.length; buffer += bytes.readUInt32LE(buffer)) {
    const end = buffer + bytes.readUInt32LE(buffer + 4);
    for (let record = buffer + 0x48; record + 24 <= end; ) {
      const kind = bytes[record + 2] ?? 0;
      const isTrace = kind <= 4 || kind === 0x10 || kind === 0x11;
      const size = bytes.readUInt16LE(isTrace ? record + 4 : record);
      if (size < 16 || !((bytes[record + 3] ?? 0) & 0x80)) break;
      const at = record + (kind === 0x10 || kind === 0x11 ? 8 : 16);
      const ticks = bytes.readBigUInt64LE(at);
      if (ticks > latest.ticks) latest = { ticks, at };
      record += Math.ceil(size / 8) * 8;
    }
  }
  bytes.writeBigUInt64LE(latest.ticks + BigInt(hours) * 36_000_000_000n, latest.at);
  const copy = path.replace(".etl", "-damaged.etl");
  writeFileSync(copy, bytes);
  return copy;
}
