//! Reads tables: a header, and records up to the length declared in the header.

use crate::field::{array_at, u16_at, u32_at};
use crate::issue::{Issue, IssueKind};
use crate::record::{Record, RecordContent};
use crate::signature::Signature;

/// Maximum number of records per input. Firmware that measures every module writes about 10,000.
pub const MAX_RECORDS: usize = 1 << 20;

/// Vendor information in the header of an ACPI table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcpiHeader {
    pub revision: u8,
    /// OEM id without trailing blanks.
    pub oem: String,
    /// OEM table id without trailing blanks.
    pub oem_table: String,
    /// OEM revision.
    pub oem_revision: u32,
}

/// A firmware performance table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub signature: Signature,
    /// Offset from the start of the input, in bytes.
    pub offset: u64,
    /// Declared length in bytes.
    pub declared_bytes: u32,
    /// ACPI header; only for the FPDT.
    pub header: Option<AcpiHeader>,
    /// Records in stored order.
    pub records: Vec<Record>,
    /// Issues inside the table.
    pub issues: Vec<Issue>,
}

/// All tables of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSet {
    /// Tables in stored order.
    pub tables: Vec<Table>,
    /// Issues outside the tables.
    pub issues: Vec<Issue>,
}

/// Reads all tables in `bytes`, which may contain one table or several consecutive ones.
#[must_use]
pub fn read(bytes: &[u8]) -> TableSet {
    let mut set = TableSet::default();
    let mut record_budget = MAX_RECORDS;
    let mut position = 0;
    while let Some(remaining) = bytes.get(position..)
        && !remaining.is_empty()
    {
        let skipped = next_table(remaining, position == 0);
        if skipped > 0 {
            let gap = remaining.get(..skipped).unwrap_or(remaining);
            // Tables may be aligned, so zeros between them are not an issue.
            if gap.iter().any(|&byte| byte != 0) {
                set.issues.push(Issue {
                    offset: position as u64,
                    kind: IssueKind::BytesOutsideTables,
                    skipped_bytes: skipped as u64,
                });
            }
            position += skipped;
            continue;
        }
        let Some(signature) = Signature::from_prefix(remaining).filter(|_| record_budget > 0) else {
            set.issues.push(Issue {
                offset: position as u64,
                kind: IssueKind::TooManyRecords { limit: MAX_RECORDS },
                skipped_bytes: remaining.len() as u64,
            });
            break;
        };
        // Tables count as records, so that millions of empty tables cannot exhaust memory.
        record_budget -= 1;
        let (table, size) = read_table(signature, remaining, position as u64, &mut record_budget);
        set.tables.push(table);
        position += size;
    }
    set
}

/// Returns the distance to the next table, or the whole length if there is none. A truncated table is only accepted at
/// the start of the input or if no complete table follows.
fn next_table(bytes: &[u8], is_input_start: bool) -> usize {
    let distance = next_complete_table(bytes);
    if Signature::from_prefix(bytes).is_some() && (is_input_start || distance == bytes.len()) {
        return 0;
    }
    distance
}

/// Returns the distance to the next complete table, or the whole length if there is none. The signature alone is not
/// sufficient, because it may occur in any text.
fn next_complete_table(bytes: &[u8]) -> usize {
    bytes
        .windows(8)
        .position(|window| {
            Signature::from_prefix(window).is_some_and(|signature| {
                u32_at(window, 4)
                    .is_some_and(|length| length as usize >= signature.header_bytes() && length as usize <= bytes.len())
            })
        })
        .unwrap_or(bytes.len())
}

