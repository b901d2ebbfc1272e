//! Converts losses of the ETL reader to losses of the recording.

use onoff_etl::{Loss, Recording};
use onoff_trace::{Counter, Losses, Severity};

use super::counters;

/// Adds the losses of opening and walking `recording` to `losses`.
pub fn count(recording: &Recording<'_>, walk_losses: &onoff_etl::Losses, losses: &mut Losses) {
    let mut all_losses = recording.losses().clone();
    all_losses.merge(walk_losses);
    for (loss, count, location) in all_losses.iter() {
        let counter = counter(loss);
        losses.add(&counter, count);
        if let Some(location) = location {
            let file = recording.files().get(location.file);
            let name = file.map_or("", |file| file.name.as_str());
            losses.set_first_place(&counter, || format!("{name}, byte offset {:#x}", location.offset));
        }
    }
}

fn counter(loss: Loss) -> Counter {
    match loss {
        Loss::EventsLost => counters::EVENTS_LOST,
        Loss::BuffersLost => counters::BUFFERS_LOST,
        _ => Counter {
            name: loss.name(),
            severity: match loss.severity() {
                onoff_etl::Severity::Notice => Severity::Notice,
                onoff_etl::Severity::Warning => Severity::Warning,
                onoff_etl::Severity::Error => Severity::Error,
            },
            help: loss.help(),
            affects: &[],
        },
    }
}
