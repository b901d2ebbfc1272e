//! The phases of a transition on one axis from which the sleep is taken out.

use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::transition::suspend::{PowerHalf, PowerPhase, PowerPhaseName, PowerTransition};

use super::headline::longest_phase;
use super::title;
use crate::text::bar::Axis;
use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration, duration_or_dash};
use crate::text::style::{BAR, DOUBT, MISSING, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

/// Characters of the axis.
const AXIS_CELLS: usize = 28;

pub(super) fn write(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    if transition.phases.is_empty() {
        return Ok(());
    }
    title("Phases", "", out)?;
    let away = &transition.asleep.measured;
    let awake_ns = |time_ns: i64| match (away.start_ns, away.end_ns) {
        (Some(start), Some(end)) if time_ns >= end && end > start => time_ns.saturating_sub(end.saturating_sub(start)),
        _ => time_ns,
    };
    let last = transition
        .phases
        .iter()
        .filter(|phase| phase.half != PowerHalf::After || is_session(phase.name))
        .filter_map(|phase| phase.end_ns)
        .max();
    let axis = Axis::new(transition.start_ns, awake_ns(last.unwrap_or(transition.start_ns)), AXIS_CELLS);
    let longest = longest_phase(transition).map(|phase| phase.name);
    let mut table = Table::new().left("phase", 18).right("begins").right("took").left("", AXIS_CELLS).left("", 110);
    for phase in &transition.phases {
        let style = if Some(phase.name) == longest { WORST } else { anstyle::Style::new() };
        let bar = match (phase.start_ns, phase.end_ns) {
            (Some(start), Some(end)) if phase.half != PowerHalf::Asleep => axis.bar(awake_ns(start), awake_ns(end)),
            _ => String::new(),
        };
        let (note_style, note) = note(transition, phase);
        table.row([
            styled_cell(style, phase.name.as_str()),
            cell(phase.start_ns.map(duration).unwrap_or_default()),
            styled_cell(style, took(transition, phase)),
            styled_cell(BAR, bar),
            styled_cell(note_style, note),
        ]);
    }
    table.write(out)?;
    for (style, text) in [asleep(transition), settling(transition)].into_iter().flatten() {
        writeln!(out, "  {style}{text}.{style:#}")?;
    }
    write_kind(transition, out)
}

const fn is_session(name: PowerPhaseName) -> bool {
    matches!(name, PowerPhaseName::WinLogonInit | PowerPhaseName::ExplorerInit)
}

fn took(transition: &PowerTransition, phase: &PowerPhase) -> String {
    match phase.name {
        PowerPhaseName::Asleep => duration_or_dash(transition.asleep.wall_ns.or(phase.duration_ns)),
        // The required idle time is nobody's.
        PowerPhaseName::PostResume | PowerPhaseName::PostBoot => {
            let settling = &transition.post_resume;
            let known = settling.end_ns.is_some() || settling.busy_ns > 0;
            duration_or_dash(known.then_some(settling.busy_ns))
        }
        _ => duration_or_dash(phase.duration_ns),
    }
}

fn note(transition: &PowerTransition, phase: &PowerPhase) -> (anstyle::Style, String) {
    match phase.name {
        PowerPhaseName::Asleep => return (QUIET, missed(transition)),
        PowerPhaseName::PostResume | PowerPhaseName::PostBoot if transition.post_resume.end_ns.is_none() => {
            return (DOUBT, "its end is not known".to_owned());
        }
        PowerPhaseName::PostResume | PowerPhaseName::PostBoot => {
            let idle = duration(transition.post_resume.idle_ns);
            return (QUIET, format!("then {idle} of idle time found"));
        }
        _ => {}
    }
    if phase.certainty == Certainty::Missing {
        return match phase.start_ns {
            Some(_) => (DOUBT, "its end is not recorded".to_owned()),
            None => (MISSING, "not found".to_owned()),
        };
    }
    let mut parts = Vec::new();
    if phase.certainty == Certainty::Inferred {
        parts.push(format!("inferred: {}", printable(&phase.rule)));
    } else if phase.start_ns.is_none() || phase.end_ns.is_none() {
        parts.push(phase.rule.clone());
    }
    parts.extend(children(phase));
    let style = match phase.certainty {
        Certainty::Measured => QUIET,
        _ => DOUBT,
    };
    (style, parts.join("; "))
}

fn children(phase: &PowerPhase) -> Option<String> {
    let what = match phase.name {
        PowerPhaseName::UserSession
        | PowerPhaseName::QueryApps
        | PowerPhaseName::SuspendApps
        | PowerPhaseName::ResumeApps => "application",
        PowerPhaseName::QueryServices | PowerPhaseName::SuspendServices | PowerPhaseName::ResumeServices => "service",
        _ => "device",
    };
    if phase.children == 0 {
        return None;
    }
    let mut text = counted(phase.children, what);
    let is_serial = what != "device";
    if let Some(total) = phase.children_total_ns {
        text += &format!(", together {}", duration(total));
    }
    if is_serial {
        if let Some(beside) = phase.not_in_children_ns.filter(|&ns| ns > 0) {
            text += &format!(", {} beside them", duration(beside));
            if phase.name == PowerPhaseName::SuspendApps {
                text += " (usually the display fading out)";
            }
        }
    } else if let Some(last) = &phase.last {
        text += &format!(", last {}", printable(&last.name));
        if let Some(after) = last.after_others_ns.filter(|&ns| ns > 0) {
            text += &format!(", {} after the others", duration(after));
        }
    }
    Some(text)
}

/// A clock that stands still for less than this has gone on: begin and end are told by different records.
const STOOD_STILL_NS: i64 = 1_000_000_000;

/// How much of the sleep the recording's clock missed.
fn missed(transition: &PowerTransition) -> String {
    match transition.asleep.clock_missed_ns {
        Some(missed) if missed.abs() >= STOOD_STILL_NS => {
            format!("the recording's clock missed {} of it", duration(missed))
        }
        Some(_) => "the recording's clock went on".to_owned(),
        None => "by the recording's clock, which may have stood still".to_owned(),
    }
}

/// How the length of the sleep is known.
fn asleep(transition: &PowerTransition) -> Option<(anstyle::Style, String)> {
    let asleep = &transition.asleep;
    transition.phases.iter().find(|phase| phase.name == PowerPhaseName::Asleep)?;
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

/// How the end of the work that follows was found.
fn settling(transition: &PowerTransition) -> Option<(anstyle::Style, String)> {
    let settling = &transition.post_resume;
    settling.start_ns?;
    let what = format!("PostResume is the PostBoot metric after a resume ({})", settling.metric.name);
    Some(match settling.end_ns {
        Some(_) => (QUIET, format!("{what}; the {} of idle time that end it are left out", duration(settling.idle_ns))),
        None => (DOUBT, format!("{what}: {}", printable(&settling.rule))),
    })
}

fn write_kind(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    let style = match transition.kind_certainty {
        Certainty::Measured => QUIET,
        _ => DOUBT,
    };
    let what = transition.kind.as_str().replace('_', " ");
    writeln!(
        out,
        "  {style}Kind: {what}, because {}{}.{style:#}",
        printable(&transition.kind_rule),
        match transition.evidence.len() as u64 {
            0 => String::new(),
            _ => format!(": {}", printable(&transition.evidence.join("; "))),
        }
    )?;
    let repeated = transition.phases.len() > PowerPhaseName::ALL.len();
    if repeated {
        writeln!(
            out,
            "  {QUIET}{} phases: some attempts failed and were repeated.{QUIET:#}",
            count(transition.phases.len() as u64)
        )?;
    }
    Ok(())
}