/// Reads the table at the start of `bytes`. Returns the table and its size in bytes, which is at least 4, the size of
/// the signature.
fn read_table(signature: Signature, bytes: &[u8], offset: u64, record_budget: &mut usize) -> (Table, usize) {
    let declared_bytes = u32_at(bytes, 4).unwrap_or(0);
    let declared = declared_bytes as usize;
    let mut table = Table { signature, offset, declared_bytes, header: None, records: Vec::new(), issues: Vec::new() };
    if declared < signature.header_bytes() {
        let skipped = 4 + next_complete_table(bytes.get(4..).unwrap_or_default());
        table.issues.push(Issue {
            offset,
            kind: IssueKind::InvalidTableLength { declared: declared_bytes },
            skipped_bytes: skipped as u64,
        });
        return (table, skipped);
    }
    let body = bytes.get(..declared).unwrap_or(bytes);
    if body.len() < declared {
        table.issues.push(Issue {
            offset,
            kind: IssueKind::TruncatedTable { declared: declared_bytes, present: body.len() as u64 },
            skipped_bytes: (declared - body.len()) as u64,
        });
    } else if signature == Signature::Fpdt {
        let sum = body.iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte));
        let stored = body.get(9).copied().unwrap_or(0);
        if sum != 0 {
            table.issues.push(Issue {
                offset: offset + 9,
                kind: IssueKind::BadChecksum { stored, expected: stored.wrapping_sub(sum) },
                skipped_bytes: 0,
            });
        }
    }
    if signature == Signature::Fpdt {
        table.header = acpi_header(body);
    }
    read_records(&mut table, body, record_budget);
    (table, body.len())
}

fn acpi_header(bytes: &[u8]) -> Option<AcpiHeader> {
    let text = |range: std::ops::Range<usize>| {
        let text = bytes.get(range)?;
        let text = text.split(|&byte| byte == 0).next().unwrap_or(text);
        Some(String::from_utf8_lossy(text).trim().to_owned())
    };
    Some(AcpiHeader {
        revision: *bytes.get(8)?,
        oem: text(10..16)?,
        oem_table: text(16..24)?,
        oem_revision: u32_at(bytes, 24)?,
    })
}

fn read_records(table: &mut Table, body: &[u8], record_budget: &mut usize) {
    let mut position = table.signature.header_bytes();
    while let Some(remaining) = body.get(position..)
        && !remaining.is_empty()
    {
        let offset = table.offset + position as u64;
        let mut report = |kind, skipped_bytes: usize| {
            table.issues.push(Issue { offset, kind, skipped_bytes: skipped_bytes as u64 });
        };
        if *record_budget == 0 {
            report(IssueKind::TooManyRecords { limit: MAX_RECORDS }, remaining.len());
            return;
        }
        // Some firmware overwrites the first bytes of the records with the header, or stores the records 4 bytes too
        // late.
        if Signature::from_prefix(remaining) == Some(table.signature) {
            report(IssueKind::RepeatedSignature, 4);
            *record_budget -= 1;
            position += 4;
            continue;
        }
        let Some([_, _, length, revision]) = array_at::<4>(remaining, 0) else {
            let kind = IssueKind::RecordPastEnd {
                length: remaining.get(2).copied().unwrap_or(0),
                remaining: remaining.len() as u64,
            };
            report(kind, remaining.len());
            return;
        };
        let number = u16_at(remaining, 0).unwrap_or(0);
        let Some(bytes) = remaining.get(..usize::from(length)).filter(|bytes| bytes.len() >= 4) else {
            let kind = match length {
                0 => IssueKind::ZeroLengthRecord,
                1..4 => IssueKind::InvalidRecordLength { length },
                _ => IssueKind::RecordPastEnd { length, remaining: remaining.len() as u64 },
            };
            if starts_with_known_record(table.signature, remaining.get(4..).unwrap_or_default()) {
                report(kind, 4);
                *record_budget -= 1;
                position += 4;
                continue;
            }
            report(kind, remaining.len());
            return;
        };
        let content = RecordContent::parse(table.signature, number, bytes).unwrap_or_else(|| {
            report(IssueKind::WrongRecordLength { number, length }, 0);
            RecordContent::raw(bytes)
        });
        table.records.push(Record { offset, record_type: number, length, revision, content });
        *record_budget -= 1;
        position += bytes.len();
    }
}

/// True if `bytes` start with a complete known record or the signature. After an invalid record header, reading only
/// resumes if this is certain. Needed for firmware that stores its records 4 bytes too late (Linux commit
/// a83c68a3bf7c).
fn starts_with_known_record(signature: Signature, bytes: &[u8]) -> bool {
    if Signature::from_prefix(bytes) == Some(signature) {
        return true;
    }
    let (Some(number), Some(&length)) = (u16_at(bytes, 0), bytes.get(2)) else { return false };
    let Some(record) = bytes.get(..usize::from(length)) else { return false };
    !matches!(RecordContent::parse(signature, number, record), None | Some(RecordContent::Other(_)))
}
