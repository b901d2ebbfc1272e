//! What a colleague needs to see where the time went, in one archive that onoff reads: the journal of some boots, systemd's own
//! times, the kernel's log, what firmware and loader left.

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use onoff_journal::{Entry, JournalFile};
use serde::Serialize;

use crate::machine::{Files, Machine};
use crate::redaction::{Redaction, Replaced};
use crate::running::RunningSystem;

/// The folder in the archive.
const FOLDER: &str = "collected";

/// Bytes of journal entries that are kept in memory until the archive takes them; more go to a temporary file.
const HELD_BYTES: usize = 32 << 20;

/// Fields of journal entries that a redacted collection keeps: those that onoff reads, and who said it how loudly. The
/// others may name anything.
const KEPT_FIELDS: &str = "\
    MESSAGE MESSAGE_ID UNIT USER_UNIT JOB_ID JOB_TYPE JOB_RESULT PRIORITY SYSLOG_FACILITY SYSLOG_IDENTIFIER \
    SYSLOG_PID KERNEL_USEC INITRD_USEC USERSPACE_USEC _SYSTEMD_UNIT _SYSTEMD_USER_UNIT _PID _UID _COMM _EXE \
    _CMDLINE _TRANSPORT _HOSTNAME _MACHINE_ID _KERNEL_DEVICE _KERNEL_SUBSYSTEM _SOURCE_REALTIME_TIMESTAMP \
    _SOURCE_MONOTONIC_TIMESTAMP";

static KEPT: LazyLock<HashSet<&[u8]>> = LazyLock::new(|| KEPT_FIELDS.split(' ').map(str::as_bytes).collect());

/// What to pack.
#[derive(Clone, Copy, Debug)]
pub struct Collecting {
    /// How many boots of the journal, the last ones.
    pub boots: usize,
    /// Whether names of computers and users, and addresses, are replaced.
    pub redact: bool,
}

/// What was packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Ids of the boots, the oldest first.
    pub boots: Vec<String>,
    /// Entries of the journal.
    pub entries: u64,
    /// Members of the archive.
    pub members: usize,
    /// What was replaced, where that was wanted.
    pub replaced: Option<Replaced>,
}

/// What the archive says of itself.
#[derive(Serialize)]
struct About {
    kind: &'static str,
    recorder: String,
    redacted: bool,
    boots: Vec<String>,
    lacking: Vec<String>,
}

/// What replaces names, from what the computer is called and who uses it. More is learned from the journal.
#[must_use]
pub fn redaction_of(machine: &dyn Machine) -> Redaction {
    let mut redaction = Redaction::default();
    for path in ["/etc/hostname", "/proc/sys/kernel/hostname"] {
        if let Some(name) = machine.read_text(path) {
            redaction.add_host(&name);
        }
    }
    redaction.add_users_of(&machine.read_text("/etc/passwd").unwrap_or_default());
    redaction.add_machine(&machine.read_text("/etc/machine-id").unwrap_or_default());
    redaction
}

