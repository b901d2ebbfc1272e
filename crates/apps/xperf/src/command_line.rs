//! Parses the whole line: input files, actions with their options, and output files.

use std::ffi::OsString;
use std::path::PathBuf;

use super::action::{Action, Query};
use super::actions;
use super::command_words::{PhaseTimes, Words, usage};
use crate::failure::Failure;
use crate::merge::{self, MergeRequest};

#[derive(Debug)]
pub enum CommandLine {
    /// Help, with an optional topic.
    Help(Option<String>),
    /// Lists the providers whose events are known without a recording.
    Providers,
    /// Runs actions on a recording.
    Process(ActionRun),
    /// Merges the files of one boot into one.
    Merge(MergeRequest),
}

/// A line that runs actions on a recording.
#[derive(Debug)]
pub struct ActionRun {
    pub inputs: Vec<PathBuf>,
    /// `None` for stdout.
    pub output: Option<PathBuf>,
    pub calls: Vec<Call>,
    /// `-tle`: accept a recording that lost events.
    pub tolerates_losses: bool,
    /// `-tti`: accept a recording whose clock ran backwards.
    pub tolerates_inversions: bool,
    /// No notes on stderr.
    pub quiet: bool,
    /// `-symbols`: resolve function names.
    pub symbols: bool,
    /// Instrumentation manifests, provider DLLs, trace message format files, or folders with such files.
    pub manifests: Vec<PathBuf>,
    /// Phases named in `-range`; [`Self::with_phases`] resolves them.
    pub phases: Vec<String>,
    words: Vec<OsString>,
}

impl ActionRun {
    /// Parses the line again with the times of its phases.
    ///
    /// # Errors
    /// Same as [`parse`].
    pub fn with_phases(self, times: PhaseTimes) -> Result<Self, Failure> {
        match parse_with(self.words, times)? {
            CommandLine::Process(line) => Ok(line),
            CommandLine::Help(_) | CommandLine::Providers | CommandLine::Merge(_) => {
                Err(usage("no recording given; write '-i FILE'"))
            }
        }
    }
}

/// An action with its options.
#[derive(Debug)]
pub struct Call {
    pub action: &'static Action,
    pub query: Query,
    /// `-ao`: overrides the output of the line.
    pub output: Option<PathBuf>,
    /// `-ae`: the file for error messages instead of stderr.
    pub errors: Option<PathBuf>,
}

impl Call {
    fn new(action: &'static Action, words: &mut Words) -> Result<Self, Failure> {
        Ok(Self { action, query: (action.parse)(words)?, output: None, errors: None })
    }
}

/// Options of xperf that control recording sessions, which onoff does not support.
const SESSION_OPTIONS: &[&str] =
    &["capturestate", "cancel", "flush", "loggers", "on", "profint", "setprofint", "start", "stackwalk", "update"];

/// Parses the words after `onoff xperf`.
pub fn parse(words: Vec<OsString>) -> Result<CommandLine, Failure> {
    parse_with(words, PhaseTimes::new())
}

