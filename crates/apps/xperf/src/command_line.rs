//! The whole line: files, actions with their options, and where answers go.

use std::ffi::OsString;
use std::path::PathBuf;

use super::action::{Action, Question};
use super::actions;
use super::command_words::{PhaseTimes, Words, usage};
use crate::failure::Failure;
use crate::merge::{self, Merging};

/// What the line asks for.
#[derive(Debug)]
pub enum CommandLine {
    /// Help, about a topic if one was named.
    Help(Option<String>),
    /// The providers whose events are known without a recording.
    Providers,
    /// Answers about a recording.
    Process(Processing),
    /// Files of one boot as one file.
    Merge(Merging),
}

/// Answers about a recording.
#[derive(Debug)]
pub struct Processing {
    /// The recording's files.
    pub inputs: Vec<PathBuf>,
    /// Where answers go; stdout when `None`.
    pub output: Option<PathBuf>,
    /// The actions, in their order.
    pub calls: Vec<Call>,
    /// Whether a recording that lost events is good enough.
    pub tolerates_losses: bool,
    /// Whether a recording whose clock ran backwards is good enough.
    pub tolerates_inversions: bool,
    /// Whether to keep remarks to itself.
    pub quiet: bool,
    /// Whether symbols were asked for, which are never loaded.
    pub symbols: bool,
    /// Instrumentation manifests, providers' DLLs, or folders with such files, that describe events.
    pub manifests: Vec<PathBuf>,
    /// The phases that a `-range` names: [`Self::with_phases`] gives them their times.
    pub phases: Vec<String>,
    words: Vec<OsString>,
}

impl Processing {
    /// The same line with the times of its phases.
    ///
    /// # Errors
    /// Those of [`parse`].
    pub fn with_phases(self, times: PhaseTimes) -> Result<Self, Failure> {
        match parse_with(self.words, times)? {
            CommandLine::Process(line) => Ok(line),
            CommandLine::Help(_) | CommandLine::Providers | CommandLine::Merge(_) => {
                Err(usage("the line has no recording"))
            }
        }
    }
}

/// An action with its options.
#[derive(Debug)]
pub struct Call {
    /// Which.
    pub action: &'static Action,
    /// What it asks.
    pub question: Question,
    /// Where its answer goes instead.
    pub output: Option<PathBuf>,
    /// Where it says why it cannot answer, instead of stderr.
    pub errors: Option<PathBuf>,
}

impl Call {
    fn new(action: &'static Action, words: &mut Words) -> Result<Self, Failure> {
        Ok(Self { action, question: (action.parse)(words)?, output: None, errors: None })
    }
}

/// What xperf does besides, which is not done here: by the option that asks for it.
const NOT_PROCESSING: &[&str] =
    &["capturestate", "cancel", "flush", "loggers", "on", "profint", "setprofint", "start", "stackwalk", "update"];

/// Understands the words after `onoff xperf`.
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
    let mut line = Processing {
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
    while let Some(option) = words.of_the_line()? {
        match option.as_str() {
            "merge" => {
                if !inputs.is_empty() || !calls.is_empty() {
                    return Err(usage("-merge writes a recording and answers nothing: ask about the new file"));
                }
                return Ok(CommandLine::Merge(merge::parse(&mut words, line.quiet)?));
            }
            "d" => sessions.into = Some(words.path("d")?),
            "f" => sessions.files.push(words.path("f")?),
            "stop" => {
                sessions.stopped = true;
                words.skip_list();
            }
            "help" | "h" | "?" => {
                return Ok(CommandLine::Help(words.text("help", "a topic").ok()));
            }
            // Which of them (installed, registered, the kernel's flags) is a question about a computer with Windows.
            "providers" => return Ok(CommandLine::Providers),
            "i" => inputs.push(words.path("i")?),
            "o" => {
                if output.replace(words.path("o")?).is_some() {
                    return Err(usage("-o is there twice; '-ao FILE' after an action sends that one elsewhere"));
                }
            }
            "a" => {
                let name = words.text("a", "an action")?;
                let action = actions::find(&name).ok_or_else(|| no_such_action(&name))?;
                calls.push(Call::new(action, &mut words)?);
            }
            "ao" => last(&mut calls, "ao")?.output = Some(words.path("ao")?),
            "ae" => last(&mut calls, "ae")?.errors = Some(words.path("ae")?),
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
                    return Err(usage(format!("-target: '{target}' is neither human nor machine")));
                }
            }
            other if NOT_PROCESSING.contains(&other) => {
                return Err(no_recorder(other));
            }
            other => {
                return Err(usage(format!("there is no option '-{other}'; 'onoff xperf -help processing' lists them")));
            }
        }
    }
    if let Some(file) = sessions.file_of_answers(!inputs.is_empty()) {
        // As in a line of Microsoft's pages: '-i clrevents.etl -f clrevents.csv'.
        let place = if inputs.is_empty() {
            inputs.push(file);
            None
        } else {
            Some(file)
        };
        if place.is_some() && std::mem::replace(&mut output, place).is_some() {
            return Err(usage(
                "-o and -f name a file of answers each; '-ao FILE' after an action sends that one elsewhere",
            ));
        }
    }
    if sessions.are_named() {
        inputs.extend(std::mem::take(&mut sessions.files));
        return sessions.merging(inputs, &calls, line.quiet).map(CommandLine::Merge);
    }
    if inputs.is_empty() {
        return Err(usage("no recording was named; write '-i FILE'"));
    }
    if calls.is_empty() {
        calls.push(Call::new(&actions::dumper::ACTION, &mut words)?);
    }
    Ok(CommandLine::Process(Processing { inputs, output, calls, phases: words.into_unread_phases(), ..line }))
}

