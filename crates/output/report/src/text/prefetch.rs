//! The text report of `prefetch`: headline, training, plans, files, boots, databases, and a recorded boot.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use onoff_image::prefetch::{BootTrace, PlanReport, PlannedVolume, PrefetchReport, ReadAheadReport, TrainingEvidence};
use onoff_transitions::boot::{ReadAhead, TrainingState};
use onoff_usage::disk::DiskWork;

use super::bar::sparkline;
use super::printable::printable;
use super::quantity::{count, counted, duration, percent, second_or_dash, size};
use super::style::{DOUBT, HEADLINE, QUIET};
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

/// The rows of a CSV table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchRows {
    Plans,
    Files,
    Volumes,
    /// Boots in the traces of ReadyBoot.
    Boots,
}

/// Returns the section with the requested rows.
#[must_use]
pub fn rows(report: &PrefetchReport, rows: PrefetchRows) -> Section<'_> {
    match rows {
        PrefetchRows::Plans => plans(report, usize::MAX),
        PrefetchRows::Files => files(report, usize::MAX),
        PrefetchRows::Volumes => volumes(report),
        PrefetchRows::Boots => boots(report, usize::MAX),
    }
}

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &PrefetchReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    headline(report, out)?;
    let sections = [plans(report, top), files(report, top)].into_iter().filter(|section| !section.is_empty());
    let volumes = Some(volumes(report)).filter(|section| section.len() > 1);
    let boots = Some(boots(report, top)).filter(|section| !section.is_empty());
    let most_read = most_read(report, top);
    let databases = Some(databases(report)).filter(|section| !section.is_empty());
    let sections = sections.chain(volumes).chain(boots).chain(most_read).chain(databases);
    let sections: Vec<Section<'_>> = sections.chain(report.read_ahead.as_ref().map(read_ahead)).collect();
    section::text::write_all(&sections, out)?;
    unreadable(report, top, out)
}

fn headline(report: &PrefetchReport, out: &mut dyn Write) -> io::Result<()> {
    if let Some(max) = report.max_plans {
        writeln!(
            out,
            "{HEADLINE}{} of at most {} ({}).{HEADLINE:#}",
            counted(report.launch_plans, "launch plan"),
            count(max),
            report.windows
        )?;
        let shared = &report.shared;
        let subject = if report.programs.is_empty() {
            "Together, they".to_owned()
        } else {
            format!("{} of {}", counted(shared.plans, "plan"), printable(&report.programs.join(", ")))
        };
        writeln!(
            out,
            "{subject} read {} from {}, {} of them shared ({}).",
            size(shared.bytes),
            counted(shared.files, "file"),
            count(shared.shared_files),
            size(shared.shared_bytes)
        )?;
        if report.launch_plans >= max {
            writeln!(
                out,
                "{DOUBT}The limit is reached: Windows drops a plan for each new program. Start the most important programs last.{DOUBT:#}"
            )?;
        }
    }
    writeln!(out, "{}", training(report))
}

fn training(report: &PrefetchReport) -> String {
    let training = &report.training;
    let boots = counted(training.boots.unwrap_or(0), "boot");
    let source = match training.evidence {
        TrainingEvidence::RecordedBoot => format!("{boots} according to the recorded boot"),
        TrainingEvidence::ReadyBootTraces => format!("{boots} in the ReadyBoot traces"),
        TrainingEvidence::BootPlan => format!("{boots} according to the boot plan"),
        TrainingEvidence::BootCounter => {
            format!("the installation booted {} in total (BootId)", counted(training.boots.unwrap_or(0), "time"))
        }
        TrainingEvidence::Disabled => {
            return "Boot read-ahead is turned off (EnablePrefetcher). Set it to 3.".to_owned();
        }
        TrainingEvidence::None => {
            return "Boot read-ahead: training state unknown, because there is no boot plan (NTOSBOOT-B00DFAAD.pf), no ReadyBoot \
                    trace and no recorded boot."
                .to_owned();
        }
    };
    let missing = counted(training.missing_boots.unwrap_or(0), "boot");
    match training.state {
        TrainingState::Trained => format!("Boot read-ahead is trained: {source}."),
        TrainingState::Training | TrainingState::Untrained => format!(
            "Boot read-ahead is not trained: {source}, {missing} of {} missing. Restart, and leave the computer idle for \
             5 minutes after the last boot.",
            ReadAhead::TRAINED_BOOTS
        ),
        TrainingState::Unknown => format!("Boot read-ahead: training state unknown ({source})."),
    }
}

