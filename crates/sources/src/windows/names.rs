//! The name an event goes by: one for all that lists events, so that what one shows can be given to another.

use std::borrow::Cow;

use onoff_etl::{Guid, HeaderKind, Record};
use onoff_etw::kernel::{IMAGE_ID_CLASS, SYSTEM_CONFIG_EX_CLASS};
use onoff_etw::{Description, SchemaSource, standard};

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

/// What tools that write manifests anew call the task of events that have none.
const NO_TASK: &str = "task_0";

/// The opcode's name as xperf has it: those that all providers share are `win:Start` and the like, but where the
/// recording itself says otherwise.
fn opcode_name<'d>(record: &Record<'_>, description: &Description<'d>) -> Cow<'d, str> {
    let is_shared = standard::opcode_name(record.opcode()) == Some(description.opcode);
    match is_shared && description.source != SchemaSource::Embedded {
        true => Cow::Owned(format!("win:{}", description.opcode)),
        false => Cow::Borrowed(description.opcode),
    }
}

/// The event's name: xperf's for the kernel events that have one, else `Provider/Event`, or
/// `Provider/Task/Opcode` where the provider names its events so; the task is empty where an event has none, as is the
/// opcode of an event that describes itself and is neither a start nor a stop.
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
            let task = if description.task == NO_TASK { "" } else { description.task };
            let opcode = opcode_name(record, description);
            match (task.is_empty(), opcode.is_empty(), event.is_empty()) {
                _ if description.source == SchemaSource::Unknown => format!("{provider}/{}", descriptor.id),
                (_, false, _) => format!("{provider}/{task}/{opcode}"),
                (false, true, _) => format!("{provider}/{task}"),
                (true, true, false) => format!("{provider}/{event}"),
                (true, true, true) => format!("{provider}/{}", descriptor.id),
            }
        }
        _ if !event.is_empty() => format!("{provider}/{event}"),
        _ => match hook {
            Some(hook) => format!("{provider}/{hook:#06x}"),
            None => format!("{provider}/{}", record.opcode()),
        },
    }
}
