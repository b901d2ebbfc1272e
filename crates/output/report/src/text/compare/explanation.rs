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
const SHOWN_PHASES: usize = 3;
/// Maximum number of subjects named that changed in the opposite direction.
const SHOWN_AGAINST: usize = 2;
/// Maximum number of subjects named per phase.
const SHOWN_PARTS: usize = 3;
/// A phase is explained only if it differs by at least the inverse of this of the largest difference: 5 %.
const MIN_SHARE_DIVISOR: u64 = 20;

/// Writes the sentences for a configuration.
pub(in crate::text) fn write(
    explanations: &[Explanation],
    (transition, configuration): (RunSubject, &str),
    out: &mut dyn Write,
) -> io::Result<()> {
    // Only transitions of an operating system attribute time to subjects.
    let has_accounts = transition.transition().is_some();
    let own = || explanations.iter().filter(|one| one.configuration == configuration);
    let largest = own().next().map_or(0, |one| one.difference_ns.unsigned_abs());
    for one in own().filter(|one| one.difference_ns.unsigned_abs() >= largest / MIN_SHARE_DIVISOR).take(SHOWN_PHASES) {
        let text = if has_accounts || one.has_account { sentence(one) } else { format!("{}.", whole(one)) };
        writeln!(out, "{}", styled(WORST, text))?;
    }
    Ok(())
}

/// How much a phase differs, which subjects explain it, and what remains.
#[must_use]
pub fn sentence(one: &Explanation) -> String {
    let whole = whole(one);
    if !one.has_account {
        return format!("{whole}, unattributed.");
    }
    let mut parts: Vec<String> = one.parts.iter().take(SHOWN_PARTS).map(|it| part(it, &one.phase)).collect();
    let more = one.parts.iter().skip(SHOWN_PARTS);
    let more_ns = more.fold(0_i64, |sum, it| sum.saturating_add(it.difference_ns));
    if more_ns != 0 {
        let count = one.parts.len().saturating_sub(SHOWN_PARTS);
        parts.push(format!("{count} more, {}", signed(MeasureUnit::Ns, more_ns)));
    }
    if parts.is_empty() {
        return format!("{whole}; no single subject explains it.");
    }
    // Changes in the opposite direction: without them, the parts would sum to more than the phase.
    let against = one.opposing.iter().take(SHOWN_AGAINST);
    parts.extend(against.clone().map(|it| format!("but {}", part(it, &one.phase))));
    let named_ns = against.fold(0_i64, |sum, it| sum.saturating_add(it.difference_ns));
    let rest_ns = one.opposing_ns.saturating_sub(named_ns);
    if rest_ns != 0 {
        parts.push(format!("others, {}", signed(MeasureUnit::Ns, rest_ns)));
    }
    // Less than 1 % of the difference is rounding.
    let is_left = one.unexplained_ns.unsigned_abs().saturating_mul(100) >= one.difference_ns.unsigned_abs();
    if is_left {
        parts.push(format!("{} unattributed", duration(one.unexplained_ns.saturating_abs())));
    }
    format!("{whole}: {}.", parts.join("; "))
}

fn whole(one: &Explanation) -> String {
    format!("{} in {}", signed(MeasureUnit::Ns, one.difference_ns), display_name(&one.phase))
}

fn part(part: &ExplainedPart, phase: &str) -> String {
    let name = printable(&part.name);
    let detail = part.detail.as_ref().map_or_else(String::new, |detail| {
        let what = match part.kind {
            AccountSubjectKind::Driver => "requests until pended",
            _ => "initialization",
        };
        let time = |ns: Option<i64>| ns.map_or_else(|| "not recorded".to_owned(), duration);
        format!(" ({what} {} → {})", time(detail.before_ns), time(detail.after_ns))
    });
    let difference = signed(MeasureUnit::Ns, part.difference_ns);
    let became = match (part.change, part.kind) {
        (PartChange::Gone, _) if has_no_path(phase) => "no longer keeps the computer busy",
        (PartChange::New, _) if has_no_path(phase) => "now keeps the computer busy",
        (PartChange::Gone, AccountSubjectKind::Driver) => "no longer blocks",
        (PartChange::New, AccountSubjectKind::Driver) => "now blocks",
        (PartChange::Longer, AccountSubjectKind::Driver) => "blocks longer",
        (PartChange::Shorter, AccountSubjectKind::Driver) => "blocks less",
        (PartChange::Gone, _) => return format!("no longer waits for {name}, {difference}{detail}"),
        (PartChange::New, _) => return format!("now waits for {name}, {difference}{detail}"),
        (PartChange::Longer, _) => "takes longer",
        (PartChange::Shorter, _) => "takes less",
    };
    format!("{name} {became}, {difference}{detail}")
}
