//! What Windows itself reported about a boot or shutdown, and the event logs it was found in.

use onoff_trace::LogChannel;
use onoff_transitions::reported_delays::NamedDelay;

use crate::text::quantity::{counted, second_or_dash};
use crate::text::style::QUIET;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// What the figures mean.
const ALLOWANCE: &str = "Windows allows each cause a fixed time and reports what exceeds it. Causes overlap: the \
                         transition would not be faster by these times.";

/// What names a cause in a row: the friendly name only where it says more than the name.
fn cause_name(delay: &NamedDelay) -> &str {
    if delay.name.is_empty() { &delay.friendly_name } else { &delay.name }
}

/// The delays that Windows reported.
pub(super) fn reported_delays(delays: &[NamedDelay], top: usize) -> Option<Section<'_>> {
    Section::builder("reported_delays", "Reported by Windows", delays)
        .note(counted(delays.len() as u64, "delay"))
        .top(top)
        .name("cause", "cause", 24, |delay| {
            Cell::with_display_text(Value::text(delay.cause), delay.cause.replace('_', " "))
        })
        .name("name", "name", 48, |delay| Value::text(cause_name(delay)))
        .quantity("total_ns", "took", |delay| Cell::duration_or_unfinished(Some(delay.total_ns)))
        .quantity("excess_ns", "over allowance", |delay| Cell::duration_or_unfinished(Some(delay.excess_ns)))
        .name("version", "version", 24, |delay| Value::text(&delay.version))
        .name("company", "company", 32, |delay| Value::text(&delay.company))
        .data("path", |delay| Value::text(&delay.path))
        .build_if_any()
        .map(|section| section.line_if(QUIET, Some(ALLOWANCE.to_owned())))
}

/// The channels and the time each covers.
pub(super) fn channels(channels: &[LogChannel]) -> Option<Section<'_>> {
    Section::builder("channels", "Event logs", channels)
        .name("name", "channel", 64, |channel| Value::text(&channel.name))
        .quantity("records", "records", |channel| Value::Count(channel.records))
        .name("first_unix_ns", "first (UTC)", 24, |channel| moment(channel.first_unix_ns))
        .name("last_unix_ns", "last (UTC)", 24, |channel| moment(channel.last_unix_ns))
        .build_if_any()
}

fn moment<'a>(unix_ns: i64) -> Cell<'a> {
    Cell::with_display_text(Value::Time(unix_ns), second_or_dash(Some(unix_ns)))
}
