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

/// Writes the share of each processor by module. `found` must cover exactly `span_ns` (start and end).
pub fn write_usage(found: &InterruptModules, span_ns: [i64; 2], out: &mut dyn Write) -> io::Result<()> {
    let width = found.processors as usize;
    let [start_ns, end_ns] = span_ns;
    writeln!(out, "CPU Usage Summing By Module For the Whole Trace\n")?;
    writeln!(out, "CPU Usage from {} us to {} us:\n", microseconds(Some(start_ns)), microseconds(Some(end_ns)))?;
    let titles = (0..width).map(|processor| format!("{:>16}", format!("CPU {processor} Usage")));
    writeln!(out, "{},", titles.collect::<Vec<_>>().join(", "))?;
    writeln!(out, "{}, Module", vec![format!("{:>9}{:>7}", "usec", "%"); width].join(", "))?;
    for module in &found.modules {
        let cells = module.in_interval(0, found.processors).unwrap_or_else(|| vec![0; width]);
        for ns in cells {
            write!(out, "{:>9}{:>7.2}, ", microseconds(Some(ns)), share(ns, end_ns.saturating_sub(start_ns)))?;
        }
        writeln!(out, "{}", name(module))?;
    }
    writeln!(out)
}

/// Writes the total share of each processor between consecutive `cuts`, which are `seconds` apart. `found` must be
/// split at the same `cuts`.
pub fn write_intervals(found: &InterruptModules, cuts: &[i64], seconds: i64, out: &mut dyn Write) -> io::Result<()> {
    let (start_ns, end_ns) = (cuts.first().copied().unwrap_or(0), cuts.last().copied().unwrap_or(0));
    let width = found.processors as usize;
    let milliseconds = |ns: i64| ns.div_euclid(NS_PER_MS);
    writeln!(
        out,
        "{RULE}\nUsage From {} ms to {} ms, Summing In {seconds} second intervals. Intervals={}\n",
        milliseconds(start_ns),
        milliseconds(end_ns),
        cuts.len().saturating_sub(1)
    )?;
    write!(out, "{:23}", "")?;
    let titles = (0..width).map(|processor| format!(",{:>17}", format!("CPU {processor} Usage")));
    writeln!(out, "{}", titles.collect::<Vec<_>>().join(" "))?;
    write!(out, "{:23}", "Start (ms) End (ms)")?;
    writeln!(out, "{}", vec![format!(",{:>10}{:>7}", "(usec)", "%"); width].join(" "))?;
    for (interval, taken) in total_ns(found, cuts).iter().enumerate().filter(|_| found.recorded) {
        let (start_ns, end_ns) = (cuts[interval], cuts[interval + 1]);
        write!(out, "{:>10}-{:<10}:", milliseconds(start_ns), milliseconds(end_ns))?;
        for &ns in taken {
            write!(out, ",{:>10}{:>7.2}", microseconds(Some(ns)), share(ns, end_ns.saturating_sub(start_ns)))?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

/// Writes the distribution of the shares of DPCs, service routines and both over the intervals between `cuts`, each
/// `step_ns` long.
pub fn write_distribution(
    dpcs: &InterruptModules,
    interrupts: &InterruptModules,
    cuts: &[i64],
    step_ns: i64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = dpcs.processors as usize;
    // By processor, then DPCs, service routines, both: number of intervals per bucket.
    let mut counts = vec![[[0_u64; SHARES.len()]; 3]; width];
    for (interval, (of_dpcs, of_interrupts)) in total_ns(dpcs, cuts).iter().zip(total_ns(interrupts, cuts)).enumerate()
    {
        let span_ns = cuts[interval + 1].saturating_sub(cuts[interval]);
        for ((of_processor, &dpc), interrupt) in counts.iter_mut().zip(of_dpcs).zip(of_interrupts) {
            for (steps, ns) in of_processor.iter_mut().zip([dpc, interrupt, dpc.saturating_add(interrupt)]) {
                let share = share(ns, span_ns);
                let step = SHARES.iter().position(|&bound| share <= f64::from(bound)).unwrap_or(SHARES.len() - 1);
                steps[step] += 1;
            }
        }
    }
    writeln!(out, "\nDistribution of number of {} ms intervals w.r.t. DPC/ISR usage:\n", step_ns / NS_PER_MS)?;
    let titles = (0..width).map(|processor| format!(",{:>27}", format!("CPU {processor}")));
    writeln!(out, "{:16}{}", "", titles.collect::<String>())?;
    writeln!(out, "{:>16}{}", "DPC/ISR Usage %", ",      DPC      ISR Combined".repeat(width))?;
    if !(dpcs.recorded || interrupts.recorded) {
        return Ok(());
    }
    let used = |step: usize| counts.iter().flatten().any(|steps| steps[step] > 0);
    let last = (0..SHARES.len()).rev().find(|&step| used(step)).unwrap_or(0);
    let mut over = 0;
    for (step, up_to) in SHARES.iter().enumerate().take(last + 1) {
        write!(out, "{:<2}{over:>3} AND <={up_to:>4}", if step == 0 { ">=" } else { ">" })?;
        for count in counts.iter().flatten().map(|steps| steps[step]) {
            write!(out, ",{count:>9}")?;
        }
        writeln!(out)?;
        over = *up_to;
    }
    write!(out, "---\nTotal:          ")?;
    for total in counts.iter().flatten().map(|steps| steps.iter().sum::<u64>()) {
        write!(out, ",{total:>9}")?;
    }
    writeln!(out)
}

/// Upper bounds of the distribution's buckets, %. The first two match published output.
const SHARES: [u32; 12] = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

const NS_PER_MS: i64 = 1_000_000;

/// Time in all modules, ns, by interval between `cuts` and processor.
fn total_ns(found: &InterruptModules, cuts: &[i64]) -> Vec<Vec<i64>> {
    let mut taken = vec![vec![0_i64; found.processors as usize]; cuts.len().saturating_sub(1)];
    for module in &found.modules {
        for (&(interval, processor), &ns) in &module.total_ns {
            let cell = taken.get_mut(interval).and_then(|cells| cells.get_mut(usize::from(processor)));
            if let Some(cell) = cell {
                *cell = cell.saturating_add(ns);
            }
        }
    }
    taken
}

/// Writes histograms of the durations, for all modules and for each module. Writes nothing if nothing was recorded.
/// `bounds_ns` must be the bounds that `found` was counted with.
pub fn write_histograms(found: &InterruptModules, bounds_ns: &[i64], out: &mut dyn Write) -> io::Result<()> {
    if !found.recorded {
        return Ok(());
    }
    let mut all = vec![0_u64; bounds_ns.len() + 1];
    for module in &found.modules {
        for (sum, count) in all.iter_mut().zip(&module.histogram) {
            *sum += count;
        }
    }
    writeln!(out, "Total = {}", all.iter().sum::<u64>())?;
    write_histogram(&all, bounds_ns, out)?;
    for module in &found.modules {
        writeln!(out, "Total = {} for module {}", module.count, name(module))?;
        write_histogram(&module.histogram, bounds_ns, out)?;
    }
    let (of_modules, total) = (found.modules.iter().map(|module| module.count).sum::<u64>(), all.iter().sum::<u64>());
    let equal = if of_modules == total { "EQUAL" } else { "NOT EQUAL" };
    writeln!(out, "All Module = {of_modules},  Total = {total},   {equal}\n")
}

/// Writes the buckets up to the last non-empty one. The bucket beyond all bounds has no upper bound.
fn write_histogram(counts: &[u64], bounds_ns: &[i64], out: &mut dyn Write) -> io::Result<()> {
    let total: u64 = counts.iter().sum();
    let used = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
    let mut over_us = 0;
    for (at, &count) in counts.iter().enumerate().take(used + 1) {
        let share = share(i64::try_from(count).unwrap_or(i64::MAX), i64::try_from(total).unwrap_or(i64::MAX));
        write!(out, "Elapsed Time, > {over_us:>8} usecs")?;
        if let Some(&bound) = bounds_ns.get(at) {
            let up_to_us = bound / 1_000;
            write!(out, " AND <= {up_to_us:>8} usecs")?;
            over_us = up_to_us;
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

    fn found() -> InterruptModules {
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

    fn text_of(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn matches_published_lines() {
        let bounds = [US, 2 * US, 4 * US, 8 * US];
        let text = text_of(|out| {
            write_title("DPC Info", out)?;
            write_usage(&found(), [0, 10_000_000 * US], out)?;
            write_histograms(&found(), &bounds, out)
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
        let cuts = [0, 1_000_000 * US, 1_500_000 * US];
        let text = text_of(|out| write_intervals(&found(), &cuts, 1, out));
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
        let cuts = [0, 2_000_000 * US, 4_000_000 * US];
        let none = InterruptModules { processors: 2, ..InterruptModules::default() };
        let text = text_of(|out| write_distribution(&found(), &none, &cuts, 2_000_000 * US, out));
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