/// Lists the special properties of a plan.
fn note(plan: &PlanReport) -> String {
    let mut notes = Vec::new();
    if plan.is_boot {
        notes.push("boot plan".to_owned());
    }
    if plan.is_older_than_program == Some(true) {
        notes.push("older than the program".to_owned());
    }
    if let Some(files) = plan.newer_files.filter(|&files| files > 0) {
        notes.push(format!("{} changed since", counted(files, "file")));
    }
    if let Some(files) = plan.missing_files.filter(|&files| files > 0) {
        notes.push(format!("{} missing", counted(files, "file")));
    }
    if plan.other_volume_files > 0 {
        notes.push(format!("{} on other volumes", counted(plan.other_volume_files, "file")));
    }
    if plan.unreadable > 0 {
        notes.push(format!("{} unreadable", counted(plan.unreadable, "entry")));
    }
    notes.join(", ")
}

/// Formats a calendar time to the second.
fn calendar(unix_ns: Option<i64>) -> Cell<'static> {
    Cell::with_display_text(Value::from_option(unix_ns, Value::Time), second_or_dash(unix_ns))
}

/// Returns the cell of a path, shown as its file name.
fn file_name(path: &str) -> Cell<'_> {
    Cell::with_display_text(Value::text(path), path.rsplit(['/', '\\']).next().unwrap_or(path))
}

fn plans(report: &PrefetchReport, top: usize) -> Section<'_> {
    let count = Value::Count;
    Section::builder("plans", "Plans", &report.plans)
        .note("latest start first; a plan reads pages before the program needs them")
        .top_with_remainder(top)
        .data("name", |plan| Value::text(&plan.name))
        .name("executable", "program", 32, |plan| Value::text(&plan.executable))
        .data("path", |plan| Value::text(&plan.path))
        .data("path_hash", |plan| Value::text(&plan.path_hash))
        .data("version", |plan| Value::Id(plan.version.into()))
        .data("is_boot", |plan| Value::Flag(plan.is_boot))
        .quantity("run_count", "starts", move |plan| count(plan.run_count.into()))
        .name("last_run_unix_ns", "last start (UTC)", 20, |plan| calendar(plan.last_run_unix_ns))
        .data("modified_unix_ns", |plan| Value::from_option(plan.modified_unix_ns, Value::Time))
        .quantity("files", "files", move |plan| count(plan.files))
        .data("pages", move |plan| count(plan.pages))
        .quantity("bytes", "reads", |plan| Value::Bytes(plan.bytes))
        .data("other_volume_files", move |plan| count(plan.other_volume_files))
        .data("is_older_than_program", |plan| Value::from_option(plan.is_older_than_program, Value::Flag))
        .data("missing_files", move |plan| Value::from_option(plan.missing_files, count))
        .data("newer_files", move |plan| Value::from_option(plan.newer_files, count))
        .data("unreadable", move |plan| count(plan.unreadable))
        .name("", "", 60, |plan| Cell::text_only(QUIET, note(plan)))
        .build()
}

fn files(report: &PrefetchReport, top: usize) -> Section<'_> {
    let layout = report.layout_files.map(|files| format!("Layout.ini places {} on the disk.", counted(files, "file")));
    Section::builder("files", "Files read by plans", &report.files)
        .note("most bytes first; 'reads' is the largest amount that one plan reads")
        .top_with_remainder(top)
        .name("path", "file", 72, |file| {
            Cell::with_display_text(Value::text(&file.path), without_volume(&file.path, &report.volumes))
        })
        .quantity("plans", "plans", |file| Value::Count(file.plans))
        .data("pages", |file| Value::Count(file.pages))
        .quantity("bytes", "reads", |file| Value::Bytes(file.bytes))
        .data("planned_bytes", |file| Value::Bytes(file.planned_bytes))
        .quantity("file_bytes", "of", |file| Value::from_option(file.file_bytes, Value::Bytes))
        .build()
        .line_if(QUIET, layout)
}

/// Shortens the volume of a path: plans name volumes by device, never by letter. A single Windows volume is left out;
/// the others are named by their serial numbers, which are in the table of volumes.
fn without_volume<'a>(path: &'a str, volumes: &[PlannedVolume]) -> Cow<'a, str> {
    let volume_and_path = volumes.iter().find_map(|volume| {
        let volume_path = path.get(volume.device.len()..).filter(|volume_path| volume_path.starts_with('\\'))?;
        path.get(..volume.device.len())?.eq_ignore_ascii_case(&volume.device).then_some((volume, volume_path))
    });
    match volume_and_path {
        Some((volume, volume_path))
            if volume.is_system && volumes.iter().filter(|volume| volume.is_system).count() == 1 =>
        {
            Cow::Borrowed(volume_path)
        }
        Some((volume, volume_path)) if !volume.serial.is_empty() => {
            Cow::Owned(format!("{}:{volume_path}", volume.serial))
        }
        _ => Cow::Borrowed(path),
    }
}

