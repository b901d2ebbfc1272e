//! File operations from the provider Microsoft-Windows-Kernel-File, for sessions without the kernel logger.
//!
//! The events correspond to the events of the kernel logger, but have named fields. The thread is `IssuingThreadId`
//! since Windows 8 and `ThreadId` before.

use onoff_etw::kernel::{FileNameKind, FileOperationContext, FileOperationEnd};
use onoff_trace::{FileIos, FileOperation, Losses};

use super::file_names::FileNames;
use super::file_operations::{Begin, FileOperationTracker};
use super::phase_events::{Event, KERNEL_FILE, PhaseEvent};
use super::texts::Texts;
use super::threads::ThreadOwners;

/// Meaning of an event.
#[derive(Clone, Copy)]
enum Step {
    Named(FileNameKind),
    Opened,
    Began(FileOperation),
    Ended,
}

/// Kernel-File events, by id.
const EVENTS: &[(u16, Step)] = &[
    (10, Step::Named(FileNameKind::Create)),
    (11, Step::Named(FileNameKind::Delete)),
    (12, Step::Opened),
    (13, Step::Began(FileOperation::Cleanup)),
    (14, Step::Began(FileOperation::Close)),
    (15, Step::Began(FileOperation::Read)),
    (16, Step::Began(FileOperation::Write)),
    (17, Step::Began(FileOperation::SetInformation)),
    (18, Step::Began(FileOperation::Delete)),
    (19, Step::Began(FileOperation::Rename)),
    (20, Step::Began(FileOperation::DirectoryEnumeration)),
    (21, Step::Began(FileOperation::Flush)),
    (22, Step::Began(FileOperation::QueryInformation)),
    (23, Step::Began(FileOperation::FileSystemControl)),
    (24, Step::Ended),
    (25, Step::Began(FileOperation::DirectoryNotification)),
];

/// Returns the events from which the table is built.
pub(super) fn events() -> impl Iterator<Item = Event> {
    EVENTS.iter().map(|&(id, _)| (KERNEL_FILE, id))
}

#[derive(Debug, Default)]
pub(super) struct FileEventTracker {
    names: FileNames,
    operations: FileOperationTracker,
}

impl FileEventTracker {
    /// Processes an event; `None` if a required field is missing.
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) -> Option<()> {
        let Some(&(_, step)) = EVENTS.iter().find(|&&(id, _)| event.is((KERNEL_FILE, id))) else { return Some(()) };
        // File operations are never written to event logs.
        let Some(record) = event.trace_record() else { return Some(()) };
        match step {
            Step::Named(kind) => {
                let name = event.text("FileName", texts)?;
                self.names.on_name(event.time_ns(), event.number("FileKey")?, kind, name);
            }
            Step::Opened => {
                let path = event.text("FileName", texts)?;
                self.operations.open(record, subject(event)?, path);
            }
            Step::Began(operation) => {
                let mut begin = Begin::new(operation, subject(event)?);
                if matches!(operation, FileOperation::Read | FileOperation::Write) {
                    begin.offset = event.number("ByteOffset")?;
                    begin.size = event.number("IOSize")?;
                    begin.flags = event.number32("IOFlags")?;
                }
                self.operations.begin(record, begin);
            }
            Step::Ended => {
                let end = FileOperationEnd {
                    irp: event.number("Irp")?,
                    extra_info: event.number("ExtraInformation").unwrap_or(0),
                    status: event.number32("Status")?,
                };
                self.operations.on_end(record, &end);
            }
        }
        Some(())
    }

    /// Builds the table, sorted by start, with files and processes resolved.
    pub(super) fn finish(self, owners: &ThreadOwners, losses: &mut Losses) -> FileIos {
        self.operations.finish(&self.names, owners, losses)
    }
}

fn subject(event: &PhaseEvent<'_>) -> Option<FileOperationContext> {
    let thread = event.number32("IssuingThreadId").or_else(|| event.number32("ThreadId"));
    Some(FileOperationContext {
        irp: event.number("Irp")?,
        file_object: event.number("FileObject")?,
        file_key: event.number("FileKey").unwrap_or(0),
        thread_id: thread.or(event.thread_id())?,
    })
}

