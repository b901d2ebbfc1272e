//! The text report of `what-if`: the prediction in a sentence, the phases, and what the prediction rests on.

pub mod limit;
pub mod plan;

use std::io::{self, Write};

use anstyle::Style;
use onoff_evidence::account_model::AccountSubjectKind;
use onoff_sections::section::{self, Cell, Section};
use onoff_what_if::bottleneck::Bottleneck;
use onoff_what_if::changes::Change;
use onoff_what_if::identity::{Identity, PhaseIdentity};
use onoff_what_if::prediction::{Assumption, Basis, MAX_UNKNOWN_PERCENT, NoPrediction, PredictedDuration, Prediction};

use super::losses;
use super::phases::display_name;
use super::printable::printable;
use super::quantity::{counted, duration, percent};
use super::style::{DOUBT, HEADLINE, QUIET};

/// Differences below this are not shown as a saving or a range, ns: 1 ms.
const MIN_SHOWN_NS: i64 = 1_000_000;

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(prediction: &Prediction, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", headline(prediction))?;
    if let Some(reason) = prediction.no_prediction {
        for line in reasons(&prediction.identity, prediction.unknown_percent, reason) {
            writeln!(out, "{DOUBT}{line}{DOUBT:#}")?;
        }
    }
    writeln!(out)?;
    let text = |text: String| Cell::text_only(Style::new(), text);
    let section = Section::builder("phases", "", prediction.phases.iter())
        .name("phase", "Phase", 32, |phase| text(display_name(&phase.phase)))
        .quantity("measured_ns", "measured", |phase| text(duration(phase.measured_ns)))
        .quantity("predicted", "predicted", |phase| {
            text(phase.predicted.map_or_else(|| "not known".to_owned(), |predicted| predicted.to_string()))
        })
        .quantity("change", "change", |phase| {
            let change = phase.predicted.map(|predicted| predicted.ns.saturating_sub(phase.measured_ns));
            text(change.map(signed).unwrap_or_default())
        })
        .build();
    section::text::write(&section, out)?;
    writeln!(out)?;
    if let Some(first) = prediction.bottleneck.as_ref().filter(|_| !prediction.changes.is_empty()) {
        writeln!(out, "First culprit then: {}.", bottleneck(first))?;
    }
    for line in foundation(&prediction.identity, prediction.unknown_percent, prediction.uncertain_waits) {
        writeln!(out, "{QUIET}{line}{QUIET:#}")?;
    }
    for line in assumptions(prediction) {
        writeln!(out, "{QUIET}{line}{QUIET:#}")?;
    }
    losses::write(&prediction.losses, out)
}

/// Returns the prediction in a sentence.
#[must_use]
pub fn headline(prediction: &Prediction) -> String {
    let changes = changes(&prediction.changes, prediction.basis);
    let transition = prediction.transition.as_str();
    let measured = duration(prediction.measured_ns);
    let (Some(predicted), Some(saving)) = (prediction.predicted, prediction.saving) else {
        return format!("{changes}, the duration of the {transition} is not known; it took {measured}.");
    };
    if saving.ns.abs() < MIN_SHOWN_NS && saving.max_ns.saturating_sub(saving.min_ns) < MIN_SHOWN_NS {
        return format!("{changes}, the {transition} would take {measured}, as before.");
    }
    let (amount, word) = if saving.ns >= 0 { (saving, "less") } else { (negated(&saving), "more") };
    format!(
        "{changes}, the {transition} would take {} instead of {measured}: {} {word}.",
        duration(predicted.ns),
        amount
    )
}

