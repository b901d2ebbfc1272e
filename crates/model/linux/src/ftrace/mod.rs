//! Converts trace events into rows.
//!
//! | module | contents |
//! | --- | --- |
//! | [`selection`] | selects the trace files and their clock |
//! | [`trace_file`] | opens and reads one trace |
//! | [`dispatcher`] | passes each event to the tracker for its subject |
//! | `switches`, `interrupts`, `disk`, `initcalls`, `power`, `call_graph`, `signals`, `stacks`, `system_calls` | one tracker per subject |

mod call_graph;
mod disk;
mod dispatcher;
mod initcalls;
mod interrupts;
mod power;
pub(super) mod selection;
mod signals;
mod stacks;
mod switches;
mod system_calls;
pub(super) mod trace_file;

use crate::assembly::Assembly;
use crate::clocks::{ClockPairs, Clocks, Evidence, SourceClock};
use dispatcher::EventDispatcher;

/// Reads the selected traces into `assembly`.
pub(super) fn read(selected: &selection::SelectedTraces<'_>, clocks: &Clocks, assembly: &mut Assembly) {
    selected.count_losses(&mut assembly.losses);
    for trace in &selected.traces {
        let mut dispatcher = EventDispatcher::new(clocks, trace.data(), assembly);
        let lost = trace.events(|event| dispatcher.on_event(&event));
        dispatcher.finish();
        assembly.events_lost = assembly.events_lost.saturating_add(lost.overwritten);
        selection::count_losses(trace.name(), &lost, &mut assembly.losses);
    }
}

/// Reads the times of several clocks from a text such as `mono=66.122552 boot=86.895137 real=1795218209.598346`.
/// Returns the monotonic time, ns.
pub(super) fn clock_readings(text: &str, pairs: &mut ClockPairs) -> Option<i64> {
    const HOW: &str = "clocks read one after another";
    let reading = |key: &str| {
        text.split_ascii_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
            .and_then(onoff_linux_log::kernel_line::nanoseconds)
    };
    let mono_ns = reading("mono")?;
    for (key, clock) in [("boot", SourceClock::BootTime), ("real", SourceClock::RealTime)] {
        if let Some(time_ns) = reading(key) {
            pairs.add(clock, Evidence::Reading, HOW, time_ns, mono_ns);
        }
    }
    Some(mono_ns)
}
