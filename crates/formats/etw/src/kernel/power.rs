//! Group 0x12: power transitions, as the kernel's power manager logs them. Logged only when a session asks
//! for the group; verified with no real file. The provider Microsoft-Windows-Kernel-Power logs the same
//! transitions and is usually there.

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::text::Utf16;

events! {
    /// The system is asked to go to another power state. Hook 0x1222.
    0x1222 => PowerActionStart {
        /// Pairs the event with [`PowerActionEnd`].
        trigger: u64 as pointer,
        /// `POWER_ACTION`: 2 sleep, 3 hibernate, 4 shutdown, 5 shutdown and restart, 6 shutdown and off, …
        power_action: u32,
        /// Lightest `SYSTEM_POWER_STATE` that will do.
        lightest_state: u32,
    }

    /// The request of a [`PowerActionStart`] is over. Hook 0x1223.
    0x1223 => PowerActionEnd {
        /// As in the start.
        trigger: u64 as pointer,
        /// NT status.
        status: u32,
    }

    /// All devices are asked, or told, to change their power state. Hook 0x1224.
    0x1224 => DevicesStateStart {
        /// `SYSTEM_POWER_STATE` to go to: 1 working, 2 S1, 3 S2, 4 S3, 5 hibernate, 6 shutdown.
        system_state: u32,
        /// Whether the system wakes up.
        waking: bool,
        /// Whether the system shuts down.
        shutdown: bool,
        /// 2 set power, 3 query power.
        irp_minor: u8,
    }

    /// The devices have answered a [`DevicesStateStart`]. Hook 0x1225.
    0x1225 => DevicesStateEnd {
        /// NT status.
        status: u32,
    }

    /// One device is sent a power request. Hook 0x1226.
    0x1226 => DevicePowerStart<'b> {
        /// The request; [`DevicePowerEnd`] names the same.
        irp: u64 as pointer,
        /// Where the image of its driver begins.
        driver_start: u64 as pointer,
        /// Place in the order devices are notified in.
        order_level: u8,
        /// Major function of the request.
        major_function: u8,
        /// 2 set power, 3 query power.
        minor_function: u8,
        /// 0 = `state` is a system's, 1 = a device's.
        state_type: u32 [after 1],
        /// The state asked for.
        state: u32,
        /// Name of the device. The length before it leaves out the terminator, which is there all the same.
        device_name: Utf16<'b> [after 4],
    }

    /// A device has completed a power request. Hook 0x1227.
    0x1227 => DevicePowerEnd {
        /// The request.
        irp: u64 as pointer,
        /// NT status.
        status: u32,
    }
}

kinds! {
    /// Why the performance counter was read around a sleep.
    SleepCounterKind {
        /// Before the system sleeps (0x1230).
        BeforeSleep = 0x1230,
        /// After it woke (0x1231).
        AfterSleep = 0x1231,
        /// After the counter was set right again (0x1232).
        Calibrated = 0x1232,
    }
}

/// The performance counter around a sleep, over which it may have jumped. Hooks 0x1230 to 0x1232.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepCounter {
    /// When.
    pub kind: SleepCounterKind,
    /// Value of the counter, in ticks.
    pub performance_counter: i64,
    /// Ticks per second; only before sleep.
    pub performance_frequency: Option<i64>,
}

impl SleepCounter {
    /// Reads the payload of one of the three hooks.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        let kind = SleepCounterKind::of(payload.hook)?;
        Some(Self {
            kind,
            performance_counter: payload.fields.i64()?,
            performance_frequency: if kind == SleepCounterKind::BeforeSleep {
                Some(payload.fields.i64()?)
            } else {
                None
            },
        })
    }
}
parse_from_record!(SleepCounter);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_request_skips_its_padding() {
        let mut bytes: Vec<u8> = [0x10u64, 0x20].iter().flat_map(|v| v.to_le_bytes()).collect();
        bytes.extend([5, 0x16, 2, 0xcc]);
        bytes.extend([1u32, 4, 3].iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend("abc\0".encode_utf16().flat_map(u16::to_le_bytes));
        let start = DevicePowerStart::read(KernelPayload::new(0x1226, 2, &bytes, 8)).unwrap();
        assert_eq!((start.order_level, start.minor_function), (5, 2));
        assert_eq!((start.state_type, start.state), (1, 4));
        assert_eq!(start.device_name, "abc");
    }

    #[test]
    fn only_the_counter_before_sleep_has_a_frequency() {
        let bytes: Vec<u8> = [9i64, 10_000_000].iter().flat_map(|v| v.to_le_bytes()).collect();
        let before = SleepCounter::read(KernelPayload::new(0x1230, 2, &bytes, 8)).unwrap();
        assert_eq!(before.performance_frequency, Some(10_000_000));
        let after = SleepCounter::read(KernelPayload::new(0x1231, 2, &bytes[..8], 8)).unwrap();
        assert_eq!((after.performance_counter, after.performance_frequency), (9, None));
        assert!(SleepCounter::read(KernelPayload::new(0x1230, 2, &bytes[..8], 8)).is_none());
    }
}
