//! How the lists of [`onoff_lists`] and [`onoff_usage::storage`] look: their columns, and the text around them.

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

/// The answer in one line, with the range it is about.
fn headline(answer: &str, range: Interval, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{HEADLINE}{answer}{HEADLINE:#}  {QUIET}{} to {}{QUIET:#}",
        duration(range.start_ns),
        duration(range.end_ns)
    )
}

/// How busy the processors were, in one line.
fn processors_line(cpu: &CpuTotals, out: &mut dyn Write) -> io::Result<()> {
    let source = match cpu.source {
        CpuSource::ContextSwitches => "from context switches",
        CpuSource::Samples => "estimated from samples",
        CpuSource::None => {
            return writeln!(out, "Processor times are not known: neither context switches nor samples were recorded.");
        }
    };
    let plural = if cpu.processors == 1 { "" } else { "s" };
    write!(
        out,
        "{} processor{plural}: busy {} ({})",
        cpu.processors,
        duration(cpu.busy_ns),
        percent(cpu.percent(cpu.busy_ns)),
    )?;
    // Where the recording's clock stood still in a sleep, it counted next to nothing of it.
    if cpu.percent(cpu.asleep_ns) >= 0.1 {
        write!(out, ", asleep {} ({})", duration(cpu.asleep_ns), percent(cpu.percent(cpu.asleep_ns)))?;
    }
    if cpu.unknown_ns > 0 {
        write!(out, ", not recorded {} ({})", duration(cpu.unknown_ns), percent(cpu.percent(cpu.unknown_ns)))?;
    }
    if cpu.unattributed_ns > 0 {
        write!(out, ", of no known process {}", duration(cpu.unattributed_ns))?;
    }
    writeln!(out, "; {source}")
}

/// What touches the answer, and what was lost.
fn write_losses(touched_by: &[String], lost: &Losses, out: &mut dyn Write) -> io::Result<()> {
    losses::write_touching(touched_by, out)?;
    writeln!(out)?;
    losses::write(lost, out)
}