#[cfg(test)]
mod tests {
    use onoff_testkit::assemble::{EtlBuilder, EventHeader, Payload, Record, Session};
    use onoff_trace::{IoOrigin, TableName, TableSet, Trace};
    use uuid::Uuid;

    use super::*;
    use onoff_input::options::Options;
    use onoff_input::unpack::Limits;
    use onoff_sources::{files_from_bytes, open_files};

    const PROVIDER: Uuid = Uuid::from_u128(0xedd0_8927_9cc4_4e65_b970_c256_0fb5_c289);

    fn read(events: Vec<(u16, u8, Payload)>) -> Trace {
        let session = Session::windows_10(1);
        let start = session.start_ticks;
        let mut builder = EtlBuilder::new(session);
        for (number, (id, version, payload)) in (1..).zip(events) {
            let event = EventHeader {
                provider: PROVIDER,
                id,
                version,
                thread: 8,
                process: 4,
                level: 4,
                ..EventHeader::default()
            };
            builder.push(0, &Record::manifest(event, start + number * 10, payload));
        }
        let files = files_from_bytes([("file.etl".to_owned(), builder.finish())], &Limits::default()).unwrap();
        open_files(&files, TableSet::from_names(&[TableName::FileIos]), &Options::default()).unwrap()
    }

    fn wide() -> Payload {
        Payload::wide()
    }

    #[test]
    fn both_versions_fill_the_file_io_table() {
        let file = r"\Device\HarddiskVolume2\card\a.dat";
        // In Windows 7, the thread precedes the file object.
        let old = vec![
            (10, 0, wide().pointer(0xff).text(file)),
            (15, 0, wide().u64(4096).pointer(0x10).pointer(9).pointer(0xf0).pointer(0xff).u32(4).u32(0)),
            (24, 0, wide().pointer(0x10).pointer(4).u32(0)),
            (16, 0, wide().u64(0).pointer(0x10).pointer(9).pointer(0xf0).pointer(0xff).u32(512).u32(0x43)),
        ];
        let new = vec![
            (12, 1, wide().pointer(0x20).pointer(0xf0).u32(9).u32(0).u32(0).u32(0).text(file)),
            (24, 0, wide().pointer(0x20).pointer(0).u32(0)),
            (15, 1, wide().u64(4096).pointer(0x10).pointer(0xf0).pointer(0xff).u32(9).u32(4).u32(0).u32(0)),
            (24, 0, wide().pointer(0x10).pointer(4).u32(0)),
            (16, 1, wide().u64(0).pointer(0x10).pointer(0xf0).pointer(0xff).u32(9).u32(512).u32(0x43).u32(0)),
        ];
        for (events, opens) in [(old, 0), (new, 1)] {
            let trace = read(events);
            let rows: Vec<_> = trace.file_ios.iter().skip(opens).collect();
            let [read, write] = rows[..] else { panic!("{rows:?} {:?}", trace.losses) };
            assert_eq!((read.operation, read.offset, read.size, read.tid), (FileOperation::Read, 4096, 4, Some(9)));
            assert_eq!((read.level, read.unbuffered, read.status), (IoOrigin::Application, false, Some(0)));
            assert_eq!(read.end_ns.map(|end_ns| end_ns > read.start_ns), Some(true));
            assert_eq!(
                (write.operation, write.level, write.unbuffered),
                (FileOperation::Write, IoOrigin::Paging, true)
            );
            assert_eq!((write.size, write.end_ns), (512, None));
            assert_eq!([read.file, write.file].map(|id| trace.text(id)), [file; 2]);
        }
    }

    #[test]
    fn counts_truncated_event_without_adding_a_row() {
        let trace = read(vec![(15, 1, wide().u64(4096))]);
        assert!(trace.file_ios.is_empty());
        assert!(trace.losses.iter().count() > 0);
    }
}
