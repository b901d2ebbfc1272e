//! Takes options and values from the words of the command line, one by one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::str::FromStr;

use onoff_report::text::time_point::TimePoint;
use onoff_trace::{Clock, StreamHeader};

use crate::failure::Failure;

/// Options of the whole line. They end the options of an action.
const GLOBAL_OPTIONS: &[&str] =
    &["a", "ae", "ao", "d", "help", "i", "manifest", "o", "quiet", "symbols", "target", "tle", "tti"];

/// Global options without a value, which may also appear among an action's options.
const GLOBAL_FLAGS: &[&str] = &["quiet", "tle", "tti"];

#[derive(Debug)]
pub struct Words {
    words: Vec<OsString>,
    /// Index of the next word.
    position: usize,
    /// Global flags found among an action's options.
    flags: Vec<String>,
    phases: PhaseTimes,
    unresolved_phases: Vec<String>,
    for_machines: bool,
}

/// Start and end of the phases named in `-range`, in ns since the start of the recording.
pub type PhaseTimes = BTreeMap<String, (i64, i64)>;

/// A `-range` as typed; the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    from: TimePoint,
    until: TimePoint,
}

impl Range {
    /// Returns start and end in ns since the start of the recording.
    pub fn resolve(self, clock: &Clock) -> Result<(i64, i64), Failure> {
        let header = StreamHeader {
            start_unix_ns: clock.start_unix_ns,
            utc_bias_minutes: clock.utc_bias_minutes,
            ..StreamHeader::default()
        };
        self.resolve_in(&header)
    }

    /// Returns start and end in ns since the start of a stream.
    pub fn resolve_in(self, header: &StreamHeader) -> Result<(i64, i64), Failure> {
        match (self.from.resolve(header), self.until.resolve(header)) {
            (Some(from_ns), Some(until_ns)) if from_ns <= until_ns => Ok((from_ns, until_ns)),
            (Some(_), Some(_)) => Err(usage("-range: the end is before the start")),
            _ => Err(usage("-range: the time is out of range")),
        }
    }
}

/// Creates a usage error.
pub fn usage(message: impl Into<String>) -> Failure {
    Failure::Unanswerable(message.into())
}

impl Words {
    pub fn new(words: Vec<OsString>, phases: PhaseTimes) -> Self {
        // -target may come after the actions that it applies to.
        let for_machines = words.windows(2).any(|pair| match pair {
            [option, kind] => option_name(option).as_deref() == Some("target") && kind.eq_ignore_ascii_case("machine"),
            _ => false,
        });
        Self { words, position: 0, flags: Vec::new(), phases, unresolved_phases: Vec::new(), for_machines }
    }

    /// True with `-target machine`.
    pub fn for_machines(&self) -> bool {
        self.for_machines
    }

    /// Returns the phases named in `-range` whose times are not resolved yet. Until then, their range is the whole
    /// recording.
    pub fn into_unresolved_phases(self) -> Vec<String> {
        self.unresolved_phases
    }

    /// Takes the next word as a global option: its name in lower case, without the dash.
    pub fn global_option(&mut self) -> Result<Option<String>, Failure> {
        if let Some(flag) = self.flags.pop() {
            return Ok(Some(flag));
        }
        match self.peek().map(option_name) {
            None => Ok(None),
            Some(Some(name)) => {
                self.position += 1;
                Ok(Some(name))
            }
            Some(None) => Err(self.unexpected()),
        }
    }

    /// Takes the next word as an option of an action: its name in lower case, without the dash. `None` after the last
    /// option of the action.
    pub fn option(&mut self) -> Result<Option<String>, Failure> {
        while let Some(flag) = self.peek().and_then(option_name)
            && GLOBAL_FLAGS.contains(&flag.as_str())
        {
            self.flags.push(flag);
            self.position += 1;
        }
        match self.peek().map(option_name) {
            None => Ok(None),
            Some(Some(name)) if GLOBAL_OPTIONS.contains(&name.as_str()) => Ok(None),
            Some(Some(name)) => {
                self.position += 1;
                Ok(Some(name))
            }
            Some(None) => Err(self.unexpected()),
        }
    }

    /// Creates the error for an option that the action does not have.
    pub fn unknown(&self, action: &str, option: &str) -> Failure {
        usage(format!("'-a {action}' has no option '-{option}'; 'onoff xperf -help {action}' lists the options"))
    }