fn parse_with(line_words: Vec<OsString>, phases: PhaseTimes) -> Result<CommandLine, Failure> {
    if line_words.is_empty() {
        return Ok(CommandLine::Help(None));
    }
    let mut words = Words::new(line_words.clone(), phases);
    let mut inputs = Vec::new();
    let mut output = None;
    let mut calls: Vec<Call> = Vec::new();
    let mut line = ActionRun {
        inputs: Vec::new(),
        output: None,
        calls: Vec::new(),
        tolerates_losses: false,
        tolerates_inversions: false,
        quiet: false,
        symbols: false,
        manifests: Vec::new(),
        phases: Vec::new(),
        words: line_words,
    };
    let mut sessions = Sessions::default();
    while let Some(option) = words.global_option()? {
        match option.as_str() {
            "merge" => {
                if !inputs.is_empty() || !calls.is_empty() {
                    return Err(usage("-merge only writes a recording; run actions on the new file"));
                }
                return Ok(CommandLine::Merge(merge::parse(&mut words, line.quiet)?));
            }
            "d" => sessions.merged_file = Some(words.path("d")?),
            "f" => sessions.files.push(words.path("f")?),
            "stop" => {
                sessions.stopped = true;
                words.skip_list();
            }
            "help" | "h" | "?" => {
                return Ok(CommandLine::Help(words.text("help", "a topic").ok()));
            }
            // The argument (installed, registered or kernel flags) applies only to a running Windows.
            "providers" => return Ok(CommandLine::Providers),
            "i" => inputs.push(words.path("i")?),
            "o" => {
                if output.replace(words.path("o")?).is_some() {
                    return Err(usage("-o is given twice; use '-ao FILE' after an action for a separate output file"));
                }
            }
            "a" => {
                let name = words.text("a", "an action")?;
                let action = actions::find(&name).ok_or_else(|| unknown_action(&name))?;
                calls.push(Call::new(action, &mut words)?);
            }
            "ao" => last_call(&mut calls, "ao")?.output = Some(words.path("ao")?),
            "ae" => last_call(&mut calls, "ae")?.errors = Some(words.path("ae")?),
            "manifest" => line.manifests.push(words.path("manifest")?),
            "tle" => line.tolerates_losses = true,
            "tti" => line.tolerates_inversions = true,
            "quiet" => line.quiet = true,
            "symbols" => {
                line.symbols = true;
                words.skip_list();
            }
            "target" => {
                let target = words.text("target", "human or machine")?;
                if !["human", "machine"].contains(&target.to_ascii_lowercase().as_str()) {
                    return Err(usage(format!("-target: '{target}' is not human or machine")));
                }
            }
            option if SESSION_OPTIONS.contains(&option) => {
                return Err(unsupported_session_option(option));
            }
            option => {
                return Err(usage(format!(
                    "unknown option '-{option}'; 'onoff xperf -help processing' lists the options"
                )));
            }
        }
    }
    if let Some(file) = sessions.take_plain_file(!inputs.is_empty()) {
        // Microsoft's documentation has '-i clrevents.etl -f clrevents.csv'.
        let output_file = if inputs.is_empty() {
            inputs.push(file);
            None
        } else {
            Some(file)
        };
        if output_file.is_some() && std::mem::replace(&mut output, output_file).is_some() {
            return Err(usage(
                "-o and -f both name an output file; use '-ao FILE' after an action for a separate output file",
            ));
        }
    }
    if sessions.has_options() {
        inputs.extend(std::mem::take(&mut sessions.files));
        return sessions.into_merge(inputs, &calls, line.quiet).map(CommandLine::Merge);
    }
    if inputs.is_empty() {
        return Err(usage("no recording given; write '-i FILE'"));
    }
    if calls.is_empty() {
        calls.push(Call::new(&actions::dumper::ACTION, &mut words)?);
    }
    Ok(CommandLine::Process(ActionRun { inputs, output, calls, phases: words.into_unresolved_phases(), ..line }))
}

/// Session options of a line. onoff has no recording sessions; for `-stop … -d OUT` it merges their files.
#[derive(Debug, Default)]
struct Sessions {
    stopped: bool,
    /// Files that the sessions recorded into.
    files: Vec<PathBuf>,
    merged_file: Option<PathBuf>,
}

impl Sessions {
    fn has_options(&self) -> bool {
        self.stopped || self.merged_file.is_some() || !self.files.is_empty()
    }

    /// Takes the only `-f` file of a line without sessions: the input, or the output if there are inputs. The output
    /// never ends in .etl, because such a file belongs to a session and might be an existing recording.
    fn take_plain_file(&mut self, is_output: bool) -> Option<PathBuf> {
        let is_recording =
            |file: &PathBuf| file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("etl"));
        let is_only_option = !self.stopped && self.merged_file.is_none() && self.files.len() == 1;
        if is_only_option && !(is_output && self.files.iter().any(is_recording)) { self.files.pop() } else { None }
    }

    /// Turns the line into a merge of its files.
    fn into_merge(self, inputs: Vec<PathBuf>, calls: &[Call], quiet: bool) -> Result<MergeRequest, Failure> {
        let Some(output) = self.merged_file else {
            return Err(unsupported_session_option(if self.stopped { "stop" } else { "f" }));
        };
        if inputs.is_empty() {
            return Err(usage("-d: no input files; write '-merge FILE… OUT'"));
        }
        if !calls.is_empty() {
            return Err(usage("-d only writes a recording; run actions on the new file"));
        }
        let ignored_options = if self.stopped {
            vec!["-stop is ignored: the files are merged, and no session is stopped"]
        } else {
            Vec::new()
        };
        Ok(MergeRequest { inputs, output, quiet, ignored_options })
    }
}

