//! The list of several power transitions.

use onoff_transitions::suspend::PowerTransition;

use super::headline::{cause, kind_name, longest_phase};
use super::power_report::{is_reported, watts};
use crate::text::quantity::{duration, percent, second_or_dash, share};
use crate::text::style::QUIET;
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

/// Returns the time that a sleep cost, ns: of modern standby, the time outside the deepest idle state; of other sleeps,
/// suspend and resume.
pub(super) fn severity(sleep: &PowerTransition) -> i64 {
    match &sleep.details.standby {
        Some(standby) => {
            standby.total_ns.zip(standby.deepest_ns).map_or(0, |(total, deepest)| total.saturating_sub(deepest))
        }
        None => sleep.total_ns.unwrap_or(sleep.total_at_least_ns),
    }
}

pub(super) fn section<'a>(transitions: &[&'a PowerTransition]) -> Section<'a> {
    let preferred = |measured: Option<i64>, fallback: Option<i64>| Cell::duration_or_dash(measured.or(fallback));
    let is_report = transitions.iter().any(|sleep| is_reported(sleep));
    // Recordings of days have clock times, and do not show when the computer was idle.
    let is_long =
        transitions.iter().all(|sleep| sleep.details.asleep.start_unix_ns.is_some() && sleep.settling.is_none());
    let recorded = |heading: Heading| heading.in_text_if(!is_report);
    let short = |heading: Heading| heading.in_text_if(!is_long);
    let reported = |heading: Heading| heading.in_text_if(is_report);
    Section::builder("sleeps", "", transitions.iter().copied())
        .id("number", "no", |sleep| Value::Id(sleep.number.into()))
        .name("variant", "kind", 20, |sleep| {
            Cell::with_display_text(Value::text(sleep.variant.as_str()), kind_name(sleep))
        })
        .column(short(Heading::time("start_ns", "start")), |sleep| Cell::since(sleep.start_or_zero_ns(), 0))
        .column(Heading::name("start_unix_ns", "start (UTC)").with_width(20).in_text_if(is_long), |sleep| {
            let start = sleep.details.asleep.start_unix_ns;
            Cell::with_display_text(Value::from_option(start, Value::Time), second_or_dash(start))
        })
        .column(recorded(Heading::quantity("suspend_ns", "suspend")), |sleep| {
            preferred(sleep.details.suspend.whole_ns, sleep.details.suspend.kernel_duration_ns())
        })
        .quantity("away_ns", "asleep", |sleep| {
            preferred(sleep.details.asleep.wall_ns, sleep.details.asleep.measured.duration_ns)
        })
        .column(recorded(Heading::quantity("resume_ns", "resume")), |sleep| {
            preferred(sleep.details.resume.whole_ns, sleep.details.resume.kernel_duration_ns())
        })
        .column(short(Heading::quantity("work_ns", "until idle")), |sleep| {
            Cell::duration_or_dash(sleep.settled().map(|settling| settling.busy_ns))
        })
        .column(reported(Heading::quantity("deepest_percent", "deepest")), |sleep| {
            let standby = sleep.details.standby.as_ref();
            let deepest = standby.and_then(|standby| Some(share(standby.deepest_ns?, standby.total_ns?)));
            deepest.map_or_else(
                || Cell::with_display_text(Value::Nothing, "-"),
                |share| Cell::with_display_text(Value::Percent(share), percent(share)),
            )
        })
        .column(reported(Heading::quantity("change_mwh", "energy")), |sleep| match &sleep.details.energy {
            Some(energy) => {
                let text = match energy.change_mwh {
                    0 => "0 mWh".to_owned(),
                    change => format!("{change:+} mWh"),
                };
                Cell::with_display_text(Value::Id(energy.change_mwh), text)
            }
            None => Cell::with_display_text(Value::Nothing, "-"),
        })
        .column(reported(Heading::quantity("rate_mw", "power")), |sleep| {
            match sleep.details.energy.as_ref().and_then(|energy| energy.rate_mw) {
                Some(rate) => Cell::with_display_text(Value::Real { value: rate, decimals: 0 }, watts(rate)),
                None => Cell::with_display_text(Value::Nothing, "-"),
            }
        })
        .column(recorded(Heading::name("", "longest").with_width(90)), |sleep| Cell::text_only(QUIET, longest(sleep)))
        .column(reported(Heading::name("", "kept busy by, or woken by").with_width(90)), |sleep| {
            Cell::text_only(QUIET, reason(sleep))
        })
        .build()
}

/// Returns what kept the computer out of low power the longest, otherwise why it woke.
fn reason(sleep: &PowerTransition) -> &str {
    let details = &sleep.details;
    let texts = [details.blockers.first().map(|blocker| &blocker.name), Some(&details.wake_source)];
    texts.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or(&details.exit_reason)
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
