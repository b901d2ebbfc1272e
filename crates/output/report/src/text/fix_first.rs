//! The "Fix first" sentence, shared by `diagnose`, the reports of transitions, and the HTML page.

use std::io::{self, Write};

use onoff_blame::account::FixFirst;
use onoff_transitions::Transition;

use super::printable::printable;
use super::quantity::duration;
use super::style::{WORST, styled};

/// Describes the most expensive finding with its cost.
#[must_use]
pub fn sentence(fix: &FixFirst) -> String {
    let at_most = if fix.is_upper_bound { "at most " } else { "" };
    format!("Fix first: {}. Cost: {at_most}{}.", printable(&fix.title), duration(fix.cost_ns))
}

/// Writes the sentence, unless the one about the first culprit says the same.
pub(super) fn write<D>(transition: &Transition<D>, out: &mut dyn Write) -> io::Result<()> {
    match &transition.fix_first {
        Some(fix) if transition.first_culprit().is_none() => writeln!(out, "{}", styled(WORST, sentence(fix))),
        _ => Ok(()),
    }
}
