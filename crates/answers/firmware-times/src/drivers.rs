//! Times of drivers and other modules.

use hashbrown::HashMap;
use onoff_trace::firmware::{FirmwareGuid, FirmwareWork};

use super::names::Names;
use super::pairing::WorkInterval;
use super::report::FirmwareDriver;
use super::sweep::Share;

/// All measured modules, by exclusive time, longest first. `intervals` must be sorted by start.
pub(super) fn drivers(
    intervals: &[WorkInterval<'_>],
    shares: &[Share],
    in_phase: &[&str],
    names: &Names,
) -> Vec<FirmwareDriver> {
    let mut places: HashMap<(FirmwareGuid, &str), usize> = HashMap::new();
    let mut drivers: Vec<FirmwareDriver> = Vec::new();
    for ((interval, share), phase) in intervals.iter().zip(shares).zip(in_phase) {
        if interval.phase.is_some() {
            continue;
        }
        let guid = interval.event.module;
        let at = *places.entry((guid, &*interval.event.module_name)).or_insert_with(|| {
            drivers.push(FirmwareDriver {
                guid: if interval.event.module_name.is_empty() { guid.to_string() } else { String::new() },
                name: names.of_event(interval.event),
                phase: (*phase).to_owned(),
                start_ns: interval.start_ns,
                ..FirmwareDriver::default()
            });
            drivers.len() - 1
        });
        let driver = &mut drivers[at];
        let length = interval.end_ns - interval.start_ns;
        driver.self_ns += share.self_ns;
        match interval.event.work {
            FirmwareWork::LoadImage => add(&mut driver.load_ns, length),
            FirmwareWork::EntryPoint => add(&mut driver.entry_point_ns, length),
            FirmwareWork::DriverSupport => {
                add(&mut driver.support_ns, length);
                driver.support_calls += 1;
            }
            FirmwareWork::DriverStart => {
                add(&mut driver.driver_start_ns, length);
                driver.driver_start_calls += 1;
            }
            FirmwareWork::DriverStop => add(&mut driver.driver_stop_ns, length),
            _ => driver.other_self_ns += share.self_ns,
        }
    }
    drivers.sort_by(|one, other| {
        (other.self_ns, one.start_ns, &one.guid, &one.name).cmp(&(
            one.self_ns,
            other.start_ns,
            &other.guid,
            &other.name,
        ))
    });
    drivers
}

/// Saturates, because the sum of overlapping durations in a damaged input can overflow.
fn add(sum: &mut i64, length: i64) {
    *sum = sum.saturating_add(length);
}
