//! Reads binary logs of Process Monitor (`.pml`), version 9, written on 32-bit or 64-bit Windows.
//!
//! The header refers to four tables: event offsets, processes, strings, and hosts. An event has a fixed header, return
//! addresses, and details that depend on its class; the details of a file operation are flags, length, offset and path.
//! The layout is the one published with the parser by E. Ronen ("PML Format"), verified with a capture and its CSV.

use crate::error::Error;
use crate::losses::LossKind;
use crate::operation::{Level, Operation, OperationKind, OperationWriter, Outcome};
use hashbrown::HashMap;

const VERSION: u32 = 9;
const EVENT_HEADER_LEN: usize = 52;
/// Event class of file system events.
const FILE_SYSTEM_CLASS: u32 = 3;
/// Time from 1601-01-01 to 1970-01-01, in units of 100 ns.
const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
const STATUS_END_OF_FILE: u32 = 0xC000_0011;
/// Flags of `IRP.Flags` (source: `wdm.h`).
const NO_CACHE: u32 = 0x1;
const PAGING: u32 = 0x2 | 0x40;

struct Process {
    pid: u32,
    name: String,
}

struct Log<'b> {
    bytes: &'b [u8],
    pointer_size: usize,
    processes: HashMap<u32, Process>,
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn usize_at(bytes: &[u8], offset: usize) -> Option<usize> {
    usize::try_from(u32_at(bytes, offset)?).ok()
}

fn utf16(bytes: &[u8]) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|&unit| unit != 0);
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

pub(crate) fn read(bytes: &[u8], out: &mut OperationWriter<'_>) -> Result<(), Error> {
    let header_u64 =
        |offset: usize| u64_at(bytes, offset).ok_or(Error::Outside { what: "the header", offset: offset as u64 });
    let version = u32_at(bytes, 4).ok_or(Error::Outside { what: "the header", offset: 4 })?;
    if version != VERSION {
        return Err(Error::Version { version });
    }
    let is_64_bit = u32_at(bytes, 8) == Some(1);
    let count = u32_at(bytes, 0x234).ok_or(Error::Outside { what: "the header", offset: 0x234 })?;
    let event_table = header_u64(0x248)?;
    let process_table = header_u64(0x250)?;
    let string_table = header_u64(0x258)?;
    if event_table == 0 || process_table == 0 || string_table == 0 {
        return Err(Error::NotClosed);
    }
    let bytes_from = |table, offset: u64| {
        let outside = Error::Outside { what: table, offset };
        usize::try_from(offset).ok().and_then(|start| bytes.get(start..)).ok_or(outside)
    };
    let strings = bytes_from("the string table", string_table)?;
    let processes = bytes_from("the process table", process_table)?;
    let offsets = bytes_from("the event table", event_table)?;
    let log = Log { bytes, pointer_size: if is_64_bit { 8 } else { 4 }, processes: read_processes(processes, strings) };
    out.set_unix_times();
    // Five bytes per event: offset and flags.
    for entry in offsets.chunks_exact(5).take(count as usize) {
        let Some(event_offset) = usize_at(entry, 0) else { continue };
        out.count_record();
        match log.read_event(event_offset, out) {
            Some(Ok(())) => {}
            Some(Err(loss)) => out.count_loss(loss, event_offset),
            // The offset may be outside the file.
            None => out.count_loss(LossKind::Unreadable, event_offset.min(bytes.len())),
        }
    }
    let available = (offsets.len() / 5).min(count as usize);
    if available < count as usize {
        out.count_loss(LossKind::Unreadable, bytes.len());
    }
    Ok(())
}

fn read_processes(table: &[u8], strings: &[u8]) -> HashMap<u32, Process> {
    let mut processes = HashMap::new();
    let count = usize_at(table, 0).unwrap_or(0);
    // An array of indexes is followed by an array of offsets.
    let Some(entries) = count.checked_mul(4).and_then(|size| size.checked_add(4)).and_then(|start| table.get(start..))
    else {
        return processes;
    };
    for entry in entries.as_chunks::<4>().0.iter().take(count) {
        let entry_offset = u32::from_le_bytes(*entry) as usize;
        let Some(entry) = table.get(entry_offset..) else { continue };
        let (Some(index), Some(pid), Some(name)) = (u32_at(entry, 0), u32_at(entry, 4), usize_at(entry, 64)) else {
            continue;
        };
        processes.insert(index, Process { pid, name: text(strings, name).unwrap_or_default() });
    }
    processes
}

