//! `xperf -a dpcisr`: what deferred procedure calls and interrupts took of each processor, and how long they were.

use std::io::{self, Write};

use onoff_analysis::interrupt_modules::{InterruptModules, ModuleInterrupts};

use super::microseconds;
use onoff_report::text::printable::printable;
use onoff_report::text::quantity::share;

const RULE: &str = "--------------------------";

/// Writes the title of a section: `DPC Info`, `Interrupt Info`.
///
/// # Errors
/// What `out` answers.
pub fn write_title(title: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{RULE}\n{title}\n{RULE}")
}

/// Writes what each module took of each processor between consecutive `cuts`, which `found` was asked about.
///
/// # Errors
/// What `out` answers.
pub fn write_usage(found: &InterruptModules, cuts: &[i64], out: &mut dyn Write) -> io::Result<()> {
    let width = found.processors as usize;
    for (interval, ends) in cuts.windows(2).enumerate() {
        let (start_ns, end_ns) = (ends[0], ends[1]);
        writeln!(out, "CPU Usage from {} us to {} us:\n", microseconds(Some(start_ns)), microseconds(Some(end_ns)))?;
        for processor in 0..width {
            write!(out, "{:>16},", format!("CPU {processor} Usage"))?;
        }
        writeln!(out, " Module")?;
        for _ in 0..width {
            write!(out, "{:>9} {:>6},", "usec", "%")?;
        }
        writeln!(out, " Module")?;
        for module in &found.modules {
            let Some(cells) = module.in_interval(interval, found.processors) else {
                continue;
            };
            for ns in cells {
                let share = share(ns, end_ns.saturating_sub(start_ns));
                write!(out, "{:>9} {share:>6.2},", microseconds(Some(ns)))?;
            }
            writeln!(out, " {}", name(module))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes how long all of them were, then those of each module. `bounds_ns` are what `found` was asked about.
///
/// # Errors
/// What `out` answers.
pub fn write_histograms(found: &InterruptModules, bounds_ns: &[i64], out: &mut dyn Write) -> io::Result<()> {
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
    Ok(())
}

/// The steps up to the last one in use; the one beyond all bounds has no upper end.
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
    if module.module.is_empty() { "Unknown".to_owned() } else { printable(&module.module).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1_000;

    fn found() -> InterruptModules {
        InterruptModules {
            processors: 2,
            modules: vec![ModuleInterrupts {
                module: "nvlddmkm.sys".to_owned(),
                count: 5_000,
                taken_ns: [((0, 0), 1_624 * US), ((0, 1), 27 * US)].into(),
                histogram: vec![2_000, 1_000, 800, 1_200, 0],
            }],
        }
    }

    #[test]
    fn the_posted_lines() {
        let mut out = Vec::new();
        write_title("DPC Info", &mut out).unwrap();
        write_usage(&found(), &[0, 10_000_000 * US], &mut out).unwrap();
        let bounds = [US, 2 * US, 4 * US, 8 * US];
        write_histograms(&found(), &bounds, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for line in [
            "--------------------------\nDPC Info\n--------------------------\n",
            "CPU Usage from 0 us to 10000000 us:\n\n",
            "     CPU 0 Usage,     CPU 1 Usage, Module\n",
            "     usec      %,     usec      %, Module\n",
            "     1624   0.02,       27   0.00, nvlddmkm.sys\n",
            "Total = 5000\n",
            "Elapsed Time, >        0 usecs AND <=        1 usecs,   2000, or  40.00%\n",
            "Elapsed Time, >        1 usecs AND <=        2 usecs,   1000, or  20.00%\n",
            "Total,                                                  5000\n\n",
            "Total = 5000 for module nvlddmkm.sys\n",
        ] {
            assert!(text.contains(line), "{line:?} in {text}");
        }
    }

    #[test]
    fn what_is_longer_than_all_bounds_has_no_upper_end() {
        let mut out = Vec::new();
        write_histogram(&[0, 2], &[2_048 * US], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Elapsed Time, >     2048 usecs,      2, or 100.00%\n"), "{text}");
    }
}