/// What a line says of sessions, which onoff has none of: `-stop … -d OUT` stops them and merges their files.
#[derive(Debug, Default)]
struct Sessions {
    stopped: bool,
    /// Files that they recorded into.
    files: Vec<PathBuf>,
    into: Option<PathBuf>,
}

impl Sessions {
    fn are_named(&self) -> bool {
        self.stopped || self.into.is_some() || !self.files.is_empty()
    }

    /// The one file that the line names with '-f' while it is about no session. What is `written` is no recording: that
    /// would be a session's, and may be one that is there.
    fn file_of_answers(&mut self, written: bool) -> Option<PathBuf> {
        let is_recording = |file: &PathBuf| file.extension().is_some_and(|end| end.eq_ignore_ascii_case("etl"));
        let is_alone = !self.stopped && self.into.is_none() && self.files.len() == 1;
        if is_alone && !(written && self.files.iter().any(is_recording)) { self.files.pop() } else { None }
    }

    /// Merging the files that the line names.
    fn merging(self, inputs: Vec<PathBuf>, calls: &[Call], quiet: bool) -> Result<Merging, Failure> {
        let Some(output) = self.into else {
            return Err(no_recorder(if self.stopped { "stop" } else { "f" }));
        };
        if inputs.is_empty() {
            return Err(usage(
                "-d: no session is stopped here, and the line names no files of one; write '-merge FILE… OUT'",
            ));
        }
        if !calls.is_empty() {
            return Err(usage("-d writes a recording and answers nothing: ask about the new file"));
        }
        let not_done =
            if self.stopped { vec!["-stop: no session is stopped; the files are merged"] } else { Vec::new() };
        Ok(Merging { inputs, output, quiet, not_done })
    }
}

fn no_recorder(option: &str) -> Failure {
    usage(format!("'-{option}' is not among what onoff takes over from xperf: onoff reads recordings and makes none"))
}

fn last<'c>(calls: &'c mut [Call], option: &str) -> Result<&'c mut Call, Failure> {
    calls.last_mut().ok_or_else(|| usage(format!("-{option} is about the action before it, and there is none")))
}

