//! A compiled manifest: what a `WEVT_TEMPLATE` resource holds, a tree of tables that point at each other by their distance from its
//! first byte.
//!
//! ```text
//! CRIM  size u32, version u16 × 2, count u32, count × { provider GUID, WEVT's offset u32 }
//! WEVT  size, message u32, count, 0, count × { table's offset u32, 0 }
//! OPCO  size, count, count × { number u32, message u32, name's offset }
//! TASK  size, count, count × { number u32, message u32, GUID, name's offset }
//! KEYW  size, count, count × { mask u64, message u32, name's offset }
//! EVNT  size, count, 0, count × { id u16, version u8, channel u8, level u8, opcode u8, task u16, keywords u64, message u32,
//!       TEMP's offset u32, six further u32 }
//! TEMP  size, count of items, count of names, offset of the items, kind u32, GUID, …,
//!       count × { flags u32, types u8 × 2, u16, u32, count u16, length u16, name's offset u32 }
//! name  size u32 with itself, UTF-16 that ends with 0
//! ```
//!
//! Source: the layout as the libfwevt project documents it, held against the `evtx` crate's reader in a test.

use std::cell::Cell;

use onoff_etl::Guid;

use crate::reader::Reader;

/// Entries of all tables together that are read, each as often as it is pointed at: the largest provider of Windows has some ten
/// thousand.
const MAX_ENTRIES: usize = 1 << 17;
/// UTF-16 units of a name.
const MAX_NAME_LEN: usize = 1024;

/// Why a compiled manifest was not read: what is wrong, and where, from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at offset {offset}")]
pub(super) struct Damage {
    what: &'static str,
    offset: usize,
}

/// A number with a name.
pub(super) struct Named {
    pub(super) number: u64,
    pub(super) name: String,
}

/// An event.
pub(super) struct Event {
    pub(super) id: u16,
    pub(super) version: u8,
    pub(super) level: u8,
    pub(super) opcode: u8,
    pub(super) task: u16,
    pub(super) keywords: u64,
    /// Its payload; none without one.
    pub(super) items: Vec<Item>,
}

/// A property of a payload, or a member of a struct in it.
pub(super) struct Item {
    pub(super) flags: u32,
    /// Type in the payload and type to show; of a struct the number of its first member.
    pub(super) types: [u8; 2],
    /// Members of a struct.
    pub(super) members: u16,
    pub(super) count: u16,
    pub(super) length: u16,
    pub(super) name: String,
}

/// A provider.
#[derive(Default)]
pub(super) struct Provider {
    pub(super) guid: Guid,
    pub(super) opcodes: Vec<Named>,
    pub(super) tasks: Vec<Named>,
    pub(super) keywords: Vec<Named>,
    pub(super) events: Vec<Event>,
}

/// The providers of a compiled manifest.
pub(super) fn providers(resource: &[u8]) -> Result<Vec<Provider>, Damage> {
    let room = Cell::new(MAX_ENTRIES);
    let (size, mut reader) = Resource { bytes: resource, room: &room }.table(0, b"CRIM")?;
    let whole = Resource { bytes: &resource[..size], room: &room };
    let cut = Damage { what: "a list of providers that is cut off", offset: 16 };
    reader.skip(4).ok_or(cut)?;
    let count = reader.u32().ok_or(cut)?;
    let entries = whole.list(16, count, 20)?;
    entries
        .map(|mut entry| {
            let (guid, place) = entry.guid().zip(entry.u32()).ok_or(cut)?;
            whole.provider(guid, usize_of(place))
        })
        .collect()
}

/// A resource, in which offsets count from the first byte.
#[derive(Clone, Copy)]
struct Resource<'b> {
    bytes: &'b [u8],
    /// How many more entries are read.
    room: &'b Cell<usize>,
}

impl<'b> Resource<'b> {
    /// The table at `place`: its size, and what follows the size.
    fn table(self, place: usize, signature: &[u8; 4]) -> Result<(usize, Reader<'b>), Damage> {
        let missing = Damage { what: "no table of the kind that is pointed at", offset: place };
        let bytes = self.bytes.get(place..).ok_or(missing)?;
        let mut reader = Reader::new(bytes, 4);
        if reader.take(4).ok_or(missing)? != signature {
            return Err(missing);
        }
        let size = usize_of(reader.u32().ok_or(missing)?);
        if size < 8 || size > bytes.len() {
            return Err(Damage { what: "a size beyond the resource's end", offset: place + 4 });
        }
        Ok((size, reader))
    }

    /// The `count` entries of `width` bytes from `place` on.
    fn list(
        self,
        place: usize,
        count: u32,
        width: usize,
    ) -> Result<impl Iterator<Item = Reader<'b>> + use<'b>, Damage> {
        let count = usize_of(count);
        let entries = count.checked_mul(width).and_then(|length| self.bytes.get(place..)?.get(..length));
        let entries = entries.ok_or(Damage { what: "more entries than there is room for", offset: place })?;
        let left = self.room.get().checked_sub(count);
        self.room.set(left.ok_or(Damage { what: "more entries than any provider has", offset: place })?);
        Ok(entries.chunks_exact(width).map(|entry| Reader::new(entry, 4)))
    }

