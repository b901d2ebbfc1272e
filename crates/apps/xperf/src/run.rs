//! Reads the recording once for all actions together, and writes their answers in the order in which they were asked for.
//!
//! One reading fills all tables that any action wants, and gives the events one by one to the actions that want those. Only
//! where an action writes as it listens, and has to wait until another one's answer is in the same file, is there another.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use onoff_report::text::{losses, printable::printable, quantity::duration};
use onoff_sink::OutputFile;
use onoff_trace::{Tables, Trace};
use onoff_transitions::{PHASE_TABLES, named_phase};
use onoff_usage::address_names::{ADDRESS_TABLES, AddressNames, MAX_ADDRESSES};
use onoff_usage::functions::{CodePlace, FunctionNames, NameFunctions};

use super::command_line::Processing;
use super::command_words::{PhaseTimes, usage};
use super::listen::listen;
use super::output::Outputs;
use super::quality::Facts;
use super::reading::{Asked, NewProgress, Reader, State};
use crate::failure::Failure;

/// Files without symbols that are named.
const MAX_MISSING: usize = 5;

/// Answers everything the line asks for. `functions` names functions for `-symbols`; `None` where no symbols are at hand.
pub fn run(line: Processing, progress: NewProgress<'_>, functions: Option<NameFunctions<'_>>) -> Result<(), Failure> {
    let options = onoff_files::Options { manifests: line.manifests.clone(), ..onoff_files::Options::default() };
    let options = options.read()?;
    let files = onoff_files::open_all(&line.inputs, &options.limits)?;
    let mut reader = Reader::new(&files, options, Some(progress));
    let line = with_phases(&mut reader, line)?;
    answer(&mut reader, line, functions)
}

/// The line with the times of the phases that its ranges name, and says which times those are.
fn with_phases(reader: &mut Reader<'_>, line: Processing) -> Result<Processing, Failure> {
    if line.phases.is_empty() {
        return Ok(line);
    }
    let trace = reader.tables(PHASE_TABLES)?;
    let mut times = PhaseTimes::new();
    for name in &line.phases {
        // The option has another name elsewhere.
        let phase =
            named_phase(&trace, name).map_err(|error| usage(error.to_string().replacen("--phase", "-range", 1)))?;
        if !line.quiet && !times.contains_key(name) {
            remark(&format!("{phase}: {} to {}", duration(phase.start_ns), duration(phase.end_ns)));
        }
        times.insert(name.clone(), (phase.start_ns, phase.end_ns));
    }
    line.with_phases(times)
}

