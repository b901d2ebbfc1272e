//! Reads the machine's power counters: time in the low-power state and battery charge.
//!
//! Sources: the kernel ABI documentation of `/sys/power/suspend_stats`, of cpuidle's
//! `low_power_idle_system_residency_us`, and of `/sys/class/power_supply`, where charge is in µWh, or in µAh with a
//! voltage in µV.

use std::fmt::Write as _;
use std::fs;

use crate::machine::{Machine, MachineFiles};

const COUNTERS: [(&str, &str); 3] = [
    ("total_hw_sleep_us", "/sys/power/suspend_stats/total_hw_sleep"),
    ("last_hw_sleep_us", "/sys/power/suspend_stats/last_hw_sleep"),
    ("low_power_idle_us", "/sys/devices/system/cpu/cpuidle/low_power_idle_system_residency_us"),
];
const SUPPLIES: &str = "/sys/class/power_supply";
const MAX_BATTERIES: usize = 16;

/// Returns fields to append to a clock reading: ` power.total_hw_sleep_us=1200 power.BAT0.energy_uwh=50000000`. Omits
/// counters that the machine does not have.
pub(crate) fn readings(machine: &dyn Machine) -> String {
    let read_number = |path: &str| machine.read_text(path)?.trim().parse::<i64>().ok();
    let mut fields = String::new();
    for (name, path) in COUNTERS {
        if let Some(value) = read_number(path) {
            let _ = write!(fields, " power.{name}={value}");
        }
    }
    let entries = fs::read_dir(machine.host_path(SUPPLIES)).into_iter().flatten().flatten();
    let mut batteries: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    batteries.sort();
    let has_plain_name =
        |name: &&String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    for name in batteries.iter().filter(has_plain_name).take(MAX_BATTERIES) {
        let property_path = |property: &str| format!("{SUPPLIES}/{name}/{property}");
        if machine.read_text(&property_path("type")).is_none_or(|kind| kind.trim() != "Battery") {
            continue;
        }
        let charge_uwh = || {
            let (charge, voltage) =
                (read_number(&property_path("charge_now"))?, read_number(&property_path("voltage_now"))?);
            i64::try_from(i128::from(charge) * i128::from(voltage) / 1_000_000).ok()
        };
        if let Some(energy) = read_number(&property_path("energy_now")).or_else(charge_uwh) {
            let _ = write!(fields, " power.{name}.energy_uwh={energy}");
        }
    }
    fields
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::live::LiveMachine;

    #[test]
    fn reads_available_counters_and_omits_others() {
        let root = tempfile::tempdir().unwrap();
        let write_file = |path: &str, text: &str| {
            let host_path = root.path().join(path);
            fs::create_dir_all(host_path.parent().unwrap()).unwrap();
            fs::write(host_path, text).unwrap();
        };
        let read = || readings(&LiveMachine::new(root.path().to_owned()));
        assert_eq!(read(), "");
        write_file("sys/power/suspend_stats/total_hw_sleep", "1200\n");
        write_file("sys/class/power_supply/AC/type", "Mains\n");
        write_file("sys/class/power_supply/AC/energy_now", "5\n");
        write_file("sys/class/power_supply/BAT0/type", "Battery\n");
        write_file("sys/class/power_supply/BAT0/energy_now", "50000000\n");
        // Charge in µAh at 12 V: 3 Ah are 36 Wh.
        write_file("sys/class/power_supply/BAT1/type", "Battery\n");
        write_file("sys/class/power_supply/BAT1/charge_now", "3000000\n");
        write_file("sys/class/power_supply/BAT1/voltage_now", "12000000\n");
        write_file("sys/class/power_supply/BAT2/type", "Battery\n");
        write_file("sys/class/power_supply/BAT2/energy_now", "much\n");
        assert_eq!(
            read(),
            " power.total_hw_sleep_us=1200 power.BAT0.energy_uwh=50000000 power.BAT1.energy_uwh=36000000"
        );
    }
}
