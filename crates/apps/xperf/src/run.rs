//! Reads the recording once for all actions, and writes their output in the order of the command line.
//!
//! One pass fills all tables that any action needs, and sends the events to the actions that listen. A second pass is
//! needed only when an action that writes while it listens shares its output file with an earlier action.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use onoff_report::text::{self, printable::printable, quantity::duration};
use onoff_sink::OutputFile;
use onoff_trace::{TableSet, Trace};
use onoff_transitions::{PHASE_TABLES, named_phase};
use onoff_usage::address_names::{ADDRESS_TABLES, AddressNames, MAX_ADDRESSES};
use onoff_usage::functions::{CodeLocation, FunctionNames, FunctionResolver};

use super::command_line::ActionRun;
use super::command_words::{PhaseTimes, usage};
use super::listen::listen;
use super::output::Outputs;
use super::quality::Quality;
use super::reading::{NewProgress, PendingCall, Reader, State};
use crate::failure::Failure;

/// Maximum number of files without symbols to list.
const MAX_MISSING_LISTED: usize = 5;

/// Runs all actions of the line. `functions` resolves function names for `-symbols`; `None` if there are no symbols.
pub fn run(line: ActionRun, progress: NewProgress<'_>, functions: Option<FunctionResolver<'_>>) -> Result<(), Failure> {
    let options = onoff_files::Options { manifests: line.manifests.clone(), ..onoff_files::Options::default() };
    let options = options.read()?;
    let files = onoff_files::open_all(&line.inputs, &options.limits)?;
    let mut reader = Reader::new(&files, options, Some(progress));
    let line = resolve_phases(&mut reader, line)?;
    run_actions(&mut reader, line, functions)
}

/// Resolves the phases that `-range` names, and prints their times.
fn resolve_phases(reader: &mut Reader<'_>, line: ActionRun) -> Result<ActionRun, Failure> {
    if line.phases.is_empty() {
        return Ok(line);
    }
    let trace = reader.tables(PHASE_TABLES)?;
    let mut times = PhaseTimes::new();
    for name in &line.phases {
        // Other commands call the option `--phase`.
        let phase =
            named_phase(&trace, name).map_err(|error| usage(error.to_string().replacen("--phase", "-range", 1)))?;
        if !line.quiet && !times.contains_key(name) {
            note(&format!("{phase}: {} to {}", duration(phase.start_ns), duration(phase.end_ns)));
        }
        times.insert(name.clone(), (phase.start_ns, phase.end_ns));
    }
    line.with_phases(times)
}

