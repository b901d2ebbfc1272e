//! Writes registry hives and their transaction logs.

/// Data of a registry value.
#[derive(Clone, Debug)]
pub enum ValueData {
    /// `REG_SZ`.
    Text(String),
    /// `REG_EXPAND_SZ`.
    Expandable(String),
    /// `REG_MULTI_SZ`.
    MultiText(Vec<String>),
    /// `REG_DWORD`.
    U32(u32),
    /// `REG_QWORD`.
    U64(u64),
    /// `REG_BINARY`.
    Binary(Vec<u8>),
}

impl From<&str> for ValueData {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for ValueData {
    fn from(number: u32) -> Self {
        Self::U32(number)
    }
}

impl From<u64> for ValueData {
    fn from(number: u64) -> Self {
        Self::U64(number)
    }
}

impl From<Vec<u8>> for ValueData {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Binary(bytes)
    }
}

impl From<&[&str]> for ValueData {
    fn from(texts: &[&str]) -> Self {
        Self::MultiText(texts.iter().map(|&text| text.to_owned()).collect())
    }
}

/// A registry key.
#[derive(Clone, Debug, Default)]
pub struct HiveKey {
    name: String,
    last_written: u64,
    values: Vec<(String, ValueData)>,
    keys: Vec<HiveKey>,
}

/// Default last-write time of keys: 2020-01-02 03:04:05 UTC, as a `FILETIME`.
pub const DEFAULT_WRITE_TIME: u64 = 132_224_078_450_000_000;

impl HiveKey {
    #[must_use]
    pub fn root() -> Self {
        Self { name: "ROOT".to_owned(), last_written: DEFAULT_WRITE_TIME, ..Self::default() }
    }

    /// Returns the subkey at `path` and creates it if it is missing.
    pub fn subkey(&mut self, path: &str) -> &mut Self {
        let mut key = self;
        for name in path.split('\\') {
            let index =
                key.keys.iter().position(|subkey| subkey.name.eq_ignore_ascii_case(name)).unwrap_or_else(|| {
                    key.keys.push(Self { name: name.to_owned(), last_written: DEFAULT_WRITE_TIME, ..Self::default() });
                    key.keys.len() - 1
                });
            key = &mut key.keys[index];
        }
        key
    }

    /// Sets a value.
    pub fn set_value(&mut self, name: &str, data: impl Into<ValueData>) -> &mut Self {
        self.values.retain(|(existing, _)| existing != name);
        self.values.push((name.to_owned(), data.into()));
        self
    }

    /// Sets the last-write time, as a `FILETIME`.
    pub fn set_write_time(&mut self, time: u64) -> &mut Self {
        self.last_written = time;
        self
    }

    /// Encodes the hive with this key as its root.
    #[must_use]
    pub fn to_hive(&self) -> Vec<u8> {
        let mut cells = Cells(vec![0; 32]);
        let root = cells.key(self, u32::MAX, 0x2C);
        let mut bins = cells.0;
        bins.resize((bins.len() + 8).next_multiple_of(4096), 0);
        let length = bins.len() as u32;
        // The rest of the bin is a single free cell.
        let mut offset = 32;
        while offset < bins.len() {
            let size = i32::from_le_bytes(bins[offset..offset + 4].try_into().unwrap_or_default());
            if size == 0 {
                let free = (bins.len() - offset) as i32;
                bins[offset..offset + 4].copy_from_slice(&free.to_le_bytes());
                break;
            }
            offset += size.unsigned_abs() as usize;
        }
        bins[..4].copy_from_slice(b"hbin");
        bins[8..12].copy_from_slice(&length.to_le_bytes());
        let mut base = vec![0; 4096];
        base[..4].copy_from_slice(b"regf");
        for (offset, number) in [(4, 7), (8, 7), (20, 1), (24, 5), (32, 1), (36, root), (40, length), (44, 1)] {
            put_u32(&mut base, offset, number);
        }
        base[12..20].copy_from_slice(&DEFAULT_WRITE_TIME.to_le_bytes());
        write_checksum(&mut base);
        base.extend_from_slice(&bins);
        base
    }
}

