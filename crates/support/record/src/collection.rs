//! Packs the data for an analysis on another computer into one archive that onoff reads: the journal of the last boots,
//! systemd's times, the kernel log, and the times of the firmware and the boot loader. For Windows see
//! [`crate::windows::collection`].

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use onoff_journal::{Entry, JournalFile};
use serde::Serialize;

use crate::redaction::{Redaction, RedactionCounts};
use crate::running::RunningSystem;

/// Top-level folder in the archive.
const FOLDER: &str = "collected";

/// Maximum size of the exported journal in memory, in bytes. A larger export spills to a temporary file.
pub(crate) const MAX_MEMORY_BYTES: usize = 32 << 20;

/// Journal fields that a redacted collection keeps: those that onoff reads, plus the source and priority of each entry.
/// Other fields may have arbitrary names in them.
const KEPT_FIELDS: &str = "\
    MESSAGE MESSAGE_ID UNIT USER_UNIT JOB_ID JOB_TYPE JOB_RESULT PRIORITY SYSLOG_FACILITY SYSLOG_IDENTIFIER \
    SYSLOG_PID KERNEL_USEC INITRD_USEC USERSPACE_USEC _SYSTEMD_UNIT _SYSTEMD_USER_UNIT _PID _UID _COMM _EXE \
    _CMDLINE _TRANSPORT _HOSTNAME _MACHINE_ID _KERNEL_DEVICE _KERNEL_SUBSYSTEM _SOURCE_REALTIME_TIMESTAMP \
    _SOURCE_MONOTONIC_TIMESTAMP";

static KEPT_FIELD_NAMES: LazyLock<HashSet<&[u8]>> =
    LazyLock::new(|| KEPT_FIELDS.split(' ').map(str::as_bytes).collect());

#[derive(Clone, Copy, Debug)]
pub struct CollectionOptions {
    /// Number of boots to take from the journal, the most recent ones.
    pub boots: usize,
    /// True to replace names of computers and users, and addresses.
    pub redact: bool,
}

/// What a collection contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionSummary {
    /// Boot ids, oldest first.
    pub boots: Vec<String>,
    /// Number of journal entries.
    pub entries: u64,
    /// Number of files in the archive.
    pub file_count: usize,
    /// What was left out, apart from data that could not be read.
    pub left_out: Vec<String>,
    /// Counts of replaced names and addresses, if redaction was requested.
    pub replaced: Option<RedactionCounts>,
}

/// Metadata of the archive (`recording.json`).
#[derive(Serialize)]
struct About<'a> {
    kind: &'static str,
    recorder: String,
    redacted: bool,
    boots: &'a [String],
    missing: &'a [String],
}

/// Appends the metadata of the archive. `missing` names data that could not be read or was left out.
pub(crate) fn append_metadata(
    archive: &mut tar::Builder<impl Write>,
    boots: &[String],
    missing: &[String],
    redacted: bool,
) -> io::Result<()> {
    let recorder = format!("onoff {}", env!("CARGO_PKG_VERSION"));
    let json = serde_json::to_vec_pretty(&About { kind: "collected", recorder, redacted, boots, missing })?;
    append(archive, "recording.json", json.len() as u64, &json[..])
}