    fn provider(self, guid: Guid, place: usize) -> Result<Provider, Damage> {
        let cut = Damage { what: "a list of tables that is cut off", offset: place };
        let (_, mut reader) = self.table(place, b"WEVT")?;
        reader.skip(4).ok_or(cut)?;
        let count = reader.u32().ok_or(cut)?;
        let mut provider = Provider { guid, ..Provider::default() };
        for mut entry in self.list(place + 20, count, 8)? {
            let table = usize_of(entry.u32().ok_or(cut)?);
            match self.bytes.get(table..).and_then(|bytes| bytes.get(..4)) {
                Some(b"OPCO") => provider.opcodes = self.names(table, b"OPCO", 12, false)?,
                Some(b"TASK") => provider.tasks = self.names(table, b"TASK", 28, false)?,
                Some(b"KEYW") => provider.keywords = self.names(table, b"KEYW", 16, true)?,
                Some(b"EVNT") => provider.events = self.events(table)?,
                // Channels, levels, maps; templates are pointed at by their events.
                Some(_) => {}
                None => return Err(Damage { what: "no table of the kind that is pointed at", offset: table }),
            }
        }
        Ok(provider)
    }

    /// A table of numbers with names; the name's offset is the last of an entry's `width` bytes.
    fn names(self, place: usize, kind: &[u8; 4], width: usize, is_wide: bool) -> Result<Vec<Named>, Damage> {
        let cut = Damage { what: "a table of names that is cut off", offset: place };
        let (_, mut reader) = self.table(place, kind)?;
        let count = reader.u32().ok_or(cut)?;
        let entries = self.list(place + 12, count, width)?;
        entries
            .map(|mut entry| {
                let number = if is_wide { entry.u64() } else { entry.u32().map(u64::from) };
                let number = number.ok_or(cut)?;
                entry.skip(entry.remaining() - 4).ok_or(cut)?;
                Ok(Named { number, name: self.text(entry.u32().ok_or(cut)?)? })
            })
            .collect()
    }

    fn events(self, place: usize) -> Result<Vec<Event>, Damage> {
        let cut = Damage { what: "a table of events that is cut off", offset: place };
        let (_, mut reader) = self.table(place, b"EVNT")?;
        let count = reader.u32().ok_or(cut)?;
        let entries = self.list(place + 16, count, 48)?;
        entries.map(|mut entry| self.event(&mut entry).ok_or(cut)?).collect()
    }

    fn event(self, entry: &mut Reader<'_>) -> Option<Result<Event, Damage>> {
        let (id, version) = (entry.u16()?, entry.u8()?);
        entry.skip(1)?;
        let (level, opcode, task, keywords) = (entry.u8()?, entry.u8()?, entry.u16()?, entry.u64()?);
        entry.skip(4)?;
        let items = match entry.u32()? {
            0 => Ok(Vec::new()),
            template => self.items(usize_of(template)),
        };
        Some(items.map(|items| Event { id, version, level, opcode, task, keywords, items }))
    }

    fn items(self, place: usize) -> Result<Vec<Item>, Damage> {
        let cut = Damage { what: "a template that is cut off", offset: place };
        let (_, mut reader) = self.table(place, b"TEMP")?;
        let count = reader.u32().ok_or(cut)?;
        reader.skip(4).ok_or(cut)?;
        let items = usize_of(reader.u32().ok_or(cut)?);
        if count == 0 {
            return Ok(Vec::new());
        }
        self.list(items, count, 20)?.map(|mut entry| self.item(&mut entry).ok_or(cut)?).collect()
    }

    fn item(self, entry: &mut Reader<'_>) -> Option<Result<Item, Damage>> {
        let (flags, types, members) = (entry.u32()?, *entry.array()?, entry.u16()?);
        entry.skip(4)?;
        let (count, length, name) = (entry.u16()?, entry.u16()?, entry.u32()?);
        Some(self.text(name).map(|name| Item { flags, types, members, count, length, name }))
    }

    /// The text at an offset; empty where there is none.
    fn text(self, place: u32) -> Result<String, Damage> {
        if place == 0 {
            return Ok(String::new());
        }
        let damage = Damage { what: "a text that is cut off", offset: usize_of(place) };
        let bytes = self.bytes.get(usize_of(place)..).ok_or(damage)?;
        let size = usize_of(Reader::new(bytes, 4).u32().ok_or(damage)?);
        let units = bytes.get(4..size).ok_or(damage)?.chunks_exact(2);
        let units = units.map(|unit| u16::from_le_bytes([unit[0], unit[1]])).take_while(|&unit| unit != 0);
        let units = units.take(MAX_NAME_LEN);
        Ok(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }
}

/// A number of the file as a place in memory; what does not fit is beyond any end.
fn usize_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
