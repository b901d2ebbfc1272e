//! Reads plans (`.pf`), versions 17 to 31.

use crate::compressed;
use crate::error::Error;
use crate::field::{size_at, text, text_at, u16_at, u32_at, u64_at, unix_ns_at};

/// Size of the header before the file information, in bytes.
const HEADER_SIZE: usize = 84;
/// Size in bytes of a page, the unit of a plan's trace. Observed in plans of every version: the file offsets of entries
/// are multiples of it, in bytes in version 17 and in sectors of 512 bytes later.
pub const PAGE_SIZE: u64 = 4096;
/// Maximum number of files, and of volumes. Windows stops at 1,024 files.
const MAX_ENTRIES: usize = 65_536;

/// A file read ahead by a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedFile {
    /// Path in the form `\VOLUME{…}\WINDOWS\…` or `\DEVICE\HARDDISKVOLUME1\…`.
    pub path: String,
    /// Index of the file's first entry in the trace.
    pub trace_start: u32,
    /// Number of entries in the trace: pages of the file that are read ahead.
    pub trace_entries: u32,
    pub flags: u32,
    /// NTFS file reference (entry and sequence number); `None` in version 17.
    pub reference: Option<u64>,
}

/// A volume with files of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    pub device: String,
    /// Creation time, ns since 1970-01-01 UTC.
    pub created_unix_ns: Option<i64>,
    pub serial: u32,
    /// NTFS file references of files on the volume.
    pub file_references: Vec<u64>,
    /// Directories on the volume.
    pub folders: Vec<String>,
}

/// A prefetch plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Format version: 17 Windows XP, 23 Vista and 7, 26 Windows 8, 30 and 31 Windows 10 and 11.
    pub version: u32,
    pub is_compressed: bool,
    /// File name of the program, at most 29 characters.
    pub executable: String,
    /// Hash of the path of the program.
    pub path_hash: u32,
    /// True for the plan of the boot.
    pub is_boot: bool,
    /// Number of starts of the program.
    pub run_count: u32,
    /// Last starts, latest first, ns since 1970-01-01 UTC; up to eight since version 26, otherwise one.
    pub last_runs_unix_ns: Vec<i64>,
    pub files: Vec<PlannedFile>,
    pub volumes: Vec<Volume>,
    /// Number of unreadable entries.
    pub unreadable: u64,
}

/// Entry sizes and field offsets of a version, in bytes.
struct VersionLayout {
    metrics_entry_size: usize,
    volume_entry_size: usize,
    last_run_offset: usize,
    last_run_count: usize,
    run_count_offset: usize,
}

impl VersionLayout {
    /// Selects the layout of a version. File information starts at offset [`HEADER_SIZE`]. The offset of the metrics
    /// distinguishes the two layouts of version 30.
    fn new(version: u32, metrics: usize) -> Option<Self> {
        let (metrics_entry_size, volume_entry_size, last_run_offset, last_run_count, run_count_offset) = match version {
            17 => (20, 40, 36, 1, 60),
            23 => (32, 104, 44, 1, 68),
            26 => (32, 104, 44, 8, 124),
            30 if metrics >= 0x130 => (32, 96, 44, 8, 124),
            30 | 31 => (32, 96, 44, 8, 116),
            _ => return None,
        };
        Some(Self { metrics_entry_size, volume_entry_size, last_run_offset, last_run_count, run_count_offset })
    }
}

