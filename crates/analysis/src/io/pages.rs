//! Which pages requests touch: a small number for each (file, page), so that everything else can count by index.

use hashbrown::HashMap;
use onoff_trace::StringId;

/// Numbers of pages, in the order in which they were first touched.
#[derive(Clone, Debug, Default)]
pub(super) struct PageNumbers {
    numbers: HashMap<(StringId, u64), u32>,
    last: Option<((StringId, u64), u32)>,
}

impl PageNumbers {
    /// The number of a page, and whether it is new. `None` beyond four billion pages.
    pub(super) fn of(&mut self, file: StringId, page: u64) -> Option<(u32, bool)> {
        // Small requests touch one page many times in a row.
        if let Some((key, number)) = self.last
            && key == (file, page)
        {
            return Some((number, false));
        }
        let next = u32::try_from(self.numbers.len()).ok()?;
        let number = *self.numbers.entry((file, page)).or_insert(next);
        self.last = Some(((file, page), number));
        Some((number, number == next))
    }

    pub(super) fn len(&self) -> u64 {
        self.numbers.len() as u64
    }
}

/// Pages from the first to the last that a request touches, both included; `None` for a request of no bytes.
pub(super) fn span(offset: u64, length: u64, page_bytes: u64) -> Option<(u64, u64)> {
    let last_byte = offset.saturating_add(length.checked_sub(1)?);
    Some((offset / page_bytes, last_byte / page_bytes))
}
