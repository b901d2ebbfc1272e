//! The verbs. `resolve` turns arguments into an [`Invocation`]; running it opens the recording, queries it and writes
//! the output.

mod boot;
mod boot_inputs;
mod collect;
mod compare;
mod diagnose;
mod events;
mod explain;
mod export;
mod firmware;
mod functions;
mod gate;
mod guide;
mod image;
mod info;
mod io;
mod lists;
mod local_machine;
mod mcp;
mod netboot;
mod overview;
mod page_server;
mod picture;
mod prefetch;
mod record;
mod redaction;
mod shell;
mod shutdown;
mod summary;
mod suspend;
mod symbols;
mod table;
mod verb_suggestion;
mod view;
mod view_stream;
mod what_if;
mod why;
mod wpaexporter;
mod xperf;

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onoff::{BadRecording, List, Listener, ReadRuns, RunsQuery, Session};
use onoff_files::Options;
use onoff_sources::Files;
use onoff_trace::{TableSet, Trace};

use crate::arguments::display::Color;
use crate::arguments::{Arguments, Command, verbs};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::io_plan::reject_overwriting;
use crate::output::{Destination, Display};
use crate::progress::ProgressLine;

pub fn resolve(arguments: Arguments) -> Result<Invocation, Failure> {
    let display = Display::resolve(arguments.display)?;
    // Scripts written for xperf compare its output.
    let is_drop_in = arguments.command.as_ref().is_some_and(Command::is_drop_in);
    let mut invocation = match (arguments.command, arguments.files.first()) {
        (Some(_), Some(file)) => {
            return Err(Failure::usage(format!("{}: put the verb before the file", file.display())));
        }
        (Some(command), None) => resolve_verb(command)?,
        (None, _) => resolve_overview(arguments.files)?,
    };
    let color = if is_drop_in { Color::Never } else { display.color };
    invocation.destination.display = Display { color, is_text: invocation.is_text, ..display };
    Ok(invocation)
}

/// Resolves arguments without a verb, which must all be files.
fn resolve_overview(files: Vec<PathBuf>) -> Result<Invocation, Failure> {
    let exists = |path: &PathBuf| onoff_files::is_standard_input(path) || path.exists();
    if let Some(missing) = files.iter().find(|path| !exists(path)) {
        return Err(Failure::Usage(verbs::no_such_file_or_verb(&missing.to_string_lossy())));
    }
    let invocation = Invocation::new(Recording::from_files(files), Destination::default(), overview::run);
    Ok(invocation.single_recording().text_if(true))
}

fn resolve_verb(command: Command) -> Result<Invocation, Failure> {
    match command {
        Command::Boot(arguments) => boot::resolve(arguments),
        Command::Diagnose(arguments) => diagnose::resolve(arguments),
        Command::Summary(arguments) => summary::resolve(arguments),
        Command::Suspend(arguments) => suspend::resolve(arguments),
        Command::Export(arguments) => export::resolve(arguments),
        Command::View(arguments) => view::resolve(arguments),
        Command::Shutdown(arguments) => Ok(shutdown::resolve(arguments)),
        Command::Why(arguments) => why::resolve(arguments),
        Command::WhatIf(arguments) => what_if::resolve(arguments),
        Command::Info(arguments) => Ok(info::resolve(arguments)),
        Command::Events(arguments) => events::resolve(arguments),
        Command::Firmware(arguments) => Ok(firmware::resolve(arguments)),
        Command::Processes(arguments) => {
            lists::resolve(List::Processes, arguments.recording, arguments.table, arguments.output)
        }
        Command::Cpu(arguments) => lists::cpu(arguments),
        Command::Interrupts(arguments) => {
            lists::resolve(List::Interrupts(arguments.group_by), arguments.recording, arguments.table, arguments.output)
        }
        Command::Disk(arguments) => lists::disk(arguments),
        Command::Files(arguments) => {
            lists::resolve(List::Files(arguments.group_by), arguments.recording, arguments.table, arguments.output)
        }
        Command::HardFaults(arguments) => lists::hard_faults(arguments),
        Command::Services(arguments) => {
            lists::resolve(List::Services, arguments.recording, arguments.table, arguments.output)
        }
        Command::Devices(arguments) => {
            lists::resolve(List::Devices, arguments.recording, arguments.table, arguments.output)
        }
        Command::Policy(arguments) => {
            lists::resolve(List::Policy, arguments.recording, arguments.table, arguments.output)
        }
        Command::Io(arguments) => io::resolve(arguments),
        Command::Netboot(arguments) => netboot::resolve(arguments),
        Command::Image(arguments) => image::resolve(arguments),
        Command::Prefetch(arguments) => prefetch::resolve(arguments),
        Command::Record(arguments) => record::resolve(arguments),
        Command::Collect(arguments) => Ok(Invocation::without_recording(Destination::default(), move |destination| {
            collect::run(&arguments, destination)
        })),
        Command::Explain(arguments) => Ok(Invocation::without_recording(arguments.output, move |destination| {
            explain::run(&arguments.words, destination)
        })
        .text_if(true)),
        Command::Guide(arguments) => Ok(Invocation::without_recording(arguments.output, guide::run).text_if(true)),
        Command::Mcp(arguments) => {
            Ok(Invocation::without_recording(Destination::default(), move |_| mcp::run(&arguments.folders)))
        }
        Command::Completions(arguments) => Ok(Invocation::without_recording(arguments.output, move |destination| {
            shell::completions(arguments.shell, destination)
        })),
        Command::Manual(arguments) => {
            Ok(Invocation::without_recording(Destination::default(), move |_| shell::manual(&arguments.folder)))
        }
        Command::Compare(arguments) => compare::resolve(arguments),
        Command::Gate(arguments) => gate::resolve(arguments),
        Command::Xperf(arguments) => xperf::resolve(arguments.words),
        Command::WpaExporter(arguments) => wpaexporter::resolve(arguments.words),
    }
}

