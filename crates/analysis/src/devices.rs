//! Devices and drivers: what each operation took, how much of it before the driver returned "pending", by phase, driver
//! and device.

use onoff_trace::{DeviceOperationKind, DevicePhase};
use serde::Serialize;

use crate::evidence::Span;

/// One operation on a device or driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// What was done.
    pub kind: DeviceOperationKind,
    /// Device instance; empty for driver work.
    pub device: String,
    /// Driver; empty when not known.
    pub driver: String,
    /// Device description; empty when not known.
    pub description: String,
    /// Device's friendly name; empty when not known.
    pub friendly_name: String,
    /// Phase in which it began.
    pub phase: DevicePhase,
    /// Begin, ns.
    pub start_ns: i64,
    /// When the driver returned "pending", ns; `None` when it did the work before it returned.
    pub pend_ns: Option<i64>,
    /// End, ns; `None` when it did not end in the recording.
    pub end_ns: Option<i64>,
    /// Length, ns.
    pub duration_ns: Option<i64>,
    /// Time until the driver returned "pending", ns: the part that kept others waiting. All of `duration_ns` when it
    /// did not pend; close to 0 is good.
    pub pre_pend_ns: Option<i64>,
    /// Result status.
    pub status: Option<u32>,
    /// The record that set the start.
    pub event: String,
}

/// A phase of device initialisation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DevicePhaseSpan {
    /// Which.
    pub name: DevicePhase,
    /// When, and by which rule.
    #[serde(flatten)]
    pub span: Span,
    /// Operations that began in it.
    pub operations: u64,
}

/// All operations of one driver or one device. Operations may overlap: the sums can exceed the time that passed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceTotal {
    /// Driver, or device instance.
    pub name: String,
    /// Device description; empty for a driver or when not known.
    pub description: String,
    /// Operations.
    pub operations: u64,
    /// Operations that did not end in the recording; their times are left out of the sums.
    pub unfinished: u64,
    /// Sum of lengths, ns.
    pub duration_ns: i64,
    /// Sum of pre-pend times, ns.
    pub pre_pend_ns: i64,
    /// Sum of the times from "pending" to the end, ns.
    pub post_pend_ns: i64,
}