/// Packs what was found on a computer and its open journal as `.tar.gz` into `out`.
///
/// # Errors
/// `out` or a temporary file cannot be written.
pub fn write(
    found: &RunningSystem,
    journals: &[JournalFile<'_>],
    wanted: Collecting,
    redaction: Option<Redaction>,
    out: impl Write,
) -> io::Result<Collected> {
    let mut redaction = redaction.filter(|_| wanted.redact);
    let boots = last_boots(journals, wanted.boots);
    if let Some(redaction) = &mut redaction {
        learn(journals, &boots, redaction);
    }
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    let mut collected =
        Collected { boots: boots.iter().map(|boot| format!("{boot:032x}")).collect(), ..Collected::default() };
    let (mut export, entries) = export(journals, &boots, &mut redaction)?;
    collected.entries = entries;
    if entries > 0 {
        let bytes = export.seek(SeekFrom::End(0))?;
        export.rewind()?;
        append(&mut archive, "journal.export", bytes, &mut export)?;
        collected.members += 1;
    }
    for member in &found.members {
        let name = member.name.trim_start_matches('/');
        let text = std::str::from_utf8(&member.bytes).ok().zip(redaction.as_mut());
        match text {
            Some((text, redaction)) => {
                let text = redaction.text(&without_environment(text));
                append(&mut archive, &redaction.text(name), text.len() as u64, text.as_bytes())?;
            }
            None => append(&mut archive, name, member.bytes.len() as u64, &member.bytes[..])?,
        }
        collected.members += 1;
    }
    let mut lacking: Vec<String> = found.unread.iter().map(|unread| unread.what.clone()).collect();
    if let Some(redaction) = &mut redaction {
        lacking = lacking.iter().map(|text| redaction.text(text)).collect();
    }
    let about = About {
        kind: "collected",
        recorder: format!("onoff {}", env!("CARGO_PKG_VERSION")),
        redacted: redaction.is_some(),
        boots: collected.boots.clone(),
        lacking,
    };
    let about = serde_json::to_vec_pretty(&about)?;
    append(&mut archive, "recording.json", about.len() as u64, &about[..])?;
    collected.members += 1;
    archive.into_inner()?.finish()?.flush()?;
    collected.replaced = redaction.as_ref().map(Redaction::replaced);
    Ok(collected)
}

/// The last boots, in the journal's order.
fn last_boots(journals: &[JournalFile<'_>], count: usize) -> Vec<u128> {
    let mut boots: Vec<u128> = Vec::new();
    onoff_journal::read(journals, |entry| {
        // Boots follow each other; a late entry of an earlier one changes nothing.
        if boots.last() != Some(&entry.boot) && entry.boot != 0 && !boots.contains(&entry.boot) {
            boots.push(entry.boot);
        }
    });
    boots.split_off(boots.len().saturating_sub(count))
}

/// Learns names from the entries that will be packed: a name may come before what shows that it is one.
fn learn(journals: &[JournalFile<'_>], boots: &[u128], redaction: &mut Redaction) {
    let mut last = Vec::new();
    onoff_journal::read(journals, |entry| {
        if !boots.contains(&entry.boot) {
            return;
        }
        for field in entry.fields() {
            match &*field.name {
                // Nearly every entry has the same.
                b"_HOSTNAME" if *field.value != last[..] => {
                    redaction.add_host(&String::from_utf8_lossy(&field.value));
                    last = field.value.into_owned();
                }
                b"_MACHINE_ID" => redaction.add_machine(&String::from_utf8_lossy(&field.value)),
                b"MESSAGE" => redaction.learn(&String::from_utf8_lossy(&field.value)),
                _ => {}
            }
        }
    });
}

/// The entries of `boots` as `journalctl -o export` writes them ("Journal Export Formats", systemd's documentation), without
/// cursors, and how many they are.
fn export(
    journals: &[JournalFile<'_>],
    boots: &[u128],
    redaction: &mut Option<Redaction>,
) -> io::Result<(tempfile::SpooledTempFile, u64)> {
    let mut file = tempfile::spooled_tempfile(HELD_BYTES);
    let (mut entries, mut failed) = (0, None);
    let mut block = Vec::new();
    onoff_journal::read(journals, |entry| {
        if failed.is_some() || !boots.contains(&entry.boot) {
            return;
        }
        entries += 1;
        export_entry(entry, redaction, &mut block);
        if block.len() > 1 << 18 {
            failed = file.write_all(&block).err();
            block.clear();
        }
    });
    match failed {
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
            Some(redaction) if KEPT.contains(&*field.name) => {
                let value = redaction.text(&String::from_utf8_lossy(&field.value));
                export_field(&field.name, value.as_bytes(), out);
            }
            Some(_) => {}
        }
    }
    out.push(b'\n');
}

/// A line, or of a value with line ends or control characters its length and its bytes.
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

/// Unit properties without what programs are given in their environment: nobody needs it here, and it may hold secrets.
fn without_environment(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("Environment")).collect()
}

fn append(archive: &mut tar::Builder<impl Write>, name: &str, bytes: u64, contents: impl Read) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_entry_type(tar::EntryType::Regular);
    archive.append_data(&mut header, format!("{FOLDER}/{name}"), contents)
}
