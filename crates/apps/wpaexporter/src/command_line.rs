//! Parses wpaexporter's arguments.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use onoff_xperf::Failure;

pub const HELP: &str = "\
onoff wpaexporter [-i] FILE -profile FILE.wpaProfile [options]

Writes one CSV file for each graph of a WPA profile, as WPA's exporter does. Graphs and columns that
onoff does not know are named on stderr; the others are written.

  -outputfolder FOLDER   where to write the files; it is created [default: the current folder]
  -prefix TEXT           put this in front of each file name
  -range START END       only this range; 1500 (ns), 20us, 1.5s, 1s100ms500us
  -marks M1 M2           only the range between two marks
  -delimiter C           character between values, or \\t [default: ,]
  -outputformat CSV      the only format
  -symbols               resolve function names from the PDB files in _NT_SYMBOL_PATH
  -tle                   process a recording with lost events
  -tti                   process a recording whose clock ran backwards
  -manifest PATH         event schemas: a manifest, DLL, .tmf or folder of them (not in wpaexporter)

Options may start with '/' and are case-insensitive. Exit code: 0 if every graph was written without
omissions, 1 if a file cannot be read or written, 2 if a graph or a column is missing.
";

#[derive(Debug, PartialEq)]
pub enum CommandLine {
    Help,
    Export(Box<Export>),
}

#[derive(Debug, PartialEq)]
pub struct Export {
    pub input: PathBuf,
    pub profiles: Vec<PathBuf>,
    pub folder: PathBuf,
    pub prefix: String,
    pub range: View,
    pub delimiter: char,
    pub symbols: bool,
    pub tolerates_losses: bool,
    pub tolerates_inversions: bool,
    pub manifests: Vec<PathBuf>,
}

/// The exported part of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    All,
    /// Start and end in ns since the start of the recording.
    Times(i64, i64),
    /// The texts of two marks.
    Marks(String, String),
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::Unanswerable(format!("{}; 'onoff wpaexporter -help' lists the options", message.into()))
}

/// Returns the name of an option in lower case; `None` if the word is not an option. A `/` also starts a path, so only
/// known names count as options then.
fn option_name(word: &OsStr) -> Option<String> {
    const NAMES: &[&str] = &[
        "i",
        "profile",
        "outputfolder",
        "prefix",
        "range",
        "marks",
        "region",
        "regionsxml",
        "delimiter",
        "outputformat",
        "symbols",
        "tle",
        "tti",
        "manifest",
        "h",
        "help",
        "?",
    ];
    let word = word.to_str()?;
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix(['-', '/']))?.to_ascii_lowercase();
    (word.starts_with('-') || NAMES.contains(&name.as_str())).then_some(name)
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// An unknown option, a missing value, or no recording or profile.
pub fn parse(words: Vec<OsString>) -> Result<CommandLine, Failure> {
    if words.is_empty() {
        return Ok(CommandLine::Help);
    }
    let mut words = words.into_iter();
    let (mut input, mut folder, mut delimiter, mut prefix) = (None, PathBuf::from("."), ',', String::new());
    let (mut profiles, mut manifests, mut range) = (Vec::new(), Vec::new(), View::All);
    let (mut symbols, mut tolerates_losses, mut tolerates_inversions) = (false, false, false);
    while let Some(word) = words.next() {
        let Some(option) = option_name(&word) else {
            if input.replace(PathBuf::from(&word)).is_some() {
                return Err(usage(format!("'{}': only one recording can be exported", word.to_string_lossy())));
            }
            continue;
        };
        let mut value = || words.next().ok_or_else(|| usage(format!("-{option} needs a value")));
        let text = |word: OsString| {
            word.into_string().map_err(|word| usage(format!("-{option}: '{}' is not text", word.to_string_lossy())))
        };
        match option.as_str() {
            "h" | "help" | "?" => return Ok(CommandLine::Help),
            "i" => {
                if input.replace(PathBuf::from(value()?)).is_some() {
                    return Err(usage("only one recording can be exported"));
                }
            }
            "profile" => profiles.push(PathBuf::from(value()?)),
            "manifest" => manifests.push(PathBuf::from(value()?)),
            "outputfolder" => folder = PathBuf::from(value()?),
            "prefix" => {
                prefix = text(value()?)?;
                if prefix.contains(['/', '\\']) {
                    return Err(usage("-prefix: a file name cannot contain a slash; use -outputfolder for folders"));
                }
            }
            "range" => {
                let (start, end) = (text(value()?)?, text(value()?)?);
                range = View::Times(time(&start)?, time(&end)?);
            }
            "marks" => range = View::Marks(text(value()?)?, text(value()?)?),
            "delimiter" => delimiter = one_character(&text(value()?)?)?,
            "outputformat" => {
                let format = text(value()?)?;
                if !format.eq_ignore_ascii_case("csv") {
                    return Err(usage(format!("-outputformat {format}: only CSV is written")));
                }
            }
            "symbols" => symbols = true,
            "tle" => tolerates_losses = true,
            "tti" => tolerates_inversions = true,
            "region" | "regionsxml" => {
                return Err(usage(format!("-{option}: regions of interest are not supported; use -range or -marks")));
            }
            _ => return Err(usage(format!("unknown option -{option}"))),
        }
    }
    let input = input.ok_or_else(|| usage("no recording; name it with -i FILE"))?;
    if profiles.is_empty() {
        return Err(usage("no profile; name it with -profile FILE.wpaProfile"));
    }
    if let View::Times(start, end) = range
        && end < start
    {
        return Err(usage("-range: the end is before the start"));
    }
    Ok(CommandLine::Export(Box::new(Export {
        input,
        profiles,
        folder,
        prefix,
        range,
        delimiter,
        symbols,
        tolerates_losses,
        tolerates_inversions,
        manifests,
    })))
}

