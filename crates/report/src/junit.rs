//! A gate as JUnit XML, which build servers show as tests: a test case per measure that a limit names.
//!
//! A regression is a failure, no verdict an error. `time` is the candidate's median in seconds, so that a server's
//! history of test times is a history of the measure.

use std::io::{self, Write};

use onoff_analysis::compare::MeasureUnit;
use onoff_analysis::compare::gate::{GateReport, GateVerdict, LimitCheck, LimitReport};
use quick_xml::escape::escape;

use crate::terminal::printable::printable;
use crate::text::gate::sentence;

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &GateReport, out: &mut dyn Write) -> io::Result<()> {
    let cases: u64 = report.limits.iter().map(cases).sum();
    let failures: u64 = report.limits.iter().map(|limit| cases_of(limit, GateVerdict::Regression)).sum();
    let errors: u64 = report.limits.iter().map(|limit| cases_of(limit, GateVerdict::NoVerdict)).sum();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"onoff gate\" tests=\"{cases}\" failures=\"{failures}\" errors=\"{errors}\">")?;
    for limit in &report.limits {
        suite(report, limit, out)?;
    }
    writeln!(out, "</testsuites>")
}

/// Test cases of a limit; one that names nothing is a case itself.
fn cases(limit: &LimitReport) -> u64 {
    limit.checks.len().max(1) as u64
}

fn cases_of(limit: &LimitReport, verdict: GateVerdict) -> u64 {
    if limit.checks.is_empty() {
        return u64::from(limit.verdict == verdict);
    }
    limit.checks.iter().filter(|check| check.verdict == verdict).count() as u64
}

fn suite(report: &GateReport, limit: &LimitReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">",
        attribute(&limit.limit),
        cases(limit),
        cases_of(limit, GateVerdict::Regression),
        cases_of(limit, GateVerdict::NoVerdict),
    )?;
    let class = format!("onoff.{}", report.transition.as_str());
    if limit.checks.is_empty() {
        writeln!(
            out,
            "    <testcase classname=\"{class}\" name=\"{}\">\n      <error type=\"no_verdict\" message=\"{}\"/>\n    </testcase>",
            attribute(&limit.limit),
            attribute(&limit.because),
        )?;
    }
    for check in &limit.checks {
        case(&class, limit, check, out)?;
    }
    writeln!(out, "  </testsuite>")
}

fn case(class: &str, limit: &LimitReport, check: &LimitCheck, out: &mut dyn Write) -> io::Result<()> {
    let time = match (check.unit, check.is) {
        (MeasureUnit::Ns, Some(ns)) => format!(" time=\"{:.6}\"", ns as f64 / 1e9),
        _ => String::new(),
    };
    let element = match check.verdict {
        GateVerdict::Pass => "",
        GateVerdict::Regression => "failure",
        GateVerdict::NoVerdict => "error",
    };
    write!(out, "    <testcase classname=\"{class}\" name=\"{}\"{time}", attribute(&check.key))?;
    if element.is_empty() {
        return writeln!(out, "/>");
    }
    writeln!(
        out,
        ">\n      <{element} type=\"{}\" message=\"{}\"/>\n    </testcase>",
        check.verdict.as_str(),
        attribute(&sentence(&limit.limit, check)),
    )
}

/// Text for an attribute; characters that XML cannot hold at all are written as escapes before.
fn attribute(text: &str) -> String {
    escape(printable(text).as_ref()).into_owned()
}