fn volumes(report: &PrefetchReport) -> Section<'_> {
    Section::builder("volumes", "Volumes", &report.volumes)
        .name("device", "volume", 56, |volume| Value::text(&volume.device))
        .name("serial", "serial", 10, |volume| Value::text(&volume.serial))
        .data("created_unix_ns", |volume| Value::from_option(volume.created_unix_ns, Value::Time))
        .data("is_system", |volume| Value::Flag(volume.is_system))
        .quantity("plans", "plans", |volume| Value::Count(volume.plans))
        .quantity("files", "files", |volume| Value::Count(volume.files))
        .quantity("bytes", "reads", |volume| Value::Bytes(volume.bytes))
        .name("", "", 24, |volume| Cell::text_only(QUIET, if volume.is_system { "Windows volume" } else { "" }))
        .build()
}

fn boots(report: &PrefetchReport, top: usize) -> Section<'_> {
    let in_all = report.files_in_all_boots.map(|files| format!("{} read in every boot.", counted(files, "file")));
    let next = report.next_boot_files.map(|files| {
        format!("The ReadyBoot layout for the next boot names {} and folders (experimental).", counted(files, "file"))
    });
    Section::builder("boots", "Boots in ReadyBoot traces", &report.boots)
        .note("experimental: only one public description of the format exists")
        .top_with_remainder(top)
        .name("name", "file", 40, |boot| file_name(&boot.name))
        .name("modified_unix_ns", "written (UTC)", 20, |boot| calendar(boot.modified_unix_ns))
        .quantity("reads", "reads", |boot| Value::Count(boot.reads))
        .quantity("bytes", "bytes", |boot| Value::Bytes(boot.bytes))
        .data("unattributed_reads", |boot| Value::Count(boot.unattributed_reads))
        .quantity("files", "files", |boot| Value::Count(boot.files))
        .quantity("duration_ns", "length", |boot| Value::Duration(boot.duration_ns))
        .quantity("sequential_percent", "sequential", |boot| {
            Cell::with_display_text(
                Value::Real { value: boot.sequential_percent, decimals: 3 },
                percent(boot.sequential_percent),
            )
        })
        .data("unreadable", |boot| Value::Count(boot.unreadable))
        .name("", "bytes over time", 24, |boot| Value::Text(sparkline(&boot.bytes_by_slice).into()))
        .build()
        .line_if(QUIET, in_all)
        .line_if(QUIET, next)
}

/// Maximum number of boots with a separate column: as many as ReadyBoot keeps.
const BOOT_COLUMNS: usize = 5;

/// A file with the bytes read by each boot.
struct ReadByBoots<'a> {
    path: &'a str,
    /// `None` if the file is not among the top files of the boot.
    bytes: Vec<Option<u64>>,
}

/// Lists the most-read files, with a column for each of the last boots.
fn most_read(report: &PrefetchReport, top: usize) -> Option<Section<'_>> {
    let last_boots: Vec<&BootTrace> = report.boots.iter().rev().take(BOOT_COLUMNS).rev().collect();
    let mut by_path: BTreeMap<String, ReadByBoots<'_>> = BTreeMap::new();
    for (index, boot) in last_boots.iter().enumerate() {
        for file in &boot.top_files {
            let empty = || ReadByBoots { path: &file.path, bytes: vec![None; last_boots.len()] };
            let row = by_path.entry(file.path.to_uppercase()).or_insert_with(empty);
            if let Some(bytes) = row.bytes.get_mut(index) {
                *bytes = Some(bytes.unwrap_or(0).saturating_add(file.bytes));
            }
        }
    }
    let mut rows: Vec<ReadByBoots<'_>> = by_path.into_values().collect();
    // Most bytes in all boots first, then by name.
    rows.sort_by_key(|row| Reverse(row.bytes.iter().flatten().fold(0_u64, |sum, &bytes| sum.saturating_add(bytes))));
    if rows.is_empty() {
        return None;
    }
    let mut section = Section::builder("most_read", "Most-read files by boot", rows)
        .note("bytes; empty if not among the 50 most-read files of the boot")
        .top(top)
        .name("path", "file", 80, |file| Value::text(file.path));
    for (index, boot) in last_boots.iter().enumerate() {
        let name = boot.name.rsplit(['/', '\\']).next().unwrap_or(&boot.name);
        section = section.column_with_title(Heading::quantity("bytes", ""), printable(name), move |file| {
            Value::from_option(file.bytes.get(index).copied().flatten(), Value::Bytes)
        });
    }
    let lines = last_boots.iter().filter(|boot| boot.unreadable > 0);
    let lines =
        lines.map(|boot| format!("{} of {} unreadable.", counted(boot.unreadable, "record"), printable(&boot.name)));
    Some(lines.fold(section.build(), |section, line| section.line(DOUBT, line)))
}

