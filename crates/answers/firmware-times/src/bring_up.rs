//! The parts of firmware and loader that a serial console shows before the kernel.

use onoff_trace::{Trace, milestone};
use serde::Serialize;

/// Clock of a part's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BringUpClock {
    /// A host computer recorded when each line arrived: late by the delay of the serial port, which is the same for all
    /// lines except during bursts.
    Host,
    /// U-Boot's timer, in its `bootstage` report. Its last mark is the hand-over to the kernel.
    Bootstage,
    /// The durations of coreboot's boot states, without the time of the console; no start.
    CorebootStates,
    /// The part printed no times.
    None,
}

/// A part of firmware or loader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BringUpStage {
    /// Name and version, such as `U-Boot SPL 2023.04` or `TF-A BL31`; for marks of U-Boot, with the mark.
    pub name: String,
    /// Start, ns: negative, before the kernel; `None` if not recorded.
    pub start_ns: Option<i64>,
    /// Duration until the next part starts, ns; `None` if not recorded.
    pub duration_ns: Option<i64>,
    /// Clock of the times.
    pub clock: BringUpClock,
}

/// Returns the parts in the order of the console.
#[must_use]
pub fn stages(trace: &Trace) -> Vec<BringUpStage> {
    let Some(name) = trace.strings.find(milestone::BRING_UP_STAGE) else { return Vec::new() };
    trace
        .milestones
        .iter()
        .filter(|row| row.name == name)
        .map(|row| {
            let (clock, has_start) = match trace.text(row.event) {
                "bootstage report" => (BringUpClock::Bootstage, true),
                "bootstage report/durations" => (BringUpClock::Bootstage, false),
                "coreboot boot states" => (BringUpClock::CorebootStates, false),
                milestone::NO_TIME_EVENT => (BringUpClock::None, false),
                _ => (BringUpClock::Host, true),
            };
            BringUpStage {
                name: trace.text(row.detail).to_owned(),
                start_ns: has_start.then_some(row.time_ns),
                duration_ns: row.value,
                clock,
            }
        })
        .collect()
}
