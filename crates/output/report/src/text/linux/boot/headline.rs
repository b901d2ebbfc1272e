//! How long the boot took and who was waited for most, in a few sentences.

use onoff_transitions::PhaseName;
use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_evidence::recording::RecordingSummary;
use onoff_transitions::linux::boot::{LinuxBootReport, UnitPathStep};
use onoff_usage::units::Unit;

use super::boots;
use crate::text::fix_first;
use crate::text::machine::machine;
use crate::text::phases;
use crate::text::printable::printable;
use crate::text::quantity::{capitalized, duration, percent, share};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};
use crate::text::why::account::culprit;

/// From this share of the way on, a step is worth a sentence, percent.
const NOTABLE_SHARE: f64 = 5.0;

pub(super) fn write(report: &LinuxBootReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(report))?;
    if let Some(sentence) = parts(report) {
        writeln!(out, "{sentence}")?;
    }
    if let Some(sentence) = still_starting(report) {
        writeln!(out, "{}", styled(WORST, sentence))?;
    } else {
        // Whose the time was comes first; the longest step of the way is what 'systemd-analyze' knows.
        let whose = report.first_culprit().map(culprit);
        for sentence in whose.into_iter().chain(longest(report).or_else(|| slowest(report))) {
            writeln!(out, "{}", styled(WORST, sentence))?;
        }
    }
    if let Some(whose) = boots::whose(&report.details.boots) {
        writeln!(out, "{whose}")?;
    }
    fix_first::write(report, out)?;
    let about = machine(recording, None);
    if !about.is_empty() {
        writeln!(out, "{QUIET}{about}{QUIET:#}")?;
    }
    Ok(())
}

fn answer(report: &LinuxBootReport) -> String {
    match (report.details.startup_ns, report.total_certainty) {
        (Some(startup), Certainty::Measured) => {
            format!("The boot took {} until everything was started.", duration(startup))
        }
        (Some(startup), _) => format!("The boot took {}, as far as can be inferred.", duration(startup)),
        (None, _) if !report.details.still_starting.is_empty() => {
            format!("The boot was not finished when the recording ended, after {}.", duration(report.total_at_least_ns))
        }
        (None, _) if report.total_at_least_ns <= 0 => "The recording does not say how long the boot took.".to_owned(),
        (None, _) if report.phases.iter().any(|phase| phase.name == PhaseName::Kernel && phase.start_ns.is_none()) => {
            format!(
                "The boot took at least {}: the recording does not say when the kernel started.",
                duration(report.total_at_least_ns)
            )
        }
        (None, _) => format!(
            "The boot took at least {}: the recording does not say when it was over.",
            duration(report.total_at_least_ns)
        ),
    }
}

/// The parts as `systemd-analyze time` gives them, and what came after.
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
            Some(ns) => format!(" was reached {} into user space", duration(ns)),
            None => format!(" was reached at {}", duration(target.reached_ns)),
        };
    }
    if sentence.is_empty() {
        return None;
    }
    sentence.push('.');
    if report.total_ns.is_some() {
        sentence += &match report.work_after_ns().unwrap_or(0) {
            0 => " Then it was idle.".to_owned(),
            busy => format!(" Then {} of further work until it settled.", duration(busy)),
        };
    }
    Some(sentence)
}

/// What a boot that did not finish was waiting for.
fn still_starting(report: &LinuxBootReport) -> Option<String> {
    let (first, others) = report.details.still_starting.split_first()?;
    let mut sentence = format!("Still starting: {}, for {}", printable(&first.unit), duration(first.for_ns));
    if let Some(limit) = first.limit_ns {
        sentence += &format!(" (time limit {})", duration(limit));
    }
    if let Some((held, more)) = first.holds_up.split_first() {
        sentence += &format!("; {} waits for it", printable(held));
        if !more.is_empty() {
            sentence += &format!(", and {} more", more.len());
        }
    }
    if let Some(second) = others.first() {
        sentence += &format!("; then {}, for {}", printable(&second.unit), duration(second.for_ns));
        if others.len() > 1 {
            sentence += &format!(", and {} more", others.len() - 1);
        }
    }
    sentence.push('.');
    Some(sentence)
}

/// The step that was waited for longest.
fn longest(report: &LinuxBootReport) -> Option<String> {
    let path = &report.details.critical_path;
    let step = path.steps.iter().max_by_key(|step| step.duration_ns)?;
    let way = path.units_ns.saturating_add(path.gaps_ns);
    if share(step.duration_ns, way) < NOTABLE_SHARE {
        return None;
    }
    let target = report.details.default_target.as_ref()?;
    let mut sentence = format!(
        "Longest on the way to {}: {}, {} ({} of the way)",
        printable(&target.unit),
        printable(&step.unit),
        duration(step.duration_ns),
        percent(share(step.duration_ns, way))
    );
    if let Some(unit) = unit_of(report, step) {
        if !unit.command.is_empty() {
            sentence += &format!(", running {}", printable(&unit.command));
        }
        sentence += &match (unit.held_up.first(), unit.held_up_in_turn) {
            (None, _) => String::new(),
            (Some(first), 0 | 1) => format!("; it held up {}", printable(first)),
            (Some(first), units) => format!("; it held up {} and in turn {} more", printable(first), units - 1),
        };
    }
    sentence.push('.');
    Some(sentence)
}

/// Without dependencies: the unit that took longest, whether anybody waited for it or not.
fn slowest(report: &LinuxBootReport) -> Option<String> {
    if !report.details.critical_path.steps.is_empty() {
        return None;
    }
    let (took, unit) = report
        .units
        .iter()
        .filter(|unit| unit.automatic)
        .filter_map(|unit| Some((unit.duration_ns?, unit)))
        .max_by_key(|&(took, _)| took)?;
    Some(format!(
        "Slowest unit: {}, {}; whether anybody waited for it the recording does not say.",
        printable(&unit.name),
        duration(took)
    ))
}

pub(super) fn unit_of<'a>(report: &'a LinuxBootReport, step: &UnitPathStep) -> Option<&'a Unit> {
    report.units.iter().find(|unit| unit.on_path && unit.name == step.unit)
}