fn run_actions(
    reader: &mut Reader<'_>,
    line: ActionRun,
    functions: Option<FunctionResolver<'_>>,
) -> Result<(), Failure> {
    let show_notes = !line.quiet;
    let functions = functions.filter(|_| line.symbols);
    if line.symbols && functions.is_none() && show_notes {
        note("_NT_SYMBOL_PATH has no symbol locations; functions are shown as addresses");
    }
    let symbols = line.symbols;
    let mut missing = BTreeSet::new();
    let mut functions = functions.map(|name_functions| {
        let missing = &mut missing;
        move |trace: &Trace, places: &[CodeLocation]| {
            let names = name_functions(trace, places);
            missing.extend(names.missing.iter().cloned());
            names
        }
    });
    let mut outputs = Outputs::default();
    let mut calls: Vec<PendingCall> = line
        .calls
        .into_iter()
        .map(|call| {
            let output = outputs.index(call.output.as_ref().or(line.output.as_ref()));
            PendingCall::new(call, output)
        })
        .collect();
    let mut is_warned = false;
    let mut reject_bad_recording = |calls: &mut [PendingCall], quality: &Quality| {
        if let Some(warning) = quality.loss_warning()
            && !std::mem::replace(&mut is_warned, true)
        {
            // Nothing to do if stderr is closed.
            let _ = write!(io::stderr(), "{warning}");
        }
        let Some(reason) = quality.refusal(line.tolerates_losses, line.tolerates_inversions) else { return };
        // Listeners that stream have already written their output.
        for call in calls.iter_mut().filter(|call| !call.accepts_losses && !call.is_done()) {
            call.state = State::Done(Err(Failure::Unanswerable(reason.clone())));
        }
    };
    let mut trace = None;
    if calls.iter().any(PendingCall::listens) {
        reject_bad_recording(&mut calls, &Quality::from_stream(reader.stream()?.header()));
    } else if let Some(wanted) = wanted_tables(&calls) {
        let tables = reader.tables(wanted)?;
        reject_bad_recording(&mut calls, &Quality::from_trace(&tables));
        trace = Some(tables);
    }

    let function_listeners: Vec<_> = calls.iter_mut().filter_map(PendingCall::function_listener).collect();
    if let (Some(functions), false) = (functions.as_mut(), function_listeners.is_empty()) {
        let names = Arc::new(AddressNames::resolve(&reader.tables(ADDRESS_TABLES)?, functions));
        if names.is_full() && show_notes {
            note(&format!(
                "the recording has more than {MAX_ADDRESSES} addresses; the rest are shown without function names"
            ));
        }
        function_listeners.into_iter().for_each(|listener| listener.functions(&names));
    }

    let mut losses = trace.as_ref().map(|trace| trace.losses.clone());
    for stage in stages(&calls) {
        let missing_tables = wanted_tables(&calls).filter(|_| trace.is_none());
        let stage_calls = calls.get_mut(stage.clone()).unwrap_or_default();
        let stage_trace = match missing_tables {
            _ if stage_calls.iter().any(PendingCall::listens) => {
                let (stream_losses, stream_trace) = listen(reader, stage_calls, &mut outputs, missing_tables)?;
                losses.get_or_insert(stream_losses);
                stream_trace
            }
            Some(tables) => Some(reader.tables(tables)?),
            None => None,
        };
        if let Some(stage_trace) = stage_trace {
            losses = Some(stage_trace.losses.clone());
            reject_bad_recording(&mut calls, &Quality::from_trace(&stage_trace));
            trace = Some(stage_trace);
        }
        for call in calls.get_mut(stage).unwrap_or_default() {
            // With -symbols, rows are by function even if no function is known.
            let mut no_names = |_: &Trace, _: &[CodeLocation]| FunctionNames::default();
            let functions = match functions.as_mut() {
                Some(name_functions) => Some(name_functions as FunctionResolver<'_>),
                None => symbols.then_some(&mut no_names as FunctionResolver<'_>),
            };
            finish(call, trace.as_ref(), functions, &mut outputs);
        }
    }
    reader.files.check_complete()?;
    if show_notes {
        missing.iter().take(MAX_MISSING_LISTED).for_each(|symbols| note(&format!("no symbols: {symbols}")));
        let unlisted = missing.len().saturating_sub(MAX_MISSING_LISTED);
        if unlisted > 0 {
            note(&format!("no symbols: {unlisted} more files"));
        }
    }
    let mut result = report(calls, show_notes);
    if let Err(failure) = outputs.finish() {
        result = Err(failure);
    }
    if let Some(losses) = losses.filter(|losses| show_notes && !losses.is_empty()) {
        // Nothing to do if stderr is closed.
        let _ = text::losses::write(&losses, &mut anstream::stderr().lock() as &mut dyn Write);
    }
    result
}

/// Returns the tables that pending calls need; `None` if no call needs tables.
fn wanted_tables(calls: &[PendingCall]) -> Option<TableSet> {
    let tables = calls.iter().filter_map(|call| match call.state {
        State::Tables { wanted, .. } => Some(wanted),
        _ => None,
    });
    tables.reduce(TableSet::union)
}

/// Splits the calls into stages of one pass each. A call that writes while it listens must be the first call of its
/// stage that writes to its output.
fn stages(calls: &[PendingCall]) -> Vec<std::ops::Range<usize>> {
    let mut stages = Vec::new();
    let mut start = 0;
    for (index, call) in calls.iter().enumerate() {
        let earlier_calls = calls.get(start..index).unwrap_or_default();
        let shares_output = earlier_calls.iter().any(|earlier| !earlier.is_done() && earlier.output == call.output);
        if call.streams_output() && shares_output {
            stages.push(start..index);
            start = index;
        }
    }
    stages.push(start..calls.len());
    stages
}

/// Writes the output of a pending call.
fn finish(
    call: &mut PendingCall,
    trace: Option<&Trace>,
    functions: Option<FunctionResolver<'_>>,
    outputs: &mut Outputs,
) {
    let state = std::mem::replace(&mut call.state, State::Done(Ok(())));
    let out = outputs.get(call.output);
    let result = match (state, trace) {
        (State::Done(result), _) => result,
        (State::Tables { answer, .. }, Some(trace)) => answer(trace, functions, out),
        (State::Tables { answer, .. }, None) => answer(&Trace::default(), functions, out),
        (State::Events { mut listener, .. }, _) => listener.end(out),
    };
    call.state = State::Done(result);
}

/// Reports failed calls to stderr or the file of `-ae`, and returns the worst failure.
fn report(calls: Vec<PendingCall>, show_notes: bool) -> Result<(), Failure> {
    let mut worst = Ok(());
    for call in calls {
        let State::Done(Err(failure)) = call.state else { continue };
        let (message, code) = match failure {
            Failure::Unreadable(message) => (message, 1),
            Failure::Unanswerable(message) => (message, 2),
            Failure::NoData(message) => {
                if show_notes {
                    note(&format!("-a {}: {message}", call.name));
                }
                continue;
            }
            Failure::Reported(code) => (String::new(), code),
            Failure::BrokenPipe => continue,
        };
        let message = format!("-a {}: {}", call.name, printable(&message));
        match call.errors {
            Some(path) => {
                let result = OutputFile::create(&path).and_then(|mut file| {
                    writeln!(file, "{message}")?;
                    file.commit()
                });
                if let Err(error) = result {
                    note(&format!("{}: {error}; {message}", path.display()));
                }
            }
            None => note(&message),
        }
        worst = match worst {
            Err(Failure::Reported(1)) => worst,
            _ => Err(Failure::Reported(code)),
        };
    }
    worst
}

fn note(text: &str) {
    // Nothing to do if stderr is closed.
    let _ = writeln!(io::stderr(), "onoff: {text}");
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use onoff_simulator::Scenario;
    use onoff_sources::{Files, Options, files_from_bytes};
    use tempfile::TempDir;

    use super::*;
    use crate::{CommandLine, parse};

    struct Case {
        folder: TempDir,
        files: Files,
    }

    impl Case {
        fn new() -> Self {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios/slow-boot.toml");
            let text = std::fs::read_to_string(path).unwrap();
            let simulated = Scenario::from_toml(&text).unwrap().simulate().unwrap();
            let recording = ("boot.etl".to_owned(), simulated.files[0].clone());
            Self {
                folder: tempfile::tempdir().unwrap(),
                files: files_from_bytes([recording], &Options::default().limits).unwrap(),
            }
        }

        /// Runs `actions`, with files `@NAME` in the folder, and returns the number of passes over the recording.
        fn count_passes(&self, actions: &str) -> u32 {
            let words = format!("-i boot.etl -quiet {actions}");
            let words = words.split_whitespace().map(|word| match word.strip_prefix('@') {
                Some(name) => self.folder.path().join(name).into(),
                None => OsString::from(word),
            });
            let Ok(CommandLine::Process(line)) = parse(words.collect()) else {
                panic!("{actions}");
            };
            let mut reader = Reader::new(&self.files, Options::default(), None);
            run_actions(&mut reader, line, None).unwrap();
            reader.passes
        }

        fn file(&self, name: &str) -> String {
            std::fs::read_to_string(self.folder.path().join(name)).unwrap()
        }
    }

    #[test]
    fn several_actions_read_the_recording_once() {
        let case = Case::new();
        assert_eq!(case.count_passes("-o @all.txt -a boot -a services -a pnp"), 1);
        let shared_output = case.file("all.txt");
        assert_eq!(case.count_passes("-a boot -ao @boot.xml -a services -ao @services.csv -a pnp -ao @pnp.csv"), 1);
        assert_eq!(shared_output, case.file("boot.xml") + &case.file("services.csv") + &case.file("pnp.csv"));
    }

    #[test]
    fn dumps_share_a_pass_unless_they_write_to_one_file() {
        let case = Case::new();
        let ranges = ["-range 0s 1s", "-range 8s 9s"];
        let [first, second] = ranges;
        assert_eq!(case.count_passes(&format!("-a dumper {first} -ao @1.txt -a dumper {second} -ao @2.txt")), 1);
        let separate_outputs = case.file("1.txt") + &case.file("2.txt");
        assert_eq!(case.count_passes(&format!("-o @both.txt -a dumper {first} -a dumper {second}")), 2);
        assert_eq!(case.file("both.txt"), separate_outputs);
        assert_eq!(case.count_passes(&format!("-o @mixed.txt -a services -a dumper {second} -a pnp")), 2);
    }

    #[test]
    fn one_pass_for_tables_and_events_matches_two_passes() {
        let case = Case::new();
        assert_eq!(case.count_passes("-a boot -ao @boot.xml"), 1);
        assert_eq!(case.count_passes("-a dumper -ao @events.txt"), 1);
        let (boot_xml, events) = (case.file("boot.xml"), case.file("events.txt"));
        assert_eq!(case.count_passes("-a boot -ao @boot.xml -a dumper -ao @events.txt"), 1);
        assert_eq!((&case.file("boot.xml"), &case.file("events.txt")), (&boot_xml, &events));
        // A dump that ends early does not cut the tables short.
        assert_eq!(case.count_passes("-a boot -ao @boot.xml -a dumper -range 0s 1s -ao @events.txt"), 1);
        assert_eq!(case.file("boot.xml"), boot_xml);
    }
}
