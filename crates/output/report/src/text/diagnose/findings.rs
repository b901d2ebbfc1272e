//! The list of findings, and the rules that could not be checked.

use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_findings::diagnosis::{DiagnosedTransition, Diagnosis};
use onoff_findings::finding::{CostBasis, FindingSeverity, RuleFinding};
use onoff_transitions::MissingSource;

use super::rules::wrapped;
use crate::text::layout::{lines, remaining_cells};
use crate::text::missing_evidence::write_commands;
use crate::text::printable::printable;
use crate::text::quantity::{capitalized, counted, duration};
use crate::text::section::title;
use crate::text::style::{DOUBT, QUIET, WORST, styled};

/// Maximum number of evidence lines per finding.
const MAX_EVIDENCE: usize = 5;
/// Indentation of the lines of a finding, in cells.
const INDENT: usize = 13;

/// Writes the limits of the recording that affect all findings.
pub(super) fn caveats(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    if diagnosis.caveats.is_empty() {
        return Ok(());
    }
    title("Limits of this recording", "", out)?;
    for caveat in &diagnosis.caveats {
        writeln!(out, "  {DOUBT}{}{DOUBT:#}  {QUIET}{}{QUIET:#}", printable(&sentence(&caveat.title)), caveat.code)?;
        for line in wrapped(&sentence(&caveat.advice), remaining_cells(4, 96)) {
            writeln!(out, "    {}", printable(&line))?;
        }
    }
    Ok(())
}

pub(super) fn write(diagnosis: &Diagnosis, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if diagnosis.findings.is_empty() || top == 0 {
        return Ok(());
    }
    let has = |basis| diagnosis.findings.iter().any(|finding| finding.cost_basis == basis);
    let by_cost =
        if has(CostBasis::Predicted) { "by what fixing each alone would save" } else { "most expensive first" };
    let has_failed = diagnosis.transitions.iter().any(|transition| !transition.failure.is_empty());
    let order = match (has_failed, diagnosis.findings.len()) {
        (true, 1) => "why the boot failed".to_owned(),
        (true, _) => format!("why the boot failed, then {by_cost}"),
        (false, _) => by_cost.to_owned(),
    };
    let bound =
        if has(CostBasis::AtMost) { " (≤ = upper bound: ran in parallel with the critical path)" } else { "" };
    title("Findings", &format!("{order}{bound}"), out)?;
    let has_several = diagnosis.transitions.len() > 1;
    for finding in diagnosis.findings.iter().take(top) {
        write_finding(finding, has_several, out)?;
    }
    let hidden = diagnosis.findings.len().saturating_sub(top);
    if hidden > 0 {
        writeln!(
            out,
            "  {QUIET}{} not shown; use --top {} to show all{QUIET:#}",
            counted(hidden as u64, "finding"),
            diagnosis.findings.len()
        )?;
    }
    let mut texts: Vec<(String, String)> = Vec::new();
    for transition in &diagnosis.transitions {
        let Some(text) = outlook(transition) else { continue };
        let name = capitalized(&transition.name);
        match texts.iter_mut().find(|(_, earlier)| *earlier == text) {
            Some((names, _)) => *names += &format!(", {name}"),
            None => texts.push((name, text)),
        }
    }
    for (names, text) in texts {
        let prefix = if has_several { format!("{names}: ") } else { String::new() };
        for line in wrapped(&format!("{prefix}{text}"), remaining_cells(2, 96)) {
            writeln!(out, "  {QUIET}{}{QUIET:#}", printable(&line))?;
        }
    }
    Ok(())
}

/// Says what all changes together would save, or why that is not known.
fn outlook(transition: &DiagnosedTransition) -> Option<String> {
    if let Some(combined) = &transition.combined_saving {
        let next = match &combined.bottleneck {
            Some(bottleneck) => format!("{} ({}) would then take the most", bottleneck.name, duration(bottleneck.ns)),
            None => {
                let phase_ns = duration(combined.longest_phase_ns);
                format!("{} ({phase_ns}) would then be the longest phase", combined.longest_phase)
            }
        };
        Some(format!(
            "The {} that were replayed would save {} together; {next}.",
            counted(combined.changes.len() as u64, "change"),
            combined.saving,
        ))
    } else if transition.no_prediction.is_empty() {
        None
    } else {
        Some(format!("Costs are times on the critical path, not predicted savings: {}.", transition.no_prediction))
    }
}

