//! Copies of records that must be processed in order, or after the end of the recording is known.

use onoff_etl::Record;

/// Copies of records, in insertion order.
///
/// A record borrows its buffer, which is freed (decompressed) or returned to the system (mapped) before the record is
/// processed. Its bytes are therefore copied, into a shared allocation for many records.
#[derive(Debug, Default)]
pub(super) struct DeferredRecords {
    bytes: Vec<u8>,
    ends: Vec<RecordEnd>,
}

#[derive(Clone, Copy, Debug)]
struct RecordEnd {
    end: usize,
    time_ns: i64,
    cpu: u16,
    file: u16,
}

impl DeferredRecords {
    pub(super) fn push(&mut self, record: &Record<'_>) {
        self.bytes.extend_from_slice(record.bytes());
        self.ends.push(RecordEnd {
            end: self.bytes.len(),
            time_ns: record.time_ns(),
            cpu: record.cpu(),
            // A recording has fewer than 65,535 files.
            file: u16::try_from(record.file()).unwrap_or(u16::MAX),
        });
    }

    pub(super) fn append(&mut self, other: &DeferredRecords) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|record_end| RecordEnd { end: start + record_end.end, ..*record_end }));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let mut start = 0;
        self.ends.iter().filter_map(move |record_end| {
            let bytes = self.bytes.get(start..record_end.end)?;
            start = record_end.end;
            let record = Record::parse(bytes).ok()?;
            Some(record.with_origin(record_end.file, record_end.cpu, record_end.time_ns))
        })
    }
}