    /// Parses the options of an action that has only `-range`.
    pub fn range_only(&mut self, action: &str) -> Result<Option<Range>, Failure> {
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
            return usage(format!("'{word}' begins with a typographic dash; type '-{name}' with a hyphen"));
        }
        usage(format!("unexpected argument '{word}'; options begin with '-'"))
    }

    fn peek(&self) -> Option<&OsStr> {
        self.words.get(self.position).map(OsString::as_os_str)
    }

    /// Takes the next word as the value of an option, even if it looks like an option.
    pub fn value(&mut self, option: &str, value_name: &str) -> Result<OsString, Failure> {
        let word = self.words.get(self.position).cloned();
        self.position += 1;
        word.ok_or_else(|| usage(format!("-{option} needs {value_name}")))
    }

    pub fn path(&mut self, option: &str) -> Result<PathBuf, Failure> {
        self.value(option, "a file name").map(PathBuf::from)
    }

    /// Takes the next word as a path (`Ok`) or an option in lower case (`Err`). A word that begins with `/` is a path.
    pub fn path_or_option(&mut self) -> Option<Result<PathBuf, String>> {
        let word = self.words.get(self.position).cloned()?;
        self.position += 1;
        let option = option_name(&word).filter(|_| begins_with_dash(&word));
        Some(option.map_or_else(|| Ok(PathBuf::from(word)), Err))
    }

    pub fn text(&mut self, option: &str, value_name: &str) -> Result<String, Failure> {
        let value = self.value(option, value_name)?;
        value
            .into_string()
            .map_err(|value| usage(format!("-{option}: '{}' is not valid Unicode", value.to_string_lossy())))
    }

    pub fn number<T: FromStr>(&mut self, option: &str) -> Result<T, Failure> {
        let text = self.text(option, "a number")?;
        text.parse().map_err(|_| usage(format!("-{option}: invalid number '{text}'")))
    }

    /// Takes the next word if it is a number.
    pub fn optional_number<T: FromStr>(&mut self) -> Option<T> {
        let number = self.peek()?.to_str()?.parse().ok()?;
        self.position += 1;
        Some(number)
    }

    /// Takes all words up to the next option; at least one.
    pub fn list(&mut self, option: &str, value_name: &str) -> Result<Vec<String>, Failure> {
        let mut values = Vec::new();
        while self.peek().is_some_and(|word| !begins_with_dash(word)) {
            values.push(self.text(option, value_name)?);
        }
        if values.is_empty() {
            return Err(usage(format!("-{option} needs {value_name}")));
        }
        Ok(values)
    }

    /// Skips the words up to the next option.
    pub fn skip_list(&mut self) {
        while self.peek().is_some_and(|word| option_name(word).is_none()) {
            self.position += 1;
        }
    }

    /// Takes a time: `1234[s|ms|us|ns]` or `yyyy/mm/dd:hh:mm:ss.ffff[+UTC]`.
    pub fn time(&mut self, option: &str) -> Result<TimePoint, Failure> {
        let text = self.text(option, "a time")?;
        TimePoint::parse(&text).ok_or_else(|| {
            usage(format!("-{option}: invalid time '{text}'; write 1234[s|ms|us|ns] or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]"))
        })
    }

    /// Takes the values of `-range`: two times, one time (up to the end of the recording), or a phase as in
    /// `-range WinLogonInit`.
    pub fn range(&mut self, option: &str) -> Result<Range, Failure> {
        if let Some(phase) = self.phase() {
            let resolved = self.phases.get(&phase).copied();
            if resolved.is_none() {
                self.unresolved_phases.push(phase);
            }
            let (from_ns, until_ns) = resolved.unwrap_or((i64::MIN, i64::MAX));
            return Ok(Range { from: TimePoint::SinceStart(from_ns), until: TimePoint::SinceStart(until_ns) });
        }
        let from = self.time(option)?;
        let has_no_end = self.peek().is_none_or(|word| option_name(word).is_some());
        let until = if has_no_end { TimePoint::SinceStart(i64::MAX) } else { self.time(option)? };
        Ok(Range { from, until })
    }

    /// Takes the next word if it is a phase name. Times begin with a digit.
    fn phase(&mut self) -> Option<String> {
        let word = self.peek()?.to_str()?;
        let is_name = word.starts_with(|character: char| character.is_ascii_alphabetic() || character == '*');
        let phase = is_name.then(|| word.to_owned())?;
        self.position += 1;
        Some(phase)
    }

    /// Takes the next word if it is `text` in any case. Returns true if it took the word.
    pub fn skip_text(&mut self, text: &str) -> bool {
        let matches = self.peek().and_then(OsStr::to_str).is_some_and(|word| word.eq_ignore_ascii_case(text));
        self.position += usize::from(matches);
        matches
    }

    /// Takes a duration: `1234[s|ms|us|ns]` or `hh:mm:ss.ffff`. Returns ns.
    pub fn duration(&mut self, option: &str) -> Result<i64, Failure> {
        let text = self.text(option, "a duration")?;
        parse_duration_option(option, &text)
    }

    /// Takes durations up to the next option, at least one. Returns ns.
    pub fn durations(&mut self, option: &str) -> Result<Vec<i64>, Failure> {
        let texts = self.list(option, "a duration")?;
        texts.iter().map(|text| parse_duration_option(option, text)).collect()
    }
}

