//! Describes a recording: who recorded what, when, on which machine, and what was lost.

use onoff_trace::{
    CivilTime, ClockConversion, KindCount, Losses, ProviderCount, RecordingFile, SystemConfiguration, SystemKind, Trace,
};
use serde::Serialize;

/// The result of `onoff info`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordingSummary {
    /// Name of the recorder or session; empty if unknown.
    pub recorder: String,
    pub files: Vec<RecordingFile>,
    /// Product name and release of the operating system, e.g. `Windows 11 24H2`.
    pub os: String,
    pub os_build: u32,
    /// Pointer size, bits: 32 or 64.
    pub pointer_bits: u32,
    /// Logical processors.
    pub processors: u32,
    /// Wall-clock time of time zero, RFC 3339, UTC; `None` if not recorded.
    pub start_utc: Option<String>,
    /// Wall-clock time of the last event, RFC 3339, UTC.
    pub end_utc: Option<String>,
    /// Minutes to add to local time to get UTC.
    pub utc_bias_minutes: Option<i32>,
    /// The clock that timestamped the events.
    pub clock: &'static str,
    /// Ticks per second of that clock; 0 if unknown.
    pub clock_ticks_per_second: u64,
    /// How timestamps of other clocks were converted; absent if all events use one clock.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_conversions: Vec<ClockConversion>,
    /// Start of the recording on the time axis, ns. 0, except for a trace of a running Linux system, whose axis starts
    /// with the kernel.
    pub start_ns: i64,
    /// Time of the last event, ns.
    pub duration_ns: i64,
    /// Number of records, including those that describe the recording itself.
    pub events: u64,
    /// Lost events, as reported by the recorder.
    pub events_lost: u64,
    /// Lost buffers, as reported by the recorder.
    pub buffers_lost: u64,
    /// Whether any file has compressed event data.
    pub compressed: bool,
    /// Whether the recorder finalized every file.
    pub finished: bool,
    pub system: SystemConfiguration,
    pub losses: Losses,
    /// Events by provider, most first.
    pub providers: Vec<ProviderCount>,
    /// Events by kind, most first.
    pub kinds: Vec<KindCount>,
}

/// Identifies the recording that an answer is based on: its files by content, the computer, and the time of recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provenance {
    pub files: Vec<ProvenanceFile>,
    /// The recorded system; `unknown` for recordings without one, such as a network capture.
    pub system: SystemKind,
    /// Empty if unknown.
    pub computer: String,
    /// Product name and release of the operating system, e.g. `Windows 11 24H2`.
    pub os: String,
    /// Build number of the operating system; 0 if there is none.
    pub os_build: u32,
    /// Wall-clock time of time zero, RFC 3339, UTC; `None` if not recorded.
    pub recorded_utc: Option<String>,
}

/// A recorded file, identified by its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProvenanceFile {
    /// Name as given by the caller; a member of an archive is prefixed with the archive's name.
    pub name: String,
    /// Size of the unpacked content, bytes.
    pub bytes: u64,
    /// SHA-256 of the unpacked content, hexadecimal. Compressing the file does not change it.
    pub sha256: String,
}

impl Provenance {
    /// Describes `files`, which were read into `trace`.
    #[must_use]
    pub fn new(files: Vec<ProvenanceFile>, trace: &Trace) -> Self {
        Self {
            files,
            system: trace.system.kind,
            computer: trace.system.computer.clone(),
            os: trace.system.os.clone(),
            os_build: trace.system.os_build,
            recorded_utc: utc(trace, trace.start_ns),
        }
    }
}

fn utc(trace: &Trace, time_ns: i64) -> Option<String> {
    let unix_ns = trace.clock.unix_ns(time_ns)?;
    Some(CivilTime::from_unix_ns(unix_ns).to_string())
}

/// Summarizes a recording. Event counts need a trace opened with [`onoff_trace::TableName::Inventory`].
#[must_use]
pub fn summarize(trace: &Trace) -> RecordingSummary {
    let inventory = trace.inventory.clone().unwrap_or_default();
    RecordingSummary {
        recorder: trace.recorder.clone(),
        files: trace.files.clone(),
        os: trace.system.os.clone(),
        os_build: trace.system.os_build,
        pointer_bits: trace.system.pointer_bits,
        processors: trace.system.processors,
        start_utc: utc(trace, trace.start_ns),
        end_utc: utc(trace, trace.duration_ns),
        utc_bias_minutes: trace.clock.utc_bias_minutes,
        clock: trace.clock.source,
        clock_ticks_per_second: trace.clock.ticks_per_second,
        clock_conversions: trace.clock_conversions.clone(),
        start_ns: trace.start_ns,
        duration_ns: trace.duration_ns,
        events: inventory.events,
        events_lost: trace.events_lost,
        buffers_lost: trace.buffers_lost,
        compressed: trace.files.iter().any(|file| file.compressed),
        finished: trace.files.iter().all(|file| file.finished),
        system: trace.system.clone(),
        losses: trace.losses.clone(),
        providers: inventory.providers,
        kinds: inventory.kinds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_compressed_or_unfinished_file_marks_the_recording() {
        let mut trace = Trace::default();
        trace.clock.start_unix_ns = Some(0);
        trace.duration_ns = 1_500_000_000;
        let file = |compressed, finished| RecordingFile { compressed, finished, ..RecordingFile::default() };
        trace.files = vec![file(false, true), file(true, false)];
        let summary = summarize(&trace);
        assert!(summary.compressed && !summary.finished);
        assert_eq!(summary.end_utc.as_deref(), Some("1970-01-01T00:00:01.5000000Z"));
        trace.files.pop();
        assert!(summarize(&trace).finished);
    }
}
