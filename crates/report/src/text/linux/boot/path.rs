//! The way to the default target: who was waited for, step by step.

use std::io::{self, Write};

use onoff_analysis::cpu::ProcessCpu;
use onoff_analysis::transition::linux::boot::{LinuxBootReport, UnitPathStep};
use onoff_analysis::units::WaitKind;

use crate::text::quantity::{counted, duration, percent};
use crate::text::section::title;
use crate::text::style::{DOUBT, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};
use crate::text::usage::process_name;

/// Steps shorter than this that came at once are only passed through, ns: 10 ms.
const NOTABLE_NS: i64 = 10_000_000;

/// A gap of this length or more is told who worked in it, ns: 100 ms.
const NOTABLE_GAP_NS: i64 = 100_000_000;

/// Names beside each step.
const NAMES: usize = 2;

pub(super) fn write(report: &LinuxBootReport, out: &mut dyn Write) -> io::Result<()> {
    let path = &report.details.critical_path;
    let (Some(target), false) = (&report.details.default_target, path.steps.is_empty()) else {
        return Ok(());
    };
    let note =
        format!("who was waited for: {} in units, {} between them", duration(path.units_ns), duration(path.gaps_ns));
    title(&format!("The way to {}", target.unit), &note, out)?;
    let longest = path.steps.iter().map(|step| step.duration_ns).max();
    let mut table = Table::new()
        .left("unit", 44)
        .right("begins")
        .right("waited")
        .right("took")
        .left("released by", 44)
        .left("processors", 100);
    let mut passed = 0_u64;
    let last = path.steps.len().saturating_sub(1);
    for (at, step) in path.steps.iter().enumerate() {
        let brief = step.duration_ns < NOTABLE_NS && step.released_by.gap_ns < NOTABLE_GAP_NS;
        if brief && at != last && at != 0 {
            passed += 1;
            continue;
        }
        let style =
            if Some(step.duration_ns) == longest && step.duration_ns > 0 { WORST } else { anstyle::Style::new() };
        let gap_style = if step.released_by.gap_ns >= NOTABLE_GAP_NS { DOUBT } else { anstyle::Style::new() };
        table.row([
            styled_cell(style, &*step.unit),
            cell(duration(step.start_ns)),
            styled_cell(gap_style, duration(step.released_by.gap_ns)),
            styled_cell(style, duration(step.duration_ns)),
            styled_cell(QUIET, released_by(step)),
            styled_cell(QUIET, processors(step)),
        ]);
    }
    table.write(out)?;
    if passed > 0 {
        writeln!(
            out,
            "  {QUIET}Left out: {} in between, of less than {} each.{QUIET:#}",
            counted(passed, "unit"),
            duration(NOTABLE_NS)
        )?;
    }
    Ok(())
}

fn released_by(step: &UnitPathStep) -> String {
    match step.released_by.kind {
        WaitKind::Manager => "the service manager".to_owned(),
        WaitKind::DeviceScan => format!("{} (scan)", step.released_by.name),
        _ => step.released_by.name.clone(),
    }
}

/// Who worked meanwhile: in the gap where that was longer than the step.
fn processors(step: &UnitPathStep) -> String {
    let gap = step.released_by.gap_ns > step.duration_ns;
    let (busy, busiest) =
        if gap { (step.gap_busy_percent, &step.gap_busiest) } else { (step.busy_percent, &step.busiest) };
    let Some(busy) = busy else {
        return String::new();
    };
    let when = if gap { " while it waited" } else { "" };
    let names: Vec<String> = busiest.iter().take(NAMES).map(name).collect();
    if names.is_empty() {
        return format!("{} busy{when}", percent(busy));
    }
    format!("{} busy{when}: {}", percent(busy), names.join(", "))
}

fn name(process: &ProcessCpu) -> String {
    format!("{} {}", process_name(&process.image, process.pid), duration(process.cpu_ns))
}
