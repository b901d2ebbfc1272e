//! The result of a gate as JUnit XML, which build servers show as tests: one test case per measure that a limit
//! matches, or per limit that matches none.
//!
//! A regression is a failure; no verdict is an error. `time` is the median of the candidate in seconds, so that the
//! history of test times on a server is the history of the measure.

use std::io::{self, Write};

use onoff_compare::MeasureUnit;
use onoff_compare::gate::{GateReport, GateVerdict};
use quick_xml::escape::escape;

use crate::text::gate::{LimitCase, cases};
use onoff_sections::terminal::printable::printable;

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &GateReport, out: &mut dyn Write) -> io::Result<()> {
    let suites: Vec<(&str, Vec<LimitCase<'_>>)> =
        report.limits.iter().map(|limit| (limit.limit.as_str(), cases(limit))).collect();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"onoff gate\" {}>", counts(suites.iter().flat_map(|(_, cases)| cases)))?;
    let class = format!("onoff.{}", report.transition.as_str());
    for (limit, cases) in &suites {
        writeln!(out, "  <testsuite name=\"{}\" {} skipped=\"0\">", attribute(limit), counts(cases))?;
        for case in cases {
            write_case(&class, case, out)?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

/// Formats the numbers of tests, failures and errors, as attributes.
fn counts<'a>(cases: impl IntoIterator<Item = &'a LimitCase<'a>>) -> String {
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    for case in cases {
        tests += 1;
        failures += u64::from(case.verdict == GateVerdict::Regression);
        errors += u64::from(case.verdict == GateVerdict::NoVerdict);
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
}

fn write_case(class: &str, case: &LimitCase<'_>, out: &mut dyn Write) -> io::Result<()> {
    let time = match case.check.and_then(|check| Some((check.unit, check.is?))) {
        Some((MeasureUnit::Ns, ns)) => format!(" time=\"{:.6}\"", ns as f64 / 1e9),
        _ => String::new(),
    };
    let element = match case.verdict {
        GateVerdict::Pass => "",
        GateVerdict::Regression => "failure",
        GateVerdict::NoVerdict => "error",
    };
    write!(out, "    <testcase classname=\"{class}\" name=\"{}\"{time}", attribute(case.key))?;
    if element.is_empty() {
        return writeln!(out, "/>");
    }
    writeln!(
        out,
        ">\n      <{element} type=\"{}\" message=\"{}\"/>\n    </testcase>",
        case.verdict.as_str(),
        attribute(&case.message),
    )
}

/// Escapes an attribute; characters that XML does not allow become visible escapes first.
fn attribute(text: &str) -> String {
    escape(printable(text).as_ref()).into_owned()
}
