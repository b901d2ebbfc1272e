//! Group 0x12: power transitions, as the kernel's power manager logs them. Logged only when a session asks
//! for the group; verified with no real file. The provider Microsoft-Windows-Kernel-Power logs the same
//! transitions and is usually there.

use super::{KernelPayload, parse_from_record};
use crate::text::Utf16;

/// The system is asked to go to another power state. Hook 0x1222.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerActionStart {
    /// Pairs the event with [`PowerActionEnd`].
    pub trigger: u64,
    /// `POWER_ACTION`: 2 sleep, 3 hibernate, 4 shutdown, 5 shutdown and restart, 6 shutdown and off, …
    pub power_action: u32,
    /// Lightest `SYSTEM_POWER_STATE` that will do.
    pub lightest_state: u32,
}

impl PowerActionStart {
    /// Its hook.
    pub const HOOK: u16 = 0x1222;

    /// Reads the payload.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        Some(Self {
            trigger: payload.fields.pointer()?,
            power_action: payload.fields.u32()?,
            lightest_state: payload.fields.u32()?,
        })
    }
}
parse_from_record!(PowerActionStart);

/// The request of a [`PowerActionStart`] is over. Hook 0x1223.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerActionEnd {
    /// As in the start.
    pub trigger: u64,
    /// NT status.
    pub status: u32,
}

impl PowerActionEnd {
    /// Its hook.
    pub const HOOK: u16 = 0x1223;

    /// Reads the payload.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        Some(Self { trigger: payload.fields.pointer()?, status: payload.fields.u32()? })
    }
}
parse_from_record!(PowerActionEnd);

/// All devices are asked, or told, to change their power state. Hook 0x1224.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicesStateStart {
    /// `SYSTEM_POWER_STATE` to go to: 1 working, 2 S1, 3 S2, 4 S3, 5 hibernate, 6 shutdown.
    pub system_state: u32,
    /// Whether the system wakes up.
    pub waking: bool,
    /// Whether the system shuts down.
    pub shutdown: bool,
    /// 2 set power, 3 query power.
    pub irp_minor: u8,
}

impl DevicesStateStart {
    /// Its hook.
    pub const HOOK: u16 = 0x1224;

    /// Reads the payload.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        Some(Self {
            system_state: payload.fields.u32()?,
            waking: payload.fields.u8()? != 0,
            shutdown: payload.fields.u8()? != 0,
            irp_minor: payload.fields.u8()?,
        })
    }
}
parse_from_record!(DevicesStateStart);

/// The devices have answered a [`DevicesStateStart`]. Hook 0x1225.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicesStateEnd {
    /// NT status.
    pub status: u32,
}

impl DevicesStateEnd {
    /// Its hook.
    pub const HOOK: u16 = 0x1225;

    /// Reads the payload.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        Some(Self { status: payload.fields.u32()? })
    }
}
parse_from_record!(DevicesStateEnd);

/// One device is sent a power request. Hook 0x1226.
#[derive(Clone, Copy, Debug)]
pub struct DevicePowerStart<'b> {
    /// The request; [`DevicePowerEnd`] names the same.
    pub irp: u64,
    /// Where the image of its driver begins.
    pub driver_start: u64,
    /// Place in the order devices are notified in.
    pub order_level: u8,
    /// Major function of the request.
    pub major_function: u8,
    /// 2 set power, 3 query power.
    pub minor_function: u8,
    /// 0 = `state` is a system's, 1 = a device's.
    pub state_type: u32,
    /// The state asked for.
    pub state: u32,
    /// Name of the device.
    pub device_name: Utf16<'b>,
}

impl<'b> DevicePowerStart<'b> {
    /// Its hook.
    pub const HOOK: u16 = 0x1226;

    /// Reads the payload.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        let irp = fields.pointer()?;
        let driver_start = fields.pointer()?;
        let [order_level, major_function, minor_function, _padding] = *fields.array()?;
        let state_type = fields.u32()?;
        let state = fields.u32()?;
        // The length leaves out the terminator, which is there all the same.
        fields.skip(4)?;
        Some(Self {
            irp,
            driver_start,
            order_level,
            major_function,
            minor_function,
            state_type,
            state,
            device_name: fields.utf16_z(),
        })
    }
}
parse_from_record!(DevicePowerStart<'b>);

/// A device has completed a power request. Hook 0x1227.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePowerEnd {
    /// The request.
    pub irp: u64,
    /// NT status.
    pub status: u32,
}

impl DevicePowerEnd {
    /// Its hook.
    pub const HOOK: u16 = 0x1227;

    /// Reads the payload.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        Some(Self { irp: payload.fields.pointer()?, status: payload.fields.u32()? })
    }
}
parse_from_record!(DevicePowerEnd);

/// Why the performance counter was read around a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SleepCounterKind {
    /// Before the system sleeps (0x1230).
    BeforeSleep,
    /// After it woke (0x1231).
    AfterSleep,
    /// After the counter was set right again (0x1232).
    Calibrated,
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
        let kind = match payload.hook {
            0x1230 => SleepCounterKind::BeforeSleep,
            0x1231 => SleepCounterKind::AfterSleep,
            0x1232 => SleepCounterKind::Calibrated,
            _ => return None,
        };
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
