//! What explains a difference, in one sentence for each phase that differs.

use std::io::{self, Write};

use onoff_blame::account::{AccountSubjectKind, has_no_path};
use onoff_compare::{ExplainedPart, Explanation, MeasureUnit, PartChange, RunSubject};

use super::signed;
use crate::text::phases::shown;
use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::style::{WORST, styled};

/// Phases explained, at most: the largest.
const SHOWN_PHASES: usize = 3;
/// Subjects named whose time went the other way, at most.
const SHOWN_AGAINST: usize = 2;
/// Subjects named of one phase, at most.
const SHOWN_PARTS: usize = 3;
/// A phase is said when it differs by this part of the largest at least: 5 %.
const MIN_SHARE_OF_LARGEST: u64 = 20;

/// Writes the sentences about a configuration.
pub(in crate::text) fn write(
    explanations: &[Explanation],
    (transition, configuration): (RunSubject, &str),
    out: &mut dyn Write,
) -> io::Result<()> {
    // Only an operating system has an account of who took the time.
    let has_accounts = transition.transition().is_some();
    let of_it = || explanations.iter().filter(|one| one.configuration == configuration);
    let largest = of_it().next().map_or(0, |one| one.difference_ns.unsigned_abs());
    for one in
        of_it().filter(|one| one.difference_ns.unsigned_abs() >= largest / MIN_SHARE_OF_LARGEST).take(SHOWN_PHASES)
    {
        let text = if has_accounts || one.is_accounted { sentence(one) } else { format!("{}.", whole(one)) };
        writeln!(out, "{}", styled(WORST, text))?;
    }
    Ok(())
}

/// How much a phase differs, whose time it is, and what is left.
#[must_use]
pub fn sentence(one: &Explanation) -> String {
    let whole = whole(one);
    if !one.is_accounted {
        return format!("{whole}; whose time it was is not known.");
    }
    let mut parts: Vec<String> = one.parts.iter().take(SHOWN_PARTS).map(|it| part(it, &one.phase)).collect();
    let more = one.parts.iter().skip(SHOWN_PARTS);
    let more_ns = more.fold(0_i64, |sum, it| sum.saturating_add(it.difference_ns));
    if more_ns != 0 {
        let count = one.parts.len().saturating_sub(SHOWN_PARTS);
        parts.push(format!("{count} more, {}", signed(MeasureUnit::Ns, more_ns)));
    }
    if parts.is_empty() {
        return format!("{whole}; no one subject explains it.");
    }
    // What went the other way: else the parts would sum to more than the phase.
    let against = one.against.iter().take(SHOWN_AGAINST);
    parts.extend(against.clone().map(|it| format!("but {}", part(it, &one.phase))));
    let named_ns = against.fold(0_i64, |sum, it| sum.saturating_add(it.difference_ns));
    let rest_ns = one.against_ns.saturating_sub(named_ns);
    if rest_ns != 0 {
        parts.push(format!("others, {}", signed(MeasureUnit::Ns, rest_ns)));
    }
    // What is not worth a hundredth of the difference is rounding.
    let is_left = one.not_explained_ns.unsigned_abs().saturating_mul(100) >= one.difference_ns.unsigned_abs();
    if is_left {
        parts.push(format!("{} not explained", duration(one.not_explained_ns.saturating_abs())));
    }
    format!("{whole}: {}.", parts.join("; "))
}

fn whole(one: &Explanation) -> String {
    format!("{} in {}", signed(MeasureUnit::Ns, one.difference_ns), shown(&one.phase))
}

fn part(part: &ExplainedPart, phase: &str) -> String {
    let name = printable(&part.name);
    let became = match (part.change, part.kind) {
        (PartChange::Gone, _) if has_no_path(phase) => "no longer keeps the computer busy",
        (PartChange::New, _) if has_no_path(phase) => "now keeps the computer busy",
        (PartChange::Gone, AccountSubjectKind::Driver) => "no longer blocks",
        (PartChange::New, AccountSubjectKind::Driver) => "now blocks",
        (PartChange::Longer, AccountSubjectKind::Driver) => "blocks longer",
        (PartChange::Shorter, AccountSubjectKind::Driver) => "blocks less",
        (PartChange::Gone, _) => "is no longer waited for",
        (PartChange::New, _) => "is now waited for",
        (PartChange::Longer, _) => "takes longer",
        (PartChange::Shorter, _) => "takes less",
    };
    let detail = part.detail.as_ref().map_or_else(String::new, |detail| {
        let what = match part.kind {
            AccountSubjectKind::Driver => "its requests until they were pended",
            _ => "its own initialization",
        };
        let time = |ns: Option<i64>| ns.map_or_else(|| "not recorded".to_owned(), duration);
        format!(" ({what}: {}, was {})", time(detail.is_ns), time(detail.was_ns))
    });
    format!("{name} {became}, {}{detail}", signed(MeasureUnit::Ns, part.difference_ns))
}
