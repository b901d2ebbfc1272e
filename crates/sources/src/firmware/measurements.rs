//! What firmware measured, as a table of the model.

use onoff_trace::firmware::{FirmwareEdge, FirmwareGuid, FirmwareRecording, FirmwareWork};
use onoff_trace::{FirmwareMeasurement, FirmwareMeasurements, MeasuredEdge, MeasuredWork, StringId, StringPool};

/// The measurements of a recording, in the order in which the firmware wrote them.
pub(crate) fn measurements(recording: &FirmwareRecording, strings: &mut StringPool) -> FirmwareMeasurements {
    let guid = |guid: Option<FirmwareGuid>, strings: &mut StringPool| match guid {
        Some(guid) if guid != FirmwareGuid::default() => strings.intern(&guid.to_string()),
        _ => StringId::EMPTY,
    };
    recording
        .events
        .iter()
        .map(|event| FirmwareMeasurement {
            reset_ns: event.time_ns,
            work: work(event.work),
            edge: match event.edge {
                FirmwareEdge::Begin => MeasuredEdge::Begin,
                FirmwareEdge::End => MeasuredEdge::End,
                FirmwareEdge::Point => MeasuredEdge::Point,
            },
            class: event.class,
            module: match event.module_name.as_str() {
                "" => guid(Some(event.module), strings),
                name => strings.intern(name),
            },
            caller: guid(event.caller, strings),
            handle: event.handle,
            text: strings.intern(&event.text),
            apic: event.apic,
        })
        .collect()
}

fn work(work: FirmwareWork) -> MeasuredWork {
    match work {
        FirmwareWork::EntryPoint => MeasuredWork::EntryPoint,
        FirmwareWork::LoadImage => MeasuredWork::LoadImage,
        FirmwareWork::DriverStart => MeasuredWork::DriverStart,
        FirmwareWork::DriverSupport => MeasuredWork::DriverSupport,
        FirmwareWork::DriverStop => MeasuredWork::DriverStop,
        FirmwareWork::EventSignal => MeasuredWork::EventSignal,
        FirmwareWork::Callback => MeasuredWork::Callback,
        FirmwareWork::Function => MeasuredWork::Function,
        FirmwareWork::InModule => MeasuredWork::InModule,
        FirmwareWork::CrossModule => MeasuredWork::CrossModule,
        FirmwareWork::Point => MeasuredWork::Point,
        FirmwareWork::Other => MeasuredWork::Other,
    }
}
