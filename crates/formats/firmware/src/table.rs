//! Tables: a header, then records up to the length that the header says.

use crate::field::{array, u16_at, u32_at};
use crate::issue::{Issue, IssueKind};
use crate::record::{Content, Record};
use crate::signature::Signature;

/// Most records that one input is read for. A firmware that measures every module writes some ten thousand.
pub const MAX_RECORDS: usize = 1 << 20;

/// What the header of an ACPI table says about its maker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcpiHeader {
    /// Revision of the table.
    pub revision: u8,
    /// The machine's maker, blanks at the end cut off.
    pub oem: String,
    /// The machine or firmware, blanks at the end cut off.
    pub oem_table: String,
    /// Revision that the maker gave.
    pub oem_revision: u32,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Which.
    pub signature: Signature,
    /// Where it begins, in bytes from the start of the input.
    pub offset: u64,
    /// Its length as stored, bytes.
    pub declared_bytes: u32,
    /// The ACPI header, which only the FPDT has.
    pub header: Option<AcpiHeader>,
    /// Its records, in their order.
    pub records: Vec<Record>,
    /// What is not as it should be.
    pub issues: Vec<Issue>,
}

/// What an input holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The tables, in their order.
    pub tables: Vec<Table>,
    /// What is not as it should be outside of them.
    pub issues: Vec<Issue>,
}

/// Reads every table in `bytes`: one, or several one after the other.
#[must_use]
pub fn read(bytes: &[u8]) -> Contents {
    let mut contents = Contents::default();
    let mut records_left = MAX_RECORDS;
    let mut at = 0;
    while let Some(rest) = bytes.get(at..)
        && !rest.is_empty()
    {
        let skipped = next_table(rest, at == 0);
        if skipped > 0 {
            let outside = rest.get(..skipped).unwrap_or(rest);
            // Tables are stored aligned: zeros between them are nothing to speak of.
            if outside.iter().any(|&byte| byte != 0) {
                contents.issues.push(Issue {
                    offset: at as u64,
                    kind: IssueKind::BytesOutsideTables,
                    skipped_bytes: skipped as u64,
                });
            }
            at += skipped;
            continue;
        }
        let Some(signature) = Signature::at(rest).filter(|_| records_left > 0) else {
            contents.issues.push(Issue {
                offset: at as u64,
                kind: IssueKind::TooManyRecords { limit: MAX_RECORDS },
                skipped_bytes: rest.len() as u64,
            });
            break;
        };
        // A table counts too, so that millions of empty ones cannot fill the memory.
        records_left -= 1;
        let (table, taken) = read_table(signature, rest, at as u64, &mut records_left);
        contents.tables.push(table);
        at += taken;
    }
    contents
}

/// How far the next table is; the whole length when there is none. A table that claims more than there is stands back behind one
/// that is all there, unless it begins the input.
fn next_table(bytes: &[u8], begins_input: bool) -> usize {
    let whole = next_whole_table(bytes);
    if Signature::at(bytes).is_some() && (begins_input || whole == bytes.len()) {
        return 0;
    }
    whole
}

/// How far the next table is that is all there; the whole length when there is none. The letters alone may stand in any text.
fn next_whole_table(bytes: &[u8]) -> usize {
    bytes
        .windows(8)
        .position(|window| {
            Signature::at(window).is_some_and(|signature| {
                u32_at(window, 4)
                    .is_some_and(|length| length as usize >= signature.header_bytes() && length as usize <= bytes.len())
            })
        })
        .unwrap_or(bytes.len())
}

