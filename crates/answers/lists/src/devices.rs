//! The work on devices and drivers that was under way in a range.

use onoff_trace::{Losses, TableName, Tables, Trace};
use serde::Serialize;

use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;
use onoff_evidence::touched_by;
use onoff_usage::devices::{self, Device};

/// The tables this is made from.
pub const TABLES: Tables = Tables::of(&[TableName::DeviceOperations]);

/// The answer of `onoff devices`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceList {
    /// The range.
    pub range: Interval,
    /// Operations in the whole recording.
    pub recorded: u64,
    /// Those that were under way in the range, longest first; those that did not end come before all.
    pub devices: Vec<Device>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
    /// What was lost.
    pub losses: Losses,
}

/// The operations under way in the scope's range; the recording does not tell their process.
#[must_use]
pub fn list(trace: &Trace, scope: &Scope) -> DeviceList {
    let mut devices = devices::operations(trace);
    let recorded = devices.len() as u64;
    devices.retain(|device| scope.range.meets(Some(device.start_ns), device.end_ns));
    DeviceList {
        range: scope.range,
        recorded,
        devices,
        touched_by: touched_by(trace, &[TableName::DeviceOperations]),
        losses: trace.losses.clone(),
    }
}
