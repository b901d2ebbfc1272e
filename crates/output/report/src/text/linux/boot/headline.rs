//! The headline of a Linux boot: how long it took and what it waited for most.

use onoff_transitions::PhaseName;
use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_evidence::interval::covered_ns;
use onoff_evidence::recording::RecordingSummary;
use onoff_transitions::linux::boot::{ConsoleEnd, LinuxBootReport, UnitPathStep};
use onoff_usage::units::Unit;

use crate::text::fix_first;
use crate::text::machine::machine;
use crate::text::phases;
use crate::text::printable::printable;
use crate::text::quantity::{capitalized, duration, percent, share};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};
use crate::text::why::account::culprit;
use crate::text::{boot_axis, boot_list};

/// Minimum share of the critical path, in percent, for a step to be named.
const NOTABLE_SHARE: f64 = 5.0;

pub(super) fn write(report: &LinuxBootReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(report))?;
    if let Some(sentence) = parts(report) {
        writeln!(out, "{sentence}")?;
    }
    if let Some(sentence) = still_starting(report) {
        writeln!(out, "{}", styled(WORST, sentence))?;
    } else {
        // The culprit comes first: 'systemd-analyze' can name the longest step, but not the culprit.
        let culprit_sentence = report.first_culprit().map(culprit);
        for sentence in culprit_sentence.into_iter().chain(longest(report).or_else(|| slowest(report))) {
            writeln!(out, "{}", styled(WORST, sentence))?;
        }
    }
    if let Some(sentence) = password_wait(report) {
        writeln!(out, "{sentence}")?;
    }
    if let Some(note) = boot_list::machine_note(&report.details.boots) {
        writeln!(out, "{note}")?;
    }
    fix_first::write(report, out)?;
    let machine_line = machine(recording, None);
    if !machine_line.is_empty() {
        writeln!(out, "{QUIET}{machine_line}{QUIET:#}")?;
    }
    Ok(())
}

/// Says how long the boot waited for a person.
fn password_wait(report: &LinuxBootReport) -> Option<String> {
    let prompts: Vec<_> = report.details.password_prompts.iter().filter(|prompt| prompt.on_path).collect();
    let waited_ns =
        covered_ns(prompts.iter().map(|prompt| (prompt.start_ns, prompt.end_ns)).collect(), (i64::MIN, i64::MAX));
    let first = prompts.first()?;
    Some(format!(
        "It waited {} for a person to type the password of an encrypted volume ({}).",
        duration(waited_ns),
        printable(&first.unit)
    ))
}

fn answer(report: &LinuxBootReport) -> String {
    if let Some(sentence) = failure(report) {
        return sentence;
    }
    if let Some(end) = &report.details.console_end {
        return console_end(end);
    }
    match (report.details.startup_ns, report.total_certainty) {
        (Some(startup), Certainty::Measured) => {
            format!("The boot took {}, up to the start of the last unit.", duration(startup))
        }
        (Some(startup), _) => format!("The boot took {} (inferred).", duration(startup)),
        (None, _) if !report.details.still_starting.is_empty() => {
            format!("The boot had not finished when the recording ended after {}.", duration(report.total_at_least_ns))
        }
        (None, _) if report.total_at_least_ns <= 0 => "The duration of the boot is not in the recording.".to_owned(),
        (None, _) if report.phases.iter().any(|phase| phase.name == PhaseName::Kernel && phase.start_ns.is_none()) => {
            format!(
                "The boot took at least {}: the start of the kernel is not in the recording.",
                duration(report.total_at_least_ns)
            )
        }
        (None, _) => format!(
            "The boot took at least {}: the end of the boot is not in the recording.",
            duration(report.total_at_least_ns)
        ),
    }
}

/// Describes an end that a console shows without a time.
fn console_end(end: &ConsoleEnd) -> String {
    let reached = if end.target.is_empty() { "a login prompt".into() } else { printable(&end.target) };
    match end.earliest_ns {
        Some(ns) => {
            format!("The boot reached {reached} after {} or more: the console shows it without a time.", duration(ns))
        }
        None => format!("The boot reached {reached}: the console has no times."),
    }
}

/// Describes how a boot failed, with the cause and the record that shows it; `None` if nothing failed.
fn failure(report: &LinuxBootReport) -> Option<String> {
    let outcome = &report.details.outcome;
    if !outcome.kind.has_failed() {
        return None;
    }
    let clause = outcome.clause();
    let mut sentence = format!("The boot {}", printable(&clause));
    if let Some(row) = outcome.evidence.first().filter(|row| !clause.contains(&row.text)) {
        let place = row.time_ns.map_or_else(String::new, |ns| format!("at {}: ", duration(ns)));
        sentence += &format!(" ({place}{})", printable(&row.text));
    }
    sentence.push('.');
    if report.phases.iter().any(|phase| phase.name == PhaseName::Kernel && phase.start_ns.is_none()) {
        sentence += " The beginning of the boot is not in the recording.";
    }
    Some(sentence)
}

