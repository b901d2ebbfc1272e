//! The list of several power transitions.

use onoff_transitions::suspend::PowerTransition;

use super::headline::{cause, kind_name, longest_phase};
use crate::text::quantity::{duration, second_or_dash};
use crate::text::style::QUIET;
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

pub(super) fn section(transitions: &[PowerTransition]) -> Section<'_> {
    let preferred = |measured: Option<i64>, fallback: Option<i64>| Cell::duration_or_dash(measured.or(fallback));
    let has_clock = transitions.iter().any(|sleep| sleep.details.asleep.start_unix_ns.is_some());
    Section::builder("sleeps", "", transitions)
        .id("number", "no", |sleep| Value::Id(sleep.number.into()))
        .name("variant", "kind", 20, |sleep| {
            Cell::with_display_text(Value::text(sleep.variant.as_str()), kind_name(sleep.variant))
        })
        .time("start_ns", "start", |sleep| Cell::since(sleep.start_or_zero_ns(), 0))
        .column(Heading::name("start_unix_ns", "start (UTC)").with_width(19).in_text_if(has_clock), |sleep| {
            let unix_ns = sleep.details.asleep.start_unix_ns;
            Cell::with_display_text(Value::from_option(unix_ns, Value::Time), second_or_dash(unix_ns))
        })
        .quantity("suspend_ns", "suspend", |sleep| {
            preferred(sleep.details.suspend.whole_ns, sleep.details.suspend.kernel_duration_ns())
        })
        .quantity("away_ns", "asleep", |sleep| {
            preferred(sleep.details.asleep.wall_ns, sleep.details.asleep.measured.duration_ns)
        })
        .quantity("resume_ns", "resume", |sleep| {
            preferred(sleep.details.resume.whole_ns, sleep.details.resume.kernel_duration_ns())
        })
        .quantity("work_ns", "until idle", |sleep| {
            Cell::duration_or_dash(sleep.settled().map(|settling| settling.busy_ns))
        })
        .name("", "longest", 90, |sleep| Cell::text_only(QUIET, longest(sleep)))
        .build()
}

fn longest(transition: &PowerTransition) -> String {
    let Some(phase) = longest_phase(transition) else { return String::new() };
    let mut text = phase.name.as_str().to_owned();
    if let Some(ns) = phase.duration_ns {
        text += &format!(" {}", duration(ns));
    }
    if let Some(cause) = cause(transition, phase) {
        text += &format!(": {cause}");
    }
    text
}
