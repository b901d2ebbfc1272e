//! Writes files of `\Windows\Prefetch`: prefetch plans, ReadyBoot traces, Superfetch databases.

use crate::compress::Compression;

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

/// A prefetch plan in the layout of Windows 7 (version 23) or later (26).
#[derive(Clone, Debug)]
pub struct PrefetchPlan {
    /// 23 or 26.
    pub version: u32,
    pub executable: String,
    /// The boot's plan.
    pub is_boot: bool,
    pub run_count: u32,
    /// Last run, as a `FILETIME`.
    pub last_run: u64,
    /// Device path of the only volume.
    pub volume: String,
    /// Files: path below the volume, and number of pages.
    pub files: Vec<(String, u32)>,
}

impl PrefetchPlan {
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let information = if self.version == 23 { 156 } else { 220 };
        let metrics_offset = 84 + information;
        let pages: u32 = self.files.iter().map(|(_, pages)| pages).sum();
        let traces_offset = metrics_offset + 32 * self.files.len();
        let names_offset = traces_offset + 12 * pages as usize;
        let (mut metrics, mut names, mut first_page) = (Vec::new(), Vec::new(), 0_u32);
        for (path, pages) in &self.files {
            let text = utf16(&format!("{}{path}", self.volume));
            for number in [first_page, *pages, *pages, names.len() as u32, (text.len() / 2) as u32, 0x200, 0, 0] {
                metrics.extend_from_slice(&number.to_le_bytes());
            }
            names.extend_from_slice(&text);
            names.extend_from_slice(&[0, 0]);
            first_page += pages;
        }
        let volumes_offset = (names_offset + names.len()).next_multiple_of(8);
        let device = utf16(&self.volume);
        let mut volume = vec![0; 104];
        put_u32(&mut volume, 0, 104);
        put_u32(&mut volume, 4, (device.len() / 2) as u32);
        put_u32(&mut volume, 16, 0x1234_5678);
        let file_references_offset = 104 + device.len() + 2;
        put_u32(&mut volume, 20, file_references_offset as u32);
        put_u32(&mut volume, 24, 16);
        put_u32(&mut volume, 28, (file_references_offset + 16) as u32);
        volume.extend_from_slice(&device);
        volume.extend_from_slice(&[0; 18]);
        let mut bytes = vec![0; metrics_offset];
        put_u32(&mut bytes, 0, self.version);
        bytes[4..8].copy_from_slice(b"SCCA");
        let name = utf16(&self.executable);
        bytes[16..16 + name.len()].copy_from_slice(&name);
        put_u32(&mut bytes, 76, 0xABCD_0001);
        put_u32(&mut bytes, 80, u32::from(self.is_boot));
        let numbers = [
            metrics_offset,
            self.files.len(),
            traces_offset,
            pages as usize,
            names_offset,
            names.len(),
            volumes_offset,
            1,
            volume.len(),
        ];
        for (index, number) in numbers.into_iter().enumerate() {
            put_u32(&mut bytes, 84 + index * 4, number as u32);
        }
        bytes[84 + 44..84 + 52].copy_from_slice(&self.last_run.to_le_bytes());
        put_u32(&mut bytes, 84 + if self.version == 23 { 68 } else { 124 }, self.run_count);
        bytes.extend_from_slice(&metrics);
        for page in 0..pages {
            for number in [page + 1, page * 8, 0] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        bytes.extend_from_slice(&names);
        bytes.resize(volumes_offset, 0);
        bytes.extend_from_slice(&volume);
        let length = bytes.len() as u32;
        put_u32(&mut bytes, 12, length);
        bytes
    }
}

