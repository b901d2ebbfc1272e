//! The words of the command line, taken one by one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::str::FromStr;

use onoff_report::text::time_point::TimePoint;
use onoff_trace::{Clock, StreamHeader};

use crate::failure::Failure;

/// Options that belong to the whole line: they end the options of an action.
const OF_THE_LINE: &[&str] =
    &["a", "ae", "ao", "d", "help", "i", "manifest", "o", "quiet", "symbols", "target", "tle", "tti"];

/// Those of them that have no value, and may stand among an action's options.
const FLAGS: &[&str] = &["quiet", "tle", "tti"];

/// The words of the command line.
#[derive(Debug)]
pub struct Words {
    words: Vec<OsString>,
    at: usize,
    /// Options of the line without a value that stood among an action's.
    flags: Vec<String>,
    phases: PhaseTimes,
    unread_phases: Vec<String>,
    for_machines: bool,
}

/// From when until when the phases last that a line names in `-range`, ns since the recording's start.
pub type PhaseTimes = BTreeMap<String, (i64, i64)>;

/// A stretch of the recording's time, as typed: from one time up to, not including, another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    from: TimePoint,
    until: TimePoint,
}

impl Range {
    /// Begin and end in ns since the recording's begin.
    pub fn resolve(self, clock: &Clock) -> Result<(i64, i64), Failure> {
        let header = StreamHeader {
            start_unix_ns: clock.start_unix_ns,
            utc_bias_minutes: clock.utc_bias_minutes,
            ..StreamHeader::default()
        };
        self.resolve_in(&header)
    }

    /// Begin and end in ns since the start of a stream.
    pub fn resolve_in(self, header: &StreamHeader) -> Result<(i64, i64), Failure> {
        match (self.from.resolve(header), self.until.resolve(header)) {
            (Some(from), Some(until)) if from <= until => Ok((from, until)),
            (Some(_), Some(_)) => Err(usage("-range: the second time is before the first")),
            _ => Err(usage("-range: the time is outside what the recording can hold")),
        }
    }
}

/// What cannot be understood.
pub fn usage(message: impl Into<String>) -> Failure {
    Failure::NothingToAnswer(message.into())
}

impl Words {
    /// All words, from the first.
    pub fn new(words: Vec<OsString>, phases: PhaseTimes) -> Self {
        // It may stand after the actions that it is about.
        let for_machines = words.windows(2).any(|pair| match pair {
            [option, kind] => option_name(option).as_deref() == Some("target") && kind.eq_ignore_ascii_case("machine"),
            _ => false,
        });
        Self { words, at: 0, flags: Vec::new(), phases, unread_phases: Vec::new(), for_machines }
    }

    /// Whether the answers are for programs (`-target machine`).
    pub fn for_machines(&self) -> bool {
        self.for_machines
    }

    /// The phases that `-range` named and whose times are not known yet: their ranges are the whole recording so far.
    pub fn into_unread_phases(self) -> Vec<String> {
        self.unread_phases
    }

    /// The next word as an option of the whole line: its name in lower case, without its dash.
    pub fn of_the_line(&mut self) -> Result<Option<String>, Failure> {
        if let Some(flag) = self.flags.pop() {
            return Ok(Some(flag));
        }
        match self.peek().map(option_name) {
            None => Ok(None),
            Some(Some(name)) => {
                self.at += 1;
                Ok(Some(name))
            }
            Some(None) => Err(self.unexpected()),
        }
    }

    /// The next word as an option of an action: its name in lower case, without its dash; `None` when the action's
    /// options are over.
    pub fn option(&mut self) -> Result<Option<String>, Failure> {
        while let Some(flag) = self.peek().and_then(option_name)
            && FLAGS.contains(&flag.as_str())
        {
            self.flags.push(flag);
            self.at += 1;
        }
        match self.peek().map(option_name) {
            None => Ok(None),
            Some(Some(name)) if OF_THE_LINE.contains(&name.as_str()) => Ok(None),
            Some(Some(name)) => {
                self.at += 1;
                Ok(Some(name))
            }
            Some(None) => Err(self.unexpected()),
        }
    }

    /// That the action knows no option of this name.
    pub fn unknown(&self, action: &str, option: &str) -> Failure {
        usage(format!("'-a {action}' has no option '-{option}'; 'onoff xperf -help {action}' lists them"))
    }

    /// The options of an action that knows none but `-range`.
    pub fn range_alone(&mut self, action: &str) -> Result<Option<Range>, Failure> {
        let mut range = None;
        while let Some(option) = self.option()? {
            match option.as_str() {
                "range" => range = Some(self.range(&option)?),
                _ => return Err(self.unknown(action, &option)),
            }
        }
        Ok(range)
    }

