//! `xperf -a diskidlehistogram`: histogram of the idle periods of each disk.
//!
//! No public source shows xperf's layout; this layout is onoff's.

use std::io::{self, Write};

use onoff_evidence::Scope;
use onoff_trace::Trace;
use onoff_usage::storage::idle_gaps::{DiskGaps, gaps};

use super::truncated_microseconds;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskIdleOptions {
    /// Upper bounds of the buckets in ns, ascending. Longer periods are counted in an additional last bucket.
    pub buckets_ns: Vec<i64>,
    /// Idle time after which the disk spins down, in ns; `None` omits the spin-down report.
    pub spindown_ns: Option<i64>,
    /// Ignores requests to files whose path contains one of these, in any case.
    pub ignored_paths: Vec<String>,
}

impl Default for DiskIdleOptions {
    fn default() -> Self {
        let milliseconds = [1, 10, 100, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000];
        Self {
            buckets_ns: milliseconds.map(|count| count * 1_000_000).to_vec(),
            spindown_ns: None,
            ignored_paths: Vec::new(),
        }
    }
}

/// Writes one histogram per disk for `scope`.
pub fn write(trace: &Trace, scope: &Scope, options: &DiskIdleOptions, out: &mut dyn Write) -> io::Result<()> {
    let ignored: Vec<String> = options.ignored_paths.iter().map(|text| text.to_lowercase()).collect();
    let is_ignored = |path: &str| {
        !ignored.is_empty() && {
            let path = path.to_lowercase();
            ignored.iter().any(|text| path.contains(text.as_str()))
        }
    };
    for (index, disk) in gaps(trace, scope, &is_ignored).iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write_disk(disk, scope.range.duration_ns(), options, out)?;
    }
    Ok(())
}

fn write_disk(disk: &DiskGaps, range_ns: i64, options: &DiskIdleOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut buckets = vec![(0_u64, 0_i64); options.buckets_ns.len() + 1];
    let mut idle_ns: i64 = 0;
    for gap in &disk.gaps {
        let length_ns = gap.duration_ns();
        let bucket = options.buckets_ns.partition_point(|&bound_ns| bound_ns < length_ns);
        if let Some((count, sum_ns)) = buckets.get_mut(bucket) {
            *count += 1;
            *sum_ns = sum_ns.saturating_add(length_ns);
        }
        idle_ns = idle_ns.saturating_add(length_ns);
    }
    let share = |ns: i64| ns as f64 * 100.0 / range_ns.max(1) as f64;
    writeln!(
        out,
        "Disk {}: idle {} us of {} us, {:.2}%",
        disk.disk,
        truncated_microseconds(idle_ns),
        truncated_microseconds(range_ns),
        share(idle_ns)
    )?;
    writeln!(out, "   Idle, > us,    AND <= us,    Count,         Time,       %")?;
    let mut lower_bound_ns = 0;
    for (index, &(count, sum_ns)) in buckets.iter().enumerate() {
        let upper_bound_ns = options.buckets_ns.get(index).copied();
        let upper_bound = upper_bound_ns.map_or_else(|| "-".to_owned(), |ns| truncated_microseconds(ns).to_string());
        writeln!(
            out,
            "{:>13}, {upper_bound:>12}, {count:>8}, {:>12}, {:>7.2}",
            truncated_microseconds(lower_bound_ns),
            truncated_microseconds(sum_ns),
            share(sum_ns)
        )?;
        lower_bound_ns = upper_bound_ns.unwrap_or(lower_bound_ns);
    }
    if let Some(spindown_ns) = options.spindown_ns {
        let gaps_ns = disk.gaps.iter().map(|gap| gap.duration_ns());
        let spun_down_ns: Vec<i64> =
            gaps_ns.filter(|&gap_ns| gap_ns > spindown_ns).map(|gap_ns| gap_ns - spindown_ns).collect();
        let sum_ns = spun_down_ns.iter().fold(0_i64, |sum, &ns| sum.saturating_add(ns));
        writeln!(
            out,
            "Spun down after {} us: {} times, {} us, {:.2}%",
            truncated_microseconds(spindown_ns),
            spun_down_ns.len(),
            truncated_microseconds(sum_ns),
            share(sum_ns)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{DiskIo, DiskOperation, IoPriority};

    #[test]
    fn gaps_add_up_to_idle_time() {
        let mut trace = Trace::default();
        let file = trace.strings.intern(r"C:\Pagefile.sys");
        for (issue, complete) in [(20, 30), (35, 40)] {
            trace.disk_ios.push(DiskIo {
                issue_ns: Some(issue * 1_000_000),
                complete_ns: complete * 1_000_000,
                disk: 2,
                operation: DiskOperation::Write,
                size: 4096,
                priority: IoPriority::Normal,
                service_ns: 5_000_000,
                file,
                file_object: 1,
                ..DiskIo::UNKNOWN
            });
        }
        trace.duration_ns = 100_000_000;
        let scope = Scope::whole_recording(&trace);
        let write_report = |options: &DiskIdleOptions| {
            let mut out = Vec::new();
            write(&trace, &scope, options, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let options = DiskIdleOptions {
            buckets_ns: vec![5_000_000, 50_000_000],
            spindown_ns: Some(40_000_000),
            ignored_paths: Vec::new(),
        };
        assert_eq!(
            write_report(&options),
            "\
Disk 2: idle 85000 us of 100000 us, 85.00%
   Idle, > us,    AND <= us,    Count,         Time,       %
            0,         5000,        1,         5000,    5.00
         5000,        50000,        1,        20000,   20.00
        50000,            -,        1,        60000,   60.00
Spun down after 40000 us: 1 times, 20000 us, 20.00%
"
        );
        let options_with_ignored_file = DiskIdleOptions { ignored_paths: vec!["pagefile".to_owned()], ..options };
        assert!(write_report(&options_with_ignored_file).starts_with("Disk 2: idle 100000 us of 100000 us"));
    }
}
