//! The phases of a power transition on one axis that leaves out the sleep.

use onoff_evidence::Certainty;
use onoff_transitions::suspend::{MIN_CLOCK_STOP_NS, PowerTransition};
use onoff_transitions::{Phase, PhaseName, Variant};

use super::headline::state_code;
use super::power_report::is_reported;
use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::printable::printable;
use crate::text::quantity::{count, duration, duration_or_dash};
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{Line, Section};

pub(super) fn section(transition: &PowerTransition) -> Option<Section<'_>> {
    // The headline of a sleep from a power report has its only phase.
    if transition.phases.is_empty() || (is_reported(transition) && transition.phases.len() == 1) {
        return None;
    }
    let asleep = &transition.details.asleep;
    let rows = transition.phases.iter().map(|phase| row(transition, phase)).collect();
    let interval = asleep.measured.start_ns.zip(asleep.measured.end_ns);
    let section = PhaseTable { origin_ns: 0, total_ns: transition.total_ns, asleep: interval, is_sleep: true, rows }
        .section("")
        .lines(sleep_duration_line(transition))
        .lines(phases::settling(work_after(transition).as_str(), transition.settling.as_ref()))
        .lines(kind_lines(transition));
    Some(section)
}

/// Returns the phase of the work after a resume, or after the desktop of a fast startup.
fn work_after(transition: &PowerTransition) -> PhaseName {
    match transition.phase(PhaseName::PostBoot) {
        Some(_) => PhaseName::PostBoot,
        None => PhaseName::PostResume,
    }
}

fn row(transition: &PowerTransition, phase: &Phase) -> PhaseRow {
    let row = PhaseRow::from_phase(phase);
    match phase.name {
        PhaseName::Asleep => PhaseRow {
            duration_ns: transition.details.asleep.wall_ns.or(phase.duration_ns),
            note: (QUIET, clock_note(transition)),
            ..row
        },
        PhaseName::PostResume | PhaseName::PostBoot => {
            PhaseRow { is_part_of_total: false, has_bar: false, ..row.with_settling(transition.settling.as_ref()) }
        }
        _ => PhaseRow {
            is_part_of_total: row.is_part_of_total && transition.details.counts_toward_duration(phase),
            ..row
        },
    }
}

/// Says how much of the sleep the trace clock missed.
fn clock_note(transition: &PowerTransition) -> String {
    if is_reported(transition) {
        return String::new();
    }
    match transition.details.asleep.clock_missed_ns {
        Some(missed) if missed.abs() >= MIN_CLOCK_STOP_NS => {
            format!("the trace clock missed {} of the sleep", duration(missed))
        }
        Some(_) => "the trace clock kept running".to_owned(),
        None => "according to the trace clock, which may have stopped".to_owned(),
    }
}

/// Returns the source of the sleep duration.
fn sleep_duration_line(transition: &PowerTransition) -> Option<Line> {
    let asleep = &transition.details.asleep;
    transition.phases.iter().find(|phase| phase.name == PhaseName::Asleep)?;
    let trace_clock_time = duration_or_dash(asleep.measured.duration_ns);
    let (style, text) = match (asleep.wall_ns, asleep.clock_missed_ns) {
        (Some(wall), Some(missed)) if missed.abs() >= MIN_CLOCK_STOP_NS => (
            QUIET,
            format!(
                "Asleep for {} ({}); the trace clock counted {trace_clock_time}.",
                duration(wall),
                printable(&asleep.wall_rule.to_string())
            ),
        ),
        (Some(_), Some(_)) => return None,
        _ => (
            DOUBT,
            format!("Asleep for {trace_clock_time}, according to the trace clock; wall-clock times were not recorded."),
        ),
    };
    Some(Line { style, text })
}

/// Describes the kind of the transition with its evidence, and whether attempts were repeated.
fn kind_lines(transition: &PowerTransition) -> Vec<Line> {
    let style = match transition.details.variant_certainty {
        Certainty::Measured => QUIET,
        _ => DOUBT,
    };
    let kind_name = transition.variant.as_str().replace('_', " ");
    let state = transition.details.woke_from_state.filter(|_| transition.variant == Variant::Sleep);
    let state = state.map_or_else(String::new, |state| format!(" ({})", state_code(state)));
    let evidence = match &transition.details.evidence[..] {
        [] => String::new(),
        evidence => {
            format!(": {}", printable(&evidence.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))
        }
    };
    let rule = transition.details.variant_rule.to_string();
    let text = format!("Kind: {kind_name}{state}. Evidence: {}{evidence}.", printable(&rule));
    let mut lines = vec![Line { style, text }];
    let mut names: Vec<_> = transition.phases.iter().map(|phase| phase.name).collect();
    names.sort();
    names.dedup();
    if names.len() < transition.phases.len() {
        let phases = count(transition.phases.len() as u64);
        lines.push(Line {
            style: QUIET,
            text: format!("{phases} phases, because some attempts failed and were repeated."),
        });
    }
    lines
}
