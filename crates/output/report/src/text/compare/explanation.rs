//! The explanation of a difference: one sentence per phase that differs.

use std::io::{self, Write};

use onoff_blame::account::{AccountSubjectKind, has_no_path};
use onoff_compare::{ExplainedPart, Explanation, MeasureUnit, PartChange, RunSubject};

use super::signed;
use crate::text::phases::display_name;
use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::style::{WORST, styled};

/// Maximum number of phases explained, largest first.
const MAX_PHASES: usize = 3;
/// Maximum number of subjects named whose time changed in the opposite direction.
const MAX_OPPOSING: usize = 2;
/// Maximum number of subjects named per phase.
const MAX_PARTS: usize = 3;
/// A phase is explained only if it differs by at least this fraction of the largest difference: one twentieth, 5 %.
const MIN_SHARE_DIVISOR: u64 = 20;

/// Writes the sentences for a configuration.
pub(in crate::text) fn write(
    explanations: &[Explanation],
    (transition, configuration): (RunSubject, &str),
    out: &mut dyn Write,
) -> io::Result<()> {
    // Only transitions of an operating system attribute time to subjects.
    let has_accounts = transition.transition().is_some();
    let selected = || explanations.iter().filter(|explanation| explanation.configuration == configuration);
    let largest = selected().next().map_or(0, |explanation| explanation.difference_ns.unsigned_abs());
    for explanation in selected()
        .filter(|explanation| explanation.difference_ns.unsigned_abs() >= largest / MIN_SHARE_DIVISOR)
        .take(MAX_PHASES)
    {
        let text = if has_accounts || explanation.has_account {
            sentence(explanation)
        } else {
            format!("{}.", difference_phrase(explanation))
        };
        writeln!(out, "{}", styled(WORST, text))?;
    }
    Ok(())
}

/// Says how much a phase differs, which subjects explain it, and what remains.
#[must_use]
pub fn sentence(explanation: &Explanation) -> String {
    let difference = difference_phrase(explanation);
    if !explanation.has_account {
        return format!("{difference}, unattributed.");
    }
    let mut parts: Vec<String> =
        explanation.parts.iter().take(MAX_PARTS).map(|subject| part(subject, &explanation.phase)).collect();
    let hidden = explanation.parts.iter().skip(MAX_PARTS);
    let hidden_ns = hidden.fold(0_i64, |sum, subject| sum.saturating_add(subject.difference_ns));
    if hidden_ns != 0 {
        let count = explanation.parts.len().saturating_sub(MAX_PARTS);
        parts.push(format!("{count} more, {}", signed(MeasureUnit::Ns, hidden_ns)));
    }
    if parts.is_empty() {
        return format!("{difference}; no single subject explains it.");
    }
    // Without the changes in the opposite direction, the parts would sum to more than the phase.
    let opposing = explanation.opposing.iter().take(MAX_OPPOSING);
    parts.extend(opposing.clone().enumerate().map(|(index, subject)| {
        let conjunction = if index == 0 { "but " } else { "" };
        format!("{conjunction}{}", part(subject, &explanation.phase))
    }));
    let shown_ns = opposing.fold(0_i64, |sum, subject| sum.saturating_add(subject.difference_ns));
    let others_ns = explanation.opposing_ns.saturating_sub(shown_ns);
    if others_ns != 0 {
        parts.push(format!("others, {}", signed(MeasureUnit::Ns, others_ns)));
    }
    // Less than 1 % of the difference is rounding.
    let has_remainder =
        explanation.unexplained_ns.unsigned_abs().saturating_mul(100) >= explanation.difference_ns.unsigned_abs();
    if has_remainder {
        parts.push(format!("{} unattributed", duration(explanation.unexplained_ns.saturating_abs())));
    }
    format!("{difference}: {}.", parts.join("; "))
}

fn difference_phrase(explanation: &Explanation) -> String {
    format!("{} in {}", signed(MeasureUnit::Ns, explanation.difference_ns), display_name(&explanation.phase))
}

fn part(part: &ExplainedPart, phase: &str) -> String {
    let name = printable(&part.name);
    let detail = part.detail.as_ref().map_or_else(String::new, |detail| {
        let label = match part.kind {
            AccountSubjectKind::Driver => "requests until pended",
            _ => "initialization",
        };
        let time = |ns: Option<i64>| ns.map_or_else(|| "not recorded".to_owned(), duration);
        format!(" ({label} {} → {})", time(detail.before_ns), time(detail.after_ns))
    });
    let difference = signed(MeasureUnit::Ns, part.difference_ns);
    let change_phrase = match (part.change, part.kind) {
        (PartChange::Gone, _) if has_no_path(phase) => "no longer keeps the computer busy",
        (PartChange::New, _) if has_no_path(phase) => "now keeps the computer busy",
        (PartChange::Gone, AccountSubjectKind::Driver) => "no longer blocks",
        (PartChange::New, AccountSubjectKind::Driver) => "now blocks",
        (PartChange::Longer, AccountSubjectKind::Driver) => "blocks longer",
        (PartChange::Shorter, AccountSubjectKind::Driver) => "blocks for less time",
        (PartChange::Gone, _) => return format!("no longer waits for {name}, {difference}{detail}"),
        (PartChange::New, _) => return format!("now waits for {name}, {difference}{detail}"),
        (PartChange::Longer, _) => "takes longer",
        (PartChange::Shorter, _) => "takes less time",
    };
    format!("{name} {change_phrase}, {difference}{detail}")
}
