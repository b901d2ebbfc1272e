//! Transaction logs: what was written to the registry, but not yet to the hive's own file.

use crate::BASE;
use crate::cell::{u32_at, u64_at};

/// Bytes of a log's own first block.
const LOG_BASE: usize = 512;
/// Bytes of an entry before its references, and of a reference.
const ENTRY: usize = 40;
const REFERENCE: usize = 8;
/// The seed of the entries' check sums.
const SEED: u64 = 0x82EF_4D88_7A4E_55C5;
/// Bytes that one bit of an old log's map stands for.
const SECTOR: usize = 512;

/// What was done with the logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogUse {
    /// Logs that were given.
    pub given: u64,
    /// Entries that were applied; an old log counts as one.
    pub applied: u64,
    /// Entries that are damaged, older than the hive, or behind a gap.
    pub passed_over: u64,
}

/// Applies to a hive what belongs to it. Says whether the hive's own file was incomplete, and what was done.
pub(crate) fn apply(hive: &mut Vec<u8>, logs: &[&[u8]]) -> (bool, LogUse) {
    let mut log_use = LogUse { given: logs.len() as u64, ..LogUse::default() };
    let number = |bytes: &[u8], at: usize| u32_at(bytes, at).unwrap_or(0);
    let (first, second) = (number(hive, 4), number(hive, 8));
    let is_base_damaged = checksum(hive) != number(hive, 508);
    if first == second && !is_base_damaged {
        return (false, log_use);
    }
    // Nothing grows beyond what is there.
    let most = logs.iter().fold(hive.len(), |sum, log| sum.saturating_add(log.len()));
    let mut entries: Vec<(u32, &[u8])> = Vec::new();
    for log in logs {
        match log.get(LOG_BASE..LOG_BASE + 4) {
            Some(b"HvLE") => log_use.passed_over += entries_of(log, &mut entries),
            Some(b"DIRT") => match apply_map(hive, log) {
                true => log_use.applied += 1,
                false => log_use.passed_over += 1,
            },
            _ => log_use.passed_over += u64::from(!log.is_empty()),
        }
    }
    entries.sort_by_key(|&(sequence, _)| sequence);
    let mut expected = None;
    for (sequence, entry) in entries {
        let fits = if is_base_damaged && expected.is_none() { true } else { sequence >= second };
        if !fits || expected.is_some_and(|expected| sequence != expected) || !apply_entry(hive, entry, most) {
            log_use.passed_over += 1;
            continue;
        }
        log_use.applied += 1;
        expected = sequence.checked_add(1);
    }
    (true, log_use)
}

/// The base block's check sum: its first 508 bytes as numbers, each bit even or odd; zero and all ones are not used.
fn checksum(hive: &[u8]) -> u32 {
    let sum = hive
        .get(..508)
        .unwrap_or_default()
        .as_chunks::<4>()
        .0
        .iter()
        .fold(0, |sum, four| sum ^ u32::from_le_bytes(*four));
    match sum {
        u32::MAX => u32::MAX - 1,
        0 => 1,
        sum => sum,
    }
}

/// The entries of a log whose check sums are right; gives the number of others, after the first of which nothing is looked for.
fn entries_of<'l>(log: &'l [u8], entries: &mut Vec<(u32, &'l [u8])>) -> u64 {
    let mut at = LOG_BASE;
    while let Some(rest) = log.get(at..).filter(|rest| rest.starts_with(b"HvLE")) {
        let size = u32_at(rest, 4).unwrap_or(0) as usize;
        let Some(entry) = rest.get(..size).filter(|entry| entry.len() >= ENTRY && is_sound(entry)) else {
            return 1;
        };
        entries.push((u32_at(entry, 12).unwrap_or(0), entry));
        at += size;
    }
    0
}

fn is_sound(entry: &[u8]) -> bool {
    let sums = u64_at(entry, 24).zip(u64_at(entry, 32));
    sums == entry.get(ENTRY..).zip(entry.get(..32)).map(|(data, head)| (marvin32(data), marvin32(head)))
}

