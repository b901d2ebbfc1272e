//! `xperf -a dpcisr`: share of each processor used by DPCs and interrupts, and their durations.

use std::io::{self, Write};

use onoff_usage::interrupt_modules::{InterruptModules, ModuleInterrupts};

use super::microseconds;
use onoff_report::text::printable::printable;
use onoff_report::text::quantity::share;

const RULE: &str = "--------------------------";

/// Writes the title of a section: `DPC Info`, `Interrupt Info`.
pub fn write_title(title: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{RULE}\n{title}\n\n{RULE}")
}

/// Writes the share of each processor by module. `interrupts` must cover exactly `range_ns` (start and end).
pub fn write_usage(interrupts: &InterruptModules, range_ns: [i64; 2], out: &mut dyn Write) -> io::Result<()> {
    let width = interrupts.processors as usize;
    let [start_ns, end_ns] = range_ns;
    writeln!(out, "CPU Usage Summing By Module For the Whole Trace\n")?;
    writeln!(out, "CPU Usage from {} us to {} us:\n", microseconds(Some(start_ns)), microseconds(Some(end_ns)))?;
    let titles = (0..width).map(|processor| format!("{:>16}", format!("CPU {processor} Usage")));
    writeln!(out, "{},", titles.collect::<Vec<_>>().join(", "))?;
    writeln!(out, "{}, Module", vec![format!("{:>9}{:>7}", "usec", "%"); width].join(", "))?;
    for module in &interrupts.modules {
        let cells = module.in_interval(0, interrupts.processors).unwrap_or_else(|| vec![0; width]);
        for ns in cells {
            write!(out, "{:>9}{:>7.2}, ", microseconds(Some(ns)), share(ns, end_ns.saturating_sub(start_ns)))?;
        }
        writeln!(out, "{}", name(module))?;
    }
    writeln!(out)
}

