//! The columns and texts of the lists in [`onoff_lists`] and [`onoff_usage::storage`].

mod cpu;
mod devices;
mod disk;
mod files;
mod functions;
mod grouped;
mod hard_faults;
mod interrupts;
mod policy;
mod processes;
mod services;
pub mod summary;
mod text;

pub use text::write as write_on;

use std::io::{self, Write};

use onoff_evidence::Interval;
use onoff_trace::Losses;
use onoff_usage::cpu::{CpuSource, CpuTotals};

use crate::terminal::losses;
use crate::terminal::quantity::{duration, percent};
use crate::terminal::style::{HEADLINE, QUIET};

/// Writes the headline with the range that it covers.
fn headline(answer: &str, range: Interval, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{HEADLINE}{answer}{HEADLINE:#}  {QUIET}{} to {}{QUIET:#}",
        duration(range.start_ns),
        duration(range.end_ns)
    )
}

/// Writes one line about CPU usage.
fn processors_line(cpu: &CpuTotals, out: &mut dyn Write) -> io::Result<()> {
    let source = match cpu.source {
        CpuSource::ContextSwitches => "from context switches",
        CpuSource::Samples => "estimated from samples",
        CpuSource::None => {
            return writeln!(out, "CPU usage is unknown: neither context switches nor samples were recorded.");
        }
    };
    let plural = if cpu.processors == 1 { "" } else { "s" };
    write!(
        out,
        "{} CPU{plural}: busy {} ({})",
        cpu.processors,
        duration(cpu.busy_ns),
        percent(cpu.percent(cpu.busy_ns)),
    )?;
    // If the clock stops during sleep, it counts almost none of the time asleep.
    if cpu.percent(cpu.asleep_ns) >= 0.1 {
        write!(out, ", asleep {} ({})", duration(cpu.asleep_ns), percent(cpu.percent(cpu.asleep_ns)))?;
    }
    if cpu.unknown_ns > 0 {
        write!(out, ", not recorded {} ({})", duration(cpu.unknown_ns), percent(cpu.percent(cpu.unknown_ns)))?;
    }
    if cpu.unattributed_ns > 0 {
        write!(out, ", unattributed {}", duration(cpu.unattributed_ns))?;
    }
    writeln!(out, "; {source}")
}

/// Writes the losses that affect the report, and all losses.
fn write_losses(affecting_losses: &[String], losses: &Losses, out: &mut dyn Write) -> io::Result<()> {
    losses::write_affecting(affecting_losses, out)?;
    writeln!(out)?;
    losses::write(losses, out)
}
