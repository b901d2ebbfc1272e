//! Times of drivers and other modules.

use hashbrown::HashMap;
use onoff_trace::firmware::{FirmwareGuid, FirmwareWork};

use super::names::Names;
use super::pairing::WorkInterval;
use super::report::FirmwareDriver;
use super::sweep::Share;

/// Returns all measured modules, by exclusive time, longest first. `intervals` must be sorted by start.
pub(super) fn drivers(
    intervals: &[WorkInterval<'_>],
    shares: &[Share],
    phase_names: &[&str],
    names: &Names,
) -> Vec<FirmwareDriver> {
    let mut driver_indexes: HashMap<(FirmwareGuid, &str), usize> = HashMap::new();
    let mut drivers: Vec<FirmwareDriver> = Vec::new();
    for ((interval, share), phase) in intervals.iter().zip(shares).zip(phase_names) {
        if interval.phase.is_some() {
            continue;
        }
        let guid = interval.event.module;
        let driver_index = *driver_indexes.entry((guid, &*interval.event.module_name)).or_insert_with(|| {
            drivers.push(FirmwareDriver {
                guid: if interval.event.module_name.is_empty() { guid.to_string() } else { String::new() },
                name: names.event_name(interval.event),
                phase: (*phase).to_owned(),
                start_ns: interval.start_ns,
                ..FirmwareDriver::default()
            });
            drivers.len() - 1
        });
        let driver = &mut drivers[driver_index];
        let duration_ns = interval.end_ns - interval.start_ns;
        driver.self_ns += share.self_ns;
        match interval.event.work {
            FirmwareWork::LoadImage => add(&mut driver.load_ns, duration_ns),
            FirmwareWork::EntryPoint => add(&mut driver.entry_point_ns, duration_ns),
            FirmwareWork::DriverSupport => {
                add(&mut driver.support_ns, duration_ns);
                driver.support_calls += 1;
            }
            FirmwareWork::DriverStart => {
                add(&mut driver.driver_start_ns, duration_ns);
                driver.driver_start_calls += 1;
            }
            FirmwareWork::DriverStop => add(&mut driver.driver_stop_ns, duration_ns),
            _ => driver.other_self_ns += share.self_ns,
        }
    }
    drivers.sort_by(|left, right| {
        (right.self_ns, left.start_ns, &left.guid, &left.name).cmp(&(
            left.self_ns,
            right.start_ns,
            &right.guid,
            &right.name,
        ))
    });
    drivers
}

/// Adds a duration, saturating because the sum of overlapping durations in a damaged input can overflow.
fn add(sum: &mut i64, duration_ns: i64) {
    *sum = sum.saturating_add(duration_ns);
}
