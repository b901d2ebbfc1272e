//! Reads the machine's power counters: time in the low-power state and battery charge.
//!
//! Sources: the kernel ABI documentation of `/sys/power/suspend_stats`, of cpuidle's `low_power_idle_system_residency_us`, and
//! of `/sys/class/power_supply`, where charge is in µWh, or in µAh with a voltage in µV.

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

/// Fields to append to a clock reading: ` power.total_hw_sleep_us=1200 power.BAT0.energy_uwh=50000000`. Counters that the machine
/// does not have are omitted.
pub(crate) fn readings(machine: &dyn Machine) -> String {
    let number = |path: &str| machine.read_text(path)?.trim().parse::<i64>().ok();
    let mut words = String::new();
    for (name, path) in COUNTERS {
        if let Some(value) = number(path) {
            let _ = write!(words, " power.{name}={value}");
        }
    }
    let entries = fs::read_dir(machine.host_path(SUPPLIES)).into_iter().flatten().flatten();
    let mut batteries: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    batteries.sort();
    let has_plain_name =
        |name: &&String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    for name in batteries.iter().filter(has_plain_name).take(MAX_BATTERIES) {
        let of = |what: &str| format!("{SUPPLIES}/{name}/{what}");
        if machine.read_text(&of("type")).is_none_or(|kind| kind.trim() != "Battery") {
            continue;
        }
        let charge_uwh = || {
            let (charge, voltage) = (number(&of("charge_now"))?, number(&of("voltage_now"))?);
            i64::try_from(i128::from(charge) * i128::from(voltage) / 1_000_000).ok()
        };
        if let Some(energy) = number(&of("energy_now")).or_else(charge_uwh) {
            let _ = write!(words, " power.{name}.energy_uwh={energy}");
        }
    }
    words
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::live::LiveMachine;

    #[test]
    fn reads_available_counters_and_omits_others() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let place = root.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        };
        let read = || readings(&LiveMachine::new(root.path().to_owned()));
        assert_eq!(read(), "");
        put("sys/power/suspend_stats/total_hw_sleep", "1200\n");
        put("sys/class/power_supply/AC/type", "Mains\n");
        put("sys/class/power_supply/AC/energy_now", "5\n");
        put("sys/class/power_supply/BAT0/type", "Battery\n");
        put("sys/class/power_supply/BAT0/energy_now", "50000000\n");
        // Charge in µAh at 12 V: 3 Ah are 36 Wh.
        put("sys/class/power_supply/BAT1/type", "Battery\n");
        put("sys/class/power_supply/BAT1/charge_now", "3000000\n");
        put("sys/class/power_supply/BAT1/voltage_now", "12000000\n");
        put("sys/class/power_supply/BAT2/type", "Battery\n");
        put("sys/class/power_supply/BAT2/energy_now", "much\n");
        assert_eq!(
            read(),
            " power.total_hw_sleep_us=1200 power.BAT0.energy_uwh=50000000 power.BAT1.energy_uwh=36000000"
        );
    }
}
