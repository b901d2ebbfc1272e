//! The tracer's events into tables.
//!
//! | module | question |
//! | --- | --- |
//! | [`files`] | which files are read, and by which clock? |
//! | [`follower`] | which tracker takes an event? |
//! | `switches`, `interrupts`, `disk`, `initcalls`, `power`, `signals` | trackers, one per subject |

mod disk;
pub(super) mod files;
mod follower;
mod initcalls;
mod interrupts;
mod power;
mod signals;
mod switches;

use onoff_ftrace::{DataFile, Event, Losses, TextTrace};

use crate::error::Error;
use crate::linux::assembly::Assembly;
use crate::linux::clocks::{Clocks, Evidence, Pairs, SourceClock};
use crate::linux::parts::{Part, PartKind};
use follower::Follower;

/// Gives every event of a trace to `each`.
///
/// # Errors
/// A file of trace-cmd that is damaged beyond use.
pub(in crate::linux) fn events(
    part: &Part<'_>,
    each: impl FnMut(Event<'_>),
) -> Result<Losses, Error> {
    if part.kind == PartKind::TraceText {
        return Ok(TextTrace::new(part.bytes).read(each));
    }
    let file = DataFile::open(part.bytes).map_err(|source| Error::Trace {
        name: part.name.to_owned(),
        source,
    })?;
    Ok(file.read(each))
}

/// Reads the traces that [`files::chosen`] chose into `assembly`.
pub(super) fn read(
    chosen: &files::Chosen<'_>,
    clocks: &Clocks,
    assembly: &mut Assembly,
) -> Result<(), Error> {
    chosen.count_losses(&mut assembly.losses);
    for part in &chosen.parts {
        let mut follower = Follower::new(clocks, assembly);
        let lost = events(part, |event| follower.on_event(&event))?;
        follower.finish();
        assembly.events_lost = assembly.events_lost.saturating_add(lost.overwritten);
        files::count(part, &lost, &mut assembly.losses);
    }
    Ok(())
}

/// Times of several clocks in one text, as in `mono=66.122552 boot=86.895137 real=1795218209.598346`.
pub(super) fn clock_readings(text: &str, pairs: &mut Pairs) -> Option<i64> {
    const HOW: &str = "clocks read one after the other";
    let reading = |key: &str| {
        text.split_ascii_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
            .and_then(crate::linux::kernel_log::nanoseconds)
    };
    let mono = reading("mono")?;
    for (key, clock) in [
        ("boot", SourceClock::BootTime),
        ("real", SourceClock::RealTime),
    ] {
        if let Some(time) = reading(key) {
            pairs.add(clock, Evidence::Reading, HOW, time, mono);
        }
    }
    Some(mono)
}
