/** Durations, sizes and axis labels, formatted as onoff prints them: three significant digits and a fitting unit. */

export function threeDigits(value: number): string {
  const size = Math.abs(value);
  // Rounding can add a digit: 9.996 becomes "10.0".
  const decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return value.toFixed(decimals);
}

/** Must match `Duration` in the Rust code. */
export function duration(ns: number): string {
  if (ns === 0) return "0 s";
  const sign = ns < 0 ? "-" : "";
  const size = Math.abs(Math.round(ns));
  if (size < 1_000) return `${sign}${size} ns`;
  if (size < 999_500) return `${sign}${threeDigits(size / 1e3)} µs`;
  if (size < 999_500_000) return `${sign}${threeDigits(size / 1e6)} ms`;
  if (size < 999_950_000_000) return `${sign}${threeDigits(size / 1e9)} s`;
  const seconds = Math.floor(size / 1e9 + 0.5);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const padded = (value: number) => String(value).padStart(2, "0");
  if (hours === 0) return `${sign}${minutes} min ${padded(seconds % 60)} s`;
  if (hours < 48) return `${sign}${hours} h ${padded(minutes)} min`;
  return `${sign}${Math.floor(hours / 24)} d ${padded(hours % 24)} h`;
}

/** Formats the cost of a finding, or returns `unknown` if the finding has none. */
export function formatCost(finding: { cost_ns: number | null; cost_is_upper_bound: boolean }, unknown: string): string {
  return finding.cost_ns === null ? unknown : `${finding.cost_is_upper_bound ? "≤ " : ""}${duration(finding.cost_ns)}`;
}

export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${threeDigits(value)} ${units[unit]}`;
}

/** Step between axis labels in ns: 1, 2 or 5 times a power of ten, at least 110 pixels apart. */
export function axisStep(range: number, pixels: number): number {
  const minStep = (range / Math.max(1, pixels)) * 110;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, minStep)));
  const factor = minStep / power;
  return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

/** Axis label, with the digits that the step between labels requires. */
export function axisLabel(ns: number, step: number): string {
  if (ns === 0) return "0";
  const [unit, name] = step >= 1e9 / 100 ? [1e9, "s"] : step >= 1e4 ? [1e6, "ms"] : [1e3, "µs"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  return `${(ns / unit).toFixed(Math.min(digits, 9))} ${name}`;
}

/** Formats a time as seconds for the address, without trailing zeros. */
export function seconds(ns: number): string {
  return String(Number((ns / 1e9).toFixed(9)));
}
