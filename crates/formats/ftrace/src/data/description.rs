//! Descriptions in the file header: event formats, symbols, strings, task names.

use hashbrown::HashMap;

use super::pages::PageLayout;
use super::process_map::ProcessMap;
use crate::record::{Format, KernelSymbols, RecordBody, read_unsigned};

#[derive(Debug)]
pub(super) struct Description {
    pub(super) page: PageLayout,
    formats: HashMap<u16, Format>,
    /// Offset and size of the event id in every record.
    id_field: (usize, usize),
    /// Task names by thread id.
    pub(super) tasks: HashMap<u32, String>,
    /// Kernel symbols and strings.
    pub(super) symbols: KernelSymbols,
    /// Size of an address, bytes.
    long_size: usize,
    /// Files that processes had mapped.
    pub(super) maps: Vec<ProcessMap>,
    /// Unreadable lines of [`Self::maps`].
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
            id_field: (0, 2),
            tasks: HashMap::new(),
            symbols: KernelSymbols::default(),
            long_size,
            maps: Vec::new(),
            unreadable_maps: 0,
        }
    }

    /// Reads the page layout. The default is the layout of all kernels so far.
    pub(super) fn set_page_layout(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        if let Some((offset, size)) = Format::field_location(&text, "commit")
            && (1..=8).contains(&size)
            && offset < self.page.page_size
        {
            (self.page.commit_offset, self.page.commit_size) = (offset, size);
        }
        if let Some((offset, _)) = Format::field_location(&text, "data")
            && offset < self.page.page_size
        {
            self.page.data_offset = offset;
        }
    }

    pub(super) fn add_format(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        if let Some(mut format) = Format::parse(&text) {
            format.long_size = self.long_size;
            if let Some(location) = Format::field_location(&text, "common_type")
                && (1..=8).contains(&location.1)
            {
                self.id_field = location;
            }
            self.formats.insert(format.id, format);
        }
    }

    /// Reads task names: one `pid name` per line.
    pub(super) fn add_tasks(&mut self, text: &[u8]) {
        for line in String::from_utf8_lossy(text).lines() {
            if let Some((pid, name)) = line.split_once(' ')
                && let Ok(pid) = pid.parse()
            {
                self.tasks.insert(pid, name.to_owned());
            }
        }
    }

    /// Reads the mapped files of a process.
    pub(super) fn add_process_map(&mut self, text: &[u8]) {
        let (map, unreadable) = ProcessMap::parse(&String::from_utf8_lossy(text));
        self.maps.extend(map);
        self.unreadable_maps += unreadable;
    }

    /// Returns the format and body of a record; `None` if its event is not described.
    pub(super) fn body<'d>(&'d self, payload: &'d [u8]) -> Option<(&'d Format, RecordBody<'d>)> {
        let (offset, size) = self.id_field;
        let id = payload.get(offset..offset + size)?;
        let id = u16::try_from(read_unsigned(id, self.page.big_endian)).ok()?;
        let format = self.formats.get(&id)?;
        Some((format, RecordBody::new(format, payload, &self.symbols, self.page.big_endian)))
    }
}
