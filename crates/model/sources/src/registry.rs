//! The registry of recording kinds: how to recognize each kind from content, the tables it can fill, and its reader.

use onoff_trace::TableName;
use onoff_trace::{TableSet, Trace};

use crate::capture;
use onoff_input::error::Error;
use onoff_input::opened::Files;
use onoff_input::options::Options;
use onoff_input::sniff::{Content, RecordingKind, sniff};

/// Result of recognizing a file as a kind of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recognized {
    No,
    /// A part that only complements a recording.
    Part,
    /// A recording, or a part that is a complete recording.
    Recording,
}

/// A kind of recording.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) kind: RecordingKind,
    /// Recognizes a file from its name and bytes. The name is used only where the bytes are not sufficient, e.g. for a
    /// file with a single number.
    pub(crate) recognize: fn(&str, &[u8]) -> Recognized,
    /// The tables that the kind can fill.
    pub(crate) tables: TableSet,
    pub(crate) read: fn(&Files, TableSet, &Options) -> Result<Trace, Error>,
}

/// All kinds, in recognition order.
pub(crate) const SOURCES: &[Source] = &[
    Source {
        kind: RecordingKind::EventTraceLog,
        recognize: |_, bytes| match sniff(bytes) {
            // The reader of Event Trace Logs reports what is wrong with an empty file.
            Content::Recording(RecordingKind::EventTraceLog) | Content::Empty | Content::Packed(_) => {
                Recognized::Recording
            }
            _ => Recognized::No,
        },
        tables: TableSet::from_names(&[
            TableName::Processes,
            TableName::Threads,
            TableName::Images,
            TableName::Methods,
            TableName::ContextSwitches,
            TableName::ReadyThreads,
            TableName::Samples,
            TableName::Stacks,
            TableName::Interrupts,
            TableName::DiskIos,
            TableName::FileIos,
            TableName::HardFaults,
            TableName::ServiceTransitions,
            TableName::DeviceOperations,
            TableName::Milestones,
            TableName::Activities,
            TableName::Notifications,
            TableName::PowerRequests,
            // From event logs that accompany the trace.
            TableName::ReportedDelays,
            TableName::Events,
            TableName::EventFields,
            TableName::Inventory,
        ]),
        read: onoff_windows::open,
    },
    Source {
        kind: RecordingKind::WindowsEventLogs,
        recognize: |_, bytes| match sniff(bytes) {
            Content::Recording(RecordingKind::WindowsEventLogs) => Recognized::Recording,
            _ => Recognized::No,
        },
        tables: TableSet::from_names(&[
            TableName::Milestones,
            TableName::Activities,
            TableName::ReportedDelays,
            TableName::SystemChanges,
            TableName::ServiceFailures,
        ]),
        read: onoff_windows::open_logs,
    },
    Source {
        kind: RecordingKind::PowerReport,
        recognize: |_, bytes| match sniff(bytes) {
            Content::Recording(RecordingKind::PowerReport) => Recognized::Recording,
            _ => Recognized::No,
        },
        tables: TableSet::from_names(&[
            TableName::Milestones,
            TableName::PowerSessions,
            TableName::LowPowerBlockers,
            TableName::UserAbsences,
            TableName::AvailabilityRequests,
        ]),
        read: |files, wanted, _| onoff_windows::open_power_report(files, wanted),
    },
    Source {
        kind: RecordingKind::NetworkCapture,
        recognize: |_, bytes| match sniff(bytes) {
            Content::Recording(RecordingKind::NetworkCapture) => Recognized::Recording,
            _ => Recognized::No,
        },
        tables: TableSet::from_names(&[TableName::NetworkTransfers, TableName::DhcpMessages, TableName::NameLookups]),
        read: |files, wanted, options| Ok(capture::tables(capture::read_capture(files, options)?, wanted)),
    },
    Source {
        kind: RecordingKind::Linux,
        recognize: |name, bytes| match onoff_linux::part_kind(name, bytes) {
            Some(part) if part.is_standalone() => Recognized::Recording,
            Some(_) => Recognized::Part,
            None => Recognized::No,
        },
        tables: TableSet::from_names(&[
            TableName::Processes,
            TableName::Threads,
            TableName::ContextSwitches,
            TableName::ReadyThreads,
            TableName::Interrupts,
            TableName::DiskIos,
            TableName::FileIos,
            TableName::ServiceTransitions,
            TableName::ServiceDependencies,
            TableName::ServiceProcesses,
            TableName::DeviceOperations,
            TableName::Milestones,
            TableName::Activities,
            TableName::Notifications,
            TableName::PowerRequests,
            TableName::CallGraphFunctions,
            TableName::Stacks,
            TableName::Methods,
            TableName::Images,
            TableName::FirmwareMeasurements,
            TableName::Events,
            TableName::EventFields,
            TableName::Inventory,
        ]),
        read: onoff_linux::open,
    },
    Source {
        kind: RecordingKind::FileOperations,
        recognize: |_, bytes| match onoff_fileio::recognize(bytes) {
            Some(_) => Recognized::Recording,
            None => Recognized::No,
        },
        tables: TableSet::from_names(&[TableName::FileIos, TableName::Processes]),
        read: |files, wanted, _| onoff_file_operations::open(files, wanted),
    },
];

pub(crate) fn source(kind: RecordingKind) -> Option<&'static Source> {
    SOURCES.iter().find(|source| source.kind == kind)
}

/// Returns the tables that a kind of recording can fill.
#[must_use]
pub fn recording_tables(kind: RecordingKind) -> TableSet {
    source(kind).map_or(TableSet::NONE, |source| source.tables)
}