    fn unexpected(&self) -> Failure {
        let word = self.peek().unwrap_or_default().to_string_lossy();
        if let Some(name) = word.strip_prefix(['\u{2013}', '\u{2014}', '\u{2212}']) {
            return usage(format!("'{word}' begins with a dash from a text processor; type '-{name}' with a hyphen"));
        }
        usage(format!("'{word}' is no option; options begin with '-'"))
    }

    fn peek(&self) -> Option<&OsStr> {
        self.words.get(self.at).map(OsString::as_os_str)
    }

    /// The value of an option, whatever it looks like.
    pub fn value(&mut self, option: &str, what: &str) -> Result<OsString, Failure> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word.ok_or_else(|| usage(format!("-{option}: {what} is missing after it")))
    }

    /// The value of an option as a path.
    pub fn path(&mut self, option: &str) -> Result<PathBuf, Failure> {
        self.value(option, "a file name").map(PathBuf::from)
    }

    /// The next word, which is a path or an option: its name in lower case. A word that begins with a slash is a path.
    pub fn path_or_option(&mut self) -> Option<Result<PathBuf, String>> {
        let word = self.words.get(self.at).cloned()?;
        self.at += 1;
        let option = option_name(&word).filter(|_| begins_with_dash(&word));
        Some(option.map_or_else(|| Ok(PathBuf::from(word)), Err))
    }

    /// The value of an option as a text.
    pub fn text(&mut self, option: &str, what: &str) -> Result<String, Failure> {
        let value = self.value(option, what)?;
        value.into_string().map_err(|value| usage(format!("-{option}: '{}' is no valid text", value.to_string_lossy())))
    }

    /// The value of an option as a number.
    pub fn number<T: FromStr>(&mut self, option: &str) -> Result<T, Failure> {
        let text = self.text(option, "a number")?;
        text.parse().map_err(|_| usage(format!("-{option}: '{text}' is no number that it takes")))
    }

    /// The value of an option as a number, where it may be left out.
    pub fn optional_number<T: FromStr>(&mut self) -> Option<T> {
        let number = self.peek()?.to_str()?.parse().ok()?;
        self.at += 1;
        Some(number)
    }

    /// The values of an option: every word up to the next option, one at least.
    pub fn list(&mut self, option: &str, what: &str) -> Result<Vec<String>, Failure> {
        let mut values = Vec::new();
        while self.peek().is_some_and(|word| !begins_with_dash(word)) {
            values.push(self.text(option, what)?);
        }
        if values.is_empty() {
            return Err(usage(format!("-{option}: {what} is missing after it")));
        }
        Ok(values)
    }

    /// Takes the words up to the next option, if there are any.
    pub fn skip_list(&mut self) {
        while self.peek().is_some_and(|word| option_name(word).is_none()) {
            self.at += 1;
        }
    }

    /// The value of an option as a time: `1234[s|ms|us|ns]` or `yyyy/mm/dd:hh:mm:ss.ffff[+UTC]`.
    pub fn time(&mut self, option: &str) -> Result<TimePoint, Failure> {
        let text = self.text(option, "a time")?;
        TimePoint::parse(&text).ok_or_else(|| {
            usage(format!("-{option}: '{text}' is no time; write 1234[s|ms|us|ns] or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]"))
        })
    }

    /// The values of `-range`: two times, one up to the recording's end, or a phase, as in `-range WinLogonInit`.
    pub fn range(&mut self, option: &str) -> Result<Range, Failure> {
        if let Some(phase) = self.phase() {
            let known = self.phases.get(&phase).copied();
            if known.is_none() {
                self.unread_phases.push(phase);
            }
            let (from, until) = known.unwrap_or((i64::MIN, i64::MAX));
            return Ok(Range { from: TimePoint::SinceStart(from), until: TimePoint::SinceStart(until) });
        }
        let from = self.time(option)?;
        let is_over = self.peek().is_none_or(|word| option_name(word).is_some());
        let until = if is_over { TimePoint::SinceStart(i64::MAX) } else { self.time(option)? };
        Ok(Range { from, until })
    }

    /// Takes the next word if it is the name of a phase: times begin with a digit.
    fn phase(&mut self) -> Option<String> {
        let word = self.peek()?.to_str()?;
        let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '*');
        let phase = is_name.then(|| word.to_owned())?;
        self.at += 1;
        Some(phase)
    }

    /// Takes the next word if it is `text`, in any case; whether it was.
    pub fn skip_text(&mut self, text: &str) -> bool {
        let is_there = self.peek().and_then(OsStr::to_str).is_some_and(|word| word.eq_ignore_ascii_case(text));
        self.at += usize::from(is_there);
        is_there
    }

    /// The value of an option as a length of time, ns: `1234[s|ms|us|ns]` or `hh:mm:ss.ffff`.
    pub fn span(&mut self, option: &str) -> Result<i64, Failure> {
        let text = self.text(option, "a length of time")?;
        span_of(option, &text)
    }

    /// The values of an option as lengths of time, ns, one at least.
    pub fn spans(&mut self, option: &str) -> Result<Vec<i64>, Failure> {
        let texts = self.list(option, "a length of time")?;
        texts.iter().map(|text| span_of(option, text)).collect()
    }
}