fn databases(report: &PrefetchReport) -> Section<'_> {
    Section::builder("databases", "Superfetch databases", &report.databases)
        .note("headers only")
        .name("name", "file", 40, |database| file_name(&database.name))
        .name("packing", "compression", 8, |database| Value::text(database.packing))
        .quantity("bytes", "bytes", |database| Value::Bytes(database.bytes))
        .quantity("volumes", "volumes", |database| Value::Count(database.volumes.into()))
        .quantity("files", "files", |database| Value::Count(database.files.into()))
        .quantity("sources", "programs", |database| Value::Count(database.sources.into()))
        .build()
}

fn read_ahead(work: &ReadAheadReport) -> Section<'_> {
    let work_row = |text, work: &DiskWork| (text, Some(work.operations), Some(work.bytes), Some(work.service_ns));
    let mut rows = vec![
        work_row("read ahead", &work.ahead),
        work_row("read on demand (misses)", &work.misses),
        work_row("  of these: also read ahead, but too late", &work.late),
        work_row("written", &work.writes),
    ];
    if let Some(sums) = &work.totals {
        rows.push(("served from read-ahead data (hits)", Some(sums.hits), Some(sums.hit_bytes), None));
        rows.push(("read ahead but not needed (wasted)", None, Some(work.wasted_bytes.unwrap_or(0)), None));
    }
    let section = Section::builder("read_ahead", "Read-ahead in the recorded boot", rows)
        .note(format!("from the start of the boot until idle or the end of the recording: {}", duration(work.boot_ns)))
        .name("what", "", 48, |row| Value::text(row.0))
        .quantity("requests", "requests", |row| Value::from_option(row.1, Value::Count))
        .quantity("bytes", "bytes", |row| Value::from_option(row.2, Value::Bytes))
        .quantity("service_ns", "disk time", |row| Value::from_option(row.3, Value::Duration))
        .build();
    match work.totals {
        Some(_) => section,
        None => section.line(QUIET, "To see hits and waste, record Microsoft-Windows-ReadyBoost."),
    }
}

fn unreadable(report: &PrefetchReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.unreadable.is_empty() {
        return Ok(());
    }
    let files = Section::builder("unreadable", "Not read", &report.unreadable)
        .top_with_remainder(top)
        .name("name", "file", 80, |file| Value::text(&file.name).styled(DOUBT))
        .name("reason", "reason", 120, |file| Value::text(&file.reason))
        .build();
    section::text::write(&files, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(device: &str, serial: &str, is_system: bool) -> PlannedVolume {
        PlannedVolume {
            device: device.to_owned(),
            serial: serial.to_owned(),
            created_unix_ns: None,
            is_system,
            plans: 1,
            files: 1,
            bytes: 1,
        }
    }

    #[test]
    fn omits_the_only_windows_volume() {
        let (system, data) =
            (volume(r"\VOLUME{01d6}", "4290933E", true), volume(r"\DEVICE\HARDDISKVOLUME2", "B8BDF870", false));
        let volumes = [system.clone(), data];
        assert_eq!(without_volume(r"\volume{01D6}\WINDOWS\A.DLL", &volumes), r"\WINDOWS\A.DLL");
        assert_eq!(without_volume(r"\DEVICE\HARDDISKVOLUME2\B.DLL", &volumes), r"B8BDF870:\B.DLL");
        // A prefix of a volume name is not that volume.
        assert_eq!(without_volume(r"\DEVICE\HARDDISKVOLUME21\B.DLL", &volumes), r"\DEVICE\HARDDISKVOLUME21\B.DLL");
        let two = [system, volume(r"\VOLUME{01d7}", "", true)];
        assert_eq!(without_volume(r"\VOLUME{01d6}\WINDOWS\A.DLL", &two), r"4290933E:\WINDOWS\A.DLL");
        assert_eq!(without_volume(r"\VOLUME{01d7}\WINDOWS\A.DLL", &two), r"\VOLUME{01d7}\WINDOWS\A.DLL");
    }
}
