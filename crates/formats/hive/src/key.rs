//! A key.

use crate::cell::{cell, name, u16_at, u32_at, unix_ns};
use crate::value::Value;
use crate::{Hive, NOTHING};

/// Flags of a key: the root; a name of one byte a character.
const ROOT: u16 = 4;
const NARROW: u16 = 0x20;
/// Bytes before the name.
const NAME: usize = 76;
/// Lists of lists of subkeys below each other; Windows writes one such list.
const MAX_LISTS: usize = 4;

/// A key of a hive.
#[derive(Clone, Copy, Debug)]
pub struct Key<'h> {
    hive: &'h Hive,
    offset: u32,
    content: &'h [u8],
}

impl<'h> Key<'h> {
    pub(crate) fn at(hive: &'h Hive, offset: u32) -> Option<Self> {
        let content = cell(hive.bytes(), offset)?;
        let length = usize::from(u16_at(content, 72)?);
        (content.starts_with(b"nk") && content.len() >= NAME + length).then_some(Self { hive, offset, content })
    }

    /// A key without a name, values and subkeys.
    pub(crate) fn nothing(hive: &'h Hive) -> Self {
        Self { hive, offset: NOTHING, content: &[] }
    }

    fn number(&self, at: usize) -> u32 {
        u32_at(self.content, at).unwrap_or(0)
    }

    /// Where it is, from the end of the base block: what tells keys of a hive apart.
    #[must_use]
    pub fn offset(&self) -> u32 {
        self.offset
    }

    pub(crate) fn is_root(&self) -> bool {
        u16_at(self.content, 2).is_some_and(|flags| flags & ROOT != 0)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        let length = usize::from(u16_at(self.content, 72).unwrap_or(0));
        let is_narrow = u16_at(self.content, 2).is_some_and(|flags| flags & NARROW != 0);
        self.content.get(NAME..NAME + length).map_or_else(String::new, |bytes| name(bytes, is_narrow))
    }

    /// When it was last changed, ns since 1970-01-01 UTC; `None` where it does not say.
    #[must_use]
    pub fn last_written_unix_ns(&self) -> Option<i64> {
        unix_ns(self.content, 4)
    }

    /// Number of subkeys that it says it has.
    #[must_use]
    pub fn subkey_count(&self) -> u32 {
        self.number(20)
    }

    /// Number of values that it says it has.
    #[must_use]
    pub fn value_count(&self) -> u32 {
        match u32_at(self.content, 40) {
            Some(NOTHING) | None => 0,
            Some(_) => self.number(36),
        }
    }

    /// The subkeys that can be read. Where the list of them is broken, those that name this key as their parent take its place.
    #[must_use]
    pub fn subkeys(&self) -> Vec<Self> {
        self.subkeys_and_whether_listed().0
    }

    /// The same, and whether all come from the list.
    pub(crate) fn subkeys_and_whether_listed(&self) -> (Vec<Self>, bool) {
        let count = self.subkey_count() as usize;
        if count == 0 {
            return (Vec::new(), true);
        }
        let mut keys: Vec<Self> = self.listed().into_iter().filter_map(|offset| self.child(offset)).collect();
        if keys.len() >= count {
            return (keys, true);
        }
        let mut known: std::collections::HashSet<u32> = keys.iter().map(|key| key.offset).collect();
        for &offset in self.hive.children(self.offset) {
            if keys.len() >= count {
                break;
            }
            if known.insert(offset) {
                keys.extend(self.child(offset));
            }
        }
        (keys, false)
    }

    /// The offsets in the list of subkeys.
    pub(crate) fn listed(&self) -> Vec<u32> {
        let mut offsets = Vec::new();
        self.list(self.number(28), MAX_LISTS, self.subkey_count() as usize, &mut offsets);
        offsets
    }

    /// The key at `offset`, if it names this one as its parent: a list that leads elsewhere is broken.
    fn child(&self, offset: u32) -> Option<Self> {
        Self::at(self.hive, offset).filter(|key| u32_at(key.content, 16) == Some(self.offset))
    }

    fn list(&self, offset: u32, deeper: usize, most: usize, offsets: &mut Vec<u32>) {
        let Some(content) = cell(self.hive.bytes(), offset) else { return };
        let count = usize::from(u16_at(content, 2).unwrap_or(0));
        let entries = content.get(4..).unwrap_or_default();
        match content.get(..2) {
            Some(b"lf" | b"lh") => {
                let held = entries.as_chunks::<8>().0.iter().take(count);
                let room = most.saturating_sub(offsets.len());
                offsets.extend(held.filter_map(|entry| u32_at(entry, 0)).take(room));
            }
            Some(b"li") => {
                let held = entries.as_chunks::<4>().0.iter().take(count);
                let room = most.saturating_sub(offsets.len());
                offsets.extend(held.map(|entry| u32::from_le_bytes(*entry)).take(room));
            }
            Some(b"ri") if deeper > 0 => {
                for entry in entries.as_chunks::<4>().0.iter().take(count) {
                    if offsets.len() >= most {
                        break;
                    }
                    self.list(u32::from_le_bytes(*entry), deeper - 1, most, offsets);
                }
            }
            _ => {}
        }
    }

    /// The subkey of that name, in any case.
    #[must_use]
    pub fn subkey(&self, name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        self.subkeys().into_iter().find(|key| key.name().to_lowercase() == name)
    }

    /// The values that can be read.
    #[must_use]
    pub fn values(&self) -> Vec<Value<'h>> {
        let count = self.value_count() as usize;
        let Some(list) = cell(self.hive.bytes(), self.number(40)).filter(|_| count > 0) else {
            return Vec::new();
        };
        let entries = list.as_chunks::<4>().0.iter().take(count);
        entries.filter_map(|entry| Value::at(self.hive.bytes(), u32::from_le_bytes(*entry))).collect()
    }

    /// The value of that name, in any case; the default value has an empty name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value<'h>> {
        let name = name.to_lowercase();
        self.values().into_iter().find(|value| value.name.to_lowercase() == name)
    }
}
