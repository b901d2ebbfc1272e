//! Applies transaction logs, which contain registry changes that were not yet written to the hive file.

use crate::BASE_SIZE;
use crate::cell::{u32_at, u64_at};

/// Size of the first block of a log, in bytes.
const LOG_BASE_SIZE: usize = 512;
/// Size of an entry before its page references, and of a reference, in bytes.
const ENTRY_HEAD_SIZE: usize = 40;
const REFERENCE_SIZE: usize = 8;
/// Seed of the entry checksums.
const SEED: u64 = 0x82EF_4D88_7A4E_55C5;
/// Bytes per bit of the bitmap in old logs.
const SECTOR_SIZE: usize = 512;

/// Statistics of the applied transaction logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Number of logs passed by the caller.
    pub given: u64,
    /// Applied entries; an old log counts as one.
    pub applied: u64,
    /// Skipped entries: damaged, older than the hive, or after a gap.
    pub skipped: u64,
}

/// Applies the matching logs to a hive. Returns whether the hive file was incomplete, and the statistics.
pub(crate) fn apply(hive: &mut Vec<u8>, logs: &[&[u8]]) -> (bool, LogStats) {
    let mut stats = LogStats { given: logs.len() as u64, ..LogStats::default() };
    let number = |bytes: &[u8], offset: usize| u32_at(bytes, offset).unwrap_or(0);
    let (first_sequence, second_sequence) = (number(hive, 4), number(hive, 8));
    let is_base_damaged = checksum(hive) != number(hive, 508);
    if first_sequence == second_sequence && !is_base_damaged {
        return (false, stats);
    }
    // The hive cannot grow beyond the size of all inputs.
    let max = logs.iter().fold(hive.len(), |sum, log| sum.saturating_add(log.len()));
    let mut entries: Vec<(u32, &[u8])> = Vec::new();
    for log in logs {
        match log.get(LOG_BASE_SIZE..LOG_BASE_SIZE + 4) {
            Some(b"HvLE") => stats.skipped += collect_entries(log, &mut entries),
            Some(b"DIRT") => match apply_map(hive, log) {
                true => stats.applied += 1,
                false => stats.skipped += 1,
            },
            _ => stats.skipped += u64::from(!log.is_empty()),
        }
    }
    entries.sort_by_key(|&(sequence, _)| sequence);
    let mut expected = None;
    for (sequence, entry) in entries {
        let is_current = is_base_damaged && expected.is_none() || sequence >= second_sequence;
        if !is_current || expected.is_some_and(|expected| sequence != expected) || !apply_entry(hive, entry, max) {
            stats.skipped += 1;
            continue;
        }
        stats.applied += 1;
        expected = sequence.checked_add(1);
    }
    (true, stats)
}

/// Computes the checksum of the base block: XOR of the first 508 bytes as 32-bit numbers. The values 0 and 0xFFFFFFFF
/// are not used.
fn checksum(hive: &[u8]) -> u32 {
    let sum = hive
        .get(..508)
        .unwrap_or_default()
        .as_chunks::<4>()
        .0
        .iter()
        .fold(0, |sum, word| sum ^ u32::from_le_bytes(*word));
    match sum {
        u32::MAX => u32::MAX - 1,
        0 => 1,
        sum => sum,
    }
}

/// Collects the valid entries of a log. Stops at the first invalid entry and returns the number of invalid entries (0
/// or 1).
fn collect_entries<'l>(log: &'l [u8], entries: &mut Vec<(u32, &'l [u8])>) -> u64 {
    let mut offset = LOG_BASE_SIZE;
    while let Some(remaining) = log.get(offset..).filter(|remaining| remaining.starts_with(b"HvLE")) {
        let size = u32_at(remaining, 4).unwrap_or(0) as usize;
        let Some(entry) = remaining.get(..size).filter(|entry| entry.len() >= ENTRY_HEAD_SIZE && is_valid(entry))
        else {
            return 1;
        };
        entries.push((u32_at(entry, 12).unwrap_or(0), entry));
        offset += size;
    }
    0
}

fn is_valid(entry: &[u8]) -> bool {
    let sums = u64_at(entry, 24).zip(u64_at(entry, 32));
    sums == entry.get(ENTRY_HEAD_SIZE..).zip(entry.get(..32)).map(|(data, head)| (marvin32(data), marvin32(head)))
}

