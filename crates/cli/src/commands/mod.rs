//! The commands: open, ask, write.

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
mod this_computer;
mod view;
mod why;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onoff::{BadRecording, Listener, ReadRuns, RunsQuestion, Session};
use onoff_analysis::functions::NameFunctions;
use onoff_files::Options;
use onoff_sources::Files;
use onoff_trace::{Tables, Trace};
use onoff_xperf::CommandLine;

use crate::arguments::symbols::SymbolArguments;
use crate::failure::Failure;
use crate::invocation::symbols::SymbolTask;
use crate::invocation::{Invocation, Recording, Task};
use crate::output::Destination;
use crate::progress::ProgressLine;
use crate::reads_and_writes::refuse_overwriting;

/// Runs what was asked for.
pub fn run(invocation: Invocation) -> Result<(), Failure> {
    refuse_overwriting(&invocation)?;
    let Invocation { task, recording, destination } = invocation;
    summary::refuse_several(&task, &recording)?;
    let paths = recording.files.clone();
    // Who asked of firmware's tables needs not be pointed there.
    let right = matches!(task, Task::Firmware(_));
    let answered = answer(task, recording, &destination);
    answered.map_err(|failure| if right { failure } else { right_verb::point(failure, &paths) })
}

fn answer(task: Task, recording: Recording, destination: &Destination) -> Result<(), Failure> {
    match task {
        Task::Overview => overview::run(recording, destination),
        Task::Explain(words) if words.is_empty() => explain::list(destination),
        Task::Explain(words) => explain::run(&words.join(" "), destination),
        Task::Guide => guide::run(destination),
        Task::Mcp(folders) => mcp::run(&folders),
        Task::Completions(shell) => shell::completions(shell, destination),
        Task::Manual(folder) => shell::manual(&folder),
        Task::Boot(options, format, beside) => boot::run(recording, options, format, &beside, destination),
        Task::ListBoots(format) => boot::list(recording, format, destination),
        Task::Shutdown(options, format) => shutdown::run(recording, &options, format, destination),
        Task::Diagnose(question, format) => diagnose::run(recording, &question, format, destination),
        Task::Summary(question) => summary::run(&recording, &question, destination),
        Task::Info(format) => info::run(recording, format, destination),
        Task::Events(question) => events::run(recording, question, destination),
        Task::Firmware(question) => firmware::run(&recording, &question, destination),
        Task::Io(question) => io::run(recording, &question, destination),
        Task::List(list, question, format) => lists::run(recording, &list, (&question, format), destination),
        Task::Functions(task) => lists::functions(recording, task, destination),
        Task::Netboot(options, format) => netboot::run(recording, &options, format, destination),
        Task::Collect(question) => collect::run(&question),
        Task::Image(question) => image::run(recording, &question, destination),
        Task::Prefetch(question) => prefetch::run(recording, &question, destination),
        Task::Record(task) => record::run(task, destination),
        Task::Suspend(options, format) => suspend::run(recording, &options, format, destination),
        Task::Export(question) => export::run(&recording, &question, destination),
        Task::Picture(kind) => picture::run(&recording, kind, destination),
        Task::View(question) => view::run(&recording, &question, destination),
        Task::BootHistory(last, format) => compare::history(recording, last, format, destination),
        Task::Compare(question) => compare::run(*question, destination),
        Task::Gate(question) => gate::run(&question, destination),
        Task::Why(task) => why::run(recording, task, destination),
        Task::Xperf(CommandLine::Help(topic)) => {
            destination.write(|out| Ok(onoff_xperf::help::write(topic.as_deref(), out)?))
        }
        Task::Xperf(CommandLine::Providers) => destination.write(|out| Ok(onoff_xperf::help::write_providers(out)?)),
        Task::Xperf(CommandLine::Merge(merging)) => Ok(onoff_xperf::merge(&merging)?),
        Task::Xperf(CommandLine::Process(line)) => {
            let symbols = SymbolTask::resolve(SymbolArguments { symbols: None, offline: false });
            let has_place = !symbols.path.places().is_empty() || !symbols.path.servers().is_empty();
            let mut names = functions::names(symbols);
            let functions = has_place.then_some(&mut names as NameFunctions<'_>);
            Ok(onoff_xperf::run(line, &|| Box::new(ProgressLine::reading()), functions)?)
        }
    }
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
    Failure::NothingToAnswer(
        "'--format xml' is xperf's document, for recordings of Windows; use text, json or csv".to_owned(),
    )
}
