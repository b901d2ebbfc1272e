//! The "Fix first" sentence, shared by `diagnose`, the reports of transitions, and the HTML page.

use std::io::{self, Write};

use onoff_blame::account::FixFirst;
use onoff_evidence::Certainty;
use onoff_transitions::Transition;
use onoff_what_if::prediction::PredictedDuration;

use super::printable::printable;
use super::quantity::duration;
use super::style::{WORST, styled};

/// Describes the most expensive finding: its subject, its cost, and whether it is inferred.
#[must_use]
pub fn sentence(fix: &FixFirst) -> String {
    let has_name = fix.title.to_lowercase().contains(&fix.name.to_lowercase());
    let name = if has_name { String::new() } else { format!(" ({})", printable(&fix.name)) };
    let inferred = if fix.certainty == Certainty::Measured { "" } else { " (inferred)" };
    let title = printable(&fix.title);
    match fix.cost_ns {
        Some(ns) => {
            let saving = predicted(fix).map_or_else(|| duration(ns), |saving| saving.to_string());
            let cost = match (fix.cost_min_ns, fix.is_upper_bound) {
                (Some(_), _) => "Saves",
                (None, true) => "Cost: at most",
                (None, false) => "Cost:",
            };
            format!("Fix first: {title}{name}. {cost} {saving}{inferred}.")
        }
        None => format!("Fix first: {title}{name}{inferred}."),
    }
}

fn predicted(fix: &FixFirst) -> Option<PredictedDuration> {
    let (min_ns, max_ns) = fix.cost_min_ns.zip(fix.cost_max_ns)?;
    Some(PredictedDuration { ns: fix.cost_ns?, min_ns, max_ns })
}

/// Writes the sentence. If the one about the first culprit says the same, with the measured time, writes the saving.
pub(super) fn write<D>(transition: &Transition<D>, out: &mut dyn Write) -> io::Result<()> {
    match &transition.fix_first {
        Some(fix) if transition.first_culprit().is_none() => writeln!(out, "{}", styled(WORST, sentence(fix))),
        Some(fix) => match predicted(fix) {
            Some(saving) => writeln!(out, "Fixing that would save {saving}."),
            None => Ok(()),
        },
        None => Ok(()),
    }
}
