import { describe, expect, it } from "vitest";
import { axisLabel, axisStep, bytes, duration } from "../src/time";

describe("durations", () => {
  it.each([
    [0, "0 s"],
    [1, "1 ns"],
    [999, "999 ns"],
    [1_000, "1.00 µs"],
    [999_499, "999 µs"],
    [999_500, "1.00 ms"],
    [9_996_000, "10.0 ms"],
    [6_080_000_000, "6.08 s"],
    [99_960_000_000, "100 s"],
    [1_045_000_000_000, "17 min 25 s"],
    [-2_000_000, "-2.00 ms"],
    [7_200e9, "2 h 00 min"],
  ])("%d ns is %s", (ns, text) => expect(duration(ns)).toBe(text));
});

it("formats sizes in powers of 1024", () => {
  expect([0, 512, 2_048, 1_503_238_553].map(bytes)).toEqual(["0 B", "512 B", "2.00 KiB", "1.40 GiB"]);
});

it("uses round axis steps with enough space for labels", () => {
  for (const range of [1e3, 1e6, 45e9, 3_600e9]) {
    for (const pixels of [200, 1_000, 3_000]) {
      const step = axisStep(range, pixels);
      const mantissa = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
      expect([1, 2, 5, 10].some((round) => Math.abs(mantissa - round) < 1e-6)).toBe(true);
      expect((step / range) * pixels).toBeGreaterThanOrEqual(100);
    }
  }
  expect(axisLabel(15e9, 5e9)).toBe("15 s");
  expect(axisLabel(1_200_000, 200_000)).toBe("1.2 ms");
});
