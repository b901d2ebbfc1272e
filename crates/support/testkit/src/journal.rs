//! Writes systemd journal files: regular or compact, with any compression.
//!
//! Source: "Journal File Format" in systemd's documentation. The hash tables are present but empty: a reader that reads
//! all entries in order, as `journalctl -o export` does, needs none.

use std::collections::HashMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalEntry {
    pub sequence_number: u64,
    /// Wall clock, µs since 1970.
    pub realtime_us: u64,
    /// Monotonic clock, µs.
    pub monotonic_us: u64,
    pub boot_id: u128,
    pub fields: Vec<(String, Vec<u8>)>,
}

/// Compression of fields: the object flag (1 XZ, 2 LZ4, 4 Zstandard) and the compressor.
#[derive(Clone, Copy, Debug)]
pub struct FieldCompression {
    pub flag: u8,
    pub compress: fn(&[u8]) -> Vec<u8>,
    /// Shorter fields are not compressed.
    pub min_len: usize,
}

/// Writes journal files.
#[derive(Clone, Debug)]
pub struct JournalWriter {
    /// The compact format of systemd 252 and later.
    pub is_compact: bool,
    /// Compression of fields.
    pub compression: Option<FieldCompression>,
    /// 0 offline, 1 online, 2 archived.
    pub state: u8,
    pub machine_id: u128,
    /// Sequence number id.
    pub sequence_id: u128,
    /// Capacity of the first entry array; each further array is twice as large.
    pub first_array_len: usize,
}

impl Default for JournalWriter {
    fn default() -> Self {
        Self {
            is_compact: false,
            compression: None,
            state: 0,
            machine_id: 0x4f0e_9c1d_2a3b_4c5d_8e6f_7081_92a3_b4c5,
            sequence_id: 0x1f2e_3d4c_5b6a_4978_8695_a4b3_c2d1_e0ff,
            first_array_len: 4,
        }
    }
}

/// Parses the text of `journalctl -o export` into entries numbered from `first_number`.
///
/// # Panics
/// The text is not in the export format.
#[must_use]
#[allow(clippy::expect_used, reason = "invalid input is a bug in the test")]
pub fn parse_export(text: &[u8], first_number: u64) -> Vec<JournalEntry> {
    let mut entries = Vec::new();
    let mut entry = JournalEntry::default();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == b'\n').expect("a line has no newline");
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        if line.is_empty() {
            if entry.realtime_us > 0 {
                entry.sequence_number = first_number + entries.len() as u64;
                entries.push(std::mem::take(&mut entry));
            }
            continue;
        }
        let (name, value) = match line.iter().position(|&byte| byte == b'=') {
            Some(separator) => (&line[..separator], line[separator + 1..].to_vec()),
            None => {
                let length = u64::from_le_bytes(rest[..8].try_into().expect("the length has fewer than 8 bytes"));
                let length = usize::try_from(length).expect("the length exceeds memory");
                let value = rest[8..8 + length].to_vec();
                rest = &rest[8 + length + 1..];
                (line, value)
            }
        };
        let name = String::from_utf8(name.to_vec()).expect("the name is not UTF-8");
        let number = || String::from_utf8_lossy(&value).parse::<u64>().expect("the timestamp is not a number");
        match name.as_str() {
            "__REALTIME_TIMESTAMP" => entry.realtime_us = number(),
            "__MONOTONIC_TIMESTAMP" => entry.monotonic_us = number(),
            "_BOOT_ID" => {
                let id = String::from_utf8_lossy(&value).into_owned();
                entry.boot_id = u128::from_str_radix(&id, 16).expect("the boot id is not hexadecimal");
                entry.fields.push((name, value));
            }
            _ if name.starts_with("__") => {}
            _ => entry.fields.push((name, value)),
        }
    }
    entries
}

const HEADER_SIZE: usize = 264;
/// Buckets of the hash tables, the minimum that readers accept.
const BUCKET_COUNT: usize = 8;

/// A journal file under construction.
struct JournalFile {
    bytes: Vec<u8>,
    objects: u64,
    data: HashMap<Vec<u8>, u64>,
    last_object: u64,
}

impl JournalFile {
    /// Appends an object and returns its offset.
    fn object(&mut self, kind: u8, flags: u8, body: &[u8]) -> u64 {
        let offset = self.bytes.len() as u64;
        self.bytes.extend([kind, flags, 0, 0, 0, 0, 0, 0]);
        self.bytes.extend((16 + body.len() as u64).to_le_bytes());
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.objects += 1;
        self.last_object = offset;
        offset
    }

    fn put_u64(&mut self, offset: usize, value: u64) {
        self.bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }
}

/// Computes FNV-1a instead of the real hash, which readers do not check.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