fn put_u32(bytes: &mut [u8], offset: usize, number: u32) {
    bytes[offset..offset + 4].copy_from_slice(&number.to_le_bytes());
}

/// Writes the checksum of a base block.
fn write_checksum(base: &mut [u8]) {
    let mut sum = 0;
    for four in base[..508].chunks(4) {
        sum ^= u32::from_le_bytes(four.try_into().unwrap_or_default());
    }
    put_u32(base, 508, sum);
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The cells of the hive's only bin.
struct Cells(Vec<u8>);

impl Cells {
    /// Appends an allocated cell; returns its offset.
    fn append(&mut self, content: &[u8]) -> u32 {
        let offset = self.0.len();
        let size = (content.len() + 4).next_multiple_of(8);
        self.0.extend_from_slice(&(-(size as i32)).to_le_bytes());
        self.0.extend_from_slice(content);
        self.0.resize(offset + size, 0);
        offset as u32
    }

    fn key(&mut self, key: &HiveKey, parent: u32, flags: u16) -> u32 {
        let is_narrow = key.name.is_ascii();
        let name = if is_narrow { key.name.as_bytes().to_vec() } else { utf16(&key.name) };
        let mut content = vec![0; 76];
        content[..2].copy_from_slice(b"nk");
        let flags = if is_narrow { flags } else { flags & !0x20 };
        content[2..4].copy_from_slice(&flags.to_le_bytes());
        content[4..12].copy_from_slice(&key.last_written.to_le_bytes());
        content[72..74].copy_from_slice(&(name.len() as u16).to_le_bytes());
        for (offset, number) in
            [(16, parent), (20, key.keys.len() as u32), (28, u32::MAX), (32, u32::MAX), (36, key.values.len() as u32)]
        {
            put_u32(&mut content, offset, number);
        }
        put_u32(&mut content, 40, u32::MAX);
        put_u32(&mut content, 44, u32::MAX);
        put_u32(&mut content, 48, u32::MAX);
        content.extend_from_slice(&name);
        let offset = self.append(&content);
        let cell = offset as usize + 4;
        if !key.values.is_empty() {
            let values: Vec<u8> =
                key.values.iter().flat_map(|(name, data)| self.value(name, data).to_le_bytes()).collect();
            let list = self.append(&values);
            put_u32(&mut self.0, cell + 40, list);
        }
        if !key.keys.is_empty() {
            // Windows sorts subkey lists by uppercase name.
            let mut keys: Vec<&HiveKey> = key.keys.iter().collect();
            keys.sort_by_key(|key| key.name.to_uppercase());
            let mut list = b"lh".to_vec();
            list.extend_from_slice(&(keys.len() as u16).to_le_bytes());
            for key in keys {
                list.extend_from_slice(&self.key(key, offset, 0x20).to_le_bytes());
                let hash = key
                    .name
                    .to_uppercase()
                    .chars()
                    .fold(0_u32, |hash, letter| hash.wrapping_mul(37).wrapping_add(letter as u32));
                list.extend_from_slice(&hash.to_le_bytes());
            }
            let list = self.append(&list);
            put_u32(&mut self.0, cell + 28, list);
        }
        offset
    }

    fn value(&mut self, name: &str, data: &ValueData) -> u32 {
        let nul_terminated = |text: &str| utf16(&format!("{text}\0"));
        let (kind, bytes) = match data {
            ValueData::Text(text) => (1_u32, nul_terminated(text)),
            ValueData::Expandable(text) => (2, nul_terminated(text)),
            ValueData::Binary(bytes) => (3, bytes.clone()),
            ValueData::U32(number) => (4, number.to_le_bytes().to_vec()),
            ValueData::MultiText(texts) => {
                (7, texts.iter().flat_map(|text| nul_terminated(text)).chain([0, 0]).collect())
            }
            ValueData::U64(number) => (11, number.to_le_bytes().to_vec()),
        };
        let (size, data_or_offset) = if bytes.len() <= 4 {
            let mut four = [0; 4];
            four[..bytes.len()].copy_from_slice(&bytes);
            (bytes.len() as u32 | 0x8000_0000, u32::from_le_bytes(four))
        } else {
            (bytes.len() as u32, self.append_long(&bytes))
        };
        let mut content = b"vk".to_vec();
        content.extend_from_slice(&(name.len() as u16).to_le_bytes());
        for number in [size, data_or_offset, kind, 1] {
            content.extend_from_slice(&number.to_le_bytes());
        }
        content.extend_from_slice(name.as_bytes());
        self.append(&content)
    }

    /// Appends a value's data in one cell, or in several if it is long.
    fn append_long(&mut self, bytes: &[u8]) -> u32 {
        if bytes.len() <= 16_344 {
            return self.append(bytes);
        }
        let list: Vec<u8> = bytes.chunks(16_344).flat_map(|part| self.append(part).to_le_bytes()).collect();
        let count = (list.len() / 4) as u16;
        let list = self.append(&list);
        let mut content = b"db".to_vec();
        content.extend_from_slice(&count.to_le_bytes());
        content.extend_from_slice(&list.to_le_bytes());
        self.append(&content)
    }
}

/// Returns the state after a crash before `after` was written: the hive `before` marked as dirty, and the log (Windows
/// 8.1 and later) with the pages that turn it into `after`.
#[must_use]
pub fn interrupted_write(before: &[u8], after: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut hive = before.to_vec();
    put_u32(&mut hive, 4, 8);
    write_checksum(&mut hive[..4096]);
    let size = after.len() - 4096;
    let mut references = Vec::new();
    let mut pages = Vec::new();
    for (index, page) in after[4096..].chunks(4096).enumerate() {
        if before.get(4096 + index * 4096..4096 + index * 4096 + page.len()) != Some(page) {
            references.extend_from_slice(&((index * 4096) as u32).to_le_bytes());
            references.extend_from_slice(&(page.len() as u32).to_le_bytes());
            pages.extend_from_slice(page);
        }
    }
    let count = (references.len() / 8) as u32;
    let length = (40 + references.len() + pages.len()).next_multiple_of(512);
    let mut entry = vec![0; 40];
    entry[..4].copy_from_slice(b"HvLE");
    for (offset, number) in [(4, length as u32), (12, 8), (16, size as u32), (20, count)] {
        put_u32(&mut entry, offset, number);
    }
    entry.extend_from_slice(&references);
    entry.extend_from_slice(&pages);
    entry.resize(length, 0);
    let data = marvin32(&entry[40..]);
    entry[24..32].copy_from_slice(&data.to_le_bytes());
    let head = marvin32(&entry[..32]);
    entry[32..40].copy_from_slice(&head.to_le_bytes());
    let mut log = hive[..512].to_vec();
    put_u32(&mut log, 28, 6);
    write_checksum(&mut log);
    log.extend_from_slice(&entry);
    (hive, log)
}

/// Computes Marvin32 with the seed of registry logs, byte by byte.
fn marvin32(bytes: &[u8]) -> u64 {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(4), 0);
    padded.extend_from_slice(&[0; 4]);
    let (mut a, mut b) = (0x7A4E_55C5_u32, 0x82EF_4D88_u32);
    for four in padded.chunks(4) {
        a = a.wrapping_add(u32::from_le_bytes(four.try_into().unwrap_or_default()));
        b ^= a;
        a = a.rotate_left(20);
        a = a.wrapping_add(b);
        b = b.rotate_left(9);
        b ^= a;
        a = a.rotate_left(27);
        a = a.wrapping_add(b);
        b = b.rotate_left(19);
    }
    (u64::from(b) << 32) | u64::from(a)
}
