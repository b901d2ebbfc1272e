//! Work on one device, whatever system did it and in whichever transition.

use serde::Serialize;

/// Work on one device or by one driver: an operation of a boot, a power request or callback of a sleep, the end at a shutdown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "DeviceWorkOf{D}"))]
pub struct DeviceWork<D> {
    /// Device instance of Windows, or device of Linux; empty for driver work, and when it was not recorded.
    pub device: String,
    /// Driver; empty when not known or when the device has none.
    pub driver: String,
    /// Device description; empty when not known.
    pub description: String,
    /// Device's friendly name; empty when not known.
    pub friendly_name: String,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns; `None` when it did not end in the recording.
    pub end_ns: Option<i64>,
    /// Length, ns.
    pub duration_ns: Option<i64>,
    /// The record that set the start.
    pub event: String,
    /// What only work of this kind has.
    #[serde(flatten)]
    pub details: D,
}

impl<D> DeviceWork<D> {
    /// The best name it has: what a person calls it, else its instance, else its driver.
    #[must_use]
    pub fn name(&self) -> &str {
        [&self.friendly_name, &self.description, &self.device, &self.driver]
            .into_iter()
            .find(|name| !name.is_empty())
            .map_or("unnamed", String::as_str)
    }
}