fn unsupported_session_option(option: &str) -> Failure {
    usage(format!("'-{option}' is not supported: onoff xperf only processes recordings; record with 'onoff record'"))
}

fn last_call<'c>(calls: &'c mut [Call], option: &str) -> Result<&'c mut Call, Failure> {
    calls.last_mut().ok_or_else(|| usage(format!("-{option} must follow an action")))
}

fn unknown_action(name: &str) -> Failure {
    let names: Vec<&str> = actions::ACTIONS.iter().map(|action| action.name).collect();
    usage(format!("-a: unknown action '{name}'; the actions are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<CommandLine, Failure> {
        parse(text.split_whitespace().map(OsString::from).collect())
    }

    fn processing(text: &str) -> ActionRun {
        match line(text) {
            Ok(CommandLine::Process(processing)) => processing,
            result => panic!("{text}: {result:?}"),
        }
    }

    fn refusal(text: &str) -> String {
        match line(text) {
            Err(Failure::Unanswerable(message)) => message,
            result => panic!("{text}: {result:?}"),
        }
    }

    fn names(processing: &ActionRun) -> Vec<&str> {
        processing.calls.iter().map(|call| call.action.name).collect()
    }

    #[test]
    fn options_are_accepted_in_any_order() {
        let line = processing(
            "-tle -i a.etl -o out.xml -i b.etl -quiet -a boot -minCPUToShow 5 -maxFilesToShow 10 -tti \
             -a services -range 1s 2s -ao s.csv -ae s.txt -target machine -symbols verbose",
        );
        assert_eq!(line.inputs, [PathBuf::from("a.etl"), PathBuf::from("b.etl")]);
        assert_eq!(line.output, Some(PathBuf::from("out.xml")));
        assert_eq!(names(&line), ["boot", "services"]);
        assert!(line.tolerates_losses && line.tolerates_inversions && line.quiet && line.symbols);
        assert_eq!((&line.calls[0].output, &line.calls[0].errors), (&None, &None));
        assert_eq!(line.calls[1].output, Some(PathBuf::from("s.csv")));
        assert_eq!(line.calls[1].errors, Some(PathBuf::from("s.txt")));
    }

    #[test]
    fn options_may_begin_with_slash_in_any_case() {
        let line = processing("/tti /I /tmp/a.etl /O /tmp/out.xml -A Boot");
        assert_eq!(line.inputs, [PathBuf::from("/tmp/a.etl")]);
        assert_eq!(line.output, Some(PathBuf::from("/tmp/out.xml")));
        assert!(line.tolerates_inversions && !line.tolerates_losses);
        assert_eq!(names(&line), ["boot"]);
    }

    #[test]
    fn default_action_is_dumper() {
        let line = processing("-i a.etl");
        assert_eq!(names(&line), ["dumper"]);
        assert!(!line.tolerates_losses && !line.tolerates_inversions && !line.quiet);
        let line = processing("-i a.etl -a dumper -range 1 2 -provider x y -add_rawdata -tle");
        assert!(line.tolerates_losses);
        let Query::Events { filter, range, .. } = &line.calls[0].query else {
            panic!();
        };
        assert_eq!(filter.providers.len(), 2);
        assert!(range.is_some());
    }

    #[test]
    fn file_without_session_is_output_or_input() {
        let line = processing("-i a.etl -f a.csv");
        assert_eq!((line.inputs, line.output), (vec![PathBuf::from("a.etl")], Some(PathBuf::from("a.csv"))));
        let line = processing("-f a.etl -a marks");
        assert_eq!((line.inputs, line.output), (vec![PathBuf::from("a.etl")], None));
        assert!(refusal("-i a.etl -o b.csv -f a.csv").starts_with("-o and -f both name an output file"));
    }

    #[test]
    fn reports_usage_errors() {
        for (text, expected) in [
            ("-a boot", "no recording given; write '-i FILE'"),
            ("-i", "-i needs a file name"),
            ("-i a.etl -a", "-a needs an action"),
            ("-i a.etl b.etl", "unexpected argument 'b.etl'; options begin with '-'"),
            ("-i a.etl -o x -o y", "-o is given twice; use '-ao FILE' after an action for a separate output file"),
            ("-i a.etl -ao x", "-ao must follow an action"),
            ("-i a.etl -target me", "-target: 'me' is not human or machine"),
            ("-i a.etl -bla", "unknown option '-bla'; 'onoff xperf -help processing' lists the options"),
            ("-i a.etl -a boot -bla", "'-a boot' has no option '-bla'; 'onoff xperf -help boot' lists the options"),
            ("-i a.etl -a boot -minCPUToShow x", "-mincputoshow: invalid number 'x'"),
            ("-i a.etl -a boot -minCPUToShow 101", "-minCPUToShow: write a percentage from 0 to 100"),
            ("-i a.etl -a boot x", "unexpected argument 'x'; options begin with '-'"),
            ("-i a.etl -a pnp -range", "-range needs a time"),
            ("-i a.etl -a dumper -provider -tle", "-provider needs a provider"),
        ] {
            assert_eq!(refusal(text), expected, "{text}");
        }
        assert!(refusal("-i a.etl -a bla").starts_with("-a: unknown action 'bla'; the actions are boot, "));
        assert!(refusal("-on base").contains("only processes recordings"));
    }

    fn merging(text: &str) -> (Vec<PathBuf>, PathBuf, usize) {
        match line(text) {
            Ok(CommandLine::Merge(merging)) => (merging.inputs, merging.output, merging.ignored_options.len()),
            result => panic!("{text}: {result:?}"),
        }
    }

    #[test]
    fn merges_files_into_the_last() {
        let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
        let expected = (paths(&["a.etl", "/tmp/b.etl"]), PathBuf::from("out.etl"));
        for (text, ignored_options) in [
            ("-merge a.etl /tmp/b.etl out.etl", 0),
            ("-merge -d a.etl /tmp/b.etl out.etl", 0),
            ("-quiet -merge a.etl /tmp/b.etl out.etl -compress -suppresspii", 1),
            ("-i a.etl -i /tmp/b.etl -d out.etl", 0),
            ("-stop -stop Session -f a.etl -d out.etl -f /tmp/b.etl", 1),
        ] {
            let (inputs, output, ignored) = merging(text);
            assert_eq!(((inputs, output), ignored), (expected.clone(), ignored_options), "{text}");
        }
        assert_eq!(merging("-merge a.etl out.etl").0, paths(&["a.etl"]));
        for (text, expected) in [
            ("-merge", "-merge needs at least one input file and an output file; write '-merge FILE… OUT'"),
            ("-merge a.etl", "-merge needs at least one input file and an output file; write '-merge FILE… OUT'"),
            ("-merge a.etl b.etl -a boot", "-merge has no option '-a'; write '-merge FILE… OUT'"),
            ("-i a.etl -merge b.etl c.etl", "-merge only writes a recording; run actions on the new file"),
            ("-i a.etl -a boot -d c.etl", "-d only writes a recording; run actions on the new file"),
            ("-stop -d out.etl", "-d: no input files; write '-merge FILE… OUT'"),
        ] {
            assert_eq!(refusal(text), expected, "{text}");
        }
        for text in ["-stop", "-stop -i a.etl", "-i a.etl -f b.etl -a boot"] {
            assert!(refusal(text).contains("only processes recordings"), "{text}");
        }
    }

    #[test]
    fn help_overrides_other_options() {
        for (text, topic) in [("", None), ("-help", None), ("-i a.etl /?", None), ("--help boot", Some("boot"))] {
            match line(text) {
                Ok(CommandLine::Help(found)) => assert_eq!(found.as_deref(), topic, "{text}"),
                result => panic!("{text}: {result:?}"),
            }
        }
    }
}
