//! Counts the keys and values of a hive.

use std::collections::HashSet;

use crate::key::Key;
use crate::{Hive, MAX_DEPTH};

/// Counts of keys and values in a hive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Readable keys.
    pub keys: u64,
    /// Readable values of the readable keys.
    pub values: u64,
    /// Declared but unreadable subkeys.
    pub unreadable_keys: u64,
    /// Declared but unreadable values.
    pub unreadable_values: u64,
    /// Keys that are missing in a damaged subkey list and were found by their parent offsets.
    pub recovered_keys: u64,
}

/// Counts keys and values. An impossibly large declared count adds only 1 to the unreadable entries.
pub(crate) fn survey(hive: &Hive) -> Survey {
    let mut survey = Survey::default();
    let mut visited = HashSet::new();
    let mut pending = vec![(hive.root(), 0)];
    // A cell has at least 8 bytes, and a list entry 4.
    let max = hive.bytes().len() as u64 / 4;
    while let Some((key, depth)) = pending.pop() {
        if !visited.insert(key.offset()) {
            survey.unreadable_keys += 1;
            continue;
        }
        survey.keys += 1;
        let values = key.values().len() as u64;
        survey.values += values;
        let declared = u64::from(key.value_count());
        survey.unreadable_values += if declared > max { 1 } else { declared.saturating_sub(values) };
        let (subkeys, is_listed) = key.subkeys_with_list_status();
        let declared = u64::from(key.subkey_count());
        survey.unreadable_keys += if declared > max { 1 } else { declared.saturating_sub(subkeys.len() as u64) };
        if depth >= MAX_DEPTH {
            survey.unreadable_keys += subkeys.len() as u64;
            continue;
        }
        if !is_listed {
            let listed_offsets: HashSet<u32> = key.listed_offsets().into_iter().collect();
            survey.recovered_keys +=
                subkeys.iter().filter(|subkey| !listed_offsets.contains(&subkey.offset())).count() as u64;
        }
        pending.extend(subkeys.into_iter().map(|subkey: Key<'_>| (subkey, depth + 1)));
    }
    survey
}