fn parse_duration_option(option: &str, text: &str) -> Result<i64, Failure> {
    duration_ns(text)
        .ok_or_else(|| usage(format!("-{option}: invalid duration '{text}'; write 1234[s|ms|us|ns] or hh:mm:ss.ffff")))
}

/// Parses `1234[s|ms|us|ns]` (µs without a unit) or `hh:mm:ss.ffff`.
fn duration_ns(text: &str) -> Option<i64> {
    if let Some((hours, minutes_and_seconds)) = text.split_once(':') {
        let (minutes, seconds) = minutes_and_seconds.split_once(':')?;
        let hours: i64 = hours.parse().ok().filter(|hours| *hours >= 0)?;
        let minutes: i64 = minutes.parse().ok().filter(|minutes| (0..60).contains(minutes))?;
        let whole_seconds = hours.checked_mul(3_600)?.checked_add(minutes * 60)?;
        let TimePoint::SinceStart(ns) = TimePoint::parse(&format!("{seconds}s"))? else { return None };
        return whole_seconds.checked_mul(1_000_000_000)?.checked_add(ns);
    }
    match TimePoint::parse(text)? {
        TimePoint::SinceStart(ns) => Some(ns),
        TimePoint::Calendar { .. } => None,
    }
}

fn begins_with_dash(word: &OsStr) -> bool {
    word.as_encoded_bytes().first() == Some(&b'-')
}

/// Returns the name of an option in lower case; `None` for other words. A word with a second slash is a path.
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
    fn durations_default_to_microseconds() {
        assert_eq!(duration_ns("250"), Some(250_000));
        assert_eq!(duration_ns("1.5s"), Some(1_500_000_000));
        assert_eq!(duration_ns("00:01:02.25"), Some(62_250_000_000));
        for invalid in ["", "1:2", "a:1:1", "-1:00:00", "1:99:00", "2011/01/01:00:00:00", "9999999999999:00:00"] {
            assert_eq!(duration_ns(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn global_options_end_the_options_of_an_action() {
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
        assert_eq!(words.global_option().unwrap().as_deref(), Some("tle"));
        assert_eq!(words.global_option().unwrap().as_deref(), Some("o"));
    }

    #[test]
    fn range_without_end_extends_to_end_of_recording() {
        for text in ["1s", "1s -summary"] {
            let range = words(text).range("range").unwrap();
            assert_eq!(
                (range.from, range.until),
                (TimePoint::SinceStart(1_000_000_000), TimePoint::SinceStart(i64::MAX))
            );
        }
    }

    #[test]
    fn rejects_typographic_dash() {
        let Err(Failure::Unanswerable(message)) = words("\u{2013}a dumper").global_option() else {
            panic!("accepted");
        };
        assert_eq!(message, "'\u{2013}a' begins with a typographic dash; type '-a' with a hyphen");
    }

    #[test]
    fn optional_number_skips_options() {
        let mut words = words("5 -range");
        assert_eq!(words.optional_number::<u32>(), Some(5));
        assert_eq!(words.optional_number::<u32>(), None);
        assert_eq!(words.option().unwrap().as_deref(), Some("range"));
    }

    #[test]
    fn rejects_missing_and_invalid_times() {
        for (text, expected) in [
            ("", "-range needs a time"),
            ("1s 2h", "-range: invalid time '2h'; write 1234[s|ms|us|ns] or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]"),
            ("1h 2h", "-range: invalid time '1h'; write 1234[s|ms|us|ns] or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]"),
        ] {
            let Err(Failure::Unanswerable(message)) = words(text).range("range") else {
                panic!("{text}");
            };
            assert_eq!(message, expected);
        }
    }
}
