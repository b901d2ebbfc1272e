//! Reads the service manager's properties (`systemctl show`): when the phases of the startup began and ended.
//!
//! The manager gives the starts of firmware and loader as durations before the kernel's start (source:
//! `org.freedesktop.systemd1(5)`, `FirmwareTimestampMonotonic`).

use onoff_trace::milestone;

use super::assembly::Assembly;
use super::clocks::{ClockPairs, Clocks};
use super::parts::Part;
use onoff_linux_log::duration::duration_ns;

pub(super) fn clock_pairs(_part: &Part<'_>, _pairs: &mut ClockPairs) {}

/// Properties that are milestones.
const MILESTONES: [(&str, &str); 7] = [
    ("InitRDTimestampMonotonic", milestone::INITRD_BEGIN),
    ("UserspaceTimestampMonotonic", milestone::USER_SPACE_BEGIN),
    ("GeneratorsStartTimestampMonotonic", milestone::GENERATORS_BEGIN),
    ("GeneratorsFinishTimestampMonotonic", milestone::GENERATORS_END),
    ("UnitsLoadStartTimestampMonotonic", milestone::UNITS_LOAD_BEGIN),
    ("UnitsLoadFinishTimestampMonotonic", milestone::UNITS_LOAD_END),
    ("FinishTimestampMonotonic", milestone::STARTUP_FINISHED),
];

const FIRMWARE: &str = "FirmwareTimestampMonotonic";
const LOADER: &str = "LoaderTimestampMonotonic";

pub(super) fn read(part: &Part<'_>, _clocks: &Clocks, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    for (property, name) in MILESTONES {
        if let Some(ns) = time_ns(&text, property) {
            add(assembly, ns, name, None, property);
        }
    }
    let loader_ns = time_ns(&text, LOADER);
    if let Some(ns) = loader_ns {
        add(assembly, -ns, milestone::BOOT_MANAGER, Some(ns), LOADER);
    }
    if let Some(ns) = time_ns(&text, FIRMWARE) {
        let firmware_ns = ns.saturating_sub(loader_ns.unwrap_or(0));
        add(assembly, -ns, milestone::FIRMWARE, Some(firmware_ns), FIRMWARE);
    }
}

/// Returns the time of `property`, ns; `None` for 0, which means never.
fn time_ns(text: &str, property: &str) -> Option<i64> {
    let value = text.lines().find_map(|line| line.strip_prefix(property)?.strip_prefix('='))?;
    duration_ns(value).filter(|&ns| ns > 0)
}

fn add(assembly: &mut Assembly, time_ns: i64, name: &str, value: Option<i64>, property: &str) {
    assembly.extend_to(time_ns);
    let event = format!("systemd manager property {property}");
    assembly.add_milestone(time_ns, name, "", value, &event);
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{TableSet, Trace};

    fn read_manager(text: &[u8]) -> Trace {
        let mut assembly = Assembly::new(TableSet::all());
        let part = Part { kind: super::super::parts::PartKind::Manager, name: "manager", bytes: text };
        read(&part, &Clocks::default(), &mut assembly);
        read(&part, &Clocks::default(), &mut assembly);
        crate::unit_reconciliation::reconciled_trace(assembly)
    }

    #[test]
    fn places_firmware_and_loader_before_the_kernel() {
        let trace = read_manager(
            b"FirmwareTimestampMonotonic=5448538\nLoaderTimestampMonotonic=269138\nKernelTimestampMonotonic=0\n\
              InitRDTimestampMonotonic=0\nUserspaceTimestampMonotonic=11261759\nFinishTimestampMonotonic=34678924\n\
              WatchdogLastPingTimestampMonotonic=18446744073709551615\n",
        );
        let rows: Vec<(&str, i64, Option<i64>)> =
            trace.milestones.iter().map(|row| (trace.text(row.name), row.time_ns, row.value)).collect();
        assert_eq!(
            rows,
            [
                (milestone::FIRMWARE, -5_448_538_000, Some(5_179_400_000)),
                (milestone::BOOT_MANAGER, -269_138_000, Some(269_138_000)),
                (milestone::USER_SPACE_BEGIN, 11_261_759_000, None),
                (milestone::STARTUP_FINISHED, 34_678_924_000, None),
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_bytes(bytes: Vec<u8>, firmware: i64, loader: i64) {
            read_manager(&bytes);
            let text = format!("FirmwareTimestampMonotonic={firmware}\nLoaderTimestampMonotonic={loader}\n");
            read_manager(text.as_bytes());
        }
    }
}
