//! Collects firmware performance data from files, folders and archives of folders.

use onoff_firmware::Signature;
use onoff_trace::Severity;
use onoff_trace::firmware::{FirmwareProblemKind, FirmwareRecording};

use crate::known_kinds::{FIRMWARE, known_kind};
use onoff_firmware_tables::collector::FirmwareTableCollector;
use onoff_firmware_tables::{add_file, sysfs};
use onoff_input::error::Error;
use onoff_input::sniff::{Content, first_bytes, is_tar, sniff};
use onoff_input::store::Memory;
use onoff_input::unpack::{Limits, TarMembers, UnpackOptions, tar_members, unpack};

/// Maximum size of an archive member, bytes.
const MAX_MEMBER_BYTES: usize = 32 << 20;

/// Collects the firmware measurements of one machine.
#[derive(Debug)]
pub struct FirmwareCollector {
    limits: Limits,
    tables: FirmwareTableCollector,
    /// sysfs files with one number each.
    sysfs_values: sysfs::SysfsValues,
}

impl FirmwareCollector {
    /// Maximum size of a file, bytes. A table of ten thousand measurements takes half a megabyte.
    pub const MAX_BYTES: u64 = 256 << 20;

    /// Creates an empty collection. Packed files are limited by `limits`.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        let limits = Limits { unpacked_bytes: limits.unpacked_bytes.min(Self::MAX_BYTES), ..*limits };
        Self { limits, tables: FirmwareTableCollector::default(), sysfs_values: sysfs::SysfsValues::default() }
    }

    /// Selects the boot to read from a serial log with several boots: 0 is the last, -1 the second to last.
    #[must_use]
    pub fn with_boot(mut self, boot: i64) -> Self {
        self.tables.selected_boot = boot;
        self
    }

    /// Adds a named file, packed or not, or an archive of a folder.
    ///
    /// # Errors
    /// Damaged packed bytes, or bytes in no known format.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        if let Content::Packed(packing) = sniff(bytes) {
            let unpack_options =
                UnpackOptions { limits: &self.limits, store: &Memory, is_relevant: onoff_linux::is_part };
            for (name, bytes) in unpack(name, packing, bytes, unpack_options)?.files {
                self.add_plain(&name, bytes.bytes())?;
            }
            return Ok(());
        }
        self.add_plain(name, bytes)
    }

    fn add_plain(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        if is_tar(bytes) {
            let TarMembers { members, is_truncated } = tar_members(name, bytes)?;
            for (name, member) in members {
                let member = bytes.get(member).unwrap_or_default();
                match member.len() <= MAX_MEMBER_BYTES {
                    true => self.add_from_folder(&name, member),
                    false => self.report_too_large(&name, member, MAX_MEMBER_BYTES as u64),
                }
            }
            if is_truncated {
                self.report_unreadable(name, "the archive is truncated or damaged; the rest is not read");
            }
            self.finish_folder();
            return Ok(());
        }
        if add_file(name, bytes, &mut self.tables) {
            return Ok(());
        }
        if let Some(kind) = known_kind(name, bytes).filter(|kind| *kind != FIRMWARE) {
            return Err(Error::unexpected_kind(name, kind));
        }
        Err(Error::NotFirmware { name: name.to_owned(), first_bytes: first_bytes(bytes) })
    }

    /// Adds a file found in a folder, or ignores it if its format is unknown.
    pub fn add_from_folder(&mut self, name: &str, bytes: &[u8]) {
        let path = name.replace('\\', "/");
        if let Some(index) = sysfs::SysfsValues::index_of(&path) {
            self.sysfs_values.add(index, &path, bytes, &mut self.tables);
        } else {
            add_file(name, bytes, &mut self.tables);
        }
    }

    /// Records that a file in a folder is larger than `limit` bytes if `bytes`, the beginning of the file, is a table.
    pub fn report_too_large(&mut self, name: &str, bytes: &[u8], limit: u64) {
        if Signature::from_prefix(bytes).is_some() {
            let text = format!("larger than {limit} bytes; pass the file itself to read it");
            self.tables.add_problem(FirmwareProblemKind::TruncatedTable, Severity::Error, name.to_owned(), text, 0);
        }
    }

    /// Records a file or folder that cannot be read.
    pub fn report_unreadable(&mut self, name: &str, reason: &str) {
        let kind = FirmwareProblemKind::UnreadableFile;
        self.tables.add_problem(kind, Severity::Warning, name.to_owned(), reason.to_owned(), 0);
    }

    /// True if a file with this name is a table in Linux sysfs.
    #[must_use]
    pub fn is_table_name(file: &str) -> bool {
        Signature::from_prefix(file.as_bytes()).is_some()
    }

    /// Marks the end of a folder.
    pub fn finish_folder(&mut self) {
        std::mem::take(&mut self.sysfs_values).finish(&mut self.tables);
    }

    /// Returns the measurements.
    #[must_use]
    pub fn finish(self) -> FirmwareRecording {
        self.tables.finish()
    }
}

/// Reads firmware measurements from bytes: a file in any known format, packed or not, or an archive of a folder.
///
/// # Errors
/// Damaged packed bytes, or bytes in no known format.
pub fn open_firmware_bytes(name: &str, bytes: &[u8], limits: &Limits) -> Result<FirmwareRecording, Error> {
    let mut collector = FirmwareCollector::new(limits);
    collector.add(name, bytes)?;
    Ok(collector.finish())
}
