//! File operations requested by programs: pairs starts with ends by IRP.

use hashbrown::HashMap;
use onoff_etl::Record;
use onoff_etw::kernel::{
    DirectoryOperation, FileInformation, FileInformationKind, FileMapping, FileMappingKind, FileOpen, FileOperation,
    FileOperationContext, FileOperationEnd, FileOperationKind, FileTransfer,
};
use onoff_trace::{FileIo, FileIos, IoOrigin, Losses, StringId};

use super::counters;
use super::file_names::FileNames;
use super::texts::Texts;
use super::threads::ThreadOwners;

/// `IRP_NOCACHE` (source: `wdm.h`).
const NO_CACHE: u32 = 0x1;
/// `IRP_PAGING_IO` and `IRP_SYNCHRONOUS_PAGING_IO`.
const PAGING: u32 = 0x2 | 0x40;

/// Operations in flight, by IRP. A file system can reuse an IRP for a nested operation, so the latest operation ends
/// first.
#[derive(Clone, Debug)]
pub(super) struct OperationsInFlight<T> {
    by_irp: HashMap<u64, Vec<T>>,
    /// Maximum number of IRPs tracked at a time; `None` for unlimited.
    max_in_flight: Option<usize>,
}

impl<T> Default for OperationsInFlight<T> {
    fn default() -> Self {
        Self { by_irp: HashMap::new(), max_in_flight: None }
    }
}

impl<T> OperationsInFlight<T> {
    /// Tracks at most `max_in_flight` IRPs at a time; operations of further IRPs end without a start.
    pub(super) fn with_limit(max_in_flight: usize) -> Self {
        Self { max_in_flight: Some(max_in_flight), ..Self::default() }
    }

    pub(super) fn begin(&mut self, irp: u64, operation: T) {
        // Change notifications may never complete, so the depth is limited.
        const MAX_DEPTH: usize = 16;
        if self.max_in_flight.is_some_and(|max| self.by_irp.len() >= max && !self.by_irp.contains_key(&irp)) {
            return;
        }
        let in_flight = self.by_irp.entry(irp).or_default();
        if in_flight.len() == MAX_DEPTH {
            in_flight.remove(0);
        }
        in_flight.push(operation);
    }

    /// Returns the operation that ends; `None` if its start is unknown.
    pub(super) fn end(&mut self, irp: u64) -> Option<T> {
        let in_flight = self.by_irp.get_mut(&irp)?;
        let operation = in_flight.pop();
        if in_flight.is_empty() {
            self.by_irp.remove(&irp);
        }
        operation
    }
}

#[derive(Debug, Default)]
pub(super) struct FileOperationTracker {
    rows: Vec<TrackedOperation>,
    /// Indexes into `rows`.
    in_flight: OperationsInFlight<usize>,
    /// Path with which each file object was opened, for files whose key has no name.
    opened: HashMap<u64, StringId>,
    unmatched_ends: u64,
}

#[derive(Debug)]
struct TrackedOperation {
    row: FileIo,
    file_key: u64,
}

/// The start of an operation.
pub(super) struct Begin {
    pub(super) operation: onoff_trace::FileOperation,
    pub(super) subject: FileOperationContext,
    pub(super) offset: u64,
    pub(super) size: u64,
    /// IRP flags.
    pub(super) flags: u32,
    pub(super) path: StringId,
}

impl FileOperationTracker {
    pub(super) fn on_open(&mut self, record: &Record<'_>, open: &FileOpen<'_>, texts: &mut Texts) {
        let subject = FileOperationContext {
            irp: open.irp,
            file_object: open.file_object,
            file_key: 0,
            thread_id: open.thread_id,
        };
        self.open(record, subject, texts.utf16(open.open_path));
    }

