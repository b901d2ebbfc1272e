//! Converts firmware measurements to a table of the model.

use onoff_trace::firmware::{FirmwareGuid, FirmwareRecording};
use onoff_trace::{FirmwareMeasurement, FirmwareMeasurements, StringId, StringPool};

/// Converts the measurements of a recording, in the order in which the firmware wrote them.
pub fn measurements(recording: &FirmwareRecording, strings: &mut StringPool) -> FirmwareMeasurements {
    let intern_guid = |guid: Option<FirmwareGuid>, strings: &mut StringPool| match guid {
        Some(guid) if guid != FirmwareGuid::default() => strings.intern(&guid.to_string()),
        _ => StringId::EMPTY,
    };
    recording
        .events
        .iter()
        .map(|event| FirmwareMeasurement {
            reset_ns: event.time_ns,
            work: event.work,
            edge: event.edge,
            class: event.class,
            module: match event.module_name.as_str() {
                "" => intern_guid(Some(event.module), strings),
                name => strings.intern(name),
            },
            caller: intern_guid(event.caller, strings),
            handle: event.handle,
            text: strings.intern(&event.text),
            apic: event.apic,
        })
        .collect()
}
