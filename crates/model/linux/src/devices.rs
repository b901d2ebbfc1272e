//! Rows of work on devices and drivers, whichever part tells of it.

use onoff_trace::{DeviceOperation, DeviceOperationKind, DevicePhase, StringId};

/// A row that begins at `start_ns` in thread `tid`: an initialization function, a module, or the probe by a driver.
pub(super) const fn operation(
    kind: DeviceOperationKind,
    start_ns: i64,
    tid: u32,
    driver: StringId,
    event: StringId,
) -> DeviceOperation {
    DeviceOperation {
        kind,
        start_ns,
        driver,
        phase: DevicePhase::Later,
        tid: Some(tid),
        event,
        ..DeviceOperation::UNKNOWN
    }
}
