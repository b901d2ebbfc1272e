//! What a recording holds: who recorded what, when, on which machine, and what was lost.

use onoff_trace::{
    CivilTime, ClockConversion, KindCount, Losses, ProviderCount, RecordingFile, SystemConfiguration, SystemKind, Trace,
};
use serde::Serialize;

/// The answer of `onoff info`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordingSummary {
    /// Name of the recorder or session; empty when unknown.
    pub recorder: String,
    /// The files.
    pub files: Vec<RecordingFile>,
    /// Operating system's name and release as people know it, e.g. `Windows 11 24H2`.
    pub os: String,
    /// Build number of the operating system.
    pub os_build: u32,
    /// Bits of a pointer: 32 or 64.
    pub pointer_bits: u32,
    /// Logical processors.
    pub processors: u32,
    /// Real time of time zero, RFC 3339, UTC; `None` when the recording does not say.
    pub start_utc: Option<String>,
    /// Real time of the last event, RFC 3339, UTC.
    pub end_utc: Option<String>,
    /// Minutes to add to the machine's local time to get UTC.
    pub utc_bias_minutes: Option<i32>,
    /// The clock that stamped the events.
    pub clock: &'static str,
    /// Ticks per second of that clock; 0 when unknown.
    pub clock_ticks_per_second: u64,
    /// How times of other clocks were brought onto that one; absent where one clock stamped everything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_conversions: Vec<ClockConversion>,
    /// Where on the axis the recording begins, ns: 0, but for a trace of a computer that had been running, whose axis begins with its
    /// kernel.
    pub start_ns: i64,
    /// Time of the last event, ns.
    pub duration_ns: i64,
    /// Records walked, those that describe the recording itself included.
    pub events: u64,
    /// Events that the recorder itself says it lost.
    pub events_lost: u64,
    /// Buffers that the recorder itself says it lost.
    pub buffers_lost: u64,
    /// Whether any file's event data is compressed inside the format.
    pub compressed: bool,
    /// Whether the recorder finished every file.
    pub finished: bool,
    /// The machine.
    pub system: SystemConfiguration,
    /// What was lost.
    pub losses: Losses,
    /// Events by provider, most first.
    pub providers: Vec<ProviderCount>,
    /// Events by kind, most first.
    pub kinds: Vec<KindCount>,
}

/// Where an answer comes from: a recording's files by their content, the computer, and when it was recorded. Enough to tell whether two
/// answers are about the same recording, and to find it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provenance {
    /// The files, in the order given.
    pub files: Vec<ProvenanceFile>,
    /// Which system was recorded; `unknown` where the recording is of none, as a network capture.
    pub system: SystemKind,
    /// Computer name; empty when not known.
    pub computer: String,
    /// Operating system's name and release as people know it, e.g. `Windows 11 24H2`.
    pub os: String,
    /// Build number of the operating system; 0 when there is none.
    pub os_build: u32,
    /// Real time of time zero, RFC 3339, UTC; `None` when the recording does not say.
    pub recorded_utc: Option<String>,
}

/// A file by its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProvenanceFile {
    /// Name as the caller gave it; that of a member of an archive follows the archive's.
    pub name: String,
    /// Bytes of what it holds, unpacked.
    pub bytes: u64,
    /// SHA-256 of what it holds, unpacked, in hexadecimal: packing it changes nothing.
    pub sha256: String,
}

impl Provenance {
    /// That of `files` which hold `trace`.
    #[must_use]
    pub fn of(files: Vec<ProvenanceFile>, trace: &Trace) -> Self {
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

/// Real time of `time_ns`.
fn utc(trace: &Trace, time_ns: i64) -> Option<String> {
    let unix_ns = trace.clock.unix_ns(time_ns)?;
    Some(CivilTime::from_unix_ns(unix_ns).to_string())
}

/// Summarizes a recording; events are counted when the trace was opened with
/// [`onoff_trace::TableName::Inventory`].
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
    fn one_compressed_or_unfinished_file_makes_the_recording_so() {
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
