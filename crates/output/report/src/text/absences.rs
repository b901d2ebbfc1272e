//! Intervals in which no user was present, and what kept the computer awake in them.

use std::cmp::Reverse;

use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;
use onoff_trace::AbsenceOutcome;
use onoff_transitions::suspend::{AwakeRequester, UserAbsence};

use super::printable::printable;
use super::quantity::{percent, second_or_dash};
use super::style::QUIET;

/// Maximum number of programs and devices of an interval in text.
const MAX_REQUESTERS: usize = 3;
/// Minimum share of the time awake, percent, for a program or device to be named in text.
const MIN_PERCENT: f64 = 1.0;

/// Lists the intervals without a user, the longest time awake first.
pub(super) fn section(absences: &[UserAbsence], top: usize) -> Option<Section<'_>> {
    let mut rows: Vec<&UserAbsence> = absences.iter().collect();
    rows.sort_by_key(|absence| (Reverse(absence.awake_ns), absence.start_ns));
    Section::builder("absences", "No user present", rows)
        .note("the longest time awake first")
        .top_with_remainder(top)
        .column(Heading::name("start_unix_ns", "start (UTC)").with_width(20), |absence| {
            let start = absence.start_unix_ns;
            Cell::with_display_text(Value::from_option(start, Value::Time), second_or_dash(start))
        })
        .quantity("duration_ns", "duration", |absence| Value::Duration(absence.duration_ns))
        .name("outcome", "computer", 10, |absence| {
            let text = match absence.outcome {
                AbsenceOutcome::StayedOn => "stayed on",
                AbsenceOutcome::Slept => "slept",
                AbsenceOutcome::Unknown => "not known",
            };
            Cell::with_display_text(Value::text(absence.outcome.as_str()), text)
        })
        .quantity("awake_ns", "awake", |absence| Cell::duration_or_dash(absence.awake_ns))
        .column(Heading::name("", "kept awake by (share of the time awake)").with_width(90), |absence| {
            Cell::text_only(QUIET, requesters(&absence.requesters))
        })
        .build_if_any()
}

fn requesters(requesters: &[AwakeRequester]) -> String {
    let notable = requesters.iter().filter(|requester| requester.active_percent >= MIN_PERCENT);
    let names: Vec<String> = notable
        .take(MAX_REQUESTERS)
        .map(|requester| {
            let name = requester.name.rsplit('\\').next().unwrap_or(&requester.name);
            format!("{} {}", printable(name), percent(requester.active_percent))
        })
        .collect();
    names.join(", ")
}
