//! Builds rows of work on devices and drivers for several readers.

use onoff_trace::{DeviceOperation, DeviceOperationKind, DevicePhase, StringId};

/// Builds a row that starts at `start_ns` in thread `tid`: an initialization function, a module load, or a probe.
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