/// Computes the Marvin32 hash of `bytes`, as in .NET and Windows.
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
    let (words, remaining) = bytes.as_chunks::<4>();
    for word in words {
        mix(u32::from_le_bytes(*word));
    }
    let mut tail = 0x80;
    for &byte in remaining.iter().rev() {
        tail = tail << 8 | u32::from(byte);
    }
    mix(tail);
    mix(0);
    u64::from(high) << 32 | u64::from(low)
}

/// Writes the pages of an entry. Writes nothing and returns `false` if the entry is inconsistent.
fn apply_entry(hive: &mut Vec<u8>, entry: &[u8], max: usize) -> bool {
    let number = |offset: usize| u32_at(entry, offset).map(|number| number as usize);
    let (Some(size), Some(count)) = (number(16), number(20)) else { return false };
    let Some(size) = size.checked_add(BASE_SIZE).filter(|&size| size <= max) else { return false };
    let Some(mut source) = count.checked_mul(REFERENCE_SIZE).and_then(|bytes| bytes.checked_add(ENTRY_HEAD_SIZE))
    else {
        return false;
    };
    let references = entry.get(ENTRY_HEAD_SIZE..source).unwrap_or_default().as_chunks::<REFERENCE_SIZE>().0;
    if references.len() < count {
        return false;
    }
    let mut pages = Vec::with_capacity(references.len());
    for reference in references {
        let (Some(offset), Some(length)) = (u32_at(reference, 0), u32_at(reference, 4)) else { return false };
        let start = BASE_SIZE + offset as usize;
        let page = entry.get(source..source + length as usize);
        let Some(page) = page.filter(|page| start + page.len() <= size) else { return false };
        pages.push((start, page));
        source += length as usize;
    }
    if hive.len() < size {
        hive.resize(size, 0);
    }
    for (start, page) in pages {
        if let Some(target) = hive.get_mut(start..start + page.len()) {
            target.copy_from_slice(page);
        }
    }
    true
}

/// Applies a log from before Windows 8.1: a bitmap of the sectors in the log, followed by the sectors.
fn apply_map(hive: &mut [u8], log: &[u8]) -> bool {
    let is_complete =
        u32_at(log, 4) == u32_at(log, 8) && u32_at(log, 4).is_some() && checksum(log) == u32_at(log, 508).unwrap_or(0);
    // The log must belong to the interrupted write of the hive.
    if !is_complete || u32_at(log, 4) != u32_at(hive, 4) {
        return false;
    }
    let cells = hive.len() - BASE_SIZE;
    let map_bytes = cells.div_ceil(SECTOR_SIZE * 8);
    let Some(map) = log.get(LOG_BASE_SIZE + 4..LOG_BASE_SIZE + 4 + map_bytes) else { return false };
    let mut source = (LOG_BASE_SIZE + 4 + map_bytes).next_multiple_of(SECTOR_SIZE);
    let is_set = |sector: usize| map.get(sector / 8).is_some_and(|byte| byte >> (sector % 8) & 1 != 0);
    let sectors: Vec<usize> = (0..cells.div_ceil(SECTOR_SIZE)).filter(|&sector| is_set(sector)).collect();
    if log.len() < source + sectors.len() * SECTOR_SIZE {
        return false;
    }
    for sector in sectors {
        let start = BASE_SIZE + sector * SECTOR_SIZE;
        let end = (start + SECTOR_SIZE).min(hive.len());
        if let (Some(target), Some(page)) = (hive.get_mut(start..end), log.get(source..source + (end - start))) {
            target.copy_from_slice(page);
        }
        source += SECTOR_SIZE;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_matches_real_log() {
        // The first 32 bytes of an entry written by Windows 10, and the checksum stored after them.
        let head: [u8; 32] = [
            0x48, 0x76, 0x4c, 0x45, 0x00, 0x3e, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x3b, 0x08, 0x00, 0x00, 0x00, 0x30,
            0xbd, 0x00, 0x03, 0x00, 0x00, 0x00, 0xc4, 0x81, 0x2c, 0xbe, 0xa1, 0xb6, 0x70, 0x4b,
        ];
        assert_eq!(marvin32(&head), 0xdd88_c5d7_df48_f30a);
        assert_ne!(marvin32(b"abcd"), marvin32(b"abc"));
    }
}