/// Reads a plan, compressed or not.
///
/// # Errors
/// The bytes are not a plan, or its header is incomplete. Unreadable entries are counted instead.
pub fn read_plan(bytes: &[u8]) -> Result<Plan, Error> {
    let (bytes, is_compressed) = compressed::decompress_plan(bytes)?;
    let bytes = bytes.as_ref();
    if bytes.get(4..8) != Some(b"SCCA") {
        return Err(Error::NotAPlan);
    }
    let truncated = Error::Truncated { offset: bytes.len() as u64 };
    let version = u32_at(bytes, 0).ok_or(truncated.clone())?;
    let number = |offset: usize| size_at(bytes, HEADER_SIZE + offset).ok_or(truncated.clone());
    let (metrics, metrics_count) = (number(0)?, number(4)?);
    let layout = VersionLayout::new(version, metrics).ok_or(Error::UnsupportedVersion { version })?;
    let (names, names_size) = (number(16)?, number(20)?);
    let (volumes, volumes_count, volumes_size) = (number(24)?, number(28)?, number(32)?);
    let last_runs =
        (0..layout.last_run_count).map(|index| unix_ns_at(bytes, HEADER_SIZE + layout.last_run_offset + index * 8));
    let mut plan = Plan {
        version,
        is_compressed,
        executable: bytes.get(16..76).map(text).unwrap_or_default(),
        path_hash: u32_at(bytes, 76).ok_or(truncated.clone())?,
        is_boot: u32_at(bytes, 80).ok_or(truncated.clone())? & 1 != 0,
        run_count: u32_at(bytes, HEADER_SIZE + layout.run_count_offset).ok_or(truncated)?,
        last_runs_unix_ns: last_runs.flatten().collect(),
        ..Plan::default()
    };
    let names = section(bytes, names, names_size);
    let entries = section(bytes, metrics, metrics_count.saturating_mul(layout.metrics_entry_size));
    for index in 0..metrics_count.min(MAX_ENTRIES) {
        match parse_file(entries, index * layout.metrics_entry_size, version, names) {
            Some(file) => plan.files.push(file),
            None => plan.unreadable += 1,
        }
    }
    plan.unreadable += metrics_count.saturating_sub(MAX_ENTRIES) as u64;
    let entries = section(bytes, volumes, volumes_size);
    for index in 0..volumes_count.min(MAX_ENTRIES) {
        match parse_volume(entries, index * layout.volume_entry_size, version, &mut plan.unreadable) {
            Some(volume) => plan.volumes.push(volume),
            None => plan.unreadable += 1,
        }
    }
    plan.unreadable += volumes_count.saturating_sub(MAX_ENTRIES) as u64;
    Ok(plan)
}

/// Returns a part of the file, limited to the end of the file.
fn section(bytes: &[u8], offset: usize, size: usize) -> &[u8] {
    let section = bytes.get(offset..).unwrap_or_default();
    section.get(..size).unwrap_or(section)
}

fn parse_file(entries: &[u8], offset: usize, version: u32, names: &[u8]) -> Option<PlannedFile> {
    // Since version 23, an average is stored between the duration and the name.
    let name_field = if version == 17 { 8 } else { 12 };
    Some(PlannedFile {
        trace_start: u32_at(entries, offset)?,
        trace_entries: u32_at(entries, offset + 4)?,
        path: text_at(names, size_at(entries, offset + name_field)?, size_at(entries, offset + name_field + 4)?)?,
        flags: u32_at(entries, offset + name_field + 8)?,
        reference: if version == 17 { None } else { Some(u64_at(entries, offset + 24)?) },
    })
}

fn parse_volume(entries: &[u8], offset: usize, version: u32, unreadable: &mut u64) -> Option<Volume> {
    let number_at = |field: usize| size_at(entries, offset.checked_add(field)?);
    let mut volume = Volume {
        device: text_at(entries, number_at(0)?, number_at(4)?)?,
        created_unix_ns: unix_ns_at(entries, offset + 8),
        serial: u32_at(entries, offset + 16)?,
        ..Volume::default()
    };
    let references = section(entries, number_at(20)?, number_at(24)?);
    // Version and number of entries, plus eight bytes since version 23.
    let references_start = if version == 17 { 8 } else { 16 };
    let count = size_at(references, 4).unwrap_or(0);
    let stored_references = references.get(references_start..).unwrap_or_default().as_chunks::<8>().0;
    volume.file_references = stored_references.iter().take(count).map(|entry| u64::from_le_bytes(*entry)).collect();
    *unreadable += count.saturating_sub(stored_references.len()) as u64;
    let mut next = number_at(28)?;
    let folder_count = number_at(32)?;
    for index in 0..folder_count {
        let folder = u16_at(entries, next)
            .and_then(|units| Some((text_at(entries, next + 2, usize::from(units))?, usize::from(units))));
        let Some((folder, units)) = folder else {
            *unreadable += (folder_count - index) as u64;
            break;
        };
        // Length, text and NUL.
        next += 4 + units * 2;
        volume.folders.push(folder);
    }
    Some(volume)
}