fn no_such_action(name: &str) -> Failure {
    let names: Vec<&str> = actions::ACTIONS.iter().map(|action| action.name).collect();
    usage(format!("-a: there is no action '{name}'; there are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<CommandLine, Failure> {
        parse(text.split_whitespace().map(OsString::from).collect())
    }

    fn processing(text: &str) -> Processing {
        match line(text) {
            Ok(CommandLine::Process(processing)) => processing,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn refusal(text: &str) -> String {
        match line(text) {
            Err(Failure::NothingToAnswer(message)) => message,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn names(processing: &Processing) -> Vec<&str> {
        processing.calls.iter().map(|call| call.action.name).collect()
    }

    #[test]
    fn a_script_s_line_is_understood_wherever_its_options_stand() {
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
    fn options_may_begin_with_a_slash_and_have_any_case() {
        let line = processing("/tti /I /tmp/a.etl /O /tmp/out.xml -A Boot");
        assert_eq!(line.inputs, [PathBuf::from("/tmp/a.etl")]);
        assert_eq!(line.output, Some(PathBuf::from("/tmp/out.xml")));
        assert!(line.tolerates_inversions && !line.tolerates_losses);
        assert_eq!(names(&line), ["boot"]);
    }

    #[test]
    fn without_an_action_events_are_dumped() {
        let line = processing("-i a.etl");
        assert_eq!(names(&line), ["dumper"]);
        assert!(!line.tolerates_losses && !line.tolerates_inversions && !line.quiet);
        let line = processing("-i a.etl -a dumper -range 1 2 -provider x y -add_rawdata -tle");
        assert!(line.tolerates_losses);
        let Question::Events { filter, range, .. } = &line.calls[0].question else {
            panic!();
        };
        assert_eq!(filter.providers.len(), 2);
        assert!(range.is_some());
    }

    #[test]
    fn a_file_without_a_session_is_what_is_written_else_what_is_read() {
        let line = processing("-i a.etl -f a.csv");
        assert_eq!((line.inputs, line.output), (vec![PathBuf::from("a.etl")], Some(PathBuf::from("a.csv"))));
        let line = processing("-f a.etl -a marks");
        assert_eq!((line.inputs, line.output), (vec![PathBuf::from("a.etl")], None));
        assert!(refusal("-i a.etl -o b.csv -f a.csv").starts_with("-o and -f name a file"));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (text, said) in [
            ("-a boot", "no recording was named; write '-i FILE'"),
            ("-i", "-i: a file name is missing after it"),
            ("-i a.etl -a", "-a: an action is missing after it"),
            ("-i a.etl b.etl", "'b.etl' is no option; options begin with '-'"),
            ("-i a.etl -o x -o y", "-o is there twice; '-ao FILE' after an action sends that one elsewhere"),
            ("-i a.etl -ao x", "-ao is about the action before it, and there is none"),
            ("-i a.etl -target me", "-target: 'me' is neither human nor machine"),
            ("-i a.etl -bla", "there is no option '-bla'; 'onoff xperf -help processing' lists them"),
            ("-i a.etl -a boot -bla", "'-a boot' has no option '-bla'; 'onoff xperf -help boot' lists them"),
            ("-i a.etl -a boot -minCPUToShow x", "-mincputoshow: 'x' is no number that it takes"),
            ("-i a.etl -a boot -minCPUToShow 101", "-minCPUToShow: a percentage is from 0 to 100"),
            ("-i a.etl -a boot x", "'x' is no option; options begin with '-'"),
            ("-i a.etl -a pnp -range", "-range: a time is missing after it"),
            ("-i a.etl -a dumper -provider -tle", "-provider: a provider is missing after it"),
        ] {
            assert_eq!(refusal(text), said, "{text}");
        }
        assert!(refusal("-i a.etl -a bla").starts_with("-a: there is no action 'bla'; there are boot, "));
        assert!(refusal("-on base").contains("makes none"));
    }

    fn merging(text: &str) -> (Vec<PathBuf>, PathBuf, usize) {
        match line(text) {
            Ok(CommandLine::Merge(merging)) => (merging.inputs, merging.output, merging.not_done.len()),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn files_are_merged_into_the_last_one() {
        let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
        let expected = (paths(&["a.etl", "/tmp/b.etl"]), PathBuf::from("out.etl"));
        for (text, not_done) in [
            ("-merge a.etl /tmp/b.etl out.etl", 0),
            ("-merge -d a.etl /tmp/b.etl out.etl", 0),
            ("-quiet -merge a.etl /tmp/b.etl out.etl -compress -suppresspii", 1),
            ("-i a.etl -i /tmp/b.etl -d out.etl", 0),
            ("-stop -stop Session -f a.etl -d out.etl -f /tmp/b.etl", 1),
        ] {
            let (inputs, output, said) = merging(text);
            assert_eq!(((inputs, output), said), (expected.clone(), not_done), "{text}");
        }
        assert_eq!(merging("-merge a.etl out.etl").0, paths(&["a.etl"]));
        for (text, said) in [
            ("-merge", "-merge: one file to read at least and the file to write; write '-merge FILE… OUT'"),
            ("-merge a.etl", "-merge: one file to read at least and the file to write; write '-merge FILE… OUT'"),
            ("-merge a.etl b.etl -a boot", "-merge has no option '-a'; write '-merge FILE… OUT'"),
            ("-i a.etl -merge b.etl c.etl", "-merge writes a recording and answers nothing: ask about the new file"),
            ("-i a.etl -a boot -d c.etl", "-d writes a recording and answers nothing: ask about the new file"),
            (
                "-stop -d out.etl",
                "-d: no session is stopped here, and the line names no files of one; write '-merge FILE… OUT'",
            ),
        ] {
            assert_eq!(refusal(text), said, "{text}");
        }
        for text in ["-stop", "-stop -i a.etl", "-i a.etl -f b.etl -a boot"] {
            assert!(refusal(text).contains("makes none"), "{text}");
        }
    }

    #[test]
    fn help_goes_before_all_else() {
        for (text, topic) in [("", None), ("-help", None), ("-i a.etl /?", None), ("--help boot", Some("boot"))] {
            match line(text) {
                Ok(CommandLine::Help(about)) => assert_eq!(about.as_deref(), topic, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
