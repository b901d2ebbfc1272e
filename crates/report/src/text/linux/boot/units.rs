//! The units that took longest, as `systemd-analyze blame` lists them, and who waited for them.

use std::io::{self, Write};

use onoff_analysis::transition::linux::boot::LinuxBootReport;
use onoff_analysis::units::Unit;
use onoff_trace::ServiceOutcome;

use crate::text::phases::touched_by;
use crate::text::printable::printable;
use crate::text::quantity::{counted, duration};
use crate::text::section::{title, write_news};
use crate::text::style::{DOUBT, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

pub(super) fn write(report: &LinuxBootReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut units: Vec<&Unit> = report.units.iter().filter(|unit| counts(unit)).collect();
    if units.is_empty() {
        return Ok(());
    }
    let note = format!("slowest of {}", counted(units.len() as u64, "unit"));
    title("Units", &note, out)?;
    // What never ended is worse than whatever did.
    units.sort_by_key(|unit| std::cmp::Reverse(unit.duration_ns.unwrap_or(i64::MAX)));
    let mut table = Table::new().left("unit", 44).right("took").right("begins").left("", 12).left("", 100);
    for unit in units.into_iter().take(top) {
        let took = match unit.duration_ns {
            Some(took) => cell(duration(took)),
            None => styled_cell(DOUBT, "unfinished"),
        };
        let place = if unit.on_path { styled_cell(WORST, "on the way") } else { cell("") };
        table.row([cell(&*unit.name), took, cell(duration(unit.start_ns)), place, styled_cell(QUIET, waits(unit))]);
    }
    table.write(out)?;
    write_news(&touched_by(&report.phases), &report.details.units_touched_by, out)
}

/// What was started by the boot, or never came up.
fn counts(unit: &Unit) -> bool {
    unit.automatic || unit.outcome != ServiceOutcome::Completed
}

fn waits(unit: &Unit) -> String {
    let mut parts = Vec::new();
    if unit.outcome == ServiceOutcome::Failed {
        parts.push(match &*unit.result {
            "" => "failed".to_owned(),
            result => format!("failed: {result}"),
        });
    }
    match unit.held_up.as_slice() {
        [] => {}
        names if names.len() <= 3 => parts.push(format!("held up {}", names.join(", "))),
        [first, second, rest @ ..] => {
            parts.push(format!("held up {first}, {second} and {} more", rest.len()));
        }
        [one] => parts.push(format!("held up {one}")),
    }
    if let Some(waited) = &unit.waited_for
        && !waited.name.is_empty()
    {
        parts.push(format!("waited for {}", waited.name));
    }
    printable(&parts.join("; ")).into_owned()
}
