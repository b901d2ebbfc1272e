//! The phases of a power transition on one axis from which the sleep is taken out.

use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::transition::suspend::PowerTransition;
use onoff_analysis::transition::{Half, Phase, PhaseName};

use super::title;
use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::printable::printable;
use crate::text::quantity::{count, duration, duration_or_dash};
use crate::text::style::{DOUBT, QUIET};

pub(super) fn write(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    if transition.phases.is_empty() {
        return Ok(());
    }
    title("Phases", "", out)?;
    let asleep = &transition.details.asleep;
    let rows = transition.phases.iter().map(|phase| row(transition, phase)).collect();
    let away = asleep.measured.start_ns.zip(asleep.measured.end_ns);
    PhaseTable { origin_ns: 0, whole_ns: transition.total_ns, away, rows }.write(out)?;
    if let Some((style, text)) = slept(transition) {
        writeln!(out, "  {style}{text}.{style:#}")?;
    }
    phases::write_settling("PostResume", transition.settling.as_ref(), out)?;
    write_kind(transition, out)
}

fn row(transition: &PowerTransition, phase: &Phase) -> PhaseRow {
    let row = PhaseRow::of(phase);
    match phase.name {
        PhaseName::Asleep => PhaseRow {
            took_ns: transition.details.asleep.wall_ns.or(phase.duration_ns),
            note: (QUIET, missed(transition)),
            ..row
        },
        PhaseName::PostResume | PhaseName::PostBoot => {
            PhaseRow { counts: false, drawn: false, ..row.settled(transition.settling.as_ref()) }
        }
        // What the kernel counts as critical overlaps the others, and a session after the resume is no part of it.
        PhaseName::ResumeCritical => PhaseRow { counts: false, ..row },
        _ => PhaseRow { counts: row.counts && phase.half != Some(Half::After), ..row },
    }
}

/// A clock that stands still for less than this has gone on: begin and end are told by different records.
const STOOD_STILL_NS: i64 = 1_000_000_000;

/// How much of the sleep the recording's clock missed.
fn missed(transition: &PowerTransition) -> String {
    match transition.details.asleep.clock_missed_ns {
        Some(missed) if missed.abs() >= STOOD_STILL_NS => {
            format!("the recording's clock missed {} of it", duration(missed))
        }
        Some(_) => "the recording's clock went on".to_owned(),
        None => "by the recording's clock, which may have stood still".to_owned(),
    }
}

/// How the length of the sleep is known.
fn slept(transition: &PowerTransition) -> Option<(anstyle::Style, String)> {
    let asleep = &transition.details.asleep;
    transition.phases.iter().find(|phase| phase.name == PhaseName::Asleep)?;
    let counted = duration_or_dash(asleep.measured.duration_ns);
    Some(match (asleep.wall_ns, asleep.clock_missed_ns) {
        (Some(wall), Some(missed)) if missed.abs() >= STOOD_STILL_NS => (
            QUIET,
            format!(
                "Asleep took {} by {}; the recording's clock counted {counted} of it",
                duration(wall),
                printable(&asleep.wall_rule)
            ),
        ),
        (Some(_), Some(_)) => return None,
        _ => (DOUBT, format!("Asleep took {counted} by the recording's clock; real times were not recorded")),
    })
}

fn write_kind(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    let style = match transition.details.variant_certainty {
        Certainty::Measured => QUIET,
        _ => DOUBT,
    };
    let what = transition.variant.as_str().replace('_', " ");
    writeln!(
        out,
        "  {style}Kind: {what}, because {}{}.{style:#}",
        printable(&transition.details.variant_rule),
        match transition.details.evidence.len() as u64 {
            0 => String::new(),
            _ => format!(": {}", printable(&transition.details.evidence.join("; "))),
        }
    )?;
    let mut names: Vec<_> = transition.phases.iter().map(|phase| phase.name).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < transition.phases.len() {
        writeln!(
            out,
            "  {QUIET}{} phases: some attempts failed and were repeated.{QUIET:#}",
            count(transition.phases.len() as u64)
        )?;
    }
    Ok(())
}