fn write_finding(finding: &RuleFinding, has_several: bool, out: &mut dyn Write) -> io::Result<()> {
    let cost = match (finding.cost_ns, finding.cost_basis) {
        (Some(ns), CostBasis::Predicted | CostBasis::CriticalPath) => duration(ns),
        (Some(ns), _) => format!("≤ {}", duration(ns)),
        (None, _) => "-".to_owned(),
    };
    let style = match finding.severity {
        FindingSeverity::High => WORST,
        FindingSeverity::Moderate => DOUBT,
        FindingSeverity::Note => QUIET,
    };
    let padding = INDENT.saturating_sub(4).saturating_sub(cost.chars().count());
    let title = format!("{}.", sentence_case(finding));
    let mut title_lines = lines(&printable(&title), remaining_cells(INDENT, usize::MAX)).into_iter();
    let first_line = title_lines.next().unwrap_or_default();
    writeln!(out, "  {:padding$}{}  {first_line}", "", styled(style, &cost))?;
    for line in title_lines {
        writeln!(out, "{:INDENT$}{line}", "")?;
    }
    let mut details = finding.code.to_owned();
    if has_several {
        details = format!("{details}, {}", finding.transition);
    }
    if finding.certainty != Certainty::Measured {
        details = format!("{details}, {}", finding.certainty.as_str());
    }
    writeln!(out, "{:INDENT$}{QUIET}{details}{QUIET:#}", "")?;
    for evidence in finding.evidence.iter().take(MAX_EVIDENCE) {
        let time_prefix = evidence.time_ns.map_or(String::new(), |ns| format!("at {}: ", duration(ns)));
        writeln!(out, "{:INDENT$}{QUIET}{time_prefix}{}{QUIET:#}", "", printable(&evidence.text))?;
    }
    for folded in finding.folded.iter().take(MAX_EVIDENCE) {
        writeln!(out, "{:INDENT$}{QUIET}also {}: {}{QUIET:#}", "", folded.code, printable(&folded.title))?;
    }
    for line in wrapped(&sentence(&finding.advice), remaining_cells(INDENT, 92)) {
        writeln!(out, "{:INDENT$}{}", "", printable(&line))?;
    }
    Ok(())
}

/// Writes the unchecked rules, grouped by missing evidence.
pub(super) fn unchecked_rules(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    if diagnosis.unchecked_rules.is_empty() {
        return Ok(());
    }
    let note = format!(
        "{} of {} rules",
        diagnosis.unchecked_rules.len(),
        diagnosis.unchecked_rules.len() as u64 + diagnosis.checked
    );
    title("Not checked (data not available)", &note, out)?;
    let mut reasons: Vec<(String, Vec<&'static str>)> = Vec::new();
    for rule in &diagnosis.unchecked_rules {
        let needs = Some(rule.needs.to_owned()).filter(|needs| !needs.is_empty());
        let reason = rule.missing_sources.iter().map(missing_evidence).chain(needs).collect::<Vec<_>>().join("; ");
        match reasons.iter_mut().find(|(existing, _)| *existing == reason) {
            Some((_, codes)) if codes.contains(&rule.code) => {}
            Some((_, codes)) => codes.push(rule.code),
            None => reasons.push((reason, vec![rule.code])),
        }
    }
    for (reason, codes) in reasons {
        for line in wrapped(&sentence(&reason), remaining_cells(2, 100)) {
            writeln!(out, "  {}", printable(&line))?;
        }
        for line in wrapped(&codes.join(", "), remaining_cells(4, 96)) {
            writeln!(out, "    {QUIET}{line}{QUIET:#}")?;
        }
    }
    write_commands(&diagnosis.missing_evidence.record, out)
}

/// Names what was not recorded, with the provider or the kernel flags that record it.
fn missing_evidence(item: &MissingSource) -> String {
    let source = if !item.provider.is_empty() {
        format!(" ({})", item.provider)
    } else if item.kernel_flags.is_empty() {
        String::new()
    } else {
        format!(" (kernel flags {})", item.kernel_flags.join("+"))
    };
    format!("{}{source}", item.unknown.phrase())
}

/// Capitalizes the title unless it starts with a name.
fn sentence_case(finding: &RuleFinding) -> String {
    let first_word = finding.title.split(' ').next().unwrap_or_default();
    let is_word = first_word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    let name = &finding.subject.name;
    if is_word && (name.is_empty() || !finding.title.starts_with(name)) {
        capitalized(&finding.title)
    } else {
        finding.title.clone()
    }
}

fn sentence(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{}.", capitalized(text).trim_end_matches('.')) }
}