/// Reads the table that begins `bytes`; answers how many bytes it takes, at least the signature's four.
fn read_table(signature: Signature, bytes: &[u8], offset: u64, records_left: &mut usize) -> (Table, usize) {
    let declared_bytes = u32_at(bytes, 4).unwrap_or(0);
    let declared = declared_bytes as usize;
    let mut table = Table { signature, offset, declared_bytes, header: None, records: Vec::new(), issues: Vec::new() };
    if declared < signature.header_bytes() {
        let left = 4 + next_whole_table(bytes.get(4..).unwrap_or_default());
        table.issues.push(Issue {
            offset,
            kind: IssueKind::ImpossibleTableLength { declared: declared_bytes },
            skipped_bytes: left as u64,
        });
        return (table, left);
    }
    let body = bytes.get(..declared).unwrap_or(bytes);
    if body.len() < declared {
        table.issues.push(Issue {
            offset,
            kind: IssueKind::TableCut { declared: declared_bytes, present: body.len() as u64 },
            skipped_bytes: (declared - body.len()) as u64,
        });
    } else if signature == Signature::Fpdt {
        let sum = body.iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte));
        let stored = body.get(9).copied().unwrap_or(0);
        if sum != 0 {
            table.issues.push(Issue {
                offset: offset + 9,
                kind: IssueKind::BadChecksum { stored, right: stored.wrapping_sub(sum) },
                skipped_bytes: 0,
            });
        }
    }
    if signature == Signature::Fpdt {
        table.header = acpi_header(body);
    }
    read_records(&mut table, body, records_left);
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

fn read_records(table: &mut Table, body: &[u8], records_left: &mut usize) {
    let mut at = table.signature.header_bytes();
    while let Some(rest) = body.get(at..)
        && !rest.is_empty()
    {
        let offset = table.offset + at as u64;
        let mut issue = |kind, skipped_bytes: usize| {
            table.issues.push(Issue { offset, kind, skipped_bytes: skipped_bytes as u64 });
        };
        if *records_left == 0 {
            issue(IssueKind::TooManyRecords { limit: MAX_RECORDS }, rest.len());
            return;
        }
        // Some firmware writes its header over the first bytes of the records, or the records 4 bytes late.
        if Signature::at(rest) == Some(table.signature) {
            issue(IssueKind::RepeatedSignature, 4);
            *records_left -= 1;
            at += 4;
            continue;
        }
        let Some([_, _, length, revision]) = array::<4>(rest, 0) else {
            let kind = IssueKind::RecordPastEnd { length: rest.get(2).copied().unwrap_or(0), left: rest.len() as u64 };
            issue(kind, rest.len());
            return;
        };
        let number = u16_at(rest, 0).unwrap_or(0);
        let Some(bytes) = rest.get(..usize::from(length)).filter(|bytes| bytes.len() >= 4) else {
            let kind = match length {
                0 => IssueKind::ZeroLengthRecord,
                1..4 => IssueKind::ImpossibleRecordLength { length },
                _ => IssueKind::RecordPastEnd { length, left: rest.len() as u64 },
            };
            if begins_a_whole_record(table.signature, rest.get(4..).unwrap_or_default()) {
                issue(kind, 4);
                *records_left -= 1;
                at += 4;
                continue;
            }
            issue(kind, rest.len());
            return;
        };
        let content = Content::of(table.signature, number, bytes).unwrap_or_else(|| {
            issue(IssueKind::WrongRecordLength { number, length }, 0);
            Content::other(bytes)
        });
        table.records.push(Record { offset, number, length, revision, content });
        *records_left -= 1;
        at += bytes.len();
    }
}

/// Whether the next bytes are again what the table should hold: after a header that cannot be one, reading goes on only where
/// it is sure of what it reads. Firmware that stores its records 4 bytes late (Linux commit a83c68a3bf7c) is read so.
fn begins_a_whole_record(signature: Signature, bytes: &[u8]) -> bool {
    if Signature::at(bytes) == Some(signature) {
        return true;
    }
    let (Some(number), Some(&length)) = (u16_at(bytes, 0), bytes.get(2)) else { return false };
    let Some(record) = bytes.get(..usize::from(length)) else { return false };
    !matches!(Content::of(signature, number, record), None | Some(Content::Other(_)))
}
