//! The verbs: what their arguments mean, and what they do: open, ask, write.

mod beside_boot;
mod boot;
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
mod mcp;
mod netboot;
mod overview;
mod picture;
mod prefetch;
mod record;
mod right_verb;
mod shell;
mod shutdown;
mod summary;
mod suspend;
mod symbols;
mod table;
mod this_computer;
mod view;
mod why;
mod xperf;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onoff::{BadRecording, List, Listener, ReadRuns, RunsQuestion, Session};
use onoff_files::Options;
use onoff_sources::Files;
use onoff_trace::{Tables, Trace};

use crate::arguments::display::Color;
use crate::arguments::{Arguments, Command, verbs};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::{Destination, Display};
use crate::progress::ProgressLine;
use crate::reads_and_writes::refuse_overwriting;

/// Settles what the arguments mean.
pub fn resolve(arguments: Arguments) -> Result<Invocation, Failure> {
    let display = Display::resolve(arguments.display)?;
    // xperf's scripts compare what it prints.
    let is_xperf = matches!(arguments.command, Some(Command::Xperf(_)));
    let mut invocation = match (arguments.command, arguments.files.first()) {
        (Some(_), Some(file)) => {
            return Err(Failure::usage(format!("{}: name the verb before the file", file.display())));
        }
        (Some(command), None) => of_verb(command)?,
        (None, _) => without_verb(arguments.files)?,
    };
    let color = if is_xperf { Color::Never } else { display.color };
    invocation.destination.display = Display { color, is_text: invocation.is_text, ..display };
    Ok(invocation)
}

/// Without a verb: what was named should be files.
fn without_verb(files: Vec<PathBuf>) -> Result<Invocation, Failure> {
    let is_there = |path: &PathBuf| onoff_files::is_standard_input(path) || path.exists();
    if let Some(absent) = files.iter().find(|path| !is_there(path)) {
        return Err(Failure::WrongUsage(verbs::neither_verb_nor_file(&absent.to_string_lossy())));
    }
    let invocation = Invocation::new(Recording::of(files), Destination::default(), overview::run);
    Ok(invocation.about_one().text_if(true))
}

/// Settles what the arguments of a verb mean.
fn of_verb(command: Command) -> Result<Invocation, Failure> {
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
        Command::Collect(it) => Ok(Invocation::alone(Destination::default(), move |to| collect::run(&it, to))),
        Command::Explain(it) => Ok(Invocation::alone(it.output, move |to| explain::run(&it.words, to)).text_if(true)),
        Command::Guide(it) => Ok(Invocation::alone(it.output, guide::run).text_if(true)),
        Command::Mcp(it) => Ok(Invocation::alone(Destination::default(), move |_| mcp::run(&it.folders))),
        Command::Completions(it) => Ok(Invocation::alone(it.output, move |to| shell::completions(it.shell, to))),
        Command::Manual(it) => Ok(Invocation::alone(Destination::default(), move |_| shell::manual(&it.folder))),
        Command::Compare(arguments) => compare::resolve(arguments),
        Command::Gate(arguments) => gate::resolve(arguments),
        Command::Xperf(it) => xperf::resolve(it.words),
    }
}

/// Runs what was asked for.
pub fn run(invocation: Invocation) -> Result<(), Failure> {
    refuse_overwriting(&invocation)?;
    summary::refuse_several(&invocation)?;
    let Invocation { recording, destination, work, .. } = invocation;
    let paths = recording.files.clone();
    work(recording, &destination).map_err(|failure| right_verb::point(failure, &paths))
}

/// Opens the recording and asks `question`, with progress until it is answered.
fn ask<T>(recording: Recording, question: impl FnOnce(&Session) -> T) -> Result<(Session, T), Failure> {
    let line = ProgressLine::reading();
    let mut options = recording.options;
    options.progress = Some(line.listener());
    let files = files_of(&recording.files, recording.this_computer.as_deref(), &options)?;
    let session = Session::of(files, options.read()?);
    let answer = question(&session);
    Ok((session, answer))
}

/// Reads the wanted tables, with progress.
fn open(recording: Recording, wanted: Tables) -> Result<(Session, Arc<Trace>), Failure> {
    let (session, trace) = ask(recording, |session| session.tables(wanted))?;
    Ok((session, trace?))
}

/// Reads the runs that are compared, with progress.
fn runs(question: &RunsQuestion, with_provenance: bool, bad: BadRecording) -> Result<ReadRuns, Failure> {
    let mut line = None;
    let mut progress = |number: usize, of: usize| -> Option<Listener> {
        // One line at a time.
        line = None;
        Some(line.insert(ProgressLine::reading_one(number, of)).listener())
    };
    onoff::read_runs(question, with_provenance, bad, &mut progress).map_err(Failure::without_an_answer)
}

/// The recording's files; where none was named, this computer's.
fn files_of(files: &[PathBuf], this_computer: Option<&Path>, options: &Options) -> Result<Files, Failure> {
    match this_computer {
        Some(root) => this_computer::open(root, options),
        None => Ok(onoff_files::open_all_with_progress(files, options)?),
    }
}

/// xperf's documents have no place for what Linux records.
fn no_xml_of_linux() -> Failure {
    Failure::nothing("'--format xml' is xperf's document, for recordings of Windows; use text, json or csv")
}
