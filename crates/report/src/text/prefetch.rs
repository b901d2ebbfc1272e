//! What Windows reads ahead, for a person: the answer, training, plans, files, boots, databases, and a recorded boot.

use std::io::{self, Write};

use onoff_analysis::prefetch::{BootTrace, PlanReport, PrefetchReport, ReadAheadWork, TrainingEvidence};
use onoff_analysis::transition::boot::{ReadAhead, TrainingState};

use super::bar::sparkline;
use super::printable::printable;
use super::quantity::{count, counted, duration, percent, second_or_dash, size};
use super::style::{DOUBT, HEADLINE, QUIET, TITLE};
use super::table::{Table, cell, styled_cell};

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefetchTextOptions {
    /// Rows of each list, 0 for all.
    pub top: usize,
}

impl PrefetchTextOptions {
    const fn rows(self) -> usize {
        if self.top == 0 { usize::MAX } else { self.top }
    }
}

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &PrefetchReport, options: &PrefetchTextOptions, out: &mut dyn Write) -> io::Result<()> {
    headline(report, out)?;
    let rows = options.rows();
    plans(report, rows, out)?;
    files(report, rows, out)?;
    volumes(report, out)?;
    boots(report, rows, out)?;
    databases(report, out)?;
    if let Some(work) = &report.read_ahead {
        read_ahead(work, out)?;
    }
    unreadable(report, rows, out)
}

fn headline(report: &PrefetchReport, out: &mut dyn Write) -> io::Result<()> {
    if let Some(most) = report.most_plans {
        writeln!(
            out,
            "{HEADLINE}{} of at most {} ({}).{HEADLINE:#}",
            counted(report.launch_plans, "launch plan"),
            count(most),
            report.windows
        )?;
        let shared = &report.shared;
        let whose = if report.programs.is_empty() {
            "Together".to_owned()
        } else {
            format!("{} of {} together", counted(shared.plans, "plan"), printable(&report.programs.join(", ")))
        };
        writeln!(
            out,
            "{whose} they read {} of {}; {} of them are shared ({}).",
            size(shared.bytes),
            counted(shared.files, "file"),
            count(shared.shared_files),
            size(shared.shared_bytes)
        )?;
        if report.launch_plans >= most {
            writeln!(
                out,
                "{DOUBT}The limit is reached: Windows drops a plan for each new program. Start the programs that matter last.{DOUBT:#}"
            )?;
        }
    }
    writeln!(out, "{}", training(report))
}

fn training(report: &PrefetchReport) -> String {
    let training = &report.training;
    let boots = counted(training.boots.unwrap_or(0), "boot");
    let source = match training.evidence {
        TrainingEvidence::RecordedBoot => format!("the recorded boot counts {boots}"),
        TrainingEvidence::ReadyBootTraces => format!("ReadyBoot kept {boots}"),
        TrainingEvidence::BootPlan => format!("the boot's plan counts {boots}"),
        TrainingEvidence::None => {
            return "Whether the read-ahead of boots is trained is not known: there is no boot plan (NTOSBOOT-B00DFAAD.pf), no \
                    ReadyBoot trace and no recorded boot."
                .to_owned();
        }
    };
    let missing = counted(training.missing_boots.unwrap_or(0), "boot");
    match training.state {
        TrainingState::Trained => format!("The read-ahead of boots is trained: {source}."),
        TrainingState::Training | TrainingState::Untrained => format!(
            "The read-ahead of boots is not trained: {source}, {missing} of {} missing. Restart, and let the computer idle for \
             5 minutes after the last.",
            ReadAhead::TRAINED_BOOTS
        ),
        TrainingState::Unknown => format!("Whether the read-ahead of boots is trained is not known: {source}."),
    }
}

