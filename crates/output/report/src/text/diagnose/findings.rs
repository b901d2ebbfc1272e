//! The findings, one after the other, and what could not be checked.

use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_findings::diagnosis::Diagnosis;
use onoff_findings::finding::{CostBasis, FindingSeverity, RuleFinding};
use onoff_transitions::MissingEvidence;

use super::rules::wrapped;
use crate::text::lacking::write_commands;
use crate::text::printable::printable;
use crate::text::quantity::{capitalized, counted, duration};
use crate::text::section::title;
use crate::text::style::{DOUBT, QUIET, WORST, styled};

/// Evidence lines shown of one finding.
const MAX_EVIDENCE: usize = 5;
/// Cells before a finding's own lines.
const INDENT: usize = 13;

/// What limits the trust in all else.
pub(super) fn caveats(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    if diagnosis.caveats.is_empty() {
        return Ok(());
    }
    title("Before you trust it", "", out)?;
    for caveat in &diagnosis.caveats {
        writeln!(out, "  {DOUBT}{}.{DOUBT:#}  {QUIET}{}{QUIET:#}", printable(&caveat.title), caveat.code)?;
        for line in wrapped(&caveat.advice, 96) {
            writeln!(out, "    {}", printable(&line))?;
        }
    }
    Ok(())
}

pub(super) fn write(diagnosis: &Diagnosis, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if diagnosis.findings.is_empty() || top == 0 {
        return Ok(());
    }
    let bounded = diagnosis.findings.iter().any(|finding| finding.cost_basis == CostBasis::AtMost);
    let note = if bounded {
        "what costs most first; ≤ is at most: something else was at work at the same time"
    } else {
        "what costs most first"
    };
    title("What to change", note, out)?;
    let several = diagnosis.transitions.len() > 1;
    for finding in diagnosis.findings.iter().take(top) {
        one(finding, several, out)?;
    }
    let rest = diagnosis.findings.len().saturating_sub(top);
    if rest > 0 {
        writeln!(
            out,
            "  {QUIET}{} more: --top {}{QUIET:#}",
            counted(rest as u64, "finding"),
            diagnosis.findings.len()
        )?;
    }
    Ok(())
}

fn one(finding: &RuleFinding, several: bool, out: &mut dyn Write) -> io::Result<()> {
    let cost = match (finding.cost_ns, finding.cost_basis) {
        (Some(ns), CostBasis::CriticalPath) => duration(ns),
        (Some(ns), _) => format!("≤ {}", duration(ns)),
        (None, _) => "-".to_owned(),
    };
    let style = match finding.severity {
        FindingSeverity::High => WORST,
        FindingSeverity::Moderate => DOUBT,
        FindingSeverity::Note => QUIET,
    };
    let room = INDENT.saturating_sub(4).saturating_sub(cost.chars().count());
    writeln!(out, "  {:room$}{}  {}.", "", styled(style, &cost), printable(&finding.title))?;
    let mut about = finding.code.to_owned();
    if several {
        about = format!("{about}, {}", finding.transition);
    }
    if finding.certainty != Certainty::Measured {
        about = format!("{about}, {}", finding.certainty.as_str());
    }
    writeln!(out, "{:INDENT$}{QUIET}{about}{QUIET:#}", "")?;
    for evidence in finding.evidence.iter().take(MAX_EVIDENCE) {
        let when = evidence.time_ns.map_or(String::new(), |ns| format!("at {}: ", duration(ns)));
        writeln!(out, "{:INDENT$}{QUIET}{when}{}{QUIET:#}", "", printable(&evidence.text))?;
    }
    for folded in finding.folded.iter().take(MAX_EVIDENCE) {
        writeln!(out, "{:INDENT$}{QUIET}also: {} ({}){QUIET:#}", "", printable(&folded.title), folded.code)?;
    }
    for line in wrapped(&sentence(&finding.advice), 92) {
        writeln!(out, "{:INDENT$}{}", "", printable(&line))?;
    }
    Ok(())
}

/// What could not be checked, by what was lacking.
pub(super) fn not_checked(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    if diagnosis.not_checked.is_empty() {
        return Ok(());
    }
    let note =
        format!("{} of {} rules", diagnosis.not_checked.len(), diagnosis.not_checked.len() as u64 + diagnosis.checked);
    title("Not checked, for lack of events", &note, out)?;
    let mut reasons: Vec<(String, Vec<&'static str>)> = Vec::new();
    for rule in &diagnosis.not_checked {
        let needs = Some(rule.needs.to_owned()).filter(|needs| !needs.is_empty());
        let reason = rule.lacking.iter().map(lacks).chain(needs).collect::<Vec<_>>().join("; ");
        match reasons.iter_mut().find(|known| known.0 == reason) {
            Some(known) if known.1.contains(&rule.code) => {}
            Some(known) => known.1.push(rule.code),
            None => reasons.push((reason, vec![rule.code])),
        }
    }
    for (reason, codes) in reasons {
        for line in wrapped(&sentence(&reason), 100) {
            writeln!(out, "  {}", printable(&line))?;
        }
        for line in wrapped(&codes.join(", "), 96) {
            writeln!(out, "    {QUIET}{line}{QUIET:#}")?;
        }
    }
    write_commands(&diagnosis.lacking.record, out)
}

/// What was lacking, with where it comes from.
fn lacks(item: &MissingEvidence) -> String {
    let source = if !item.provider.is_empty() {
        format!(" ({})", item.provider)
    } else if item.kernel_flags.is_empty() {
        String::new()
    } else {
        format!(" (kernel flags {})", item.kernel_flags.join("+"))
    };
    format!("{}{source}", item.unanswered.question())
}

fn sentence(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{}.", capitalized(text).trim_end_matches('.')) }
}
