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
mod picture;
mod prefetch;
mod record;
mod shell;
mod shutdown;
mod summary;
mod suspend;
mod symbols;
mod table;
mod verb_suggestion;
mod view;
mod why;
mod xperf;

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
    let is_xperf = matches!(arguments.command, Some(Command::Xperf(_)));
    let mut invocation = match (arguments.command, arguments.files.first()) {
        (Some(_), Some(file)) => {
            return Err(Failure::usage(format!("{}: put the verb before the file", file.display())));
        }
        (Some(command), None) => resolve_verb(command)?,
        (None, _) => resolve_overview(arguments.files)?,
    };
    let color = if is_xperf { Color::Never } else { display.color };
    invocation.destination.display = Display { color, is_text: invocation.is_text, ..display };
    Ok(invocation)
}

/// Without a verb, all arguments must be files.
fn resolve_overview(files: Vec<PathBuf>) -> Result<Invocation, Failure> {
    let exists = |path: &PathBuf| onoff_files::is_standard_input(path) || path.exists();
    if let Some(missing) = files.iter().find(|path| !exists(path)) {
        return Err(Failure::Usage(verbs::no_such_file_or_verb(&missing.to_string_lossy())));
    }
    let invocation = Invocation::new(Recording::of(files), Destination::default(), overview::run);
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
        Command::Info(arguments) => Ok(info::resolve(arguments)),
        Command::Events(arguments) => events::resolve(arguments),
        Command::Firmware(arguments) => Ok(firmware::resolve(arguments)),
        Command::Processes(it) => lists::resolve(List::Processes, it.recording, it.table, it.output),
        Command::Cpu(arguments) => lists::cpu(arguments),
        Command::Interrupts(it) => lists::resolve(List::Interrupts(it.by), it.recording, it.table, it.output),
        Command::Disk(arguments) => lists::disk(arguments),
        Command::Files(it) => lists::resolve(List::Files(it.by), it.recording, it.table, it.output),
        Command::HardFaults(arguments) => lists::hard_faults(arguments),
        Command::Services(it) => lists::resolve(List::Services, it.recording, it.table, it.output),
        Command::Devices(it) => lists::resolve(List::Devices, it.recording, it.table, it.output),
        Command::Policy(it) => lists::resolve(List::Policy, it.recording, it.table, it.output),
        Command::Io(arguments) => io::resolve(arguments),
        Command::Netboot(arguments) => netboot::resolve(arguments),
        Command::Image(arguments) => image::resolve(arguments),
        Command::Prefetch(arguments) => prefetch::resolve(arguments),
        Command::Record(arguments) => record::resolve(arguments),
        Command::Collect(it) => {
            Ok(Invocation::without_recording(Destination::default(), move |to| collect::run(&it, to)))
        }
        Command::Explain(it) => {
            Ok(Invocation::without_recording(it.output, move |to| explain::run(&it.words, to)).text_if(true))
        }
        Command::Guide(it) => Ok(Invocation::without_recording(it.output, guide::run).text_if(true)),
        Command::Mcp(it) => Ok(Invocation::without_recording(Destination::default(), move |_| mcp::run(&it.folders))),
        Command::Completions(it) => {
            Ok(Invocation::without_recording(it.output, move |to| shell::completions(it.shell, to)))
        }
        Command::Manual(it) => {
            Ok(Invocation::without_recording(Destination::default(), move |_| shell::manual(&it.folder)))
        }
        Command::Compare(arguments) => compare::resolve(arguments),
        Command::Gate(arguments) => gate::resolve(arguments),
        Command::Xperf(it) => xperf::resolve(it.words),
    }
}

pub fn run(invocation: Invocation) -> Result<(), Failure> {
    reject_overwriting(&invocation)?;
    summary::reject_several(&invocation)?;
    let Invocation { recording, destination, work, .. } = invocation;
    let paths = recording.files.clone();
    work(recording, &destination).map_err(|failure| verb_suggestion::add(failure, &paths))
}

/// Opens the recording and runs `question` on it, with a progress line.
fn ask<T>(recording: Recording, question: impl FnOnce(&Session) -> T) -> Result<(Session, T), Failure> {
    let line = ProgressLine::reading();
    let mut options = recording.options;
    options.progress = Some(line.listener());
    let files = files_of(&recording.files, recording.local_root.as_deref(), &options)?;
    let session = Session::new(files, options.read()?);
    let answer = question(&session);
    Ok((session, answer))
}

/// Reads tables with a progress line.
fn open(recording: Recording, wanted: TableSet) -> Result<(Session, Arc<Trace>), Failure> {
    let (session, trace) = ask(recording, |session| session.tables(wanted))?;
    Ok((session, trace?))
}

/// Reads the runs to compare, with a progress line.
fn runs(question: &RunsQuery, with_provenance: bool, bad: BadRecording) -> Result<ReadRuns, Failure> {
    let mut line = None;
    let mut progress = |number: usize, of: usize| -> Option<Listener> {
        // Clear the previous line first.
        line = None;
        Some(line.insert(ProgressLine::reading_one(number, of)).listener())
    };
    onoff::read_runs(question, with_provenance, bad, &mut progress).map_err(Failure::from_refusal)
}

/// Opens the recording's files, or this computer's logs if `local_root` is set.
fn files_of(files: &[PathBuf], local_root: Option<&Path>, options: &Options) -> Result<Files, Failure> {
    match local_root {
        Some(root) => local_machine::open(root, options),
        None => Ok(onoff_files::open_all_with_progress(files, options)?),
    }
}

fn no_xml_of_linux() -> Failure {
    Failure::no_data("'--format xml' is an xperf format for Windows recordings; use text, json or csv")
}
