//! The alarm of the real-time clock, which wakes a sleeping computer.

use crate::error::Error;
use crate::machine::{Files, Machine};

const ALARM: &str = "/sys/class/rtc/rtc0/wakealarm";
/// The clock's own time, s since 1970; it may be kept in local time.
const NOW: &str = "/sys/class/rtc/rtc0/since_epoch";

/// When the alarm is set to, s since 1970 by the clock itself; `None` when it is not set.
pub(crate) fn read(machine: &dyn Machine) -> Option<u64> {
    machine.read_text(ALARM)?.trim().parse().ok().filter(|&time| time > 0)
}

/// Sets it to some seconds from now, in place of one that is set.
pub(crate) fn set(machine: &mut dyn Machine, seconds: u64) -> Result<(), Error> {
    clear(machine)?;
    machine.set_value(ALARM, format!("+{seconds}").as_bytes())
}

/// Unsets it.
pub(crate) fn clear(machine: &mut dyn Machine) -> Result<(), Error> {
    machine.set_value(ALARM, b"0")
}

/// Sets it as it was, unless its time has passed.
pub(crate) fn put_back(machine: &mut dyn Machine, before_s: Option<u64>) -> Result<(), Error> {
    let now_s = machine.read_text(NOW).and_then(|text| text.trim().parse().ok());
    let wanted = before_s.filter(|&before| now_s.is_none_or(|now: u64| before > now));
    if read(machine) == wanted {
        return Ok(());
    }
    clear(machine)?;
    match wanted {
        Some(time) => machine.set_value(ALARM, time.to_string().as_bytes()),
        None => Ok(()),
    }
}
