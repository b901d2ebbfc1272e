//! The overview: the kind of a recording, and the first line of each verb's output.

use std::io::{self, Write};

use onoff_blame::waits::PathOptions;
use onoff_blame::why::{WhyQuestion, WhyTarget};
use onoff_evidence::Scope;
use onoff_evidence::recording::RecordingSummary;
use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions};
use onoff_findings::finding::CostBasis;
use onoff_lists::cpu::CpuGroup;
use onoff_lists::interrupts::InterruptGroup;
use onoff_lists::{cpu, devices, interrupts, policy, processes, services};
use onoff_network::NetbootOptions;
use onoff_report::text;
use onoff_report::text::overview::{Overview, OverviewLine};
use onoff_report::text::quantity::{counted, duration, size};
use onoff_requests::{self as requests, IoOptions};
use onoff_sections::table::TableReport;
use onoff_sources::RecordingKind;
use onoff_trace::{TableName, TableSet, Trace};
use onoff_transitions::boot::BootOptions;
use onoff_transitions::shutdown::ShutdownOptions;
use onoff_transitions::suspend::SuspendOptions;
use onoff_usage::storage::{Key, disk, files, hard_faults};

use crate::error::{Error, QueryError};
use crate::session::Session;
use crate::tables::run_tables;

/// The tables of the list verbs.
const LIST_TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::Images,
    TableName::ContextSwitches,
    TableName::Samples,
    TableName::Interrupts,
    TableName::DiskIos,
    TableName::FileIos,
    TableName::HardFaults,
    TableName::ServiceTransitions,
    TableName::DeviceOperations,
    TableName::Activities,
    TableName::Inventory,
]);

/// Minimum duration of a wait to show.
const MIN_WAIT_NS: i64 = 10_000_000;

impl Session {
    /// Describes the recording and runs each verb for the first line of its output.
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn overview(&self) -> Result<Overview, Error> {
        match self.kind() {
            RecordingKind::NetworkCapture => self.capture_overview(),
            _ => self.system_overview(),
        }
    }

    fn capture_overview(&self) -> Result<Overview, Error> {
        let mut lines = Lines::default();
        if let Some(report) = QueryError::optional(self.netboot(&NetbootOptions::default()))? {
            let what_if = NetbootOptions::default().what_if;
            let options = text::netboot::NetbootTextOptions { top: 1, what_if };
            lines.add("netboot", |out| text::netboot::write(&report, &options, out));
        }
        Ok(self.build_overview(self.kind().as_str().to_owned(), String::new(), lines, &["netboot"]))
    }

    fn system_overview(&self) -> Result<Overview, Error> {
        // Read all tables needed below in one pass.
        let tables = run_tables(None).union(Self::WAIT_TABLES).union(onoff_findings::TABLES);
        let trace = self.tables(tables.union(LIST_TABLES))?;
        let summary = self.summary()?;
        let mut lines = Lines::default();
        self.add_transitions(&mut lines)?;
        let scope = Scope::whole_recording(&trace);
        add_lists(&trace, &scope, &mut lines);
        let requests = requests::analyze(&trace, &scope, &IoOptions::default());
        if !requests.views.is_empty() {
            lines.add("io", |out| text::io::write(&requests, 1, out));
        }
        if summary.events > 0 {
            lines.push("events", counted(summary.events, "event"));
        }
        lines.push("info", describe_contents(&summary));
        let kind = format!("{}, {} long", self.kind().as_str(), duration(trace.duration_ns));
        let verbs: &[&str] = match self.kind() {
            RecordingKind::FileOperations => &["io", "files"],
            _ => &["boot", "shutdown", "suspend"],
        };
        Ok(self.build_overview(kind, text::machine::machine(&summary, None), lines, verbs))
    }

    fn add_transitions(&self, lines: &mut Lines) -> Result<(), Error> {
        let mut has_transition = false;
        if let Some(boot) = QueryError::optional(self.boot(&BootOptions::default()))? {
            has_transition = true;
            lines.add("boot", |out| boot.write_text(out));
        }
        if let Some(shutdown) = QueryError::optional(self.shutdown(&ShutdownOptions::default()))? {
            has_transition = true;
            lines.add("shutdown", |out| shutdown.write_text(out));
        }
        if let Some(sleeps) = QueryError::optional(self.sleeps(&SuspendOptions::default()))? {
            has_transition = true;
            lines.add("suspend", |out| sleeps.write_text(out));
        }
        let diagnosis = self.diagnose(&DiagnosisOptions::default())?;
        if !diagnosis.transitions.is_empty() {
            lines.push("diagnose", first_finding(&diagnosis));
        }
        let query = WhyQuestion {
            target: WhyTarget::Phase(None, None),
            at_ns: None,
            within: None,
            min_duration_ns: MIN_WAIT_NS,
            max_intervals: None,
            include_work_waits: false,
            path: PathOptions::default(),
        };
        if let Some(report) = QueryError::optional(self.why(&query))?.filter(|report| !report.intervals.is_empty()) {
            lines.add("why", |out| text::why::write(&report, &Default::default(), out));
        }
        if has_transition {
            lines.push("view", "interactive report in the browser; -o FILE writes it to a file".to_owned());
        }
        Ok(())
    }

