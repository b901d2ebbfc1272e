//! Drivers and other modules: what each cost.

use hashbrown::HashMap;
use onoff_trace::firmware::{FirmwareGuid, FirmwareWork};

use super::names::Names;
use super::pairing::Piece;
use super::report::FirmwareDriver;
use super::sweep::Share;

/// Every module that was measured, by time of its own, longest first. `pieces` are in the order of their begins.
pub(super) fn drivers(pieces: &[Piece<'_>], shares: &[Share], in_phase: &[&str], names: &Names) -> Vec<FirmwareDriver> {
    let mut places: HashMap<(FirmwareGuid, &str), usize> = HashMap::new();
    let mut drivers: Vec<FirmwareDriver> = Vec::new();
    for ((piece, share), phase) in pieces.iter().zip(shares).zip(in_phase) {
        if piece.phase.is_some() {
            continue;
        }
        let guid = piece.event.module;
        let at = *places.entry((guid, &*piece.event.module_name)).or_insert_with(|| {
            drivers.push(FirmwareDriver {
                guid: if piece.event.module_name.is_empty() { guid.to_string() } else { String::new() },
                name: names.of_event(piece.event),
                phase: (*phase).to_owned(),
                start_ns: piece.start_ns,
                ..FirmwareDriver::default()
            });
            drivers.len() - 1
        });
        let driver = &mut drivers[at];
        let length = piece.end_ns - piece.start_ns;
        driver.self_ns += share.self_ns;
        match piece.event.work {
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

/// Lengths of work that runs at once add up to more than the clock counts, where a hostile input says so.
fn add(sum: &mut i64, length: i64) {
    *sum = sum.saturating_add(length);
}
