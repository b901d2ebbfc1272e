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

/// Shorter steps without a notable gap are not shown, ns: 10 ms.
const NOTABLE_NS: i64 = 10_000_000;

/// Minimum length of a gap that is highlighted, ns: 100 ms.
const NOTABLE_GAP_NS: i64 = 100_000_000;

/// Number of process names per step.
const NAMES: usize = 2;

pub(super) fn section(report: &LinuxBootReport) -> Option<Section<'_>> {
    let path = &report.details.critical_path;
    let target = report.details.default_target.as_ref().filter(|_| !path.steps.is_empty())?;
    let longest = path.steps.iter().map(|step| step.duration_ns).max();
    let last = path.steps.len().saturating_sub(1);
    let is_brief = |step: &UnitPathStep| step.duration_ns < NOTABLE_NS && step.released_by.gap_ns < NOTABLE_GAP_NS;
    let is_shown = |(at, step): &(usize, &UnitPathStep)| *at == 0 || *at == last || !is_brief(step);
    let steps: Vec<&UnitPathStep> = path.steps.iter().enumerate().filter(is_shown).map(|(_, step)| step).collect();
    let hidden = path.steps.len() - steps.len();
    let hidden = (hidden > 0).then(|| {
        format!("Not shown: {} of less than {} ms each.", counted(hidden as u64, "unit"), NOTABLE_NS / 1_000_000)
    });
    let style = |step: &UnitPathStep| match step.duration_ns > 0 && Some(step.duration_ns) == longest {
        true => WORST,
        false => Style::new(),
    };
    let gap_style = |gap_ns| if gap_ns >= NOTABLE_GAP_NS { DOUBT } else { Style::new() };
    let section = Section::of("path", format!("Critical path to {}", target.unit), steps)
        .note(format!("{} in units, {} between them", duration(path.units_ns), duration(path.gaps_ns)))
        .name("unit", "unit", 44, |step| Value::text(&step.unit).styled(style(step)))
        .time("start_ns", "start", |step| Cell::since(step.start_ns, 0))
        .quantity("gap_ns", "gap before", |step| {
            Value::Duration(step.released_by.gap_ns).styled(gap_style(step.released_by.gap_ns))
        })
        .quantity("duration_ns", "duration", |step| Value::Duration(step.duration_ns).styled(style(step)))
        .name("released_by", "released by", 44, |step| {
            Cell::shown(Value::text(&step.released_by.name), released_by(step)).styled(QUIET)
        })
        .name("", "CPU", 100, |step| Cell::words(QUIET, cpu(step)))
        .build();
    Some(section.line_if(QUIET, hidden))
}

fn released_by(step: &UnitPathStep) -> String {
    match step.released_by.kind {
        WaitKind::Manager => "systemd".to_owned(),
        WaitKind::DeviceScan => format!("{} (scan)", step.released_by.name),
        _ => step.released_by.name.clone(),
    }
}

/// CPU usage during the step, or during the gap before it if that was longer.
fn cpu(step: &UnitPathStep) -> String {
    let gap = step.released_by.gap_ns > step.duration_ns;
    let (busy, busiest) =
        if gap { (step.gap_busy_percent, &step.gap_busiest) } else { (step.busy_percent, &step.busiest) };
    let Some(busy) = busy else { return String::new() };
    let when = if gap { " in the gap" } else { "" };
    let process_names = ProcessNames::of(busiest.iter().map(|one| (one.image.as_str(), one.pid)));
    let name = |process: &ProcessCpu| {
        format!("{} {}", process_names.name(&process.image, process.pid), duration(process.cpu_ns))
    };
    let names: Vec<String> = busiest.iter().take(NAMES).map(name).collect();
    if names.is_empty() {
        return format!("{} busy{when}", percent(busy));
    }
    format!("{} busy{when}: {}", percent(busy), names.join(", "))
}
