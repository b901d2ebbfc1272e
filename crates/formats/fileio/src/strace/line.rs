//! Parses one line of `strace`.

use crate::number::{MidnightUnwrapper, clock_ns, parse_u32, seconds_ns};

/// Content of a line after the thread and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content<'l> {
    /// A complete call.
    Call { name: &'l str, arguments: &'l str, result: &'l str },
    /// The first half of a call.
    Begin { name: &'l str, arguments: &'l str },
    /// The second half of a call: its remaining arguments and its result.
    Resumed { name: &'l str, arguments: &'l str, result: &'l str },
    /// A signal, an exit, or a message of strace.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'l> {
    pub(super) tid: Option<u32>,
    /// As printed.
    pub(super) time: Option<Time>,
    pub(super) content: Content<'l>,
}

/// A printed time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// Since 1970-01-01 UTC (`-ttt`).
    Unix(i64),
    /// Since midnight (`-t`, `-tt`).
    Clock(i64),
    /// Since the previous line (`-r`).
    SincePrevious(i64),
}

/// Converts the times of a recording to one axis.
#[derive(Debug, Default)]
pub(super) struct Axis {
    midnights: MidnightUnwrapper,
    now_ns: i64,
    line_count: i64,
}

impl Axis {
    pub(super) fn time_ns(&mut self, time: Option<Time>) -> i64 {
        match time {
            Some(Time::Unix(ns)) => ns,
            Some(Time::Clock(ns)) => self.midnights.unwrap_time(ns),
            Some(Time::SincePrevious(ns)) => {
                self.now_ns = self.now_ns.saturating_add(ns);
                self.now_ns
            }
            None => {
                self.line_count += 1;
                self.line_count
            }
        }
    }
}

/// Threshold to distinguish times since 1970 from times since the previous line: the year 1990.
const MIN_UNIX_NS: i64 = 631_152_000_000_000_000;

/// True if the line is a call.
pub(crate) fn is_call(line: &[u8]) -> bool {
    let Ok(line) = str::from_utf8(line) else { return false };
    match parse(line).map(|line| line.content) {
        Some(Content::Call { name, .. }) => is_name(name),
        Some(Content::Begin { name, .. }) => is_name(name),
        _ => false,
    }
}

fn is_name(name: &str) -> bool {
    name.len() >= 2 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Parses a line; `None` if it is not strace output.
pub(super) fn parse(line: &str) -> Option<Line<'_>> {
    let mut remaining = line.trim_start();
    let mut tid = None;
    let mut time = None;
    if let Some(inside) = remaining.strip_prefix("[pid") {
        let (number, tail) = inside.split_once(']')?;
        tid = Some(parse_u32(number.as_bytes())?);
        remaining = tail.trim_start();
    }
    // At most a thread id and two times (`-r -tt`).
    for _ in 0..3 {
        // With `-r` and another time, the difference is in parentheses with a sign.
        if let Some((_, tail)) = remaining.strip_prefix("(+").and_then(|inside| inside.split_once(')')) {
            remaining = tail.trim_start();
            continue;
        }
        let Some((word, tail)) = remaining.split_once(' ') else { break };
        let bytes = word.as_bytes();
        let parsed_time = if word.contains(':') {
            clock_ns(bytes).map(Time::Clock)
        } else if word.contains('.') {
            seconds_ns(bytes).map(|ns| if ns >= MIN_UNIX_NS { Time::Unix(ns) } else { Time::SincePrevious(ns) })
        } else {
            match parse_u32(bytes) {
                Some(number) if tid.is_none() => {
                    tid = Some(number);
                    remaining = tail.trim_start();
                    continue;
                }
                _ => None,
            }
        };
        let Some(parsed_time) = parsed_time else { break };
        // Prefer an absolute time to a difference.
        time = match (time, parsed_time) {
            (Some(absolute @ (Time::Unix(_) | Time::Clock(_))), _) => Some(absolute),
            _ => Some(parsed_time),
        };
        remaining = tail.trim_start();
    }
    Some(Line { tid, time, content: parse_content(remaining)? })
}

fn parse_content(text: &str) -> Option<Content<'_>> {
    if let Some(resumed) = text.strip_prefix("<... ") {
        let (name, tail) = resumed.split_once(" resumed>")?;
        let (arguments, result) = split_at_closing_parenthesis(tail)?;
        return Some(Content::Resumed { name, arguments, result });
    }
    if text.starts_with("+++ ") || text.starts_with("--- ") || text.starts_with("strace: ") {
        return Some(Content::Other);
    }
    let (name, tail) = text.split_once('(')?;
    if !is_name(name) && name != "??" {
        return None;
    }
    if let Some(arguments) = tail.trim_end().strip_suffix("<unfinished ...>") {
        return Some(Content::Begin { name, arguments: arguments.trim_end() });
    }
    let (arguments, result) = split_at_closing_parenthesis(tail)?;
    Some(Content::Call { name, arguments, result })
}