fn answer(reader: &mut Reader<'_>, line: Processing, functions: Option<NameFunctions<'_>>) -> Result<(), Failure> {
    let remarks = !line.quiet;
    let functions = functions.filter(|_| line.symbols);
    if line.symbols && functions.is_none() && remarks {
        remark("_NT_SYMBOL_PATH names no place of symbols: functions are shown as addresses");
    }
    let symbols = line.symbols;
    let mut missing = BTreeSet::new();
    let mut functions = functions.map(|name| {
        let missing = &mut missing;
        move |trace: &Trace, places: &[CodePlace]| {
            let names = name(trace, places);
            missing.extend(names.missing.iter().cloned());
            names
        }
    });
    let mut outputs = Outputs::default();
    let mut asked: Vec<Asked> = line
        .calls
        .into_iter()
        .map(|call| {
            let output = outputs.number(call.output.as_ref().or(line.output.as_ref()));
            Asked::new(call, output)
        })
        .collect();
    let refuse = |asked: &mut [Asked], facts: &Facts| {
        let Some(refusal) = facts.refusal(line.tolerates_losses, line.tolerates_inversions) else { return };
        // What was written while it was read is out.
        for asked in asked.iter_mut().filter(|asked| !asked.bears_losses && !asked.is_over()) {
            asked.state = State::Over(Err(Failure::NothingToAnswer(refusal.clone())));
        }
    };
    let mut trace = None;
    if asked.iter().any(Asked::listens) {
        refuse(&mut asked, &Facts::of_stream(reader.stream()?.header()));
    } else if let Some(wanted) = wanted(&asked) {
        let read = reader.tables(wanted)?;
        refuse(&mut asked, &Facts::of_trace(&read));
        trace = Some(read);
    }

    let show_functions: Vec<_> = asked.iter_mut().filter_map(Asked::wants_functions).collect();
    if let (Some(functions), false) = (functions.as_mut(), show_functions.is_empty()) {
        let names = Arc::new(AddressNames::of(&reader.tables(ADDRESS_TABLES)?, functions));
        if names.is_full() && remarks {
            remark(&format!("the recording has over {MAX_ADDRESSES} addresses: the others stay without a function"));
        }
        show_functions.into_iter().for_each(|listener| listener.functions(&names));
    }

    let mut lost = trace.as_ref().map(|trace| trace.losses.clone());
    for stage in stages(&asked) {
        let wanted = wanted(&asked).filter(|_| trace.is_none());
        let of_stage = asked.get_mut(stage.clone()).unwrap_or_default();
        let read = match wanted {
            _ if of_stage.iter().any(Asked::listens) => {
                let (of_stream, read) = listen(reader, of_stage, &mut outputs, wanted)?;
                lost.get_or_insert(of_stream);
                read
            }
            Some(wanted) => Some(reader.tables(wanted)?),
            None => None,
        };
        if let Some(read) = read {
            lost = Some(read.losses.clone());
            refuse(&mut asked, &Facts::of_trace(&read));
            trace = Some(read);
        }
        for asked in asked.get_mut(stage).unwrap_or_default() {
            // Whoever asks for functions gets functions, be they unknown.
            let mut nameless = |_: &Trace, _: &[CodePlace]| FunctionNames::default();
            let functions = match functions.as_mut() {
                Some(name) => Some(name as NameFunctions<'_>),
                None => symbols.then_some(&mut nameless as NameFunctions<'_>),
            };
            finish(asked, trace.as_ref(), functions, &mut outputs);
        }
    }
    reader.files.check_complete()?;
    if remarks {
        missing.iter().take(MAX_MISSING).for_each(|symbols| remark(&format!("no symbols: {symbols}")));
        let more = missing.len().saturating_sub(MAX_MISSING);
        if more > 0 {
            remark(&format!("no symbols of {more} more files"));
        }
    }
    let mut result = report(asked, remarks);
    if let Err(failure) = outputs.finish() {
        result = Err(failure);
    }
    if let Some(lost) = lost.filter(|lost| remarks && !lost.is_empty()) {
        // Where stderr is gone, nobody is there to be told.
        let _ = losses::write(&lost, &mut anstream::stderr().lock() as &mut dyn Write);
    }
    result
}

/// The tables of all calls that are still on their way; `None` when none of them is answered from tables.
fn wanted(asked: &[Asked]) -> Option<Tables> {
    let of_calls = asked.iter().filter_map(|asked| match asked.state {
        State::Tables { wanted, .. } => Some(wanted),
        _ => None,
    });
    of_calls.reduce(Tables::union)
}

/// Cuts the calls into stages. Each begins with one reading for its listeners; one that writes as it listens must be the
/// first at its destination.
fn stages(asked: &[Asked]) -> Vec<std::ops::Range<usize>> {
    let mut stages = Vec::new();
    let mut start = 0;
    for (at, call) in asked.iter().enumerate() {
        let before = asked.get(start..at).unwrap_or_default();
        let is_taken = before.iter().any(|other| !other.is_over() && other.output == call.output);
        if call.writes_at_once() && is_taken {
            stages.push(start..at);
            start = at;
        }
    }
    stages.push(start..asked.len());
    stages
}

/// Lets a call that is still on its way answer.
fn finish(asked: &mut Asked, trace: Option<&Trace>, functions: Option<NameFunctions<'_>>, outputs: &mut Outputs) {
    let state = std::mem::replace(&mut asked.state, State::Over(Ok(())));
    let out = outputs.get(asked.output);
    let result = match (state, trace) {
        (State::Over(result), _) => result,
        (State::Tables { answer, .. }, Some(trace)) => answer(trace, functions, out),
        (State::Tables { answer, .. }, None) => answer(&Trace::default(), functions, out),
        (State::Events { mut listener, .. }, _) => listener.end(out),
    };
    asked.state = State::Over(result);
}

/// Says why calls could not be answered, each where it was told to; gives the worst.
fn report(asked: Vec<Asked>, remarks: bool) -> Result<(), Failure> {
    let mut worst = Ok(());
    for asked in asked {
        let State::Over(Err(failure)) = asked.state else { continue };
        let (message, code) = match failure {
            Failure::Unreadable(message) => (message, 1),
            Failure::NothingToAnswer(message) => (message, 2),
            Failure::NoData(message) => {
                if remarks {
                    remark(&format!("-a {}: {message}", asked.call_name));
                }
                continue;
            }
            Failure::Reported(code) => (String::new(), code),
            Failure::ReaderGone => continue,
        };
        let message = format!("-a {}: {}", asked.call_name, printable(&message));
        match asked.errors {
            Some(path) => {
                let written = OutputFile::create(&path).and_then(|mut file| {
                    writeln!(file, "{message}")?;
                    file.commit()
                });
                if let Err(error) = written {
                    remark(&format!("{}: {error}; {message}", path.display()));
                }
            }
            None => remark(&message),
        }
        worst = match worst {
            Err(Failure::Reported(1)) => worst,
            _ => Err(Failure::Reported(code)),
        };
    }
    worst
}

fn remark(text: &str) {
    // Where stderr is gone, nobody is there to be told.
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

        /// Answers `actions`, whose files lie in the folder; gives how often the recording was read.
        fn readings(&self, actions: &str) -> u32 {
            let words = format!("-i boot.etl -quiet {actions}");
            let words = words.split_whitespace().map(|word| match word.strip_prefix('@') {
                Some(name) => self.folder.path().join(name).into(),
                None => OsString::from(word),
            });
            let Ok(CommandLine::Process(line)) = parse(words.collect()) else {
                panic!("{actions}");
            };
            let mut reader = Reader::new(&self.files, Options::default(), None);
            answer(&mut reader, line, None).unwrap();
            reader.readings
        }

        fn file(&self, name: &str) -> String {
            std::fs::read_to_string(self.folder.path().join(name)).unwrap()
        }
    }

    #[test]
    fn several_actions_read_the_recording_once() {
        let case = Case::new();
        assert_eq!(case.readings("-o @all.txt -a boot -a services -a pnp"), 1);
        let all = case.file("all.txt");
        assert_eq!(case.readings("-a boot -ao @boot.xml -a services -ao @services.csv -a pnp -ao @pnp.csv"), 1);
        assert_eq!(all, case.file("boot.xml") + &case.file("services.csv") + &case.file("pnp.csv"));
    }

    #[test]
    fn dumps_into_different_files_share_a_reading_and_into_one_file_come_one_after_the_other() {
        let case = Case::new();
        let ranges = ["-range 0s 1s", "-range 8s 9s"];
        let [first, second] = ranges;
        assert_eq!(case.readings(&format!("-a dumper {first} -ao @1.txt -a dumper {second} -ao @2.txt")), 1);
        let both = case.file("1.txt") + &case.file("2.txt");
        assert_eq!(case.readings(&format!("-o @both.txt -a dumper {first} -a dumper {second}")), 2);
        assert_eq!(case.file("both.txt"), both);
        assert_eq!(case.readings(&format!("-o @mixed.txt -a services -a dumper {second} -a pnp")), 2);
    }

    #[test]
    fn tables_and_events_come_of_one_reading_and_say_the_same_as_of_two() {
        let case = Case::new();
        assert_eq!(case.readings("-a boot -ao @boot.xml"), 1);
        assert_eq!(case.readings("-a dumper -ao @events.txt"), 1);
        let apart = (case.file("boot.xml"), case.file("events.txt"));
        assert_eq!(case.readings("-a boot -ao @boot.xml -a dumper -ao @events.txt"), 1);
        assert_eq!((case.file("boot.xml"), case.file("events.txt")), apart);
        // The dumps end long before the recording does: the tables do not.
        assert_eq!(case.readings("-a boot -ao @boot.xml -a dumper -range 0s 1s -ao @events.txt"), 1);
        assert_eq!(case.file("boot.xml"), apart.0);
    }
}