/// Lists the phases as `systemd-analyze time` does, then the time until idle.
fn parts(report: &LinuxBootReport) -> Option<String> {
    let parts: Vec<String> = report
        .phases
        .iter()
        .filter(|phase| !matches!(phase.name, PhaseName::PostBoot | PhaseName::TraceTail))
        .filter_map(|phase| Some(format!("{} {}", phases::name(phase.name), duration(phase.duration_ns?))))
        .collect();
    let mut sentence = capitalized(&parts.join(", "));
    if let Some(target) = &report.details.default_target {
        if !sentence.is_empty() {
            sentence += "; ";
        }
        sentence += &printable(&target.unit);
        sentence += &match target.in_user_space_ns {
            Some(ns) => format!(" was reached after {} of user space", duration(ns)),
            None => format!(" was reached at {}", duration(target.reached_ns)),
        };
    }
    if sentence.is_empty() {
        return None;
    }
    sentence.push('.');
    if report.total_ns.is_some() {
        sentence += &match report.work_after_ns().unwrap_or(0) {
            0 => " Then idle.".to_owned(),
            busy => format!(" Then {} until idle.", duration(busy)),
        };
    }
    if let Some(download) = report.details.axis.as_ref().and_then(boot_axis::download) {
        sentence += &format!(" {download}");
    }
    Some(sentence)
}

/// Describes what an unfinished boot was waiting for.
fn still_starting(report: &LinuxBootReport) -> Option<String> {
    let (first, others) = report.details.still_starting.split_first()?;
    let mut sentence = format!("Still starting: {}, for {}", printable(&first.unit), duration(first.elapsed_ns));
    if let Some(limit) = first.limit_ns {
        sentence += &format!(" (timeout {})", duration(limit));
    }
    if let Some((blocked, others)) = first.holds_up.split_first() {
        let suffix = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        sentence += &format!("; blocks {}{suffix}", printable(blocked));
    }
    if let Some(second) = others.first() {
        sentence += &format!("; then {}, for {}", printable(&second.unit), duration(second.elapsed_ns));
        if others.len() > 1 {
            sentence += &format!(", and {} more", others.len() - 1);
        }
    }
    sentence.push('.');
    Some(sentence)
}

/// Describes the longest step of the critical path.
fn longest(report: &LinuxBootReport) -> Option<String> {
    let path = &report.details.critical_path;
    let step = path.steps.iter().max_by_key(|step| step.duration_ns)?;
    let path_ns = path.units_ns.saturating_add(path.gaps_ns);
    if share(step.duration_ns, path_ns) < NOTABLE_SHARE {
        return None;
    }
    let target = report.details.default_target.as_ref();
    let by_times = if path.has_declared_order() { "" } else { ", inferred from start times" };
    let mut sentence = format!(
        "Longest on the critical path to {}: {}, {} ({}{by_times})",
        target.map_or("the end of the boot".into(), |target| printable(&target.unit)),
        printable(&step.unit),
        duration(step.duration_ns),
        percent(share(step.duration_ns, path_ns))
    );
    if let Some(unit) = unit_of(report, step) {
        if !unit.command.is_empty() {
            sentence += &format!(", running {}", printable(&unit.command));
        }
        sentence += &match (unit.held_up.first(), unit.held_up_total) {
            (None, _) => String::new(),
            (Some(blocked), 0 | 1) => format!("; it blocked {}", printable(blocked)),
            (Some(blocked), units) => {
                format!("; it blocked {} and {} more, directly or indirectly", printable(blocked), units - 1)
            }
        };
    }
    sentence.push('.');
    Some(sentence)
}

/// Describes, if the critical path is unknown, the unit that took longest, whether or not anything waited for it.
fn slowest(report: &LinuxBootReport) -> Option<String> {
    if !report.details.critical_path.steps.is_empty() {
        return None;
    }
    let (duration_ns, unit) = report
        .units
        .iter()
        .filter(|unit| unit.automatic)
        .filter_map(|unit| Some((unit.duration_ns?, unit)))
        .filter(|&(duration_ns, _)| duration_ns > 0)
        .max_by_key(|&(duration_ns, _)| duration_ns)?;
    Some(format!(
        "Slowest unit: {}, {}. Whether other units waited for it was not recorded.",
        printable(&unit.name),
        duration(duration_ns)
    ))
}

pub(super) fn unit_of<'a>(report: &'a LinuxBootReport, step: &UnitPathStep) -> Option<&'a Unit> {
    report.units.iter().find(|unit| unit.on_path && unit.name == step.unit)
}
