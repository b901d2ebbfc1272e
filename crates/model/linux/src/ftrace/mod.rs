//! The tracer's events into tables.
//!
//! | module | question |
//! | --- | --- |
//! | [`files`] | which files are read, and by which clock? |
//! | [`trace_file`] | how is one opened and read? |
//! | [`follower`] | which tracker takes an event? |
//! | `switches`, `interrupts`, `disk`, `initcalls`, `power`, `call_graph`, `signals`, `stacks`, `system_calls` | trackers, one per subject |

mod call_graph;
mod disk;
pub(super) mod files;
mod follower;
mod initcalls;
mod interrupts;
mod power;
mod signals;
mod stacks;
mod switches;
mod system_calls;
pub(super) mod trace_file;

use crate::assembly::Assembly;
use crate::clocks::{Clocks, Evidence, Pairs, SourceClock};
use follower::Follower;

/// Reads the traces that [`files::chosen`] chose into `assembly`.
pub(super) fn read(chosen: &files::Chosen<'_>, clocks: &Clocks, assembly: &mut Assembly) {
    chosen.count_losses(&mut assembly.losses);
    for trace in &chosen.traces {
        let mut follower = Follower::new(clocks, trace.data(), assembly);
        let lost = trace.events(|event| follower.on_event(&event));
        follower.finish();
        assembly.events_lost = assembly.events_lost.saturating_add(lost.overwritten);
        files::count(trace.name(), &lost, &mut assembly.losses);
    }
}

/// Times of several clocks in one text, as in `mono=66.122552 boot=86.895137 real=1795218209.598346`.
pub(super) fn clock_readings(text: &str, pairs: &mut Pairs) -> Option<i64> {
    const HOW: &str = "clocks read one after the other";
    let reading = |key: &str| {
        text.split_ascii_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
            .and_then(crate::kernel_line::nanoseconds)
    };
    let mono = reading("mono")?;
    for (key, clock) in [("boot", SourceClock::BootTime), ("real", SourceClock::RealTime)] {
        if let Some(time) = reading(key) {
            pairs.add(clock, Evidence::Reading, HOW, time, mono);
        }
    }
    Some(mono)
}