fn one_character(text: &str) -> Result<char, Failure> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        // Programs that start wpaexporter without a shell write the escape.
        (r"\t", ..) => Ok('\t'),
        (_, Some('"' | '\r' | '\n'), None) => Err(usage("-delimiter: a quote or line end cannot separate values")),
        (_, Some(character), None) => Ok(character),
        _ => Err(usage("-delimiter: write one character, or \\t")),
    }
}

/// Parses a time such as `1500` (ns), `1.5s` or `1s100ms500us`, in ns.
fn time(text: &str) -> Result<i64, Failure> {
    let error = || usage(format!("-range: '{text}' is not a time; use 1500 (ns), 20us, 1.5s or 1s100ms500us"));
    let mut remaining = text;
    let mut total_ns = 0_f64;
    if remaining.is_empty() {
        return Err(error());
    }
    while !remaining.is_empty() {
        let end = remaining.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(remaining.len());
        let (number, rest) = remaining.split_at(end);
        let number: f64 = number.parse().map_err(|_| error())?;
        let unit_end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(unit_end);
        total_ns += number
            * match unit.to_ascii_lowercase().as_str() {
                "" | "ns" => 1.0,
                "us" | "µs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                _ => return Err(error()),
            };
        remaining = rest;
    }
    #[allow(clippy::cast_possible_truncation, reason = "checked: below 2^63, with at most 2^-10 lost")]
    match total_ns.round() {
        ns if ns < 9e18 => Ok(ns as i64),
        _ => Err(error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<CommandLine, String> {
        parse(text.split(' ').map(OsString::from).collect()).map_err(|failure| match failure {
            Failure::Unanswerable(message) => message,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn reads_the_documented_options() {
        let Ok(CommandLine::Export(export)) = line(
            r"a.etl -profile a.wpaProfile -range 1s100ms500us 2.5s /prefix p_ -outputFolder o -delimiter \t -tle -tti",
        ) else {
            panic!("an export");
        };
        assert_eq!(export.input, PathBuf::from("a.etl"));
        assert_eq!(export.range, View::Times(1_100_500_000, 2_500_000_000));
        assert_eq!((export.prefix.as_str(), export.delimiter, export.symbols), ("p_", '\t', false));
        assert!(export.tolerates_losses && export.tolerates_inversions);
        assert_eq!(line("-help"), Ok(CommandLine::Help));
        assert_eq!(line("--help"), Ok(CommandLine::Help));
        assert!(matches!(parse(Vec::new()), Ok(CommandLine::Help)));
        assert!(matches!(line("/?"), Ok(CommandLine::Help)));
    }

    #[test]
    fn a_path_that_starts_with_a_slash_is_not_an_option() {
        let Ok(CommandLine::Export(export)) = line("-i /tmp/trace.etl -profile /tmp/a") else { panic!("an export") };
        assert_eq!(export.input, PathBuf::from("/tmp/trace.etl"));
        assert!(matches!(line("/tmp/trace.etl -profile /tmp/a"), Ok(CommandLine::Export(_))));
    }

    #[test]
    fn refuses_what_it_cannot_do() {
        for (text, part) in [
            ("a.etl", "no profile"),
            ("-profile a", "no recording"),
            ("a.etl b.etl -profile p", "only one recording"),
            ("a.etl -profile p -region Boot", "regions of interest"),
            ("a.etl -profile p -outputformat xml", "only CSV"),
            ("a.etl -profile p -range 2s 1s", "before the start"),
            ("a.etl -profile p -range 1x 2s", "not a time"),
            ("a.etl -profile p -delimiter ab", "one character"),
            ("a.etl -profile p -prefix ../x", "slash"),
            ("a.etl -profile p -tint", "unknown option -tint"),
        ] {
            let message = line(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
