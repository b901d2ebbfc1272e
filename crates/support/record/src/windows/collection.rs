//! Packs the event logs of a Windows computer into one archive that onoff reads.
//!
//! Complete logs are packed as they are. A part of the logs, or redacted logs, are packed as XML. Traces and reports
//! are compressed one by one inside the archive, so that reading the archive reads the logs.

use std::io::{self, Seek, SeekFrom, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use onoff_trace::RecordedBoot;
use tempfile::SpooledTempFile;

use super::export::{EventLog, learn_names, write_log};
use super::logs::{SLEEP_STUDY, TRACE_FILES};
use crate::collection::{CollectionSummary, MAX_MEMORY_BYTES, append, append_metadata};
use crate::redaction::Redaction;
use crate::running::RunningSystem;

/// The part of the logs to pack.
#[derive(Clone, Debug, Default)]
pub struct LogRange {
    /// Ids of the boots in it, oldest first.
    pub boots: Vec<String>,
    /// Time of its first record; `None` for complete logs.
    pub since_unix_ns: Option<i64>,
}

/// Time before the start of the first boot that belongs to it, ns. The first record of a boot can be older than its
/// start, which the kernel's account gives; the margin also covers clocks that are set during the boot.
const BOOT_MARGIN_NS: i64 = 60_000_000_000;

impl LogRange {
    /// Selects the last `count` of `boots`, or all of them.
    #[must_use]
    pub fn last_boots(boots: &[RecordedBoot], count: Option<usize>) -> Self {
        let skipped = count.map_or(0, |count| boots.len().saturating_sub(count));
        let selected = boots.get(skipped..).unwrap_or_default();
        // A boot whose clock was wrong can have an earlier time than the boot before.
        let first = selected.iter().filter_map(|boot| boot.first_unix_ns).min();
        Self {
            boots: selected.iter().map(|boot| boot.id.clone()).collect(),
            since_unix_ns: first.filter(|_| skipped > 0).map(|first_ns| first_ns.saturating_sub(BOOT_MARGIN_NS)),
        }
    }
}

/// Packs the logs, and the traces and reports in `system`, into `out` as `.tar.gz`. With a redaction, traces and
/// reports are left out.
///
/// # Errors
/// `out` or a temporary file cannot be written.
pub fn write(
    system: &RunningSystem,
    logs: &[EventLog<'_>],
    range: &LogRange,
    mut redaction: Option<Redaction>,
    out: impl Write,
) -> io::Result<CollectionSummary> {
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    let mut summary = CollectionSummary {
        boots: range.boots.clone(),
        left_out: system.absent.clone(),
        ..CollectionSummary::default()
    };
    if let Some(redaction) = &mut redaction {
        learn_names(logs, redaction);
    }
    for log in logs {
        let name = log.name.rsplit(['/', '\\']).next().unwrap_or(log.name);
        if redaction.is_none() && range.since_unix_ns.is_none() {
            append(&mut archive, name, log.bytes.len() as u64, log.bytes)?;
            summary.file_count += 1;
            continue;
        }
        let mut file = tempfile::spooled_tempfile(MAX_MEMORY_BYTES);
        match write_log(*log, range.since_unix_ns, redaction.as_mut(), &mut file) {
            Ok(read) => {
                let (chunks, records) = (read.damaged_chunks, read.unreadable_records);
                if chunks > 0 || records > 0 {
                    let text = format!("{name}: damaged chunks: {chunks}, unreadable records: {records}");
                    summary.left_out.push(text);
                }
                append_spooled(&mut archive, &xml_name(name), file)?;
                summary.file_count += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                summary.left_out.push(format!("{name}: {error}"));
            }
            Err(error) => return Err(error),
        }
    }
    if redaction.is_some() {
        let names = [&TRACE_FILES[..], &[SLEEP_STUDY]].concat();
        summary.left_out.extend(names.iter().map(|name| format!("{name}: cannot be redacted")));
    }
    let is_packed = |name: &str| redaction.is_none() && (name == SLEEP_STUDY || TRACE_FILES.contains(&name));
    for file in system.files.iter().filter(|file| is_packed(&file.name)) {
        let mut compressed = GzEncoder::new(tempfile::spooled_tempfile(MAX_MEMORY_BYTES), Compression::default());
        compressed.write_all(&file.bytes)?;
        append_spooled(&mut archive, &format!("{}.gz", file.name), compressed.finish()?)?;
        summary.file_count += 1;
    }
    let mut missing: Vec<String> = system.unreadable.iter().map(|data| data.problem.clone()).collect();
    missing.extend(summary.left_out.iter().cloned());
    if let Some(redaction) = &mut redaction {
        missing = missing.iter().map(|text| redaction.redact(text)).collect();
    }
    append_metadata(&mut archive, &summary.boots, &missing, redaction.is_some())?;
    summary.file_count += 1;
    archive.into_inner()?.finish()?.flush()?;
    summary.replaced = redaction.as_ref().map(Redaction::replaced);
    Ok(summary)
}

fn append_spooled(archive: &mut tar::Builder<impl Write>, name: &str, mut file: SpooledTempFile) -> io::Result<()> {
    let bytes = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    append(archive, name, bytes, file)
}

/// Returns the name of the XML of a log: the name of its file with another extension.
#[must_use]
pub fn xml_name(name: &str) -> String {
    let is_log = |extension: &str| ["evtx", "xml"].iter().any(|known| extension.eq_ignore_ascii_case(known));
    match name.rsplit_once('.') {
        Some((stem, extension)) if is_log(extension) => format!("{stem}.xml"),
        _ => format!("{name}.xml"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_starts_before_its_earliest_boot() {
        let boot = |id: &str, seconds: i64| RecordedBoot {
            id: id.to_owned(),
            first_unix_ns: Some(seconds * 1_000_000_000),
            ..RecordedBoot::default()
        };
        // The clock of the third boot was slow.
        let boots = [boot("a", 1_000), boot("b", 50_000), boot("c", 20_000)];
        let range = |count| {
            let LogRange { boots, since_unix_ns } = LogRange::last_boots(&boots, count);
            (boots.concat(), since_unix_ns.map(|ns| ns / 1_000_000_000))
        };
        assert_eq!(range(None), ("abc".to_owned(), None));
        assert_eq!(range(Some(3)), ("abc".to_owned(), None));
        assert_eq!(range(Some(2)), ("bc".to_owned(), Some(19_940)));
        assert_eq!(LogRange::last_boots(&[], Some(2)).since_unix_ns, None);
    }

    #[test]
    fn exports_have_the_names_of_their_logs() {
        let names = ["System.evtx", "System.EVTX", "a.xml", "a.b"].map(xml_name);
        assert_eq!(names, ["System.xml", "System.xml", "a.xml", "a.b.xml"]);
    }
}
