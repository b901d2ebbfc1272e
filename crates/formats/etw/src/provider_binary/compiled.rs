//! Reads compiled manifests: a `WEVT_TEMPLATE` resource is a tree of tables that refer to each other by offsets from
//! its first byte.
//!
//! ```text
//! CRIM  size u32, version u16 × 2, count u32, count × { provider GUID, WEVT's offset u32 }
//! WEVT  size, message u32, count, 0, count × { table's offset u32, 0 }
//! OPCO  size, count, count × { number u32, message u32, name's offset }
//! TASK  size, count, count × { number u32, message u32, GUID, name's offset }
//! KEYW  size, count, count × { mask u64, message u32, name's offset }
//! EVNT  size, count, 0, count × { id u16, version u8, channel u8, level u8, opcode u8, task u16, keywords u64,
//!       message u32, TEMP's offset u32, six further u32 }
//! TEMP  size, count of items, count of names, offset of the items, kind u32, GUID, …,
//!       count × { flags u32, types u8 × 2, u16, u32, count u16, length u16, name's offset u32 }
//! name  size u32, including itself; UTF-16 with NUL
//! ```
//!
//! Source: the documentation of the libfwevt project. A test compares the results with those of the `evtx` crate.

use std::cell::Cell;

use onoff_etl::Guid;

use crate::reader::Reader;

/// Maximum number of entries in all tables. An entry is counted each time it is reached through a reference. The
/// largest provider of Windows has about 10,000.
const MAX_ENTRIES: usize = 1 << 17;
/// Maximum length of a name in UTF-16 units.
const MAX_NAME_LEN: usize = 1024;

/// Why a compiled manifest cannot be read. The offset is relative to the start of the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at offset {offset}")]
pub(super) struct CompiledManifestError {
    message: &'static str,
    offset: usize,
}

pub(super) struct NamedNumber {
    pub(super) number: u64,
    pub(super) name: String,
}

pub(super) struct Event {
    pub(super) id: u16,
    pub(super) version: u8,
    pub(super) level: u8,
    pub(super) opcode: u8,
    pub(super) task: u16,
    pub(super) keywords: u64,
    /// Properties of the payload; empty for events without payload.
    pub(super) items: Vec<Item>,
}

/// A property of a payload or a member of a struct.
pub(super) struct Item {
    pub(super) flags: u32,
    /// In-type and out-type; for a struct, the index of its first member.
    pub(super) types: [u8; 2],
    /// Number of members of a struct.
    pub(super) members: u16,
    pub(super) count: u16,
    pub(super) length: u16,
    pub(super) name: String,
}

#[derive(Default)]
pub(super) struct Provider {
    pub(super) guid: Guid,
    pub(super) opcodes: Vec<NamedNumber>,
    pub(super) tasks: Vec<NamedNumber>,
    pub(super) keywords: Vec<NamedNumber>,
    pub(super) events: Vec<Event>,
}

/// Reads the providers of a compiled manifest.
pub(super) fn providers(resource: &[u8]) -> Result<Vec<Provider>, CompiledManifestError> {
    let budget = Cell::new(MAX_ENTRIES);
    let (size, mut reader) = Resource { bytes: resource, budget: &budget }.table(0, b"CRIM")?;
    let manifest = Resource { bytes: &resource[..size], budget: &budget };
    let truncated = CompiledManifestError { message: "truncated list of providers", offset: 16 };
    reader.skip(4).ok_or(truncated)?;
    let count = reader.u32().ok_or(truncated)?;
    let entries = manifest.list(16, count, 20)?;
    entries
        .map(|mut entry| {
            let (guid, offset) = entry.guid().zip(entry.u32()).ok_or(truncated)?;
            manifest.provider(guid, to_usize(offset))
        })
        .collect()
}

/// A resource. Offsets are relative to its start.
#[derive(Clone, Copy)]
struct Resource<'b> {
    bytes: &'b [u8],
    /// Number of entries that may still be read.
    budget: &'b Cell<usize>,
}

impl<'b> Resource<'b> {
    /// Opens the table at `offset`. Returns its size and a reader positioned after the size.
    fn table(self, offset: usize, signature: &[u8; 4]) -> Result<(usize, Reader<'b>), CompiledManifestError> {
        let wrong_table = CompiledManifestError { message: "missing or wrong table", offset };
        let bytes = self.bytes.get(offset..).ok_or(wrong_table)?;
        let mut reader = Reader::new(bytes, 4);
        if reader.take(4).ok_or(wrong_table)? != signature {
            return Err(wrong_table);
        }
        let size = to_usize(reader.u32().ok_or(wrong_table)?);
        if size < 8 || size > bytes.len() {
            return Err(CompiledManifestError {
                message: "table extends past the end of the resource",
                offset: offset + 4,
            });
        }
        Ok((size, reader))
    }

    /// Iterates over `count` entries of `width` bytes at `offset`.
    fn list(
        self,
        offset: usize,
        count: u32,
        width: usize,
    ) -> Result<impl Iterator<Item = Reader<'b>> + use<'b>, CompiledManifestError> {
        let count = to_usize(count);
        let entries = count.checked_mul(width).and_then(|length| self.bytes.get(offset..)?.get(..length));
        let entries =
            entries.ok_or(CompiledManifestError { message: "list extends past the end of the resource", offset })?;
        let remaining = self.budget.get().checked_sub(count);
        self.budget.set(remaining.ok_or(CompiledManifestError { message: "too many entries", offset })?);
        Ok(entries.chunks_exact(width).map(|entry| Reader::new(entry, 4)))
    }

