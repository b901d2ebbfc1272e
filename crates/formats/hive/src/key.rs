//! Keys.

use crate::cell::{cell, decode_name, u16_at, u32_at, unix_ns};
use crate::value::Value;
use crate::{Hive, NO_OFFSET};

/// Flags of a key: root key; name in Latin-1.
const ROOT_FLAG: u16 = 4;
const NARROW_FLAG: u16 = 0x20;
/// Offset of the name in bytes.
const NAME_OFFSET: usize = 76;
/// Maximum nesting depth of subkey lists. Windows uses one level.
const MAX_LIST_DEPTH: usize = 4;

/// A key of a hive.
#[derive(Clone, Copy, Debug)]
pub struct Key<'h> {
    hive: &'h Hive,
    offset: u32,
    content: &'h [u8],
}

impl<'h> Key<'h> {
    pub(crate) fn read(hive: &'h Hive, offset: u32) -> Option<Self> {
        let content = cell(hive.bytes(), offset)?;
        let length = usize::from(u16_at(content, 72)?);
        (content.starts_with(b"nk") && content.len() >= NAME_OFFSET + length).then_some(Self { hive, offset, content })
    }

    /// Creates a key without a name, values or subkeys.
    pub(crate) fn placeholder(hive: &'h Hive) -> Self {
        Self { hive, offset: NO_OFFSET, content: &[] }
    }

    fn number(&self, offset: usize) -> u32 {
        u32_at(self.content, offset).unwrap_or(0)
    }

    /// Returns the offset from the end of the base block in bytes. Unique within the hive.
    #[must_use]
    pub fn offset(&self) -> u32 {
        self.offset
    }

    pub(crate) fn is_root(&self) -> bool {
        u16_at(self.content, 2).is_some_and(|flags| flags & ROOT_FLAG != 0)
    }

    #[must_use]
    pub fn name(&self) -> String {
        let length = usize::from(u16_at(self.content, 72).unwrap_or(0));
        let is_narrow = u16_at(self.content, 2).is_some_and(|flags| flags & NARROW_FLAG != 0);
        self.content
            .get(NAME_OFFSET..NAME_OFFSET + length)
            .map_or_else(String::new, |bytes| decode_name(bytes, is_narrow))
    }

    /// Returns the time of the last change, ns since 1970-01-01 UTC; `None` if not recorded.
    #[must_use]
    pub fn last_written_unix_ns(&self) -> Option<i64> {
        unix_ns(self.content, 4)
    }

    /// Returns the declared number of subkeys.
    #[must_use]
    pub fn subkey_count(&self) -> u32 {
        self.number(20)
    }

    /// Returns the declared number of values.
    #[must_use]
    pub fn value_count(&self) -> u32 {
        match u32_at(self.content, 40) {
            Some(NO_OFFSET) | None => 0,
            Some(_) => self.number(36),
        }
    }

    /// Returns the readable subkeys. If the subkey list is damaged, adds the keys whose parent is this key.
    #[must_use]
    pub fn subkeys(&self) -> Vec<Self> {
        self.subkeys_with_list_status().0
    }

    /// Returns the readable subkeys, and whether all of them are in the subkey list.
    pub(crate) fn subkeys_with_list_status(&self) -> (Vec<Self>, bool) {
        let count = self.subkey_count() as usize;
        if count == 0 {
            return (Vec::new(), true);
        }
        let mut keys: Vec<Self> = self.listed_offsets().into_iter().filter_map(|offset| self.child(offset)).collect();
        if keys.len() >= count {
            return (keys, true);
        }
        let mut seen: std::collections::HashSet<u32> = keys.iter().map(|key| key.offset).collect();
        for &offset in self.hive.children(self.offset) {
            if keys.len() >= count {
                break;
            }
            if seen.insert(offset) {
                keys.extend(self.child(offset));
            }
        }
        (keys, false)
    }

    /// Returns the offsets in the subkey list.
    pub(crate) fn listed_offsets(&self) -> Vec<u32> {
        let mut offsets = Vec::new();
        self.collect_offsets(self.number(28), MAX_LIST_DEPTH, self.subkey_count() as usize, &mut offsets);
        offsets
    }

    /// Returns the key at `offset` if its parent is this key. Otherwise the list is damaged.
    fn child(&self, offset: u32) -> Option<Self> {
        Self::read(self.hive, offset).filter(|key| u32_at(key.content, 16) == Some(self.offset))
    }

    fn collect_offsets(&self, offset: u32, remaining_depth: usize, max: usize, offsets: &mut Vec<u32>) {
        let Some(content) = cell(self.hive.bytes(), offset) else { return };
        let count = usize::from(u16_at(content, 2).unwrap_or(0));
        let entries = content.get(4..).unwrap_or_default();
        match content.get(..2) {
            Some(b"lf" | b"lh") => {
                let items = entries.as_chunks::<8>().0.iter().take(count);
                let remaining = max.saturating_sub(offsets.len());
                offsets.extend(items.filter_map(|entry| u32_at(entry, 0)).take(remaining));
            }
            Some(b"li") => {
                let items = entries.as_chunks::<4>().0.iter().take(count);
                let remaining = max.saturating_sub(offsets.len());
                offsets.extend(items.map(|entry| u32::from_le_bytes(*entry)).take(remaining));
            }
            Some(b"ri") if remaining_depth > 0 => {
                for entry in entries.as_chunks::<4>().0.iter().take(count) {
                    if offsets.len() >= max {
                        break;
                    }
                    self.collect_offsets(u32::from_le_bytes(*entry), remaining_depth - 1, max, offsets);
                }
            }
            _ => {}
        }
    }

    /// Returns the subkey with this name, ignoring case.
    #[must_use]
    pub fn subkey(&self, name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        self.subkeys().into_iter().find(|key| key.name().to_lowercase() == name)
    }

    /// Returns the readable values.
    #[must_use]
    pub fn values(&self) -> Vec<Value<'h>> {
        let count = self.value_count() as usize;
        let Some(list) = cell(self.hive.bytes(), self.number(40)).filter(|_| count > 0) else {
            return Vec::new();
        };
        let entries = list.as_chunks::<4>().0.iter().take(count);
        entries.filter_map(|entry| Value::read(self.hive.bytes(), u32::from_le_bytes(*entry))).collect()
    }

    /// Returns the value with this name, ignoring case. The default value has an empty name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value<'h>> {
        let name = name.to_lowercase();
        self.values().into_iter().find(|value| value.name.to_lowercase() == name)
    }
}
