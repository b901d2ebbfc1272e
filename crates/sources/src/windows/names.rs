//! The name an event goes by: one for all that lists events, so that what one shows can be given to another.

use onoff_etl::{Guid, HeaderKind, Record};
use onoff_etw::kernel::{IMAGE_ID_CLASS, SYSTEM_CONFIG_EX_CLASS};
use onoff_etw::{Description, SchemaSource};

use super::kernel_events::{class_hook, xperf_name};

/// The hook of a kernel event, whichever header it has.
#[inline]
pub(super) fn kernel_hook(record: &Record<'_>) -> Option<u16> {
    record.hook().or_else(|| match record.kind() {
        HeaderKind::Full | HeaderKind::Instance => class_hook(record.class_guid()?, record.opcode()),
        _ => None,
    })
}

/// The provider's name, else its GUID.
pub(super) fn provider_name(description: &Description<'_>) -> String {
    match (description.provider, description.provider_guid) {
        ("", None) => "unknown".to_owned(),
        ("", Some(guid)) => guid.to_string(),
        (name, _) => name.to_owned(),
    }
}

/// Class of the events that WinSAT's results are logged with.
const WINSAT_CLASS: Guid = Guid::from_u128(0xed54dff8_c409_4cf6_bf83_05e1e61a09c4);

/// xperf's name of an event that the recorder logs with a class when it ends a recording.
fn classic_name(record: &Record<'_>) -> Option<&'static str> {
    let class = match record.kind() {
        HeaderKind::Full | HeaderKind::Instance => record.class_guid()?,
        _ => return None,
    };
    match record.opcode() {
        0 if class == IMAGE_ID_CLASS => Some("ImageId"),
        35 if class == SYSTEM_CONFIG_EX_CLASS => Some("VolumeMapping"),
        33 if class == WINSAT_CLASS => Some("WinSAT_WinSPR"),
        35 if class == WINSAT_CLASS => Some("WinSAT_Metrics"),
        37 if class == WINSAT_CLASS => Some("WinSAT_SystemConfig"),
        _ => None,
    }
}

/// The event's name: xperf's for the kernel events that have one, else `Provider/Event`, or
/// `Provider/Task/Opcode` where the provider names its events so.
pub(super) fn event_name(record: &Record<'_>, description: &Description<'_>) -> String {
    let hook = kernel_hook(record);
    if let Some(name) = hook.and_then(xperf_name).or_else(|| classic_name(record)) {
        return name.to_owned();
    }
    let provider = provider_name(description);
    let event = description.event;
    let is_step = |step: &&str| !step.is_empty();
    match (record.kind(), record.descriptor()) {
        (HeaderKind::Message, _) => {
            format!("{provider}/message {}", record.message_number().unwrap_or_default())
        }
        (HeaderKind::Event, Some(descriptor)) if description.source == SchemaSource::TraceLogging => {
            format!("{provider}/{}", if event.is_empty() { descriptor.id.to_string() } else { event.to_owned() })
        }
        (HeaderKind::Event, Some(descriptor)) => {
            let steps: Vec<&str> = [description.task, description.opcode].into_iter().filter(is_step).collect();
            match (description.task.is_empty(), event.is_empty()) {
                (false, _) => format!("{provider}/{}", steps.join("/")),
                (true, false) => format!("{provider}/{event}"),
                (true, true) => format!("{provider}/{}", descriptor.id),
            }
        }
        _ if !event.is_empty() => format!("{provider}/{event}"),
        _ => match hook {
            Some(hook) => format!("{provider}/{hook:#06x}"),
            None => format!("{provider}/{}", record.opcode()),
        },
    }
}
