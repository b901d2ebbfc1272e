//! The "Fix first" sentence, shared by `diagnose`, the reports of transitions, and the HTML page.

use std::io::{self, Write};

use onoff_blame::account::FixFirst;
use onoff_evidence::Certainty;
use onoff_transitions::Transition;

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
            let at_most = if fix.is_upper_bound { "at most " } else { "" };
            format!("Fix first: {title}{name}. Cost: {at_most}{}{inferred}.", duration(ns))
        }
        None => format!("Fix first: {title}{name}{inferred}."),
    }
}

/// Writes the sentence, unless the one about the first culprit says the same.
pub(super) fn write<D>(transition: &Transition<D>, out: &mut dyn Write) -> io::Result<()> {
    match &transition.fix_first {
        Some(fix) if transition.first_culprit().is_none() => writeln!(out, "{}", styled(WORST, sentence(fix))),
        _ => Ok(()),
    }
}