/// Writes the total share of each processor between consecutive `boundaries_ns`, which are `seconds` apart.
/// `interrupts` must be split at the same boundaries.
pub fn write_intervals(
    interrupts: &InterruptModules,
    boundaries_ns: &[i64],
    seconds: i64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (start_ns, end_ns) = (boundaries_ns.first().copied().unwrap_or(0), boundaries_ns.last().copied().unwrap_or(0));
    let width = interrupts.processors as usize;
    let milliseconds = |ns: i64| ns.div_euclid(NS_PER_MS);
    writeln!(
        out,
        "{RULE}\nUsage From {} ms to {} ms, Summing In {seconds} second intervals. Intervals={}\n",
        milliseconds(start_ns),
        milliseconds(end_ns),
        boundaries_ns.len().saturating_sub(1)
    )?;
    write!(out, "{:23}", "")?;
    let titles = (0..width).map(|processor| format!(",{:>17}", format!("CPU {processor} Usage")));
    writeln!(out, "{}", titles.collect::<Vec<_>>().join(" "))?;
    write!(out, "{:23}", "Start (ms) End (ms)")?;
    writeln!(out, "{}", vec![format!(",{:>10}{:>7}", "(usec)", "%"); width].join(" "))?;
    for (interval, processor_ns) in
        total_ns(interrupts, boundaries_ns).iter().enumerate().filter(|_| interrupts.recorded)
    {
        let (start_ns, end_ns) = (boundaries_ns[interval], boundaries_ns[interval + 1]);
        write!(out, "{:>10}-{:<10}:", milliseconds(start_ns), milliseconds(end_ns))?;
        for &ns in processor_ns {
            write!(out, ",{:>10}{:>7.2}", microseconds(Some(ns)), share(ns, end_ns.saturating_sub(start_ns)))?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

/// Writes the distribution of the shares of DPCs, service routines and both over the intervals between `boundaries_ns`,
/// each `interval_ns` long.
pub fn write_distribution(
    dpcs: &InterruptModules,
    interrupts: &InterruptModules,
    boundaries_ns: &[i64],
    interval_ns: i64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = dpcs.processors as usize;
    // The number of intervals per bucket, by processor and kind (DPCs, service routines, both).
    let mut counts = vec![[[0_u64; SHARES.len()]; 3]; width];
    for (interval, (dpc_ns, interrupt_ns)) in
        total_ns(dpcs, boundaries_ns).iter().zip(total_ns(interrupts, boundaries_ns)).enumerate()
    {
        let duration_ns = boundaries_ns[interval + 1].saturating_sub(boundaries_ns[interval]);
        for ((processor_counts, &dpc), interrupt) in counts.iter_mut().zip(dpc_ns).zip(interrupt_ns) {
            for (buckets, ns) in processor_counts.iter_mut().zip([dpc, interrupt, dpc.saturating_add(interrupt)]) {
                let share = share(ns, duration_ns);
                let bucket = SHARES.iter().position(|&bound| share <= f64::from(bound)).unwrap_or(SHARES.len() - 1);
                buckets[bucket] += 1;
            }
        }
    }
    writeln!(out, "\nDistribution of number of {} ms intervals w.r.t. DPC/ISR usage:\n", interval_ns / NS_PER_MS)?;
    let titles = (0..width).map(|processor| format!(",{:>27}", format!("CPU {processor}")));
    writeln!(out, "{:16}{}", "", titles.collect::<String>())?;
    writeln!(out, "{:>16}{}", "DPC/ISR Usage %", ",      DPC      ISR Combined".repeat(width))?;
    if !(dpcs.recorded || interrupts.recorded) {
        return Ok(());
    }
    let is_used = |bucket: usize| counts.iter().flatten().any(|buckets| buckets[bucket] > 0);
    let last_bucket = (0..SHARES.len()).rev().find(|&bucket| is_used(bucket)).unwrap_or(0);
    let mut lower_bound = 0;
    for (bucket, upper_bound) in SHARES.iter().enumerate().take(last_bucket + 1) {
        write!(out, "{:<2}{lower_bound:>3} AND <={upper_bound:>4}", if bucket == 0 { ">=" } else { ">" })?;
        for count in counts.iter().flatten().map(|buckets| buckets[bucket]) {
            write!(out, ",{count:>9}")?;
        }
        writeln!(out)?;
        lower_bound = *upper_bound;
    }
    write!(out, "---\nTotal:          ")?;
    for total in counts.iter().flatten().map(|buckets| buckets.iter().sum::<u64>()) {
        write!(out, ",{total:>9}")?;
    }
    writeln!(out)
}

/// Upper bounds of the distribution's buckets, %. The first two match published output.
const SHARES: [u32; 12] = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

const NS_PER_MS: i64 = 1_000_000;

/// Returns the time in all modules in ns, by interval and processor.
fn total_ns(interrupts: &InterruptModules, boundaries_ns: &[i64]) -> Vec<Vec<i64>> {
    let mut total_ns = vec![vec![0_i64; interrupts.processors as usize]; boundaries_ns.len().saturating_sub(1)];
    for module in &interrupts.modules {
        for (&(interval, processor), &ns) in &module.total_ns {
            let cell = total_ns.get_mut(interval).and_then(|cells| cells.get_mut(usize::from(processor)));
            if let Some(cell) = cell {
                *cell = cell.saturating_add(ns);
            }
        }
    }
    total_ns
}

/// Writes histograms of the durations for all modules together, and for each module. Writes nothing if nothing was
/// recorded. `bounds_ns` must be the bucket bounds of `interrupts`.
pub fn write_histograms(interrupts: &InterruptModules, bounds_ns: &[i64], out: &mut dyn Write) -> io::Result<()> {
    if !interrupts.recorded {
        return Ok(());
    }
    let mut all_modules = vec![0_u64; bounds_ns.len() + 1];
    for module in &interrupts.modules {
        for (sum, count) in all_modules.iter_mut().zip(&module.histogram) {
            *sum += count;
        }
    }
    writeln!(out, "Total = {}", all_modules.iter().sum::<u64>())?;
    write_histogram(&all_modules, bounds_ns, out)?;
    for module in &interrupts.modules {
        writeln!(out, "Total = {} for module {}", module.count, name(module))?;
        write_histogram(&module.histogram, bounds_ns, out)?;
    }
    let (module_sum, total) =
        (interrupts.modules.iter().map(|module| module.count).sum::<u64>(), all_modules.iter().sum::<u64>());
    let equal = if module_sum == total { "EQUAL" } else { "NOT EQUAL" };
    writeln!(out, "All Module = {module_sum},  Total = {total},   {equal}\n")
}

/// Writes the buckets up to the last non-empty one. The bucket beyond all bounds has no upper bound.
fn write_histogram(counts: &[u64], bounds_ns: &[i64], out: &mut dyn Write) -> io::Result<()> {
    let total: u64 = counts.iter().sum();
    let last_bucket = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
    let mut lower_bound_us = 0;
    for (bucket, &count) in counts.iter().enumerate().take(last_bucket + 1) {
        let share = share(i64::try_from(count).unwrap_or(i64::MAX), i64::try_from(total).unwrap_or(i64::MAX));
        write!(out, "Elapsed Time, > {lower_bound_us:>8} usecs")?;
        if let Some(&bound) = bounds_ns.get(bucket) {
            let upper_bound_us = bound / 1_000;
            write!(out, " AND <= {upper_bound_us:>8} usecs")?;
            lower_bound_us = upper_bound_us;
        }
        writeln!(out, ", {count:>6}, or {share:>6.2}%")?;
    }
    writeln!(out, "Total,{total:>54}\n")
}

fn name(module: &ModuleInterrupts) -> String {
    if module.module.is_empty() { "\"Unknown\"".to_owned() } else { printable(&module.module).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1_000;

    fn sample() -> InterruptModules {
        InterruptModules {
            processors: 2,
            recorded: true,
            modules: vec![
                ModuleInterrupts {
                    module: "nvlddmkm.sys".to_owned(),
                    count: 5_000,
                    total_ns: [((0, 0), 1_624 * US), ((0, 1), 27 * US), ((1, 1), 100_000 * US)].into(),
                    histogram: vec![2_000, 1_000, 800, 1_200, 0],
                },
                ModuleInterrupts {
                    module: String::new(),
                    count: 1,
                    total_ns: [((0, 0), 376 * US)].into(),
                    histogram: vec![1, 0, 0, 0, 0],
                },
            ],
        }
    }

    fn text_from(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn matches_published_lines() {
        let bounds = [US, 2 * US, 4 * US, 8 * US];
        let text = text_from(|out| {
            write_title("DPC Info", out)?;
            write_usage(&sample(), [0, 10_000_000 * US], out)?;
            write_histograms(&sample(), &bounds, out)
        });
        for lines in [
            "\n--------------------------\nDPC Info\n\n--------------------------\n",
            "CPU Usage Summing By Module For the Whole Trace\n\nCPU Usage from 0 us to 10000000 us:\n\n",
            "     CPU 0 Usage,      CPU 1 Usage,\n",
            "     usec      %,      usec      %, Module\n",
            "     1624   0.02,        27   0.00, nvlddmkm.sys\n",
            "      376   0.00,         0   0.00, \"Unknown\"\n\n",
            "Total = 5001\n",
            "Elapsed Time, >        0 usecs AND <=        1 usecs,   2001, or  40.01%\n",
            "Elapsed Time, >        1 usecs AND <=        2 usecs,   1000, or  20.00%\n",
            "Total,                                                  5001\n\n",
            "Total = 5000 for module nvlddmkm.sys\n",
            "Total = 1 for module \"Unknown\"\n",
            "All Module = 5001,  Total = 5001,   EQUAL\n\n",
        ] {
            assert!(text.contains(lines), "{lines:?} in {text}");
        }
    }

    #[test]
    fn intervals_sum_all_modules() {
        let boundaries_ns = [0, 1_000_000 * US, 1_500_000 * US];
        let text = text_from(|out| write_intervals(&sample(), &boundaries_ns, 1, out));
        let rows = "\
--------------------------
Usage From 0 ms to 1500 ms, Summing In 1 second intervals. Intervals=2

                       ,      CPU 0 Usage ,      CPU 1 Usage
Start (ms) End (ms)    ,    (usec)      % ,    (usec)      %
         0-1000      :,      2000   0.20,        27   0.00
      1000-1500      :,         0   0.00,    100000  20.00

";
        assert_eq!(text, rows);
    }

    #[test]
    fn distribution_counts_every_interval_once_per_processor_and_kind() {
        let boundaries_ns = [0, 2_000_000 * US, 4_000_000 * US];
        let no_interrupts = InterruptModules { processors: 2, ..InterruptModules::default() };
        let text = text_from(|out| write_distribution(&sample(), &no_interrupts, &boundaries_ns, 2_000_000 * US, out));
        let rows = "
Distribution of number of 2000 ms intervals w.r.t. DPC/ISR usage:

                ,                      CPU 0,                      CPU 1
 DPC/ISR Usage %,      DPC      ISR Combined,      DPC      ISR Combined
>=  0 AND <=   1,        2,        2,        2,        1,        2,        1
>   1 AND <=   5,        0,        0,        0,        1,        0,        1
---
Total:          ,        2,        2,        2,        2,        2,        2
";
        assert_eq!(text, rows);
    }

    #[test]
    fn last_bucket_has_no_upper_bound() {
        let mut out = Vec::new();
        write_histogram(&[0, 2], &[2_048 * US], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Elapsed Time, >     2048 usecs,      2, or 100.00%\n"), "{text}");
    }
}
