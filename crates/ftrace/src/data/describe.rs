//! What the file says of its events: formats, symbols, texts, names of tasks.

use hashbrown::HashMap;

use super::format::{Format, RecordBody};
use super::pages::PageLayout;
use super::{Names, bytes};

/// Everything that describes records.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) page: PageLayout,
    formats: HashMap<u16, Format>,
    /// Where the event's number stands in every record.
    type_field: (usize, usize),
    /// Names of tasks by thread id.
    pub(super) tasks: Names<u32>,
    /// The kernel's own texts by address.
    pub(super) strings: Names<u64>,
    symbols: Symbols,
}

/// The kernel's functions: hundreds of thousands, of which a trace names a few.
#[derive(Debug, Default)]
struct Symbols {
    /// Names as the file has them, one after the other.
    text: String,
    /// Address, and where in `text` its name begins and ends; sorted by address.
    places: Vec<(u64, u32, u32)>,
}

impl Symbols {
    /// The name at a place.
    fn name(&self, at: usize) -> Option<&str> {
        let &(_, from, to) = self.places.get(at)?;
        self.text.get(from as usize..to as usize)
    }
}

impl Description {
    pub(super) fn new(page_size: usize, long_size: usize, big_endian: bool) -> Self {
        Self {
            page: PageLayout {
                page_size,
                commit_offset: 8,
                commit_size: long_size,
                data_offset: 8 + long_size,
                big_endian,
            },
            formats: HashMap::new(),
            type_field: (0, 2),
            tasks: Names::new(),
            strings: Names::new(),
            symbols: Symbols::default(),
        }
    }

    /// The description of a page; without it the layout is that of every kernel so far.
    pub(super) fn page_header(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        if let Some((offset, size)) = Format::place(&text, "commit")
            && (1..=8).contains(&size)
            && offset < self.page.page_size
        {
            (self.page.commit_offset, self.page.commit_size) = (offset, size);
        }
        if let Some((offset, _)) = Format::place(&text, "data")
            && offset < self.page.page_size
        {
            self.page.data_offset = offset;
        }
    }

    pub(super) fn format(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        if let Some(format) = Format::parse(&text) {
            if let Some(place) = Format::place(&text, "common_type")
                && (1..=8).contains(&place.1)
            {
                self.type_field = place;
            }
            self.formats.insert(format.id, format);
        }
    }

    /// `pid name` a line.
    pub(super) fn tasks(&mut self, text: &[u8]) {
        for line in String::from_utf8_lossy(text).lines() {
            if let Some((pid, name)) = line.split_once(' ')
                && let Ok(pid) = pid.parse()
            {
                self.tasks.insert(pid, name.to_owned());
            }
        }
    }

    /// `0xaddress : "text"` a line.
    pub(super) fn strings(&mut self, text: &[u8]) {
        for line in String::from_utf8_lossy(text).lines() {
            if let Some((address, text)) = line.split_once(" : ")
                && let Ok(address) = u64::from_str_radix(address.trim().trim_start_matches("0x"), 16)
            {
                self.strings.insert(address, text.trim().trim_matches('"').to_owned());
            }
        }
    }

    /// `address type name [module]` a line.
    pub(super) fn symbols(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let symbols = &mut self.symbols;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            if let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next())
                && let Ok(address) = u64::from_str_radix(address, 16)
                && let Ok(from) = u32::try_from(symbols.text.len())
                && let Ok(to) = u32::try_from(symbols.text.len() + name.len())
            {
                symbols.text.push_str(name);
                symbols.places.push((address, from, to));
            }
        }
        // The first of several names of one address is the one that the kernel itself prints.
        symbols.places.sort_by_key(|&(address, ..)| address);
    }

    /// The function that begins at `address`.
    pub(super) fn function(&self, address: u64) -> Option<&str> {
        let places = &self.symbols.places;
        let at = places.partition_point(|&(begin, ..)| begin < address);
        let &(begin, ..) = places.get(at)?;
        (begin == address).then(|| self.symbols.name(at))?
    }

    /// The function that holds `address`: the last to begin before it.
    pub(super) fn function_around(&self, address: u64) -> Option<&str> {
        let places = &self.symbols.places;
        let behind = places.partition_point(|&(begin, ..)| begin <= address);
        let &(begin, ..) = places.get(behind.checked_sub(1)?)?;
        self.function(begin)
    }

    /// A record's format and its body; `None` when its event is not described.
    pub(super) fn body<'d>(&'d self, payload: &'d [u8]) -> Option<(&'d Format, RecordBody<'d>)> {
        let (offset, size) = self.type_field;
        let id = payload.get(offset..offset + size)?;
        let id = u16::try_from(bytes::number(id, self.page.big_endian)).ok()?;
        let format = self.formats.get(&id)?;
        Some((format, RecordBody::new(format, payload, self)))
    }
}
