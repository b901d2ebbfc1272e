//! Alarm of the real-time clock (RTC), which wakes a sleeping computer.

use crate::error::Error;
use crate::machine::{Machine, MachineFiles};

const ALARM: &str = "/sys/class/rtc/rtc0/wakealarm";
/// Time of the RTC, in seconds since 1970. The RTC may run in local time.
const RTC_TIME: &str = "/sys/class/rtc/rtc0/since_epoch";

/// Returns the alarm time, in RTC seconds since 1970, or `None` if no alarm is set.
pub(crate) fn read(machine: &dyn Machine) -> Option<u64> {
    machine.read_text(ALARM)?.trim().parse().ok().filter(|&time| time > 0)
}

/// Sets the alarm to `seconds` from now and replaces any alarm already set.
pub(crate) fn set(machine: &mut dyn Machine, seconds: u64) -> Result<(), Error> {
    clear(machine)?;
    machine.set_value(ALARM, format!("+{seconds}").as_bytes())
}

pub(crate) fn clear(machine: &mut dyn Machine) -> Result<(), Error> {
    machine.set_value(ALARM, b"0")
}

/// Restores the earlier alarm unless its time has passed.
pub(crate) fn restore(machine: &mut dyn Machine, previous_s: Option<u64>) -> Result<(), Error> {
    let now_s = machine.read_text(RTC_TIME).and_then(|text| text.trim().parse().ok());
    let target = previous_s.filter(|&alarm_s| now_s.is_none_or(|now_s: u64| alarm_s > now_s));
    if read(machine) == target {
        return Ok(());
    }
    clear(machine)?;
    match target {
        Some(time) => machine.set_value(ALARM, time.to_string().as_bytes()),
        None => Ok(()),
    }
}