    fn build_overview(&self, kind: String, machine: String, lines: Lines, verbs: &[&'static str]) -> Overview {
        let names: Vec<&str> = self.files().with_accompanying().map(onoff_sources::SourceFile::name).collect();
        let without_data =
            verbs.iter().filter(|verb| !lines.lines.iter().any(|line| line.command == **verb)).copied().collect();
        let bytes = self.files().with_accompanying().map(onoff_sources::SourceFile::stored_bytes).sum();
        let name = match names.as_slice() {
            [] => String::new(),
            [name] => (*name).to_owned(),
            [first, remaining @ ..] => format!("{first} and {}", counted(remaining.len() as u64, "more file")),
        };
        Overview { name, kind: format!("{kind}, {}", size(bytes)), machine, lines: lines.lines, without_data }
    }
}

fn add_lists(trace: &Trace, scope: &Scope, lines: &mut Lines) {
    lines.list("services", &services::list(trace, scope));
    lines.list("devices", &devices::list(trace, scope));
    lines.list("processes", &processes::list(trace, scope));
    lines.list("cpu", &cpu::list(trace, scope, &[CpuGroup::Process]));
    lines.list("interrupts", &interrupts::list(trace, scope, &[InterruptGroup::Module]));
    lines.list("disk", &disk::analyze(trace, scope, &[Key::Process]));
    lines.list("files", &files::analyze(trace, scope, &[Key::Process]));
    lines.list("hardfaults", &hard_faults::analyze(trace, scope, &[Key::Process]));
    lines.list("policy", &policy::list(trace, scope));
}

fn first_finding(diagnosis: &Diagnosis) -> String {
    let Some(first) = diagnosis.findings.first() else { return "no findings".to_owned() };
    let total = match diagnosis.findings.len() {
        1 => String::new(),
        total => format!(" ({} in total)", counted(total as u64, "finding")),
    };
    let prefix = if first.cost_basis == CostBasis::AtMost { "at most " } else { "" };
    let cost = first.cost_ns.map_or_else(String::new, |ns| format!("{prefix}{}: ", duration(ns)));
    format!("{cost}{}{total}", first.title)
}

fn describe_contents(summary: &RecordingSummary) -> String {
    match summary.losses.iter().count() {
        0 => "contents; nothing was lost".to_owned(),
        kinds => format!("contents, with {} of loss", counted(kinds as u64, "kind")),
    }
}

/// Describes files that are not a recording of a system, but that a verb can read: firmware tables, a Windows
/// installation or prefetch files. Returns `None` for other files.
#[cfg(feature = "files")]
#[must_use]
pub fn file_overview(paths: &[std::path::PathBuf]) -> Option<Overview> {
    firmware_overview(paths).or_else(|| image_overview(paths)).or_else(|| prefetch_overview(paths))
}

#[cfg(feature = "files")]
fn firmware_overview(paths: &[std::path::PathBuf]) -> Option<Overview> {
    let mut lines = Lines::default();
    match crate::firmware(paths, &onoff_files::Options::default(), &[], 0) {
        Ok(report) => {
            lines.add("firmware", |out| text::firmware::write(&report, 1, out));
        }
        // Firmware tables, but without boot times.
        Err(QueryError::Unanswerable(reason)) => lines.push("firmware", reason.to_string()),
        Err(QueryError::Unreadable(_)) => {}
    }
    overview_of_files(paths, "firmware tables", lines)
}

#[cfg(feature = "files")]
fn image_overview(paths: &[std::path::PathBuf]) -> Option<Overview> {
    let image = crate::OpenedImage::open(paths).ok().filter(|image| !image.report.hives.is_empty())?;
    let audit = image.audit(&crate::ImageContext::default(), None);
    let diagnosis = onoff_findings::image::ImageDiagnosis {
        image: image.report,
        audit,
        overlay: None,
        unreadable: image.unreadable,
    };
    let mut lines = Lines::default();
    lines.add("image", |out| text::image::write(&diagnosis, 1, out));
    overview_of_files(paths, "an offline Windows installation", lines)
}

#[cfg(feature = "files")]
fn prefetch_overview(paths: &[std::path::PathBuf]) -> Option<Overview> {
    let report = crate::prefetch(paths, Vec::new()).ok().filter(|report| !report.is_empty())?;
    let mut lines = Lines::default();
    lines.add("prefetch", |out| text::prefetch::write(&report, 1, out));
    overview_of_files(paths, "Windows prefetch files", lines)
}

#[cfg(feature = "files")]
fn overview_of_files(paths: &[std::path::PathBuf], kind: &str, lines: Lines) -> Option<Overview> {
    let name = crate::firmware::joined_paths(paths);
    (!lines.lines.is_empty()).then(|| Overview {
        name,
        kind: kind.to_owned(),
        lines: lines.lines,
        ..Overview::default()
    })
}

/// The first line of each verb's output, in display order.
#[derive(Default)]
struct Lines {
    lines: Vec<OverviewLine>,
}

impl Lines {
    fn push(&mut self, verb: &'static str, line: String) {
        self.lines.push(OverviewLine { command: verb, line });
    }

    /// Adds the first line that `write` writes, if any.
    fn add(&mut self, verb: &'static str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let mut out = FirstLine::default();
        // The error only stops the writer when the line is complete.
        let _error = write(&mut out);
        let line = String::from_utf8_lossy(&out.line).trim().to_owned();
        if !line.is_empty() {
            self.push(verb, line);
        }
    }

    fn list<T: TableReport>(&mut self, verb: &'static str, list: &T) {
        if !list.rows().is_empty() {
            self.add(verb, |out| list.write_headline(list.rows().len(), out));
        }
    }
}

/// Keeps the first line, then returns an error to stop the writer.
#[derive(Default)]
struct FirstLine {
    line: Vec<u8>,
}

impl Write for FirstLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        self.line.extend_from_slice(bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default());
        match end {
            Some(_) if self.line.iter().any(|byte| !byte.is_ascii_whitespace()) => Err(io::ErrorKind::WriteZero.into()),
            _ => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
