//! The critical path to the default target.

use anstyle::Style;
use onoff_transitions::linux::boot::{LinuxBootReport, UnitPathStep};
use onoff_usage::cpu::ProcessCpu;
use onoff_usage::units::WaitKind;

use crate::text::quantity::{counted, duration, percent};
use crate::text::style::{DOUBT, QUIET, WORST};
use crate::text::usage::ProcessNames;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Steps shorter than this are hidden unless a notable gap precedes them, in ns: 10 ms.
const NOTABLE_NS: i64 = 10_000_000;

/// Minimum length of a highlighted gap, in ns: 100 ms.
const NOTABLE_GAP_NS: i64 = 100_000_000;

/// Maximum number of process names per step.
const MAX_NAMES: usize = 2;

pub(super) fn section(report: &LinuxBootReport) -> Option<Section<'_>> {
    let path = &report.details.critical_path;
    let target = report.details.default_target.as_ref().filter(|_| !path.steps.is_empty())?;
    let longest = path.steps.iter().map(|step| step.duration_ns).max();
    let last_index = path.steps.len().saturating_sub(1);
    let is_brief = |step: &UnitPathStep| step.duration_ns < NOTABLE_NS && step.released_by.gap_ns < NOTABLE_GAP_NS;
    let is_shown = |(index, step): &(usize, &UnitPathStep)| *index == 0 || *index == last_index || !is_brief(step);
    let steps: Vec<&UnitPathStep> = path.steps.iter().enumerate().filter(is_shown).map(|(_, step)| step).collect();
    let hidden_count = path.steps.len() - steps.len();
    let hidden_note = (hidden_count > 0).then(|| {
        format!("Not shown: {} of less than {} ms each.", counted(hidden_count as u64, "unit"), NOTABLE_NS / 1_000_000)
    });
    let style = |step: &UnitPathStep| match step.duration_ns > 0 && Some(step.duration_ns) == longest {
        true => WORST,
        false => Style::new(),
    };
    let gap_style = |gap_ns| if gap_ns >= NOTABLE_GAP_NS { DOUBT } else { Style::new() };
    let by_times = if path.has_declared_order() { "" } else { "; inferred from start times" };
    let section = Section::builder("path", format!("Critical path to {}", target.unit), steps)
        .note(format!("{} in units, {} between them{by_times}", duration(path.units_ns), duration(path.gaps_ns)))
        .name("unit", "unit", 44, |step| Value::text(&step.unit).styled(style(step)))
        .time("start_ns", "start", |step| Cell::since(step.start_ns, 0))
        .quantity("gap_ns", "gap before", |step| {
            Value::Duration(step.released_by.gap_ns).styled(gap_style(step.released_by.gap_ns))
        })
        .quantity("duration_ns", "duration", |step| Value::Duration(step.duration_ns).styled(style(step)))
        .name("released_by", "released by", 44, |step| {
            Cell::with_display_text(Value::text(&step.released_by.name), released_by(step)).with_style(QUIET)
        })
        .name("", "CPU", 100, |step| Cell::text_only(QUIET, cpu(step)))
        .build();
    Some(section.line_if(QUIET, hidden_note))
}

fn released_by(step: &UnitPathStep) -> String {
    match step.released_by.kind {
        WaitKind::Manager => "systemd".to_owned(),
        WaitKind::DeviceScan => format!("{} (scan)", step.released_by.name),
        WaitKind::Unexplained => format!("unknown; last: {}", step.released_by.name),
        _ => step.released_by.name.clone(),
    }
}

/// Describes the CPU usage during the step, or during the gap before it if that was longer.
fn cpu(step: &UnitPathStep) -> String {
    let is_gap_longer = step.released_by.gap_ns > step.duration_ns;
    let (busy, busiest) =
        if is_gap_longer { (step.gap_busy_percent, &step.gap_busiest) } else { (step.busy_percent, &step.busiest) };
    let Some(busy) = busy else { return String::new() };
    let location = if is_gap_longer { " in the gap" } else { "" };
    let process_names = ProcessNames::new(busiest.iter().map(|process| (process.image.as_str(), process.pid)));
    let name = |process: &ProcessCpu| {
        format!("{} {}", process_names.name(&process.image, process.pid), duration(process.cpu_ns))
    };
    let names: Vec<String> = busiest.iter().take(MAX_NAMES).map(name).collect();
    if names.is_empty() {
        return format!("{} busy{location}", percent(busy));
    }
    format!("{} busy{location}: {}", percent(busy), names.join(", "))
}