/// Returns the string at `index`.
fn text(strings: &[u8], index: usize) -> Option<String> {
    if index >= usize_at(strings, 0)? {
        return None;
    }
    let offset = usize_at(strings, index.checked_mul(4)?.checked_add(4)?)?;
    let length = usize_at(strings, offset)?;
    let start = offset.checked_add(4)?;
    Some(utf16(strings.get(start..start.checked_add(length)?)?))
}

impl Log<'_> {
    /// Reads one event. Returns `None` if it is outside the file or truncated.
    fn read_event(&self, event_offset: usize, out: &mut OperationWriter<'_>) -> Option<Result<(), LossKind>> {
        let event = self.bytes.get(event_offset..)?;
        if event.len() < EVENT_HEADER_LEN {
            return None;
        }
        if u32_at(event, 8)? != FILE_SYSTEM_CLASS {
            return Some(Ok(()));
        }
        let kind = match u16_at(event, 12)? {
            // IRP_MJ_CREATE, _CLEANUP, _READ, _WRITE, _FLUSH_BUFFERS; fast I/O reads and writes.
            20 => OperationKind::Open,
            38 => OperationKind::Close,
            23 | 5 => OperationKind::Read,
            24 | 3 => OperationKind::Write,
            29 => OperationKind::Flush,
            _ => return Some(Ok(())),
        };
        let stack_size = usize::from(u16_at(event, 40)?).checked_mul(self.pointer_size)?;
        let details_size = usize_at(event, 44)?;
        let details = event.get(EVENT_HEADER_LEN.checked_add(stack_size)?..)?.get(..details_size)?;
        let extra_offset = usize_at(event, 48)?;
        // The fields after the operation id: five pointers and twenty bytes.
        let fixed_fields = details.get(4..)?.get(..self.pointer_size * 5 + 20)?;
        let path_info = usize::from(u16_at(details, 4 + fixed_fields.len())?);
        let path = details.get(4 + fixed_fields.len() + 4..)?;
        let characters = path_info & 0x7fff;
        let path = if path_info >> 15 == 1 {
            String::from_utf8_lossy(path.get(..characters)?).into_owned()
        } else {
            utf16(path.get(..characters * 2)?)
        };
        let ticks = |offset| i64::try_from(u64_at(event, offset)?).ok();
        let status = u32_at(event, 36)?;
        let process = self.processes.get(&u32_at(event, 0)?);
        let mut operation = Operation {
            start_ns: ticks(28)?.checked_sub(UNIX_EPOCH)?.checked_mul(100)?,
            duration_ns: Some(ticks(20)?.checked_mul(100)?),
            outcome: match status {
                STATUS_END_OF_FILE => Outcome::EndOfFile,
                status if status >> 30 == 3 => Outcome::Failed,
                _ => Outcome::Done,
            },
            pid: process.map(|process| process.pid),
            tid: u32_at(event, 4),
            process: process.map_or("", |process| process.name.as_str()),
            file: &path,
            ..Operation::new(kind)
        };
        if matches!(kind, OperationKind::Read | OperationKind::Write) {
            let flags = u32_at(fixed_fields, 4)?;
            let offset_field = if self.pointer_size == 8 { 28 } else { 20 };
            let offset = u64_at(fixed_fields, offset_field)?.cast_signed();
            // The transferred bytes if present, otherwise the requested bytes.
            operation.length = match extra_offset {
                0 => u64::from(u32_at(fixed_fields, 12)?),
                extra_offset => u64::from(u32_at(event, extra_offset.checked_add(2)?)?),
            };
            if flags & PAGING != 0 {
                operation.level = Level::Paging;
            }
            operation.unbuffered = flags & NO_CACHE != 0;
            match u64::try_from(offset) {
                Ok(offset) => operation.offset = offset,
                // A negative offset means the end of the file or the current position.
                Err(_) if operation.outcome == Outcome::Done => return Some(Err(LossKind::OffsetUnknown)),
                Err(_) => {}
            }
        }
        out.push(&operation);
        Some(Ok(()))
    }
}
