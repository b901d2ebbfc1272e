//! Every key and value, counted once.

use std::collections::HashSet;

use crate::key::Key;
use crate::{Hive, MAX_DEPTH};

/// What a hive holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Keys that can be read.
    pub keys: u64,
    /// Values of these that can be read.
    pub values: u64,
    /// Subkeys that keys say they have and that cannot be read.
    pub unreadable_keys: u64,
    /// Values that keys say they have and that cannot be read.
    pub unreadable_values: u64,
    /// Keys that only the broken list of another key left out, and that were found by the parent they name.
    pub recovered_keys: u64,
}

/// Counts. A number of subkeys that the hive cannot hold counts as one that cannot be read.
pub(crate) fn survey(hive: &Hive) -> Survey {
    let mut survey = Survey::default();
    let mut seen = HashSet::new();
    let mut next = vec![(hive.root(), 0)];
    // A cell has eight bytes or more, and a list's entry four.
    let most = hive.bytes().len() as u64 / 4;
    while let Some((key, depth)) = next.pop() {
        if !seen.insert(key.offset()) {
            survey.unreadable_keys += 1;
            continue;
        }
        survey.keys += 1;
        let values = key.values().len() as u64;
        survey.values += values;
        let said = u64::from(key.value_count());
        survey.unreadable_values += if said > most { 1 } else { said.saturating_sub(values) };
        let (subkeys, is_listed) = key.subkeys_and_whether_listed();
        let said = u64::from(key.subkey_count());
        survey.unreadable_keys += if said > most { 1 } else { said.saturating_sub(subkeys.len() as u64) };
        if depth >= MAX_DEPTH {
            survey.unreadable_keys += subkeys.len() as u64;
            continue;
        }
        if !is_listed {
            let listed: HashSet<u32> = key.listed().into_iter().collect();
            survey.recovered_keys += subkeys.iter().filter(|subkey| !listed.contains(&subkey.offset())).count() as u64;
        }
        next.extend(subkeys.into_iter().map(|subkey: Key<'_>| (subkey, depth + 1)));
    }
    survey
}
