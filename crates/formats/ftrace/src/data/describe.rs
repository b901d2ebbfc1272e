//! What the file says of its events: formats, symbols, texts, names of tasks.

use hashbrown::HashMap;

use super::pages::PageLayout;
use super::process_map::ProcessMap;
use crate::record::{Format, KernelNames, RecordBody, unsigned};

/// Everything that describes records.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) page: PageLayout,
    formats: HashMap<u16, Format>,
    /// Where the event's number stands in every record.
    type_field: (usize, usize),
    /// Names of tasks by thread id.
    pub(super) tasks: HashMap<u32, String>,
    /// What the kernel calls its addresses.
    pub(super) names: KernelNames,
    /// Bytes of an address.
    long_size: usize,
    /// Which files processes had mapped.
    pub(super) maps: Vec<ProcessMap>,
    /// Lines of [`Self::maps`] that cannot be read.
    pub(super) unreadable_maps: u64,
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
            tasks: HashMap::new(),
            names: KernelNames::default(),
            long_size,
            maps: Vec::new(),
            unreadable_maps: 0,
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
        if let Some(mut format) = Format::parse(&text) {
            format.long_size = self.long_size;
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

    /// What a process had mapped.
    pub(super) fn process_map(&mut self, text: &[u8]) {
        let (map, unreadable) = ProcessMap::parse(&String::from_utf8_lossy(text));
        self.maps.extend(map);
        self.unreadable_maps += unreadable;
    }

    /// A record's format and its body; `None` when its event is not described.
    pub(super) fn body<'d>(&'d self, payload: &'d [u8]) -> Option<(&'d Format, RecordBody<'d>)> {
        let (offset, size) = self.type_field;
        let id = payload.get(offset..offset + size)?;
        let id = u16::try_from(unsigned(id, self.page.big_endian)).ok()?;
        let format = self.formats.get(&id)?;
        Some((format, RecordBody::new(format, payload, &self.names, self.page.big_endian)))
    }
}