/// Splits at the parenthesis that closes the call, into the arguments and the result.
fn split_at_closing_parenthesis(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_u32;
    let mut scanner = Scanner::new(text);
    while let Some((index, byte)) = scanner.next() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                let result = text.get(index + 1..)?.trim_start().strip_prefix('=')?;
                return Some((text.get(..index)?, result.trim_start()));
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Maximum number of arguments of a call; further ones are part of the last. No system call has more than six.
const MAX_ARGUMENTS: usize = 16;

/// The arguments of a call.
pub(super) struct Arguments<'l> {
    texts: [&'l str; MAX_ARGUMENTS],
    count: usize,
}

impl<'l> Arguments<'l> {
    pub(super) fn split(text: &'l str) -> Self {
        let mut arguments = Arguments { texts: [""; MAX_ARGUMENTS], count: 0 };
        let mut start = 0;
        let mut depth = 0_u32;
        let mut scanner = Scanner::new(text);
        while let Some((index, byte)) = scanner.next() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b',' if depth == 0 && arguments.count + 1 < MAX_ARGUMENTS => {
                    arguments.push(text.get(start..index).unwrap_or_default().trim());
                    start = index + 1;
                }
                _ => {}
            }
        }
        let last_argument = text.get(start..).unwrap_or_default().trim();
        if !last_argument.is_empty() || arguments.count > 0 {
            arguments.push(last_argument);
        }
        arguments
    }

    fn push(&mut self, text: &'l str) {
        if let Some(slot) = self.texts.get_mut(self.count) {
            *slot = text;
            self.count += 1;
        }
    }

    pub(super) fn as_slice(&self) -> &[&'l str] {
        self.texts.get(..self.count).unwrap_or_default()
    }
}

/// Iterates over the bytes of a call outside of strings and of the paths that `-y` prints after descriptors.
struct Scanner<'l> {
    bytes: &'l [u8],
    position: usize,
}

impl<'l> Scanner<'l> {
    fn new(text: &'l str) -> Self {
        Scanner { bytes: text.as_bytes(), position: 0 }
    }

    fn next(&mut self) -> Option<(usize, u8)> {
        loop {
            let index = self.position;
            let byte = *self.bytes.get(index)?;
            self.position += 1;
            match byte {
                b'"' => self.skip_string(),
                // A path follows a descriptor directly; a comparison or a shift has a space before it.
                b'<' if index > 0 && self.bytes.get(index - 1).is_some_and(|byte| byte.is_ascii_alphanumeric()) => {
                    self.skip_path();
                }
                _ => return Some((index, byte)),
            }
        }
    }

    fn skip_string(&mut self) {
        while let Some(rest) = self.bytes.get(self.position..)
            && let Some(length) = memchr::memchr2(b'"', b'\\', rest)
        {
            self.position += length + 1;
            if rest.get(length) == Some(&b'"') {
                return;
            }
            // An escaped character.
            self.position += 1;
        }
        self.position = self.bytes.len();
    }

