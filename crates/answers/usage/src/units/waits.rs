//! Waits that unit times alone do not show: for a person at a password prompt, and units whose start is not known.

use onoff_trace::{ActivityKind, Trace, milestone};
use serde::Serialize;

use crate::user_input::waited_for_user;

/// A unit with a known duration but without a known start, as `systemd-analyze blame` lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UntimedUnit {
    pub unit: String,
    /// How long it took to start, ns.
    pub duration_ns: i64,
}

/// A wait for a person to type the password of an encrypted volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PasswordPrompt {
    /// The unit that unlocks the volume.
    pub unit: String,
    /// When the prompt opened, ns.
    pub start_ns: i64,
    /// When the password had been entered, ns; if that was not recorded, when the volume was unlocked.
    pub end_ns: i64,
    /// Whether the unit is on the critical path, so that the boot waited for the person.
    pub on_path: bool,
}

/// Returns the units with durations but without start times, longest first.
#[must_use]
pub fn untimed_units(trace: &Trace) -> Vec<UntimedUnit> {
    let Some(name) = trace.strings.find(milestone::UNIT_DURATION) else { return Vec::new() };
    let rows = trace.milestones.iter().filter(|row| row.name == name);
    let mut units: Vec<UntimedUnit> = rows
        .filter_map(|row| Some(UntimedUnit { unit: trace.text(row.detail).to_owned(), duration_ns: row.value? }))
        .collect();
    units.sort_by(|a, b| (b.duration_ns, &a.unit).cmp(&(a.duration_ns, &b.unit)));
    units
}

/// Returns the waits for a person to type the password of an encrypted volume, ordered by start.
#[must_use]
pub fn password_prompts(trace: &Trace, is_on_path: impl Fn(&str) -> bool) -> Vec<PasswordPrompt> {
    let rows = trace.activities.iter().filter(|row| row.kind == ActivityKind::CredentialRequest);
    let prompts = rows.filter(|row| waited_for_user(row.start_ns, row.end_ns)).filter_map(|row| {
        let unit = trace.text(row.name);
        let (unit, on_path) = (unit.to_owned(), is_on_path(unit));
        Some(PasswordPrompt { unit, start_ns: row.start_ns, end_ns: row.end_ns?, on_path })
    });
    prompts.collect()
}