/// Marvin32 of `bytes`, as .NET and Windows have it.
fn marvin32(bytes: &[u8]) -> u64 {
    let (mut low, mut high) = (SEED as u32, (SEED >> 32) as u32);
    let mut mix = |value: u32| {
        low = low.wrapping_add(value);
        high ^= low;
        low = low.rotate_left(20).wrapping_add(high);
        high = high.rotate_left(9) ^ low;
        low = low.rotate_left(27).wrapping_add(high);
        high = high.rotate_left(19);
    };
    let (fours, rest) = bytes.as_chunks::<4>();
    for four in fours {
        mix(u32::from_le_bytes(*four));
    }
    let mut last = 0x80;
    for &byte in rest.iter().rev() {
        last = last << 8 | u32::from(byte);
    }
    mix(last);
    mix(0);
    u64::from(high) << 32 | u64::from(low)
}

/// Writes the pages of an entry; nothing when it contradicts itself.
fn apply_entry(hive: &mut Vec<u8>, entry: &[u8], most: usize) -> bool {
    let number = |at: usize| u32_at(entry, at).map(|number| number as usize);
    let (Some(size), Some(count)) = (number(16), number(20)) else { return false };
    let Some(size) = size.checked_add(BASE).filter(|&size| size <= most) else { return false };
    let Some(mut from) = count.checked_mul(REFERENCE).and_then(|bytes| bytes.checked_add(ENTRY)) else { return false };
    let references = entry.get(ENTRY..from).unwrap_or_default().as_chunks::<REFERENCE>().0;
    if references.len() < count {
        return false;
    }
    let mut pages = Vec::with_capacity(references.len());
    for reference in references {
        let (Some(offset), Some(length)) = (u32_at(reference, 0), u32_at(reference, 4)) else { return false };
        let to = BASE + offset as usize;
        let page = entry.get(from..from + length as usize);
        let Some(page) = page.filter(|page| to + page.len() <= size) else { return false };
        pages.push((to, page));
        from += length as usize;
    }
    if hive.len() < size {
        hive.resize(size, 0);
    }
    for (to, page) in pages {
        if let Some(place) = hive.get_mut(to..to + page.len()) {
            place.copy_from_slice(page);
        }
    }
    true
}

/// Applies a log of Windows before 8.1: a map of the sectors that it holds, and these.
fn apply_map(hive: &mut [u8], log: &[u8]) -> bool {
    let whole =
        u32_at(log, 4) == u32_at(log, 8) && u32_at(log, 4).is_some() && checksum(log) == u32_at(log, 508).unwrap_or(0);
    // It belongs to the write that the hive's file was left in.
    if !whole || u32_at(log, 4) != u32_at(hive, 4) {
        return false;
    }
    let cells = hive.len() - BASE;
    let map_bytes = cells.div_ceil(SECTOR * 8);
    let Some(map) = log.get(LOG_BASE + 4..LOG_BASE + 4 + map_bytes) else { return false };
    let mut from = (LOG_BASE + 4 + map_bytes).next_multiple_of(SECTOR);
    let is_set = |sector: usize| map.get(sector / 8).is_some_and(|byte| byte >> (sector % 8) & 1 != 0);
    let sectors: Vec<usize> = (0..cells.div_ceil(SECTOR)).filter(|&sector| is_set(sector)).collect();
    if log.len() < from + sectors.len() * SECTOR {
        return false;
    }
    for sector in sectors {
        let to = BASE + sector * SECTOR;
        let end = (to + SECTOR).min(hive.len());
        if let (Some(place), Some(page)) = (hive.get_mut(to..end), log.get(from..from + (end - to))) {
            place.copy_from_slice(page);
        }
        from += SECTOR;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_that_of_a_real_log() {
        // The first 32 bytes of an entry that Windows 10 wrote, and the sum that it put behind them.
        let head: [u8; 32] = [
            0x48, 0x76, 0x4c, 0x45, 0x00, 0x3e, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x3b, 0x08, 0x00, 0x00, 0x00, 0x30,
            0xbd, 0x00, 0x03, 0x00, 0x00, 0x00, 0xc4, 0x81, 0x2c, 0xbe, 0xa1, 0xb6, 0x70, 0x4b,
        ];
        assert_eq!(marvin32(&head), 0xdd88_c5d7_df48_f30a);
        assert_ne!(marvin32(b"abcd"), marvin32(b"abc"));
    }
}