    /// Skips to the `>` that closes the path; it may contain details of a device or socket (`<char 1:3>`).
    fn skip_path(&mut self) {
        let mut depth = 1_u32;
        while let Some(&byte) = self.bytes.get(self.position) {
            self.position += 1;
            match byte {
                b'<' => depth += 1,
                // `->` in the address of a connection does not close the path.
                b'>' if self.bytes.get(self.position.wrapping_sub(2)) == Some(&b'-') => {}
                b'>' => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Parses a descriptor: its number, and the path that `-y` prints after it.
pub(super) fn parse_descriptor(text: &str) -> Option<(i32, Option<&str>)> {
    let text = text.trim();
    let (number, path) = match text.split_once('<') {
        Some((number, path)) => (number, Some(path)),
        None => (text, None),
    };
    let number = match number {
        "AT_FDCWD" => -100,
        number => number.parse().ok()?,
    };
    // A deleted file is marked after its path: `3</a (deleted)>`, in newer versions `3</a>(deleted)`.
    let without_marks = |path: &'_ str| -> usize {
        let path = path.strip_suffix("(deleted)").unwrap_or(path);
        let path = path.strip_suffix('>').unwrap_or(path);
        path.strip_suffix(" (deleted)").unwrap_or(path).len()
    };
    Some((number, path.map(|path| path.get(..without_marks(path)).unwrap_or(path))))
}

/// Parses a result: the number, the path after it, and the duration, ns.
pub(super) fn parse_result(text: &str) -> (Option<i64>, Option<&str>, Option<i64>) {
    let mut remaining = text.trim_end();
    let mut duration_ns = None;
    // A duration follows a space; `<` without one starts a path.
    if let Some(inside) = remaining.strip_suffix('>')
        && let Some(start) = memchr::memrchr(b'<', inside.as_bytes())
        && let Some(prefix) = inside.get(..start).and_then(|prefix| prefix.strip_suffix(' '))
        && let Some(seconds) = inside.get(start + 1..)
    {
        duration_ns = seconds_ns(seconds.as_bytes());
        if duration_ns.is_some() {
            remaining = prefix.trim_end();
        }
    }
    let end = remaining
        .find(|character: char| !character.is_ascii_alphanumeric() && character != '-')
        .unwrap_or(remaining.len());
    let number = remaining.get(..end).and_then(|number| match number.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    });
    let path = remaining.get(end..).and_then(|tail| tail.strip_prefix('<')).and_then(|path| path.split_once('>'));
    (number, path.map(|(path, _)| path.strip_suffix(" (deleted)").unwrap_or(path)), duration_ns)
}

/// Removes the quotes and escapes of a string; `None` if it is not a string.
pub(super) fn unquote(text: &str) -> Option<String> {
    let quoted = text.trim().strip_prefix('"')?;
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut remaining = quoted.bytes();
    while let Some(byte) = remaining.next() {
        match byte {
            b'"' => break,
            b'\\' => {
                let escaped = remaining.next()?;
                match escaped {
                    b'n' => bytes.push(b'\n'),
                    b't' => bytes.push(b'\t'),
                    b'r' => bytes.push(b'\r'),
                    b'v' => bytes.push(0x0b),
                    b'f' => bytes.push(0x0c),
                    b'x' => {
                        let digits: String = remaining.by_ref().take(2).map(char::from).collect();
                        bytes.push(u8::from_str_radix(&digits, 16).ok()?);
                    }
                    b'0'..=b'7' => {
                        let mut value = u32::from(escaped - b'0');
                        let mut lookahead = remaining.clone();
                        for _ in 0..2 {
                            match lookahead.next() {
                                Some(digit @ b'0'..=b'7') => {
                                    value = value * 8 + u32::from(digit - b'0');
                                    remaining = lookahead.clone();
                                }
                                _ => break,
                            }
                        }
                        bytes.push(u8::try_from(value & 0xff).ok()?);
                    }
                    literal => bytes.push(literal),
                }
            }
            literal => bytes.push(literal),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Content<'_> {
        parse(line).unwrap().content
    }

    #[test]
    fn parses_thread_and_time() {
        for (line, tid, time) in [
            ("read(3, \"\", 4) = 0", None, None),
            ("2038  23:12:36.5 read(3, \"\", 4) = 0", Some(2038), Some(Time::Clock(83_556_500_000_000))),
            ("23:12:36 read(3, \"\", 4) = 0", None, Some(Time::Clock(83_556_000_000_000))),
            ("[pid  2038] 1795216356.5 read(3, \"\", 4) = 0", Some(2038), Some(Time::Unix(1_795_216_356_500_000_000))),
            ("     0.000123 read(3, \"\", 4) = 0", None, Some(Time::SincePrevious(123_000))),
            ("7 23:12:36.5 (+     0.000123) read(3, \"\", 4) = 0", Some(7), Some(Time::Clock(83_556_500_000_000))),
        ] {
            let Some(parsed) = parse(line) else { panic!("{line}") };
            assert_eq!((parsed.tid, parsed.time), (tid, time), "{line}");
        }
    }

    #[test]
    fn ignores_delimiters_in_strings_and_paths() {
        let line = "read(3</a (1), b>, \") = 5, \\\"\", 4) = 4 <0.000004>";
        let Content::Call { name, arguments: argument_text, result: result_text } = call(line) else { panic!() };
        let arguments = Arguments::split(argument_text);
        assert_eq!((name, arguments.as_slice()), ("read", &["3</a (1), b>", "\") = 5, \\\"\"", "4"][..]));
        assert_eq!(parse_result(result_text), (Some(4), None, Some(4_000)));
        assert_eq!(parse_descriptor("3</a (1), b>"), Some((3, Some("/a (1), b"))));
        assert_eq!(parse_descriptor("3</a b (deleted)>"), Some((3, Some("/a b"))));
        assert_eq!(parse_descriptor("3</a b>(deleted)"), Some((3, Some("/a b"))));
        assert_eq!(parse_result("3</a (deleted)> <0.000004>"), (Some(3), Some("/a"), Some(4_000)));
        assert_eq!(parse_result("-1 ENOENT (No such file or directory) <0.000004>"), (Some(-1), None, Some(4_000)));
        assert_eq!(parse_result("3</etc/x>"), (Some(3), Some("/etc/x"), None));
        assert_eq!(parse_result("?"), (None, None, None));
    }

    #[test]
    fn parses_unfinished_and_resumed_calls() {
        assert_eq!(call("read(3,  <unfinished ...>"), Content::Begin { name: "read", arguments: "3," });
        assert_eq!(
            call("<... read resumed>\"abcd\", 4) = 4"),
            Content::Resumed { name: "read", arguments: "\"abcd\", 4", result: "4" }
        );
        assert_eq!(call("+++ exited with 0 +++"), Content::Other);
        assert_eq!(parse("Total of nothing"), None);
    }

    #[test]
    fn unescapes_strings() {
        assert_eq!(unquote("\"/a\\303\\244\\x41\\n\\\"b\"...").as_deref(), Some("/aäA\n\"b"));
        assert_eq!(unquote("NULL"), None);
    }
}
