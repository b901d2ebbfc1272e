//! The slowest services or units of a boot, and what waited for them.

use onoff_trace::{ServiceOutcome, SystemKind};
use onoff_transitions::Transition;
use onoff_usage::units::{Unit, WaitKind};

use super::printable::printable;
use super::quantity::counted;
use super::style::{DOUBT, QUIET, WORST};
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

/// Returns the section, with `note_suffix` appended to its note; `None` if nothing started.
pub fn section<'a, D>(transition: &'a Transition<D>, note_suffix: &str, top: usize) -> Option<Section<'a>> {
    let is_linux = transition.system == SystemKind::Linux;
    let (title, item_name) = if is_linux { ("Units", "unit") } else { ("Services", "service") };
    // Units that the boot started, or whose start did not complete.
    let is_relevant = |unit: &&Unit| !is_linux || unit.automatic || unit.outcome != ServiceOutcome::Completed;
    let mut units: Vec<&Unit> = transition.units.iter().filter(is_relevant).collect();
    let note = format!("slowest of {}{note_suffix}", counted(units.len() as u64, item_name));
    // Units that never finished come first.
    units.sort_by_key(|unit| std::cmp::Reverse(unit.duration_ns.unwrap_or(i64::MAX)));
    Section::builder("units", title, units)
        .note(note)
        .top(top)
        .name("name", item_name, 44, |unit| Value::text(&unit.name))
        .quantity("duration_ns", "duration", |unit| match (unit.duration_ns, unit.outcome) {
            (None, ServiceOutcome::Failed) => Cell::text_only(DOUBT, "failed"),
            (duration_ns, _) => Cell::duration_or_unfinished(duration_ns),
        })
        .column(Heading::quantity("container_ns", "host process").in_text_if(!is_linux), |unit| {
            Cell::duration_or_dash(unit.container_ns)
        })
        .column(Heading::quantity("image_load_ns", "image load").in_text_if(!is_linux), |unit| {
            Cell::duration_or_dash(unit.image_load_ns)
        })
        .column(Heading::quantity("initialization_ns", "initialization").in_text_if(!is_linux), |unit| {
            Cell::duration_or_dash(unit.initialization_ns)
        })
        .time("start_ns", "start", |unit| Cell::since(unit.start_ns, 0))
        .data("end_ns", |unit| Value::from_option(unit.end_ns, Value::Time))
        .data("outcome", |unit| Value::text(unit.outcome.as_str()))
        .data("pid", |unit| Value::id(unit.pid))
        .column(Heading::name("group", "group").with_width(28).in_text_if(!is_linux), |unit| Value::text(&unit.group))
        .name("on_path", "", 12, |unit| {
            let value = if is_linux { Value::Flag(unit.on_path) } else { Value::Nothing };
            Cell::with_display_text(value, if unit.on_path { "on path" } else { "" }).with_style(WORST)
        })
        .data("held_up", |unit| Value::Text(unit.held_up.join(";").into()))
        .data("waited_for", |unit| Value::text(unit.notable_wait().map_or("", |waited| waited.name.as_str())))
        .name("", "", 100, |unit| Cell::text_only(QUIET, wait_details(unit, is_linux)))
        .build_if_any()
}

/// Lists what waited for the unit and what the unit waited for.
fn wait_details(unit: &Unit, is_linux: bool) -> String {
    let mut parts = Vec::new();
    let failed = unit.outcome == ServiceOutcome::Failed;
    if failed && (is_linux || unit.duration_ns.is_some()) {
        parts.push(match unit.result.as_str() {
            "" => "failed".to_owned(),
            result => format!("failed: {result}"),
        });
    }
    match unit.held_up.as_slice() {
        [] => {}
        [first, second, others @ ..] if others.len() > 1 => {
            parts.push(format!("blocked {first}, {second} and {} more", others.len()));
        }
        names => parts.push(format!("blocked {}", names.join(", "))),
    }
    if let Some(waited) = unit.notable_wait().filter(|waited| !waited.name.is_empty()) {
        parts.push(match waited.kind {
            // Devices appear during the scan: nothing waits for its end.
            WaitKind::DeviceScan => format!("found by {}", waited.name),
            _ => format!("waited for {}", waited.name),
        });
    }
    printable(&parts.join("; ")).into_owned()
}
