//! What only a power report says about a sleep: reasons, energy, and what kept the computer out of low power.

use onoff_evidence::rule::Rule;
use onoff_trace::PowerSource;
use onoff_transitions::suspend::{PowerTransition, SleepEnergy};

use crate::text::printable::printable;
use crate::text::quantity::{count, percent};
use crate::text::style::QUIET;
use onoff_sections::section::Section;
use onoff_sections::table::Value;

/// True if the sleep is from a power report.
pub(super) fn is_reported(transition: &PowerTransition) -> bool {
    transition.details.asleep.wall_rule == Rule::PowerReportSession
}

/// Returns the sentences about energy and reasons.
pub(super) fn sentences(transition: &PowerTransition) -> Vec<String> {
    if !is_reported(transition) {
        return Vec::new();
    }
    let details = &transition.details;
    let energy = match &details.energy {
        Some(energy) => energy_sentence(energy),
        None => "Energy: not known.".to_owned(),
    };
    let reasons = [("entered", &details.enter_reason), ("left", &details.exit_reason)];
    let known: Vec<String> = reasons
        .into_iter()
        .filter(|(_, reason)| !reason.is_empty())
        .map(|(verb, reason)| format!("{verb} because of \"{}\"", printable(reason)))
        .collect();
    let reasons = match &known[..] {
        [] => "Reasons: not known.".to_owned(),
        known => crate::text::quantity::capitalized(&known.join(", ")) + ".",
    };
    vec![energy, reasons]
}

fn energy_sentence(energy: &SleepEnergy) -> String {
    let source = match energy.power_source {
        PowerSource::Battery => ", on battery",
        PowerSource::External => ", on external power at the start",
        PowerSource::Unknown => "",
    };
    if energy.change_mwh == 0 {
        return format!("Energy: the battery's charge did not change{source}.");
    }
    let verb = if energy.change_mwh < 0 { "used" } else { "charged" };
    let rate = energy.rate_mw.map_or_else(String::new, |mw| format!(", {} on average", watts(mw)));
    format!(
        "Energy: {verb} {} mWh, {} of the full battery{rate}{source}.",
        count(energy.change_mwh.unsigned_abs()),
        percent(energy.change_percent.abs()),
    )
}

/// Formats power without its sign, with three significant digits.
pub(super) fn watts(mw: f64) -> String {
    match mw.abs() {
        mw if mw < 999.5 => format!("{mw:.0} mW"),
        mw if mw < 9_995.0 => format!("{:.2} W", mw / 1000.0),
        mw => format!("{:.1} W", mw / 1000.0),
    }
}

/// Lists what kept the computer out of its low-power state.
pub(super) fn blockers(transition: &PowerTransition, top: usize) -> Option<Section<'_>> {
    Section::builder("blockers", "Kept the computer out of low power", &transition.details.blockers)
        .note("as listed by Windows")
        .top_with_remainder(top)
        .name("name", "name", 60, |blocker| Value::text(&blocker.name))
        .name("kind", "kind", 14, |blocker| Value::text(blocker.kind.as_str()))
        .quantity("active_ns", "active", |blocker| Value::Duration(blocker.active_ns))
        .quantity("active_percent", "of sleep", |blocker| Value::Percent(blocker.active_percent))
        .build_if_any()
        .map(|section| section.line(QUIET, "They can be active at the same time, so the times do not add up."))
}