/// Packs the collected files and the open journal into `out` as `.tar.gz`.
///
/// # Errors
/// `out` or a temporary file cannot be written.
pub fn write(
    system: &RunningSystem,
    journals: &[JournalFile<'_>],
    options: CollectionOptions,
    redaction: Option<Redaction>,
    out: impl Write,
) -> io::Result<CollectionSummary> {
    let mut redaction = redaction.filter(|_| options.redact);
    let boots = last_boots(journals, options.boots);
    if let Some(redaction) = &mut redaction {
        learn_names(journals, &boots, redaction);
        for file in &system.files {
            redaction.learn(std::str::from_utf8(&file.bytes).unwrap_or_default());
        }
    }
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    let mut summary = CollectionSummary {
        boots: boots.iter().map(|boot| format!("{boot:032x}")).collect(),
        ..CollectionSummary::default()
    };
    let (mut export, entries) = export_entries(journals, &boots, &mut redaction)?;
    summary.entries = entries;
    if entries > 0 {
        let bytes = export.seek(SeekFrom::End(0))?;
        export.rewind()?;
        append(&mut archive, "journal.export", bytes, &mut export)?;
        summary.file_count += 1;
    }
    for file in &system.files {
        let name = file.name.trim_start_matches('/');
        let text = std::str::from_utf8(&file.bytes).ok().zip(redaction.as_mut());
        match text {
            Some((text, redaction)) => {
                let redacted = redaction.redact(&without_secrets(text));
                append(&mut archive, &redaction.redact(name), redacted.len() as u64, redacted.as_bytes())?;
            }
            None => append(&mut archive, name, file.bytes.len() as u64, &file.bytes[..])?,
        }
        summary.file_count += 1;
    }
    let mut missing: Vec<String> = system.unreadable.iter().map(|data| data.problem.clone()).collect();
    if let Some(redaction) = &mut redaction {
        missing = missing.iter().map(|text| redaction.redact(text)).collect();
    }
    append_metadata(&mut archive, &summary.boots, &missing, redaction.is_some())?;
    summary.file_count += 1;
    archive.into_inner()?.finish()?.flush()?;
    summary.replaced = redaction.as_ref().map(Redaction::replaced);
    Ok(summary)
}

/// Returns the ids of the last boots, in journal order.
fn last_boots(journals: &[JournalFile<'_>], count: usize) -> Vec<u128> {
    let mut boots: Vec<u128> = Vec::new();
    onoff_journal::read(journals, |entry| {
        // A late entry of an earlier boot does not change the order.
        if boots.last() != Some(&entry.boot) && entry.boot != 0 && !boots.contains(&entry.boot) {
            boots.push(entry.boot);
        }
    });
    boots.split_off(boots.len().saturating_sub(count))
}

/// Learns names from the entries before they are packed: a name can occur before the entry that identifies it.
fn learn_names(journals: &[JournalFile<'_>], boots: &[u128], redaction: &mut Redaction) {
    let mut last_host = Vec::new();
    onoff_journal::read(journals, |entry| {
        if !boots.contains(&entry.boot) {
            return;
        }
        for field in entry.fields() {
            match &*field.name {
                // Nearly all entries have the same host name.
                b"_HOSTNAME" if *field.value != last_host[..] => {
                    redaction.add_host(&String::from_utf8_lossy(&field.value));
                    last_host = field.value.into_owned();
                }
                b"_MACHINE_ID" => redaction.add_machine(&String::from_utf8_lossy(&field.value)),
                b"MESSAGE" | b"_CMDLINE" => redaction.learn(&String::from_utf8_lossy(&field.value)),
                _ => {}
            }
        }
    });
}

/// Exports the entries of `boots` in the format of `journalctl -o export` ("Journal Export Formats" in systemd's
/// documentation), without cursors. Returns the file and the number of entries.
fn export_entries(
    journals: &[JournalFile<'_>],
    boots: &[u128],
    redaction: &mut Option<Redaction>,
) -> io::Result<(tempfile::SpooledTempFile, u64)> {
    let mut file = tempfile::spooled_tempfile(MAX_MEMORY_BYTES);
    let (mut entries, mut write_error) = (0, None);
    let mut block = Vec::new();
    onoff_journal::read(journals, |entry| {
        if write_error.is_some() || !boots.contains(&entry.boot) {
            return;
        }
        entries += 1;
        export_entry(entry, redaction, &mut block);
        if block.len() > 1 << 18 {
            write_error = file.write_all(&block).err();
            block.clear();
        }
    });
    match write_error {
        Some(error) => Err(error),
        None => file.write_all(&block).map(|()| (file, entries)),
    }
}

fn export_entry(entry: &Entry<'_, '_>, redaction: &mut Option<Redaction>, out: &mut Vec<u8>) {
    let times = format!(
        "__REALTIME_TIMESTAMP={}\n__MONOTONIC_TIMESTAMP={}\n_BOOT_ID={:032x}\n",
        entry.realtime_us, entry.monotonic_us, entry.boot
    );
    out.extend(times.as_bytes());
    for field in entry.fields() {
        if *field.name == b"_BOOT_ID"[..] {
            continue;
        }
        match redaction {
            None => export_field(&field.name, &field.value, out),
            Some(_) if !KEPT_FIELD_NAMES.contains(&*field.name) => {}
            // Times and numbers identify nobody.
            Some(_) if field.value.iter().all(u8::is_ascii_digit) => export_field(&field.name, &field.value, out),
            Some(redaction) => {
                let value = redaction.redact(&String::from_utf8_lossy(&field.value));
                export_field(&field.name, value.as_bytes(), out);
            }
        }
    }
    out.push(b'\n');
}

/// Writes a field as one line, or, if its value has line breaks or control characters, as its length and bytes.
fn export_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend(name);
    if value.iter().all(|&byte| byte >= b' ' || byte == b'\t') {
        out.push(b'=');
    } else {
        out.push(b'\n');
        out.extend((value.len() as u64).to_le_bytes());
    }
    out.extend(value);
    out.push(b'\n');
}

/// Removes environment variables and credentials from unit properties: they are not needed and may be secret.
fn without_secrets(text: &str) -> String {
    const SECRETS: [&str; 3] = ["Environment", "SetCredential", "LoadCredential"];
    text.split_inclusive('\n').filter(|line| !SECRETS.iter().any(|secret| line.starts_with(secret))).collect()
}

pub(crate) fn append(
    archive: &mut tar::Builder<impl Write>,
    name: &str,
    bytes: u64,
    contents: impl Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_entry_type(tar::EntryType::Regular);
    archive.append_data(&mut header, format!("{FOLDER}/{name}"), contents)
}