    fn provider(self, guid: Guid, offset: usize) -> Result<Provider, CompiledManifestError> {
        let truncated = CompiledManifestError { message: "truncated list of tables", offset };
        let (_, mut reader) = self.table(offset, b"WEVT")?;
        reader.skip(4).ok_or(truncated)?;
        let count = reader.u32().ok_or(truncated)?;
        let mut provider = Provider { guid, ..Provider::default() };
        for mut entry in self.list(offset + 20, count, 8)? {
            let table = to_usize(entry.u32().ok_or(truncated)?);
            match self.bytes.get(table..).and_then(|bytes| bytes.get(..4)) {
                Some(b"OPCO") => provider.opcodes = self.names(table, b"OPCO", 12, false)?,
                Some(b"TASK") => provider.tasks = self.names(table, b"TASK", 28, false)?,
                Some(b"KEYW") => provider.keywords = self.names(table, b"KEYW", 16, true)?,
                Some(b"EVNT") => provider.events = self.events(table)?,
                // Channels, levels and maps are not used; events refer directly to their templates.
                Some(_) => {}
                None => return Err(CompiledManifestError { message: "missing or wrong table", offset: table }),
            }
        }
        Ok(provider)
    }

    /// Reads a table of numbers with names. The offset of the name is in the last 4 of an entry's `width` bytes.
    fn names(
        self,
        offset: usize,
        kind: &[u8; 4],
        width: usize,
        is_wide: bool,
    ) -> Result<Vec<NamedNumber>, CompiledManifestError> {
        let truncated = CompiledManifestError { message: "truncated table of names", offset };
        let (_, mut reader) = self.table(offset, kind)?;
        let count = reader.u32().ok_or(truncated)?;
        let entries = self.list(offset + 12, count, width)?;
        entries
            .map(|mut entry| {
                let number = if is_wide { entry.u64() } else { entry.u32().map(u64::from) };
                let number = number.ok_or(truncated)?;
                entry.skip(entry.remaining() - 4).ok_or(truncated)?;
                Ok(NamedNumber { number, name: self.text(entry.u32().ok_or(truncated)?)? })
            })
            .collect()
    }

    fn events(self, offset: usize) -> Result<Vec<Event>, CompiledManifestError> {
        let truncated = CompiledManifestError { message: "truncated table of events", offset };
        let (_, mut reader) = self.table(offset, b"EVNT")?;
        let count = reader.u32().ok_or(truncated)?;
        let entries = self.list(offset + 16, count, 48)?;
        entries.map(|mut entry| self.event(&mut entry).ok_or(truncated)?).collect()
    }

    fn event(self, entry: &mut Reader<'_>) -> Option<Result<Event, CompiledManifestError>> {
        let (id, version) = (entry.u16()?, entry.u8()?);
        entry.skip(1)?;
        let (level, opcode, task, keywords) = (entry.u8()?, entry.u8()?, entry.u16()?, entry.u64()?);
        entry.skip(4)?;
        let items = match entry.u32()? {
            0 => Ok(Vec::new()),
            template => self.items(to_usize(template)),
        };
        Some(items.map(|items| Event { id, version, level, opcode, task, keywords, items }))
    }

    fn items(self, offset: usize) -> Result<Vec<Item>, CompiledManifestError> {
        let truncated = CompiledManifestError { message: "truncated template", offset };
        let (_, mut reader) = self.table(offset, b"TEMP")?;
        let count = reader.u32().ok_or(truncated)?;
        reader.skip(4).ok_or(truncated)?;
        let items = to_usize(reader.u32().ok_or(truncated)?);
        if count == 0 {
            return Ok(Vec::new());
        }
        self.list(items, count, 20)?.map(|mut entry| self.item(&mut entry).ok_or(truncated)?).collect()
    }

    fn item(self, entry: &mut Reader<'_>) -> Option<Result<Item, CompiledManifestError>> {
        let (flags, types, members) = (entry.u32()?, *entry.array()?, entry.u16()?);
        entry.skip(4)?;
        let (count, length, name) = (entry.u16()?, entry.u16()?, entry.u32()?);
        Some(self.text(name).map(|name| Item { flags, types, members, count, length, name }))
    }

    /// Reads the text at an offset; empty if the offset is 0.
    fn text(self, offset: u32) -> Result<String, CompiledManifestError> {
        if offset == 0 {
            return Ok(String::new());
        }
        let error = CompiledManifestError { message: "truncated text", offset: to_usize(offset) };
        let bytes = self.bytes.get(to_usize(offset)..).ok_or(error)?;
        let size = to_usize(Reader::new(bytes, 4).u32().ok_or(error)?);
        let units = bytes.get(4..size).ok_or(error)?.chunks_exact(2);
        let units = units.map(|unit| u16::from_le_bytes([unit[0], unit[1]])).take_while(|&unit| unit != 0);
        let units = units.take(MAX_NAME_LEN);
        Ok(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }
}

/// Converts a number to `usize`. Numbers that do not fit become a value beyond any end.
fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
