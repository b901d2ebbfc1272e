//! The text report of `what-if --plan`: the best changes in order, with what each saves and what comes first afterwards.

use std::io::{self, Write};

use onoff_what_if::changes::Change;
use onoff_what_if::plan::{Plan, PlanEnd, PlanStep};

use super::super::losses;
use super::super::printable::printable;
use super::super::quantity::{counted, duration};
use super::super::style::{DOUBT, HEADLINE, QUIET};
use super::{bottleneck, foundation, reasons};

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", headline(plan))?;
    if let Some(reason) = plan.no_prediction {
        for line in reasons(&plan.identity, plan.unknown_percent, reason) {
            writeln!(out, "{DOUBT}{line}{DOUBT:#}")?;
        }
    }
    if let Some(first) = &plan.bottleneck {
        writeln!(out, "First culprit: {}.", bottleneck(first))?;
    }
    for (index, step) in plan.steps.iter().enumerate() {
        writeln!(out)?;
        writeln!(out, "{}. {}", index + 1, step_title(step))?;
        writeln!(
            out,
            "   saves {}; the {} then takes {}",
            step.saving,
            plan.transition.as_str(),
            duration(step.predicted.ns)
        )?;
        if let Some(next) = &step.bottleneck {
            writeln!(out, "   then first: {}", bottleneck(next))?;
        }
        if let Some(stronger) = &step.stronger {
            let title = change(&stronger.change);
            writeln!(out, "{QUIET}   {title} instead: saves {}{QUIET:#}", duration(stronger.saving_ns))?;
        }
    }
    writeln!(out)?;
    if plan.end == Some(PlanEnd::NoSaving) {
        let word = if plan.steps.is_empty() { "No" } else { "No further" };
        let least = duration(plan.min_saving_ns);
        writeln!(out, "{word} change saves {least}, the variation between two boots.")?;
    }
    for line in foundation(&plan.identity, plan.unknown_percent, plan.uncertain_waits) {
        writeln!(out, "{QUIET}{line}{QUIET:#}")?;
    }
    losses::write(&plan.losses, out)
}

fn headline(plan: &Plan) -> String {
    let (transition, measured) = (plan.transition.as_str(), duration(plan.measured_ns));
    if plan.no_prediction.is_some() {
        return format!("The {transition} took {measured}. No change can be predicted.");
    }
    let Some(last) = plan.steps.last() else {
        return format!("The {transition} took {measured}. No change would make it faster.");
    };
    let count = plan.steps.iter().map(|step| step.changes.len() as u64).sum();
    let saved = duration(plan.measured_ns.saturating_sub(last.predicted.ns));
    let changes = counted(count, "change");
    format!(
        "With {changes}, the {transition} would take {} instead of {measured}: {saved} less.",
        duration(last.predicted.ns)
    )
}

fn step_title(step: &PlanStep) -> String {
    let titles: Vec<String> = step.changes.iter().map(change).collect();
    match titles.as_slice() {
        [first, second] => format!("{first}, and\n   {}; neither helps alone", uncapitalized(second)),
        _ => titles.join(", "),
    }
}

fn uncapitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

fn change(change: &Change) -> String {
    match change {
        Change::Without { name } => format!("Remove {}", printable(name)),
        Change::Pend { driver } => format!("Let {} pend its requests", printable(driver)),
        Change::Ungroup { service } => format!("Take {} out of its load-order group", printable(service)),
        Change::Delay { name } => format!("Start {} after the desktop is ready", printable(name)),
        Change::Parallel { unit } => format!("Let no unit wait for {}", printable(unit)),
        Change::Async { driver } => format!("Let {} probe asynchronously", printable(driver)),
        Change::DiskSpeed { percent } => format!("Disks at {percent} % of their speed"),
        Change::ProcessorSpeed { percent } => format!("Processors at {percent} % of their speed"),
        Change::Processors { count } => counted(u64::from(*count), "processor"),
    }
}
