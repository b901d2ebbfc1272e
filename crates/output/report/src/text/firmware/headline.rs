//! The headline of a firmware report: how long the firmware took and where most of the time went.

use std::io::{self, Write};

use onoff_firmware_times::{FirmwareIntervals, FirmwareReport, FirmwareStageName};

use crate::text::printable::printable;
use crate::text::quantity::{capitalized, counted, duration, percent, share};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};

/// Minimum share of the firmware time, in percent, for an unmeasured gap to be named.
const NOTABLE_SHARE: f64 = 10.0;

pub(super) fn write(report: &FirmwareReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(report))?;
    if let Some(sentence) = longest(report) {
        writeln!(out, "{}", styled(WORST, sentence))?;
    }
    writeln!(out, "{QUIET}{}{QUIET:#}", source(report))
}

/// Returns one sentence with the durations, one with the longest phase.
#[must_use]
pub fn sentences(report: &FirmwareReport) -> Vec<String> {
    std::iter::once(answer(report)).chain(longest(report)).collect()
}

fn answer(report: &FirmwareReport) -> String {
    let intervals = &report.intervals;
    match (intervals.time1_ns, intervals.time2_ns, intervals.total_ns) {
        (Some(time1), Some(time2), Some(total)) => format!(
            "The firmware took {}, the loader {}: {} from reset to the operating system.",
            duration(time1),
            duration(time2),
            duration(total)
        ),
        (Some(time1), ..) if intervals.legacy_boot => format!(
            "The firmware took {} until it started the boot sector (INT 19h). A legacy BIOS boot has no timestamps after that.",
            duration(time1)
        ),
        (Some(time1), ..) => match loader(intervals) {
            Some(loader) => format!("The firmware took {} until it loaded the loader; {loader}.", duration(time1)),
            None => format!(
                "The firmware took {} until it loaded the loader; the loader time was not recorded.",
                duration(time1)
            ),
        },
        (None, Some(time2), Some(total)) => format!(
            "Reset to operating system took {}, including {} in the loader; the firmware time is unknown.",
            duration(total),
            duration(time2)
        ),
        (None, None, total) if loader(intervals).is_some() => {
            let total_clause =
                total.map_or_else(String::new, |total| format!("Reset to operating system took {}; ", duration(total)));
            let loader_clause = loader(intervals).unwrap_or_default();
            let sentence = format!("{total_clause}{loader_clause}; the firmware time is unknown.");
            if total_clause.is_empty() { capitalized(&sentence) } else { sentence }
        }
        (None, Some(time2), None) => {
            format!("The loader took {}; the firmware time is unknown.", duration(time2))
        }
        _ if report.checkpoints.is_some() => "The firmware times are inconsistent (see below).".to_owned(),
        _ if !report.phases.is_empty() => {
            let (start_ns, end_ns) = measured_bounds(report);
            format!(
                "The firmware measurements cover {}, up to {} after reset, without the loader.",
                duration(end_ns.saturating_sub(start_ns)),
                duration(end_ns)
            )
        }
        _ if !report.durations.is_empty() => format!(
            "The input has the durations of {}, but no boot timestamps.",
            counted(report.durations.len() as u64, "measurement")
        ),
        _ if report.measurements > 0 => "The firmware measured its modules, but not the boot.".to_owned(),
        _ => "The tables have sleep times, but no boot times.".to_owned(),
    }
}

/// Describes the known loader times if one of them is missing.
fn loader(intervals: &FirmwareIntervals) -> Option<String> {
    let load = intervals.loader_load_ns.map(|ns| format!("loading the loader took {}", duration(ns)));
    let run = intervals
        .loader_run_ns
        .map(|ns| format!("the loader ran for {} until it called ExitBootServices", duration(ns)));
    let clauses: Vec<String> = load.into_iter().chain(run).collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

/// Returns the start of the first and the end of the last phase, in ns.
fn measured_bounds(report: &FirmwareReport) -> (i64, i64) {
    let start_ns = report.phases.iter().map(|phase| phase.start_ns).min().unwrap_or(0);
    (start_ns, report.phases.iter().map(|phase| phase.end_ns).max().unwrap_or(start_ns))
}

fn longest(report: &FirmwareReport) -> Option<String> {
    let (start_ns, end_ns) = measured_bounds(report);
    let time1 = report.intervals.time1_ns.unwrap_or(end_ns.saturating_sub(start_ns));
    let time1 = Some(time1).filter(|&ns| ns > 0)?;
    let has_parts = |name: &str| report.phases.iter().any(|phase| phase.parent == name);
    let phase = report.phases.iter().filter(|phase| !has_parts(&phase.name)).max_by_key(|phase| phase.duration_ns)?;
    let mut sentence = format!(
        "Longest phase: {}, {} ({} of the firmware time).",
        phase.name,
        duration(phase.duration_ns),
        percent(share(phase.duration_ns, time1))
    );
    let gap = report.gaps.first();
    if let Some(gap) = gap.filter(|gap| share(gap.duration_ns, time1) >= NOTABLE_SHARE) {
        let of_phase = match gap.phase.as_str() {
            "" => String::new(),
            name if name == phase.name => " of it".to_owned(),
            name => format!(" of {name}"),
        };
        sentence += &format!(" {}{of_phase} is one unmeasured gap", duration(gap.duration_ns));
        if !gap.after.is_empty() && gap.after != format!("start of {}", gap.phase) {
            sentence += &format!(", after the {}", printable(&gap.after));
        } else {
            // Only a phase starts at this point, so the modules on both sides are the best hint.
            sentence += &match (gap.module_before.as_str(), gap.module_after.as_str()) {
                ("", "") => String::new(),
                (before, "") => format!(", after {}", printable(before)),
                ("", after) => format!(", before {}", printable(after)),
                (before, after) => format!(", between {} and {}", printable(before), printable(after)),
            };
        }
        sentence += ".";
    } else if let Some(driver) = report.drivers.first() {
        sentence += &format!(" Slowest module: {}, self time {}.", printable(&driver.name), duration(driver.self_ns));
    }
    Some(sentence)
}

fn source(report: &FirmwareReport) -> String {
    let mut parts: Vec<String> = Vec::new();
    let table = report.tables.iter().find(|table| !table.oem.is_empty() || !table.oem_table.is_empty());
    if let Some(table) = table {
        parts.push(printable(format!("{} {}", table.oem, table.oem_table).trim()).into_owned());
    }
    for input in report.inputs.iter().take(3) {
        parts.push(format!("{} ({})", printable(&input.name), input.form.as_str()));
    }
    if report.inputs.len() > 3 {
        parts.push(counted(report.inputs.len() as u64 - 3, "more input"));
    }
    if report.measurements > 0 {
        parts.push(counted(report.measurements, "measurement"));
    }
    parts.join(" · ")
}

pub(super) fn stage(name: FirmwareStageName) -> &'static str {
    match name {
        FirmwareStageName::Firmware => "firmware (Time1)",
        _ => name.display_name(),
    }
}