    /// Records that the file at `path` is opened.
    pub(super) fn open(&mut self, record: &Record<'_>, subject: FileOperationContext, path: StringId) {
        self.opened.insert(subject.file_object, path);
        self.begin(record, Begin { path, ..Begin::new(onoff_trace::FileOperation::Create, subject) });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn on_operation(&mut self, record: &Record<'_>, event: &FileOperation) {
        let operation = match event.kind {
            FileOperationKind::Cleanup => onoff_trace::FileOperation::Cleanup,
            FileOperationKind::Close => onoff_trace::FileOperation::Close,
            FileOperationKind::Flush => onoff_trace::FileOperation::Flush,
        };
        self.begin(record, Begin::new(operation, event.subject));
    }

    pub(super) fn on_transfer(&mut self, record: &Record<'_>, transfer: &FileTransfer) {
        let operation =
            if transfer.is_write { onoff_trace::FileOperation::Write } else { onoff_trace::FileOperation::Read };
        self.begin(
            record,
            Begin {
                offset: transfer.offset,
                size: u64::from(transfer.size),
                flags: transfer.flags,
                ..Begin::new(operation, transfer.subject)
            },
        );
    }

    pub(super) fn on_information(&mut self, record: &Record<'_>, event: &FileInformation<'_>, texts: &mut Texts) {
        let operation = match event.kind {
            FileInformationKind::Set | FileInformationKind::SetLinkPath => onoff_trace::FileOperation::SetInformation,
            FileInformationKind::Delete | FileInformationKind::DeletePath => onoff_trace::FileOperation::Delete,
            FileInformationKind::Rename | FileInformationKind::RenamePath => onoff_trace::FileOperation::Rename,
            FileInformationKind::Query => onoff_trace::FileOperation::QueryInformation,
            FileInformationKind::FileSystemControl => onoff_trace::FileOperation::FileSystemControl,
        };
        let path = texts.utf16(event.path);
        self.begin(record, Begin { path, ..Begin::new(operation, event.subject) });
    }

    pub(super) fn on_directory(&mut self, record: &Record<'_>, event: &DirectoryOperation<'_>) {
        let operation = if event.notify {
            onoff_trace::FileOperation::DirectoryNotification
        } else {
            onoff_trace::FileOperation::DirectoryEnumeration
        };
        self.begin(record, Begin { size: u64::from(event.length), ..Begin::new(operation, event.subject) });
    }

    /// Processes a file mapping, which is complete when it is logged.
    pub(super) fn on_mapping(&mut self, record: &Record<'_>, mapping: &FileMapping) {
        if mapping.kind != FileMappingKind::Map {
            return;
        }
        let time_ns = record.time_ns();
        self.rows.push(TrackedOperation {
            row: FileIo {
                start_ns: time_ns,
                end_ns: Some(time_ns),
                operation: onoff_trace::FileOperation::Map,
                pid: Some(mapping.process_id),
                tid: record.thread_id(),
                offset: u64::try_from(mapping.byte_offset).unwrap_or(0),
                size: mapping.view_size,
                level: IoOrigin::Application,
                file_object: mapping.file_key,
                ..FileIo::UNKNOWN
            },
            file_key: mapping.file_key,
        });
    }

    pub(super) fn on_end(&mut self, record: &Record<'_>, end: &FileOperationEnd) {
        let Some(index) = self.in_flight.end(end.irp) else {
            self.unmatched_ends += 1;
            return;
        };
        let row = &mut self.rows[index].row;
        row.end_ns = Some(record.time_ns());
        row.status = Some(end.status);
    }

    pub(super) fn begin(&mut self, record: &Record<'_>, begin: Begin) {
        let Begin { subject, .. } = begin;
        self.in_flight.begin(subject.irp, self.rows.len());
        self.rows.push(TrackedOperation {
            row: FileIo {
                start_ns: record.time_ns(),
                end_ns: None,
                operation: begin.operation,
                pid: record.process_id(),
                tid: Some(subject.thread_id),
                file: begin.path,
                offset: begin.offset,
                size: begin.size,
                level: if begin.flags & PAGING != 0 { IoOrigin::Paging } else { IoOrigin::Application },
                unbuffered: begin.flags & NO_CACHE != 0,
                status: None,
                irp: subject.irp,
                file_object: subject.file_object,
            },
            file_key: subject.file_key,
        });
    }

    /// Builds the table, sorted by start, with files and processes resolved.
    pub(super) fn finish(self, names: &FileNames, owners: &ThreadOwners, losses: &mut Losses) -> FileIos {
        let Self { rows, opened, unmatched_ends, .. } = self;
        let (mut unnamed, mut unfinished) = (0, 0);
        let table = rows
            .into_iter()
            .map(|TrackedOperation { mut row, file_key }| {
                if let Some(owner) = row.tid.and_then(|tid| owners.process(tid, row.start_ns)) {
                    row.pid = Some(owner);
                }
                if row.file.is_empty() {
                    row.file = names.name_at(file_key, row.start_ns);
                }
                if row.file.is_empty() {
                    row.file = opened.get(&row.file_object).copied().unwrap_or_default();
                }
                unnamed += u64::from(row.file.is_empty());
                unfinished += u64::from(row.end_ns.is_none());
                row
            })
            .collect();
        losses.add(&counters::FILE_NAME_UNKNOWN, unnamed);
        losses.add(&counters::FILE_IO_UNFINISHED, unfinished);
        losses.add(&counters::FILE_END_WITHOUT_BEGIN, unmatched_ends);
        table
    }
}

impl Begin {
    pub(super) fn new(operation: onoff_trace::FileOperation, subject: FileOperationContext) -> Begin {
        Begin { operation, subject, offset: 0, size: 0, flags: 0, path: StringId::EMPTY }
    }
}