fn span_of(option: &str, text: &str) -> Result<i64, Failure> {
    span(text).ok_or_else(|| {
        usage(format!("-{option}: '{text}' is no length of time; write 1234[s|ms|us|ns] or hh:mm:ss.ffff"))
    })
}

/// Ns of `1234[s|ms|us|ns]` (µs without a unit) or `hh:mm:ss.ffff`.
fn span(text: &str) -> Option<i64> {
    if let Some((hours, rest)) = text.split_once(':') {
        let (minutes, seconds) = rest.split_once(':')?;
        let hours: i64 = hours.parse().ok().filter(|hours| *hours >= 0)?;
        let minutes: i64 = minutes.parse().ok().filter(|part| (0..60).contains(part))?;
        let whole = hours.checked_mul(3_600)?.checked_add(minutes * 60)?;
        let TimePoint::SinceStart(ns) = TimePoint::parse(&format!("{seconds}s"))? else { return None };
        return whole.checked_mul(1_000_000_000)?.checked_add(ns);
    }
    match TimePoint::parse(text)? {
        TimePoint::SinceStart(ns) => Some(ns),
        TimePoint::Calendar { .. } => None,
    }
}

fn begins_with_dash(word: &OsStr) -> bool {
    word.as_encoded_bytes().first() == Some(&b'-')
}

/// An option's name in lower case; `None` for a word that is none. A word with a second slash is a path.
fn option_name(word: &OsStr) -> Option<String> {
    let text = word.to_str()?;
    let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).or_else(|| text.strip_prefix('/'))?;
    (!name.is_empty() && !name.contains('/')).then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Words {
        Words::new(text.split_whitespace().map(OsString::from).collect(), PhaseTimes::new())
    }

    #[test]
    fn lengths_of_time_are_microseconds_unless_they_say_otherwise() {
        assert_eq!(span("250"), Some(250_000));
        assert_eq!(span("1.5s"), Some(1_500_000_000));
        assert_eq!(span("00:01:02.25"), Some(62_250_000_000));
        for wrong in ["", "1:2", "a:1:1", "-1:00:00", "1:99:00", "2011/01/01:00:00:00", "9999999999999:00:00"] {
            assert_eq!(span(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn options_of_the_line_end_those_of_an_action() {
        let mut words = words("-Detail -tle /range 1 2s -exes a.exe /b.exe -o x");
        assert_eq!(words.option().unwrap().as_deref(), Some("detail"));
        assert_eq!(words.option().unwrap().as_deref(), Some("range"));
        assert_eq!(
            words.range("range").unwrap(),
            Range { from: TimePoint::SinceStart(1_000), until: TimePoint::SinceStart(2_000_000_000) }
        );
        assert_eq!(words.option().unwrap().as_deref(), Some("exes"));
        assert_eq!(words.list("exes", "a name").unwrap(), ["a.exe", "/b.exe"]);
        assert_eq!(words.option().unwrap(), None);
        assert_eq!(words.of_the_line().unwrap().as_deref(), Some("tle"));
        assert_eq!(words.of_the_line().unwrap().as_deref(), Some("o"));
    }

    #[test]
    fn a_range_without_an_end_goes_on_to_the_recording_s() {
        for text in ["1s", "1s -summary"] {
            let range = words(text).range("range").unwrap();
            assert_eq!(
                (range.from, range.until),
                (TimePoint::SinceStart(1_000_000_000), TimePoint::SinceStart(i64::MAX))
            );
        }
    }

    #[test]
    fn a_dash_of_a_text_processor_is_named() {
        let Err(Failure::NothingToAnswer(message)) = words("\u{2013}a dumper").of_the_line() else {
            panic!("taken");
        };
        assert_eq!(message, "'\u{2013}a' begins with a dash from a text processor; type '-a' with a hyphen");
    }

    #[test]
    fn a_number_may_be_left_out_where_the_next_word_is_none() {
        let mut words = words("5 -range");
        assert_eq!(words.optional_number::<u32>(), Some(5));
        assert_eq!(words.optional_number::<u32>(), None);
        assert_eq!(words.option().unwrap().as_deref(), Some("range"));
    }

    #[test]
    fn what_is_missing_or_wrong_is_said() {
        for (text, said) in [
            ("", "-range: a time is missing after it"),
            ("1s 2h", "-range: '2h' is no time; write 1234[s|ms|us|ns] or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]"),
            ("1h 2h", "-range: '1h' is no time; write 1234[s|ms|us|ns] or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]"),
        ] {
            let Err(Failure::NothingToAnswer(message)) = words(text).range("range") else {
                panic!("{text}");
            };
            assert_eq!(message, said);
        }
    }
}
