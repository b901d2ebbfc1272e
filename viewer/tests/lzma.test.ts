/** Unpacks what xz packs. */

import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { unpackLzma } from "../src/lzma";

/** Packs bytes as `tools/make-site.mjs` does. */
function packed(bytes: Uint8Array, ...options: string[]): Uint8Array {
  const result = execFileSync("xz", ["--format=lzma", ...options], { input: bytes, maxBuffer: 1 << 26 });
  result.writeUInt32LE(bytes.length, 5);
  result.writeUInt32LE(0, 9);
  return new Uint8Array(result);
}

/** Bytes with literals, repeated matches at several distances, and noise. */
function sample(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let seed = 7;
  for (let at = 0; at < length; at += 1) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    const distance = [1, 4, 100, 5_000, 70_000][seed % 5] ?? 1;
    bytes[at] = seed >>> 28 === 0 || at < distance ? seed >>> 16 : (bytes[at - distance] ?? 0);
  }
  return bytes;
}

it.each([
  ["nothing", 0, []],
  ["one byte", 1, []],
  ["a megabyte", 1 << 20, ["-9e"]],
  ["other contexts", 300_001, ["--lzma1=preset=6,lc=1,lp=2,pb=3"]],
] as [string, number, string[]][])("unpacks %s", (_what, length, options) => {
  const bytes = sample(length);
  expect(Buffer.compare(Buffer.from(unpackLzma(packed(bytes, ...options))), Buffer.from(bytes))).toBe(0);
});

it("rejects damaged input", () => {
  const input = packed(sample(100_000));
  input.fill(0xff, 14, 4_000);
  expect(() => unpackLzma(input)).toThrow("damaged");
});
