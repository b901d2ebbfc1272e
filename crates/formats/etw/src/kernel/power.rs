//! Group 0x12: power transitions logged by the kernel's power manager. Sessions must enable the group explicitly; the
//! layouts were not verified with a real file. The provider Microsoft-Windows-Kernel-Power logs the same transitions
//! and is usually enabled.

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::text::Utf16;

events! {
    /// Start of a request for a system power state. Hook 0x1222.
    0x1222 => PowerActionStart {
        /// Same value as in the matching [`PowerActionEnd`].
        trigger: u64 as pointer,
        /// `POWER_ACTION`: 2 sleep, 3 hibernate, 4 shutdown, 5 shutdown and restart, 6 shutdown and off, …
        power_action: u32,
        /// Lightest acceptable `SYSTEM_POWER_STATE`.
        lightest_state: u32,
    }

    /// End of the request of a [`PowerActionStart`]. Hook 0x1223.
    0x1223 => PowerActionEnd {
        /// Same value as in the matching [`PowerActionStart`].
        trigger: u64 as pointer,
        /// NTSTATUS.
        status: u32,
    }

    /// Start of a query or change of the power state of all devices. Hook 0x1224.
    0x1224 => DevicesStateStart {
        /// Target `SYSTEM_POWER_STATE`: 1 working, 2 S1, 3 S2, 4 S3, 5 hibernate, 6 shutdown.
        system_state: u32,
        waking: bool,
        shutdown: bool,
        /// 2 set power, 3 query power.
        irp_minor: u8,
    }

    /// End of the query or change of a [`DevicesStateStart`]. Hook 0x1225.
    0x1225 => DevicesStateEnd {
        /// NTSTATUS.
        status: u32,
    }

    /// Start of a power request to a device. Hook 0x1226.
    0x1226 => DevicePowerStart<'b> {
        /// Address of the IRP, as in the matching [`DevicePowerEnd`].
        irp: u64 as pointer,
        /// Base address of the driver's image.
        driver_start: u64 as pointer,
        /// Position in the notification order of devices.
        order_level: u8,
        /// Major function of the IRP.
        major_function: u8,
        /// 2 set power, 3 query power.
        minor_function: u8,
        /// 0: `state` is a system state, 1: a device state.
        state_type: u32 [after 1],
        /// Requested state.
        state: u32,
        /// Name of the device. The length before it does not count the terminator, but the terminator is present.
        device_name: Utf16<'b> [after 4],
    }

    /// End of a power request to a device. Hook 0x1227.
    0x1227 => DevicePowerEnd {
        /// Address of the IRP.
        irp: u64 as pointer,
        /// NTSTATUS.
        status: u32,
    }
}

kinds! {
    /// When the performance counter was read during a sleep.
    SleepCounterKind {
        /// Before the sleep (0x1230).
        BeforeSleep = 0x1230,
        /// After the wake (0x1231).
        AfterSleep = 0x1231,
        /// After the counter was corrected (0x1232).
        Calibrated = 0x1232,
    }
}

/// The performance counter before or after a sleep, during which it may have jumped. Hooks 0x1230 to 0x1232.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepCounter {
    pub kind: SleepCounterKind,
    /// Counter value in ticks.
    pub performance_counter: i64,
    /// Ticks per second; `None` except before the sleep.
    pub performance_frequency: Option<i64>,
}

impl SleepCounter {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        let kind = SleepCounterKind::from_hook(payload.hook)?;
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
    fn device_request_skips_padding() {
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
    fn only_counter_before_sleep_has_frequency() {
        let bytes: Vec<u8> = [9i64, 10_000_000].iter().flat_map(|v| v.to_le_bytes()).collect();
        let before = SleepCounter::read(KernelPayload::new(0x1230, 2, &bytes, 8)).unwrap();
        assert_eq!(before.performance_frequency, Some(10_000_000));
        let after = SleepCounter::read(KernelPayload::new(0x1231, 2, &bytes[..8], 8)).unwrap();
        assert_eq!((after.performance_counter, after.performance_frequency), (9, None));
        assert!(SleepCounter::read(KernelPayload::new(0x1230, 2, &bytes[..8], 8)).is_none());
    }
}