impl JournalWriter {
    /// Encodes a file with `entries`.
    #[must_use]
    pub fn file(&self, entries: &[JournalEntry]) -> Vec<u8> {
        let mut file = JournalFile { bytes: vec![0; HEADER_SIZE], objects: 0, data: HashMap::new(), last_object: 0 };
        let fields = file.object(5, 0, &[0; 16 * BUCKET_COUNT]) + 16;
        let data = file.object(4, 0, &[0; 16 * BUCKET_COUNT]) + 16;
        let offsets: Vec<u64> = entries.iter().map(|entry| self.entry(entry, &mut file)).collect();
        let first_array = self.entry_arrays(&offsets, &mut file);
        let unique = file.data.len() as u64;
        let flags = self.compression.map_or(0, |compression| match compression.flag {
            1 => 1,
            2 => 2,
            _ => 8_u32,
        });
        let flags = flags | if self.is_compact { 16 } else { 0 };
        let head = &mut file.bytes;
        head[..8].copy_from_slice(b"LPKSHHRH");
        head[12..16].copy_from_slice(&flags.to_le_bytes());
        head[16] = self.state;
        head[24..40].copy_from_slice(&(self.sequence_id ^ 1).to_be_bytes());
        head[40..56].copy_from_slice(&self.machine_id.to_be_bytes());
        let last = entries.last();
        head[56..72].copy_from_slice(&last.map_or(0, |entry| entry.boot_id).to_be_bytes());
        head[72..88].copy_from_slice(&self.sequence_id.to_be_bytes());
        let arena = head.len() as u64 - HEADER_SIZE as u64;
        let first_entry = entries.first();
        for (offset, value) in [
            (88, HEADER_SIZE as u64),
            (96, arena),
            (104, data),
            (112, 16 * BUCKET_COUNT as u64),
            (120, fields),
            (128, 16 * BUCKET_COUNT as u64),
            (136, file.last_object),
            (144, file.objects),
            (152, entries.len() as u64),
            (160, last.map_or(0, |entry| entry.sequence_number)),
            (168, first_entry.map_or(0, |entry| entry.sequence_number)),
            (176, first_array),
            (184, first_entry.map_or(0, |entry| entry.realtime_us)),
            (192, last.map_or(0, |entry| entry.realtime_us)),
            (200, last.map_or(0, |entry| entry.monotonic_us)),
            (208, unique),
        ] {
            file.put_u64(offset, value);
        }
        file.bytes
    }

    fn entry(&self, entry: &JournalEntry, file: &mut JournalFile) -> u64 {
        let mut items: Vec<(u64, u64)> = entry
            .fields
            .iter()
            .map(|(name, value)| {
                let mut payload = format!("{name}=").into_bytes();
                payload.extend(value);
                (self.data(&payload, file), hash(&payload))
            })
            .collect();
        items.sort_unstable();
        items.dedup();
        let mut body = Vec::new();
        for number in [entry.sequence_number, entry.realtime_us, entry.monotonic_us] {
            body.extend(number.to_le_bytes());
        }
        body.extend(entry.boot_id.to_be_bytes());
        body.extend(items.iter().fold(0, |xor, (_, hash)| xor ^ hash).to_le_bytes());
        for (offset, hash) in items {
            if self.is_compact {
                body.extend((offset as u32).to_le_bytes());
            } else {
                body.extend(offset.to_le_bytes());
                body.extend(hash.to_le_bytes());
            }
        }
        file.object(3, 0, &body)
    }

    /// Returns the data object of `payload`, which is written once.
    fn data(&self, payload: &[u8], file: &mut JournalFile) -> u64 {
        if let Some(&offset) = file.data.get(payload) {
            return offset;
        }
        let mut body = hash(payload).to_le_bytes().to_vec();
        // The object has no list of entries; only a search by value would need it.
        body.resize(if self.is_compact { 56 } else { 48 }, 0);
        let compression = self.compression.filter(|compression| payload.len() >= compression.min_len);
        let flag = match compression {
            Some(compression) => {
                body.extend((compression.compress)(payload));
                compression.flag
            }
            None => {
                body.extend(payload);
                0
            }
        };
        let offset = file.object(1, flag, &body);
        file.data.insert(payload.to_vec(), offset);
        offset
    }

    /// Appends the entry arrays and returns the offset of the first array.
    fn entry_arrays(&self, offsets: &[u64], file: &mut JournalFile) -> u64 {
        let mut first_array = 0;
        let mut previous: Option<u64> = None;
        let mut rest = offsets;
        let mut capacity = self.first_array_len.max(1);
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(capacity.min(rest.len()));
            let mut body = 0_u64.to_le_bytes().to_vec();
            for slot in 0..capacity {
                let offset = chunk.get(slot).copied().unwrap_or(0);
                if self.is_compact {
                    body.extend((offset as u32).to_le_bytes());
                } else {
                    body.extend(offset.to_le_bytes());
                }
            }
            let array = file.object(6, 0, &body);
            match previous {
                Some(previous) => file.put_u64(previous as usize + 16, array),
                None => first_array = array,
            }
            previous = Some(array);
            rest = after;
            capacity *= 2;
        }
        first_array
    }
}
