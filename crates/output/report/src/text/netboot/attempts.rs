//! The attempts to load, if there were several.

use onoff_network::outcome::{BootOutcome, Verdict};
use onoff_network::report::{BootAttempt, NetworkBoot};

use crate::text::printable::printable;
use crate::text::style::{MISSING, QUIET, WORST};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

pub(super) fn section(boot: &NetworkBoot, top: usize) -> Option<Section<'_>> {
    let is_single =
        matches!(boot.attempts.as_slice(), [] | [BootAttempt { outcome: BootOutcome { repeats: 1, .. }, .. }]);
    if is_single {
        return None;
    }
    let max = top.saturating_mul(2);
    let hidden = boot.attempts.len().saturating_sub(max);
    let hidden_note = (hidden > 0).then(|| format!("and {hidden} more attempts; use --top to show them"));
    let section = Section::builder("attempts", "Attempts", &boot.attempts)
        .top(max)
        .name("method", "attempt", 24, |attempt| Value::Text(attempt.method.name(attempt.ip_version).into()))
        .time("start_ns", "start", |attempt| Cell::since(attempt.start_ns, boot.start_ns))
        .quantity("duration_ns", "duration", |attempt| Value::Duration(attempt.duration_ns))
        .name("verdict", "outcome", 10, |attempt| {
            let (text, style) = match attempt.outcome.verdict {
                Verdict::Loaded => ("loaded", QUIET),
                Verdict::Failed => ("failed", WORST),
                Verdict::Unknown => ("unfinished", MISSING),
            };
            Cell::with_display_text(Value::text(attempt.outcome.verdict.as_str()), text).with_style(style)
        })
        .name("repeats", "", 6, |attempt| {
            let times =
                if attempt.outcome.repeats > 1 { format!("{} ×", attempt.outcome.repeats) } else { String::new() };
            Cell::with_display_text(Value::Count(attempt.outcome.repeats), times)
        })
        .name("reason", "reason", 24, |attempt| {
            let reason = attempt.outcome.reason.as_str();
            Cell::with_display_text(Value::text(reason), reason.replace('_', " "))
        })
        .name("description", "", 96, |attempt| {
            Cell::with_display_text(Value::text(&attempt.outcome.description), printable(&attempt.outcome.description))
                .with_style(QUIET)
        })
        .build();
    Some(section.line_if(QUIET, hidden_note))
}
