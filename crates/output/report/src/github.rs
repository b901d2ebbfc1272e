//! The result of a gate as GitHub workflow commands, which annotate the run that prints them.

use std::borrow::Cow;
use std::io::{self, Write};

use onoff_compare::gate::{GateReport, GateVerdict};

use crate::text::gate::{LimitCase, cases, headline};

/// Writes one command per regression and per limit without a verdict, and one for the overall result.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &GateReport, out: &mut dyn Write) -> io::Result<()> {
    let file = report
        .candidates()
        .iter()
        .flat_map(|configuration| &configuration.runs)
        .min_by_key(|run| !run.compared)
        .map_or("", |run| run.name.as_str());
    for case in report.limits.iter().flat_map(cases) {
        let run = case.check.and_then(|check| check.run.as_deref());
        command(&case, run.unwrap_or(file), out)?;
    }
    writeln!(out, "::notice title=onoff gate::{}", data(&headline(report)))
}

fn command(case: &LimitCase<'_>, file: &str, out: &mut dyn Write) -> io::Result<()> {
    let level = match case.verdict {
        GateVerdict::Pass => return Ok(()),
        GateVerdict::NoVerdict => "warning",
        GateVerdict::Regression => "error",
    };
    let file = match file {
        "" => String::new(),
        file => format!("file={},", property(file)),
    };
    writeln!(out, "::{level} {file}title={}::{}", property(case.key), data(&case.message))
}

/// Escapes the message of a command: a line end would start another command.
fn data(text: &str) -> Cow<'_, str> {
    escaped(text, &['%', '\r', '\n'])
}

/// Escapes a property of a command.
fn property(text: &str) -> Cow<'_, str> {
    escaped(text, &['%', '\r', '\n', ':', ','])
}

fn escaped<'t>(text: &'t str, special: &[char]) -> Cow<'t, str> {
    if !text.contains(special) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if special.contains(&character) {
            escaped.push_str(&format!("%{:02X}", u32::from(character)));
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_commands() {
        assert_eq!(data("50 %\n::error::x"), "50 %25%0A::error::x");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
        assert_eq!(data("plain"), "plain");
    }
}