fn title(text: &str, note: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{TITLE}{text}{TITLE:#}{}{QUIET}{note}{QUIET:#}", if note.is_empty() { "" } else { "  " })
}

fn more(all: usize, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    match all.checked_sub(rows) {
        None | Some(0) => Ok(()),
        Some(left) => writeln!(out, "  {QUIET}and {} more; --top 0 shows all{QUIET:#}", count(left as u64)),
    }
}

/// What is worth a word about a plan.
fn note(plan: &PlanReport) -> String {
    let mut notes = Vec::new();
    if plan.is_boot {
        notes.push("the boot's".to_owned());
    }
    if plan.is_older_than_program == Some(true) {
        notes.push("older than the program".to_owned());
    }
    if let Some(files) = plan.newer_files.filter(|&files| files > 0) {
        notes.push(format!("{} changed since", counted(files, "file")));
    }
    if let Some(files) = plan.missing_files.filter(|&files| files > 0) {
        notes.push(format!("{} gone", counted(files, "file")));
    }
    if plan.other_volume_files > 0 {
        notes.push(format!("{} on other volumes", counted(plan.other_volume_files, "file")));
    }
    if plan.unreadable > 0 {
        notes.push(format!("{} not readable", counted(plan.unreadable, "entry").replace("entrys", "entries")));
    }
    notes.join(", ")
}

fn plans(report: &PrefetchReport, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.plans.is_empty() {
        return Ok(());
    }
    title("Plans", "the last started first; a plan reads its pages before the program asks for them", out)?;
    let mut table = Table::new()
        .left("program", 32)
        .right("starts")
        .left("last start (UTC)", 20)
        .right("files")
        .right("reads")
        .left("", 60);
    for plan in report.plans.iter().take(rows) {
        table.row([
            cell(&*plan.executable),
            cell(count(u64::from(plan.run_count))),
            cell(second_or_dash(plan.last_run_unix_ns)),
            cell(count(plan.files)),
            cell(size(plan.bytes)),
            styled_cell(QUIET, note(plan)),
        ]);
    }
    table.write(out)?;
    more(report.plans.len(), rows, out)
}

fn files(report: &PrefetchReport, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.files.is_empty() {
        return Ok(());
    }
    title("Files that plans read", "most bytes first; of each file what the plan reads that reads most of it", out)?;
    let mut table = Table::new().left("file", 72).right("plans").right("reads").right("of");
    for file in report.files.iter().take(rows) {
        table.row([
            cell(&*file.path),
            cell(count(file.plans)),
            cell(size(file.bytes)),
            cell(file.file_bytes.map_or_else(String::new, size)),
        ]);
    }
    table.write(out)?;
    more(report.files.len(), rows, out)?;
    if let Some(files) = report.layout_files {
        writeln!(out, "  {QUIET}Layout.ini lays out {} on the disk.{QUIET:#}", counted(files, "file"))?;
    }
    Ok(())
}

fn volumes(report: &PrefetchReport, out: &mut dyn Write) -> io::Result<()> {
    if report.volumes.len() < 2 {
        return Ok(());
    }
    title("Volumes", "", out)?;
    let mut table =
        Table::new().left("volume", 56).left("serial", 10).right("plans").right("files").right("reads").left("", 24);
    for volume in &report.volumes {
        table.row([
            cell(&*volume.device),
            cell(&*volume.serial),
            cell(count(volume.plans)),
            cell(count(volume.files)),
            cell(size(volume.bytes)),
            styled_cell(QUIET, if volume.is_system { "holds Windows" } else { "" }),
        ]);
    }
    table.write(out)
}

fn boots(report: &PrefetchReport, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    if !report.boots.is_empty() {
        title("Boots that ReadyBoot kept", "experimental: the layout is known from one public description", out)?;
        let mut table = Table::new()
            .left("file", 40)
            .left("written (UTC)", 20)
            .right("length")
            .right("reads")
            .right("bytes")
            .right("files")
            .right("in sequence")
            .left("bytes over time", 24);
        for boot in &report.boots {
            let name = boot.name.rsplit(['/', '\\']).next().unwrap_or(&boot.name);
            table.row([
                cell(name),
                cell(second_or_dash(boot.modified_unix_ns)),
                cell(duration(boot.duration_ns)),
                cell(count(boot.reads)),
                cell(size(boot.bytes)),
                cell(count(boot.files)),
                cell(percent(boot.sequential_percent)),
                cell(sparkline(&boot.bytes_by_slice)),
            ]);
        }
        table.write(out)?;
        if let Some(files) = report.files_in_all_boots {
            writeln!(out, "  {QUIET}{} read in all of them.{QUIET:#}", counted(files, "file"))?;
        }
        if let Some(last) = report.boots.last() {
            top_files(last, rows, out)?;
        }
    }
    match report.next_boot_files {
        Some(files) => writeln!(
            out,
            "  {QUIET}ReadyBoot's layout for the next boot names {} and folders (experimental).{QUIET:#}",
            counted(files, "file")
        ),
        None => Ok(()),
    }
}

fn top_files(boot: &BootTrace, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let mut table = Table::new().left("most read in the last of them", 80).right("reads").right("bytes");
    for file in boot.top_files.iter().take(rows) {
        table.row([cell(&*file.path), cell(count(file.reads)), cell(size(file.bytes))]);
    }
    table.write(out)?;
    if boot.unreadable > 0 {
        writeln!(
            out,
            "  {DOUBT}{} of {} not readable.{DOUBT:#}",
            counted(boot.unreadable, "record"),
            printable(&boot.name)
        )?;
    }
    Ok(())
}

fn databases(report: &PrefetchReport, out: &mut dyn Write) -> io::Result<()> {
    if report.databases.is_empty() {
        return Ok(());
    }
    title("SuperFetch databases", "headers only", out)?;
    let mut table = Table::new()
        .left("file", 40)
        .left("packed", 8)
        .right("bytes")
        .right("volumes")
        .right("files")
        .right("programs");
    for database in &report.databases {
        let name = database.name.rsplit(['/', '\\']).next().unwrap_or(&database.name);
        table.row([
            cell(name),
            cell(database.packing),
            cell(size(database.bytes)),
            cell(count(u64::from(database.volumes))),
            cell(count(u64::from(database.files))),
            cell(count(u64::from(database.sources))),
        ]);
    }
    table.write(out)
}

fn read_ahead(work: &ReadAheadWork, out: &mut dyn Write) -> io::Result<()> {
    title(
        "In the recorded boot",
        &format!("{} to a settled desktop or the recording's end", duration(work.boot_ns)),
        out,
    )?;
    let mut table = Table::new().left("", 48).right("requests").right("bytes").right("disk time");
    for (what, done) in [
        ("read ahead", &work.ahead),
        ("read when it was needed (misses)", &work.misses),
        ("  of these: read ahead too, but too late", &work.late),
        ("written", &work.writes),
    ] {
        table.row([cell(what), cell(count(done.operations)), cell(size(done.bytes)), cell(duration(done.service_ns))]);
    }
    if let Some(sums) = &work.sums {
        table.row([
            cell("answered from what was read ahead (hits)"),
            cell(count(sums.hits)),
            cell(size(sums.hit_bytes)),
            cell(""),
        ]);
        let wasted = work.wasted_bytes.unwrap_or(0);
        table.row([cell("read ahead and not asked for (wasted)"), cell(""), cell(size(wasted)), cell("")]);
    }
    table.write(out)?;
    match work.read_without_ns {
        Some(without) => writeln!(
            out,
            "  Training is worth about {} of disk time here: {} of reads instead of {}, if each hit had taken as long as a miss.",
            duration(without.saturating_sub(work.read_ns).max(0)),
            duration(work.read_ns),
            duration(without)
        ),
        None if work.sums.is_none() => writeln!(
            out,
            "  {QUIET}Hits, waste and what training is worth are not known: record Microsoft-Windows-ReadyBoost.{QUIET:#}"
        ),
        None => writeln!(out, "  {QUIET}What training is worth is not known: no read was a miss.{QUIET:#}"),
    }
}

fn unreadable(report: &PrefetchReport, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.unreadable.is_empty() {
        return Ok(());
    }
    title("Not read", "", out)?;
    for file in report.unreadable.iter().take(rows) {
        writeln!(out, "  {DOUBT}{}{DOUBT:#}: {}", printable(&file.name), printable(&file.reason))?;
    }
    more(report.unreadable.len(), rows, out)
}
