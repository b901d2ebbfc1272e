//! A plan (`.pf`), versions 17 to 31.

use crate::compressed;
use crate::error::Error;
use crate::field::{size_at, text, text_at, u16_at, u32_at, u64_at, unix_ns_at};

/// Bytes of the header before the file information.
const HEADER: usize = 84;
/// Bytes of a page: each entry of a plan's trace is one. Seen in the plans of every version: the entries' places in a file are pages apart,
/// counted in bytes in version 17 and in sectors of 512 bytes later.
pub const PAGE_BYTES: u64 = 4096;
/// Files or volumes beyond this are not read; Windows itself stops at 1,024 files.
const MAX_ENTRIES: usize = 65_536;

/// A file that the plan reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedFile {
    /// Path, as the plan names it: `\VOLUME{…}\WINDOWS\…` or `\DEVICE\HARDDISKVOLUME1\…`.
    pub path: String,
    /// First entry of the plan's trace.
    pub trace_start: u32,
    /// Entries of the plan's trace: pages of the file that the plan reads.
    pub trace_entries: u32,
    /// Flags.
    pub flags: u32,
    /// Reference in the volume's file table: entry number and sequence number; `None` where the version has none.
    pub reference: Option<u64>,
}

/// A volume that the plan's files are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Device path.
    pub device: String,
    /// Creation, ns since 1970-01-01 UTC.
    pub created_unix_ns: Option<i64>,
    /// Serial number.
    pub serial: u32,
    /// References of files on it.
    pub file_references: Vec<u64>,
    /// Folders on it.
    pub folders: Vec<String>,
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Version: 17 Windows XP, 23 Vista and 7, 26 Windows 8, 30 and 31 Windows 10 and 11.
    pub version: u32,
    /// Whether the file is compressed.
    pub is_compressed: bool,
    /// Name of the program, at most 29 characters.
    pub executable: String,
    /// Hash of the path it was started from.
    pub path_hash: u32,
    /// Whether it is the boot's own plan.
    pub is_boot: bool,
    /// Starts of the program.
    pub run_count: u32,
    /// The last starts, the latest first, ns since 1970-01-01 UTC; up to eight since version 26, else one.
    pub last_runs_unix_ns: Vec<i64>,
    /// The files.
    pub files: Vec<PlannedFile>,
    /// The volumes.
    pub volumes: Vec<Volume>,
    /// Entries that could not be read.
    pub unreadable: u64,
}

/// Where a version has what.
struct Places {
    metrics_entry: usize,
    volume_entry: usize,
    last_run: usize,
    last_runs: usize,
    run_count: usize,
}

impl Places {
    /// The file information lies at [`HEADER`]; the start of the metrics tells the two layouts of version 30 apart.
    fn of(version: u32, metrics: usize) -> Option<Self> {
        let (metrics_entry, volume_entry, last_run, last_runs, run_count) = match version {
            17 => (20, 40, 36, 1, 60),
            23 => (32, 104, 44, 1, 68),
            26 => (32, 104, 44, 8, 124),
            30 if metrics >= 0x130 => (32, 96, 44, 8, 124),
            30 | 31 => (32, 96, 44, 8, 116),
            _ => return None,
        };
        Some(Self { metrics_entry, volume_entry, last_run, last_runs, run_count })
    }
}

