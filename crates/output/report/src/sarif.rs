//! The result of a gate as SARIF 2.1.0 (OASIS Standard, March 2020), which code hosts show next to changes.
//!
//! A regression is a result of kind `fail`; no verdict is one of kind `open`. A pass gives no result, because viewers
//! show every result as a problem.

use std::fmt::Write as _;
use std::io::{self, Write};

use onoff_compare::gate::{GateReport, GateVerdict};
use serde_json::{Value, json};

use crate::text::gate::{LimitCase, cases};
use onoff_sections::terminal::printable::printable;

/// The two rules: identifier, name and description.
const RULES: [(&str, &str, &str); 2] = [
    ("regression", "Regression", "A measure grew beyond its limit, and by more than the noise between baseline runs."),
    (
        "no-verdict",
        "NoVerdict",
        "Whether a limit was met is unknown: too few runs, losses, or a difference within noise.",
    ),
];

/// Writes the report; `version` is the version of the program.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &GateReport, version: &str, out: &mut dyn Write) -> io::Result<()> {
    onoff_sections::json::escape::write_indented(&document(report, version), out)?;
    writeln!(out)
}

fn document(report: &GateReport, version: &str) -> Value {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|(id, name, text)| {
            json!({
                "id": id,
                "name": name,
                "shortDescription": { "text": text },
            })
        })
        .collect();
    let results: Vec<Value> = report
        .limits
        .iter()
        .flat_map(|limit| cases(limit).into_iter().map(|case| (limit.limit.as_str(), case)))
        .filter(|(_, case)| case.verdict != GateVerdict::Pass)
        .map(|(limit, case)| result(report, limit, &case))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "onoff", "version": version, "rules": rules } },
            "invocations": [{ "executionSuccessful": true }],
            "results": results,
        }],
    })
}

/// Returns the first compared recording of a configuration or, if the name is empty, of any configuration but the
/// baseline.
fn recording<'r>(report: &'r GateReport, configuration: &str) -> &'r str {
    report
        .candidates()
        .iter()
        .filter(|summary| configuration.is_empty() || summary.name == configuration)
        .flat_map(|summary| &summary.runs)
        .min_by_key(|run| !run.compared)
        .map_or("", |run| run.name.as_str())
}

fn result(report: &GateReport, limit: &str, case: &LimitCase<'_>) -> Value {
    let key = case.key;
    let configuration = case.check.map_or("", |check| check.configuration.as_str());
    let run = case.check.and_then(|check| check.run.as_deref());
    let recording = run.unwrap_or_else(|| recording(report, configuration));
    let (rule, kind, level) = match case.verdict {
        GateVerdict::Regression => (0, "fail", "error"),
        // Only the kind `fail` has a level (3.27.10).
        GateVerdict::NoVerdict | GateVerdict::Pass => (1, "open", "none"),
    };
    json!({
        "ruleId": RULES.get(rule).map_or("", |rule| rule.0),
        "ruleIndex": rule,
        "kind": kind,
        "level": level,
        "message": { "text": printable(&case.message) },
        "locations": [{
            "physicalLocation": { "artifactLocation": { "uri": uri(recording) } },
            "logicalLocations": [{ "fullyQualifiedName": printable(key) }],
        }],
        "partialFingerprints": { "limitAndMeasure/v1": format!("{limit} {key}") },
    })
}

/// Converts a path to a URI reference (RFC 3986): `file:` for an absolute path, otherwise relative.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let is_drive = path.as_bytes().get(1) == Some(&b':');
    let mut uri = String::with_capacity(path.len() + 8);
    if is_drive {
        uri.push_str("file:///");
    } else if path.starts_with('/') {
        uri.push_str("file://");
    }
    for (index, byte) in path.bytes().enumerate() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            b':' if is_drive && index == 1 => uri.push(':'),
            byte => {
                // Writing to a string cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_paths_to_uris() {
        assert_eq!(uri("after/1 a.etl"), "after/1%20a.etl");
        assert_eq!(uri("after\\1.etl"), "after/1.etl");
        assert_eq!(uri("/tmp/ä:b.etl"), "file:///tmp/%C3%A4%3Ab.etl");
        assert_eq!(uri("C:\\a\\1.etl"), "file:///C:/a/1.etl");
        assert_eq!(uri(""), "");
    }
}
