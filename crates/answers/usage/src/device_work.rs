//! Work on a device, common to all systems and transitions.

use serde::Serialize;

/// Work on a device or by a driver: a boot operation, a power request or callback during suspend, or a power-down.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "DeviceWorkOf{D}"))]
pub struct DeviceWork<D> {
    /// Device instance (Windows) or device (Linux); empty for driver work, or if not recorded.
    pub device: String,
    /// Driver; empty if unknown or if the device has none.
    pub driver: String,
    /// Device description; empty if unknown.
    pub description: String,
    /// Friendly name of the device; empty if unknown.
    pub friendly_name: String,
    pub start_ns: i64,
    /// `None` if it did not end in the recording.
    pub end_ns: Option<i64>,
    pub duration_ns: Option<i64>,
    /// The record that set the start.
    pub event: String,
    /// Fields specific to this kind of work.
    #[serde(flatten)]
    pub details: D,
}

impl<D> DeviceWork<D> {
    /// Returns the display name: friendly name, description, instance or driver, whichever is the first that was
    /// recorded.
    #[must_use]
    pub fn name(&self) -> &str {
        [&self.friendly_name, &self.description, &self.device, &self.driver]
            .into_iter()
            .find(|name| !name.is_empty())
            .map_or("unnamed", String::as_str)
    }
}