/// Returns a ReadyBoot trace of a boot (`Trace*.fx`): the reads of its two lists, each with path, offset, bytes and
/// microseconds. An empty path is a read of an unknown file.
#[must_use]
pub fn ready_boot_trace(lists: [&[(&str, u64, u32, u32)]; 2]) -> Vec<u8> {
    let mut names = Names::default();
    let mut region = Vec::new();
    for list in lists {
        for block in list.chunks(1024) {
            let start = region.len();
            for (index, &(path, offset, bytes, time_us)) in block.iter().enumerate() {
                let name = names.add(if path.is_empty() { "\\FI_UNKNOWN" } else { path });
                region.extend_from_slice(&[0; 8]);
                region.extend_from_slice(&offset.to_le_bytes());
                for number in [name, 402, bytes, time_us, index as u32, 0] {
                    region.extend_from_slice(&number.to_le_bytes());
                }
            }
            region.resize(start + 1024 * 40 + 8, 0);
        }
    }
    let identity = [b"DMIO:ID:".as_slice(), &[7; 16]].concat();
    let mut plain = b"xFcE\0\0\0\0".to_vec();
    for number in [lists[0].len(), lists[1].len(), names.table.len()] {
        plain.extend_from_slice(&(number as u32).to_le_bytes());
    }
    plain.extend_from_slice(&(identity.len() as u16).to_le_bytes());
    plain.extend_from_slice(&identity);
    plain.extend_from_slice(&region);
    plain.extend_from_slice(&names.table);
    pack(&plain)
}

/// Returns the ReadyBoot layout for the next boot (`rblayout.xin`).
#[must_use]
pub fn ready_boot_layout(paths: &[&str]) -> Vec<u8> {
    let mut names = Names::default();
    for path in paths {
        names.add(path);
    }
    let mut plain = b"iLdR\0\0\0\0".to_vec();
    plain.extend_from_slice(&(names.table.len() as u32).to_le_bytes());
    plain.extend_from_slice(&[0; 4]);
    plain.extend_from_slice(&names.table);
    plain.extend_from_slice(&[0; 32]);
    pack(&plain)
}

/// A table of path components without duplicates.
#[derive(Default)]
struct Names {
    table: Vec<u8>,
    offsets: Vec<(String, u32)>,
}

impl Names {
    fn add(&mut self, path: &str) -> u32 {
        if let Some((_, offset)) = self.offsets.iter().find(|(existing, _)| existing == path) {
            return *offset;
        }
        let (parent, name) = path.rsplit_once('\\').unwrap_or(("", path));
        let parent = if parent.is_empty() { u32::MAX } else { self.add(parent) };
        let offset = self.table.len() as u32;
        let text = utf16(name);
        self.table.extend_from_slice(&parent.to_le_bytes());
        self.table.extend_from_slice(&((text.len() / 2) as u16).to_le_bytes());
        self.table.extend_from_slice(&text);
        self.offsets.push((path.to_owned(), offset));
        offset
    }
}

/// Writes ReadyBoot's container: chunks of 64 KiB, each compressed separately.
fn pack(plain: &[u8]) -> Vec<u8> {
    let mut bytes = b"PfB\xe3".to_vec();
    bytes.extend_from_slice(&(plain.len() as u32).to_le_bytes());
    for (index, chunk) in plain.chunks(65_536).enumerate() {
        if index > 0 {
            bytes.extend_from_slice(&[0xDE, 0xAD, 0xBE, 0xEF]);
        }
        let chunk = Compression::XpressHuffman.compress(chunk);
        bytes.extend_from_slice(&(chunk.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&chunk);
    }
    bytes
}

/// Returns a Superfetch database, optionally compressed as in Windows 8 and later (`MAM`).
#[must_use]
pub fn superfetch(volumes: u32, files: u32, sources: u32, is_compressed: bool) -> Vec<u8> {
    let mut plain = vec![0; 400];
    for (offset, number) in [(0, 14), (4, 400), (8, 240), (12, 11), (52, volumes), (56, files), (64, sources)] {
        put_u32(&mut plain, offset, number);
    }
    if !is_compressed {
        return plain;
    }
    let mut bytes = b"MAM\x04".to_vec();
    bytes.extend_from_slice(&400_u32.to_le_bytes());
    bytes.extend_from_slice(&Compression::XpressHuffman.compress(&plain));
    bytes
}
