//! One line about the recorded machine.

use onoff_evidence::recording::RecordingSummary;
use onoff_trace::SystemKind;

use super::printable::printable;
use super::quantity::{counted, size};

/// Returns the system, processors, memory and start of the recording where recorded, followed by `suffix`.
#[must_use]
pub fn machine(recording: &RecordingSummary, suffix: Option<String>) -> String {
    let mut parts = Vec::new();
    if recording.os_build > 0 {
        let os = if recording.os.is_empty() { "Windows" } else { &recording.os };
        parts.push(format!("{} (build {})", printable(os), recording.os_build));
    }
    if recording.system.kind == SystemKind::Linux {
        if !recording.os.is_empty() {
            parts.push(printable(&recording.os).into_owned());
        }
        if !recording.system.os_build_text.is_empty() {
            let release = printable(&recording.system.os_build_text);
            parts.push(format!("kernel {release}"));
        }
    }
    if recording.processors > 0 {
        parts.push(counted(recording.processors.into(), "processor"));
    }
    if recording.system.memory_bytes > 0 {
        parts.push(format!("{} of memory", size(recording.system.memory_bytes)));
    }
    if let Some(start) = &recording.start_utc {
        // Seconds are enough to tell recordings apart.
        let second = start.get(..19).unwrap_or(start);
        parts.push(format!("recorded {} UTC", second.replace('T', " ")));
    }
    parts.extend(suffix);
    parts.join(" · ")
}