pub fn run(invocation: Invocation) -> Result<(), Failure> {
    start_threads()?;
    reject_overwriting(&invocation)?;
    summary::reject_multiple_recordings(&invocation)?;
    let Invocation { recording, destination, work, .. } = invocation;
    let paths = recording.files.clone();
    work(recording, &destination).map_err(|failure| verb_suggestion::add(failure, &paths))
}

/// Starts the threads of the process, which otherwise start with the first parallel work and cannot report a failure.
fn start_threads() -> Result<(), Failure> {
    match rayon::ThreadPoolBuilder::new().build_global() {
        // Without a source, the threads run already: in Python, or in a server.
        Err(error) if error.source().is_some() => Err(Failure::Unreadable(format!(
            "cannot start threads: {}",
            onoff_report::text::causes::with_causes(&error)
        ))),
        _ => Ok(()),
    }
}

/// Opens the recording and runs `answer_query` on it, with a progress line.
fn query<T>(recording: Recording, answer_query: impl FnOnce(&Session) -> T) -> Result<(Session, T), Failure> {
    let progress = ProgressLine::reading();
    let mut options = recording.options;
    options.progress = Some(progress.listener());
    let files = open_files(&recording.files, recording.local_root.as_deref(), recording.redact, &options)?;
    let session = Session::new(files, options.read()?);
    let answer = answer_query(&session);
    Ok((session, answer))
}

/// Reads tables with a progress line.
fn open(recording: Recording, tables: TableSet) -> Result<(Session, Arc<Trace>), Failure> {
    let (session, trace) = query(recording, |session| session.tables(tables))?;
    Ok((session, trace?))
}

/// Reads the runs to compare, with a progress line.
fn read_runs(query: &RunsQuery, with_provenance: bool, on_bad_recording: BadRecording) -> Result<ReadRuns, Failure> {
    let mut progress_line = None;
    let mut progress = |number: usize, count: usize| -> Option<Listener> {
        // Clear the previous line first.
        progress_line = None;
        Some(progress_line.insert(ProgressLine::reading_one(number, count)).listener())
    };
    onoff::read_runs(query, with_provenance, on_bad_recording, &mut progress).map_err(Failure::from_query_error)
}

/// Opens the recording's files, or this computer's logs if `local_root` is set. Replaces names in them if `redact` is
/// set.
fn open_files(files: &[PathBuf], local_root: Option<&Path>, redact: bool, options: &Options) -> Result<Files, Failure> {
    let files = match local_root {
        Some(root) => local_machine::open(root, options)?,
        None => onoff_files::open_all_with_progress(files, options)?,
    };
    if redact { redaction::redacted(&files, options) } else { Ok(files) }
}

/// Prints one line on stderr. A closed stderr does not affect the output.
fn report_on_stderr(line: &str) {
    let line = onoff_report::text::printable::printable(line);
    let _ = writeln!(std::io::stderr(), "onoff: {line}");
}

fn no_linux_xml() -> Failure {
    Failure::no_data("'--format xml' is an xperf format for Windows recordings; use text, json or csv")
}
