/** Recordings made for a test: scenarios of the repository, played with changes that the test chooses. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, repository } from "./pages";

const player = process.env["MAKE_TRACE"] ?? join(repository, "target/debug/examples/make_trace");

/** Plays a scenario after a change of its text; the name is the file's. */
export function played(scenario: string, name: string, change: (text: string) => string = (text) => text): string {
  const before = readFileSync(join(repository, "crates/support/simulator/scenarios", `${scenario}.toml`), "utf8");
  const after = change(before);
  const description = join(folder, `${name}.toml`);
  writeFileSync(description, after);
  const path = join(folder, `${name}.etl`);
  execFileSync(player, [description, path], { stdio: ["ignore", "ignore", "inherit"] });
  return path;
}

/** Replaces what must be there. */
export function replaced(text: string, old: string, by: string): string {
  if (!text.includes(old)) throw new Error(`the scenario has no '${old}'`);
  return text.replace(old, by);
}

/**
 * Five boots of a machine and five after a change: the service SoundShaper takes six seconds instead of one, the driver LegacyScan
 * answers 800 ms earlier. Each run differs by a little, as runs do.
 */
export function fiveAndFive(): { baseline: string[]; candidate: string[] } {
  const runs = (side: string, sound: number, scan: number) =>
    [0, 1, 2, 3, 4].map((run) => {
      const jitter = [0, 37, -21, 55, -48][run] ?? 0;
      return played("slow-boot", `${side}-${run + 1}`, (text) => {
        let it = replaced(text, "seed = 11", `seed = ${20 + run}`);
        it = replaced(it, 'disk_access = "7ms"', `disk_access = "${7 + run / 10}ms"`);
        it = replaced(it, 'start = "3180ms"', `start = "${scan + jitter}ms"`);
        const [head, rest] = it.split('name = "SoundShaper"') as [string, string];
        return `${head}name = "SoundShaper"${rest.replace(/init = "[^"]*"/, `init = "${sound + jitter * 2}ms"`)}`;
      });
    });
  return { baseline: runs("before", 1_000, 3_180), candidate: runs("after", 6_000, 2_380) };
}
