//! Busy or idle share of each processor per interval: `xperf -a cswitch` and `-a profile`.

use std::io::{self, Write};

use onoff_usage::cpu::CpuSource;
use onoff_usage::cpu::grid::ProcessorGrid;

use super::microseconds;
use onoff_report::text::quantity::share;

/// The meaning of the percentages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// `-avail`: the processor was idle.
    Available,
    /// `-util`: the processor was busy.
    Utilized,
}

/// Writes one row per interval and one column per processor. Writes no rows if no CPU use was recorded.
pub fn write(grid: &ProcessorGrid, kind: Share, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{:>10}, {:>9}", "StartTime", "EndTime")?;
    for processor in 0..grid.processors {
        write!(out, ", {:>6}", format!("Cpu {processor}"))?;
    }
    writeln!(out)?;
    if grid.source == CpuSource::None {
        return Ok(());
    }
    for (index, &(start_ns, end_ns)) in grid.intervals.iter().enumerate() {
        write!(out, "{:>10}, {:>9}", microseconds(Some(start_ns)), microseconds(Some(end_ns)))?;
        for &busy_ns in grid.busy(index) {
            let busy = share(busy_ns, end_ns.saturating_sub(start_ns)).clamp(0.0, 100.0);
            let percent = match kind {
                Share::Available => 100.0 - busy,
                Share::Utilized => busy,
            };
            write!(out, ", {percent:>6.2}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_published_layout() {
        let grid = ProcessorGrid {
            source: CpuSource::ContextSwitches,
            processors: 3,
            intervals: vec![(0, 1_000_000_000)],
            busy_ns: vec![1_700_000, 173_000_000, 1_500_000],
            low_ns: vec![0; 3],
        };
        let mut out = Vec::new();
        write(&grid, Share::Available, &mut out).unwrap();
        // Published rows.
        assert_eq!(
            String::from_utf8(out).unwrap(),
            " StartTime,   EndTime,  Cpu 0,  Cpu 1,  Cpu 2\n         0,   1000000,  99.83,  82.70,  99.85\n"
        );
    }
}