fn changes(changes: &[Change], basis: Basis) -> String {
    let text = |change: &Change| match change {
        Change::Without { name } => format!("without {}", printable(name)),
        Change::Pend { driver } => format!("with pended requests of {}", printable(driver)),
        Change::Ungroup { service } => format!("with {} in no load-order group", printable(service)),
        Change::Delay { name } if basis == Basis::UnitTimes => format!("with {} after the boot", printable(name)),
        Change::Delay { name } => format!("with {} after the desktop is ready", printable(name)),
        Change::Parallel { unit } => format!("without waits for {}", printable(unit)),
        Change::Async { driver } => format!("with asynchronous probes of {}", printable(driver)),
        Change::DiskSpeed { percent } => format!("with disks at {percent} % of their speed"),
        Change::ProcessorSpeed { percent } => format!("with processors at {percent} % of their speed"),
        Change::Processors { count } => format!("with {}", counted(u64::from(*count), "processor")),
    };
    let joined = match changes {
        [] => "without a change".to_owned(),
        [only] => text(only),
        [others @ .., last] => {
            let others: Vec<String> = others.iter().map(text).collect();
            format!("{} and {}", others.join(", "), text(last))
        }
    };
    let mut characters = joined.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Returns why there is no prediction, one line each.
#[must_use]
pub fn reasons(identity: &Identity, unknown_percent: f64, reason: NoPrediction) -> Vec<String> {
    match reason {
        NoPrediction::IdentityFailed => {
            let mut lines = vec!["A replay without the change does not reproduce the recording:".to_owned()];
            let missed = identity.phases.iter().filter(|phase| !phase.holds);
            lines.extend(missed.map(|phase| format!("  {}", missed_phase(phase))));
            if identity.services_out_of_order > 0 {
                lines.push(format!("  {} services started in another order", identity.services_out_of_order));
            }
            lines
        }
        NoPrediction::PathUnknown => vec![format!(
            "{} of the critical path is unknown; a prediction needs at most {}.",
            percent(unknown_percent),
            percent(MAX_UNKNOWN_PERCENT)
        )],
        NoPrediction::RangeTooWide => vec![
            "The range is wider than 15 % up and down. Units start at the same time, or".to_owned(),
            "at times that their order does not explain.".to_owned(),
        ],
        NoPrediction::EndNotReached => {
            vec![
                "The replay with the change did not reach the end of a phase: something waits for what was removed."
                    .to_owned(),
            ]
        }
    }
}

fn missed_phase(phase: &PhaseIdentity) -> String {
    let name = display_name(&phase.phase);
    match phase.error_ns {
        Some(error_ns) if error_ns < 0 => format!("{name} ended {} too early", duration(error_ns.saturating_neg())),
        Some(error_ns) => format!("{name} ended {} too late", duration(error_ns)),
        None => format!("{name} did not end"),
    }
}

/// Returns what the prediction rests on, one line each.
fn foundation(identity: &Identity, unknown_percent: f64, uncertain_waits: u64) -> Vec<String> {
    let error = identity.max_error_ns.map_or_else(
        || "misses the end of a phase".to_owned(),
        |error_ns| format!("reproduces every phase end within {}", duration(error_ns.max(MIN_SHOWN_NS))),
    );
    let mut lines = vec![
        format!("A replay without the change {error}."),
        format!("Unknown share of the critical path: {}.", percent(unknown_percent)),
    ];
    if let Some(error_ns) = identity.free_running_error_ns {
        let error = duration(error_ns.max(MIN_SHOWN_NS));
        lines.push(format!("With threads in the order in which they became ready: within {error}."));
    }
    if uncertain_waits > 0 {
        lines.push(format!("The range replays {} with unknown end both ways.", counted(uncertain_waits, "wait")));
    }
    lines
}

/// Returns what a prediction assumes, one line each.
fn assumptions(prediction: &Prediction) -> Vec<&'static str> {
    let text = |assumption: &Assumption| match assumption {
        Assumption::UnitsCompeteWithinBounds => "Range: units do not affect each other, or share a processor or disk.",
        Assumption::OthersKeepProcessorTime => {
            "Likely value: other units and programs still need their CPU time, and run when the CPU is free."
        }
        Assumption::DevicesFollowScan => "Assumed: devices appear as long after the scan for them as recorded.",
        Assumption::ManagerWaitsForLast => {
            "Assumed: the service manager waits only for what it was recorded to wait for."
        }
        Assumption::RootWaitsForProbe => "Assumed: the root file system waits for the driver's devices.",
    };
    let basis = (prediction.basis == Basis::UnitTimes)
        .then_some("Replayed unit by unit, from recorded times and the declared order.");
    basis.into_iter().chain(prediction.assumptions.iter().map(text)).collect()
}

/// Names a subject and its time.
#[must_use]
pub fn bottleneck(bottleneck: &Bottleneck) -> String {
    let kind = match bottleneck.kind {
        AccountSubjectKind::Service => "service ",
        AccountSubjectKind::Driver => "driver ",
        AccountSubjectKind::Script => "script ",
        AccountSubjectKind::Subscriber => "logon subscriber ",
        _ => "",
    };
    let part = if bottleneck.is_system { ", part of the system" } else { "" };
    format!("{kind}{}{part}, {}", printable(&bottleneck.name), duration(bottleneck.ns))
}

fn negated(range: &PredictedDuration) -> PredictedDuration {
    PredictedDuration {
        ns: range.ns.saturating_neg(),
        min_ns: range.max_ns.saturating_neg(),
        max_ns: range.min_ns.saturating_neg(),
    }
}

fn signed(ns: i64) -> String {
    match ns {
        ns if ns.abs() < MIN_SHOWN_NS => String::new(),
        ns if ns < 0 => format!("-{}", duration(ns.saturating_neg())),
        ns => format!("+{}", duration(ns)),
    }
}
