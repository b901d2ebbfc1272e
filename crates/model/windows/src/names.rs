//! Event names. All lists of events use these names, so that a name shown by one command can be passed to another.

use std::borrow::Cow;

use onoff_etl::{Guid, HeaderKind, Record};
use onoff_etw::kernel::{IMAGE_ID_CLASS, SYSTEM_CONFIG_EX_CLASS};
use onoff_etw::{Description, SchemaSource, standard};

use super::kernel_events::{class_hook, xperf_name};

/// Returns the hook of a kernel event with any kind of header.
#[inline]
pub(super) fn kernel_hook(record: &Record<'_>) -> Option<u16> {
    record.hook().or_else(|| match record.kind() {
        HeaderKind::Full | HeaderKind::Instance => class_hook(record.class_guid()?, record.opcode()),
        _ => None,
    })
}

/// Returns the provider's name, or its GUID if it has no name.
pub(super) fn provider_name(description: &Description<'_>) -> String {
    match (description.provider, description.provider_guid) {
        ("", None) => "unknown".to_owned(),
        ("", Some(guid)) => guid.to_string(),
        (name, _) => name.to_owned(),
    }
}

/// Class of the events that contain WinSAT results.
const WINSAT_CLASS: Guid = Guid::from_u128(0xed54dff8_c409_4cf6_bf83_05e1e61a09c4);

/// Returns the `xperf` name of an event that the recorder logs with a class at the end of a recording.
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

/// True if a name is only a number: tools that regenerate manifests use such names for unnamed items.
fn is_number(name: &str, kind: &str, number: u16) -> bool {
    name.strip_prefix(kind).and_then(|digits| digits.parse().ok()) == Some(number)
}

/// Returns the opcode name as in `xperf`: standard opcodes are `win:Start` etc., unless the recording defines them.
fn opcode_name<'d>(record: &Record<'_>, description: &Description<'d>) -> Cow<'d, str> {
    let is_standard = standard::opcode_name(record.opcode()) == Some(description.opcode);
    match description.opcode {
        name if is_standard && description.source != SchemaSource::Embedded => Cow::Owned(format!("win:{name}")),
        name if is_number(name, "opcode_", record.opcode().into()) => Cow::Borrowed(""),
        name => Cow::Borrowed(name),
    }
}

/// Returns the event's name: the `xperf` name of kernel events that have one, `Provider/Task/Opcode` for manifest
/// events, `Provider/Event/Opcode` for self-describing events, otherwise `Provider/Event`. A task or opcode without a
/// name is empty, as is the opcode of a self-describing event that is neither a start nor a stop.
pub(super) fn event_name(record: &Record<'_>, description: &Description<'_>) -> String {
    let hook = kernel_hook(record);
    if let Some(name) = hook.and_then(xperf_name).or_else(|| classic_name(record)) {
        return name.to_owned();
    }
    let provider = provider_name(description);
    let event = description.event;
    match (record.kind(), record.descriptor()) {
        (HeaderKind::Message, _) => {
            format!("{provider}/message {}", record.message_number().unwrap_or_default())
        }
        (HeaderKind::Event, Some(descriptor)) if description.source == SchemaSource::TraceLogging => {
            let opcode = if descriptor.opcode == 0 { Cow::Borrowed("") } else { opcode_name(record, description) };
            match event.is_empty() {
                true => format!("{provider}/{}", descriptor.id),
                false => format!("{provider}/{event}/{opcode}"),
            }
        }
        (HeaderKind::Event, Some(descriptor)) => {
            let task = if is_number(description.task, "task_", descriptor.task) { "" } else { description.task };
            match description.source {
                SchemaSource::Unknown => format!("{provider}/{}", descriptor.id),
                _ => format!("{provider}/{task}/{}", opcode_name(record, description)),
            }
        }
        _ if !event.is_empty() => format!("{provider}/{event}"),
        _ => match hook {
            Some(hook) => format!("{provider}/{hook:#06x}"),
            None => format!("{provider}/{}", record.opcode()),
        },
    }
}
