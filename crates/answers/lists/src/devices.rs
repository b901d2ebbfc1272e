//! Operations on devices and drivers in an interval.

use onoff_trace::{Losses, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;
use onoff_usage::devices::{self, Device};

/// The tables that the list needs.
pub const TABLES: TableSet = TableSet::from_names(&[TableName::DeviceOperations]);

/// The result of `onoff devices`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceList {
    /// The listed interval.
    pub range: Interval,
    /// Number of operations in the whole recording.
    pub recorded: u64,
    /// Operations in progress in the interval: unfinished ones first, then longest first.
    pub devices: Vec<Device>,
    /// Names of the losses that affect this list.
    pub affecting_losses: Vec<String>,
    /// Events lost by the recorder.
    pub losses: Losses,
}

/// Lists the operations in progress in the interval of `scope`. Their processes are not recorded.
#[must_use]
pub fn list(trace: &Trace, scope: &Scope) -> DeviceList {
    let mut devices = devices::operations(trace);
    let recorded = devices.len() as u64;
    devices.retain(|device| scope.range.overlaps(Some(device.start_ns), device.end_ns));
    DeviceList {
        range: scope.range,
        recorded,
        devices,
        affecting_losses: affecting_losses(trace, &[TableName::DeviceOperations]),
        losses: trace.losses.clone(),
    }
}