/// Reads a plan, compressed or not.
///
/// # Errors
/// Bytes that are no plan, or one without its header. Entries that cannot be read are counted instead.
pub fn read_plan(bytes: &[u8]) -> Result<Plan, Error> {
    let (bytes, is_compressed) = compressed::unwrap(bytes)?;
    let bytes = bytes.as_ref();
    if bytes.get(4..8) != Some(b"SCCA") {
        return Err(Error::NotAPlan);
    }
    let cut = Error::Cut { offset: bytes.len() as u64 };
    let version = u32_at(bytes, 0).ok_or(cut.clone())?;
    let number = |at: usize| size_at(bytes, HEADER + at).ok_or(cut.clone());
    let (metrics, metrics_count) = (number(0)?, number(4)?);
    let places = Places::of(version, metrics).ok_or(Error::Version { version })?;
    let (names, names_size) = (number(16)?, number(20)?);
    let (volumes, volumes_count, volumes_size) = (number(24)?, number(28)?, number(32)?);
    let last_runs = (0..places.last_runs).map(|at| unix_ns_at(bytes, HEADER + places.last_run + at * 8));
    let mut plan = Plan {
        version,
        is_compressed,
        executable: bytes.get(16..76).map(text).unwrap_or_default(),
        path_hash: u32_at(bytes, 76).ok_or(cut.clone())?,
        is_boot: u32_at(bytes, 80).ok_or(cut.clone())? & 1 != 0,
        run_count: u32_at(bytes, HEADER + places.run_count).ok_or(cut)?,
        last_runs_unix_ns: last_runs.flatten().collect(),
        ..Plan::default()
    };
    let names = section(bytes, names, names_size);
    let entries = section(bytes, metrics, metrics_count.saturating_mul(places.metrics_entry));
    for at in 0..metrics_count.min(MAX_ENTRIES) {
        match file(entries, at * places.metrics_entry, version, names) {
            Some(file) => plan.files.push(file),
            None => plan.unreadable += 1,
        }
    }
    plan.unreadable += metrics_count.saturating_sub(MAX_ENTRIES) as u64;
    let entries = section(bytes, volumes, volumes_size);
    for at in 0..volumes_count.min(MAX_ENTRIES) {
        match volume(entries, at * places.volume_entry, version, &mut plan.unreadable) {
            Some(volume) => plan.volumes.push(volume),
            None => plan.unreadable += 1,
        }
    }
    plan.unreadable += volumes_count.saturating_sub(MAX_ENTRIES) as u64;
    Ok(plan)
}

/// A part of the file, as far as the file goes.
fn section(bytes: &[u8], at: usize, size: usize) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.get(..size).unwrap_or(rest)
}

fn file(entries: &[u8], at: usize, version: u32, names: &[u8]) -> Option<PlannedFile> {
    // Since version 23 an average lies between the duration and the name.
    let name = if version == 17 { 8 } else { 12 };
    Some(PlannedFile {
        trace_start: u32_at(entries, at)?,
        trace_entries: u32_at(entries, at + 4)?,
        path: text_at(names, size_at(entries, at + name)?, size_at(entries, at + name + 4)?)?,
        flags: u32_at(entries, at + name + 8)?,
        reference: if version == 17 { None } else { Some(u64_at(entries, at + 24)?) },
    })
}

fn volume(entries: &[u8], at: usize, version: u32, unreadable: &mut u64) -> Option<Volume> {
    let place = |offset: usize| size_at(entries, at.checked_add(offset)?);
    let mut volume = Volume {
        device: text_at(entries, place(0)?, place(4)?)?,
        created_unix_ns: unix_ns_at(entries, at + 8),
        serial: u32_at(entries, at + 16)?,
        ..Volume::default()
    };
    let references = section(entries, place(20)?, place(24)?);
    // Version and number of entries; since version 23 eight bytes more.
    let first = if version == 17 { 8 } else { 16 };
    let count = size_at(references, 4).unwrap_or(0);
    let held = references.get(first..).unwrap_or_default().as_chunks::<8>().0;
    volume.file_references = held.iter().take(count).map(|entry| u64::from_le_bytes(*entry)).collect();
    *unreadable += count.saturating_sub(held.len()) as u64;
    let mut next = place(28)?;
    let folders = place(32)?;
    for read in 0..folders {
        let folder = u16_at(entries, next).and_then(|characters| {
            Some((text_at(entries, next + 2, usize::from(characters))?, usize::from(characters)))
        });
        let Some((folder, characters)) = folder else {
            *unreadable += (folders - read) as u64;
            break;
        };
        // The length, the text, and its zero.
        next += 4 + characters * 2;
        volume.folders.push(folder);
    }
    Some(volume)
}
