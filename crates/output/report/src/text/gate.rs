//! The text report of `gate`: the verdict, then each limit with its measures.

use std::io::{self, Write};

use anstyle::Style;
use onoff_compare::gate::{GateReport, GateVerdict, LimitCheck, LimitReport};

use super::compare::{configurations, excluded_runs, signed, signed_percent, value, write_explanations, write_notes};
use super::printable::printable;
use super::quantity::{count, counted};
use super::section::title;
use super::style::{DOUBT, HEADLINE, MISSING, QUIET};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &GateReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let style = style(report.verdict);
    writeln!(out, "{style}{}{style:#}", headline(report))?;
    if report.verdict != GateVerdict::Pass {
        for configuration in report.candidates() {
            write_explanations(&report.explanations, (report.transition, &configuration.name), out)?;
        }
    }
    write_notes(&report.notes, out)?;
    configurations(&report.configurations, out)?;
    excluded_runs(&report.configurations, out)?;
    for limit in &report.limits {
        write_limit(limit, top, out)?;
    }
    Ok(())
}

/// Returns the verdict in a sentence.
#[must_use]
pub fn headline(report: &GateReport) -> String {
    let count_of = |verdict: GateVerdict| report.limits.iter().filter(|limit| limit.verdict == verdict).count() as u64;
    let total = report.limits.len() as u64;
    let limits = counted(total, "limit");
    match report.verdict {
        GateVerdict::Pass => format!("Pass: {limits} met."),
        GateVerdict::Regression => {
            format!("Regression: {} of {} limits exceeded.", count(count_of(GateVerdict::Regression)), count(total))
        }
        GateVerdict::NoVerdict => {
            format!("No verdict on {} of {} limits.", count(count_of(GateVerdict::NoVerdict)), count(total))
        }
    }
}

/// An entry in reports for other tools: a measure that a limit matches, or a limit that matches none.
pub(crate) struct LimitCase<'a> {
    /// The key of the measure, or the limit.
    pub key: &'a str,
    pub verdict: GateVerdict,
    pub message: String,
    pub check: Option<&'a LimitCheck>,
}

pub(crate) fn cases(limit: &LimitReport) -> Vec<LimitCase<'_>> {
    if limit.checks.is_empty() {
        let (verdict, message) = (limit.verdict, limit.reason.clone());
        return vec![LimitCase { key: &limit.limit, verdict, message, check: None }];
    }
    let case = |check| {
        let message = sentence(&limit.limit, check);
        LimitCase { key: &check.key, verdict: check.verdict, message, check: Some(check) }
    };
    limit.checks.iter().map(case).collect()
}

/// Describes a check in a sentence.
fn sentence(limit: &str, check: &LimitCheck) -> String {
    let key = printable(&check.key);
    if let Some(run) = &check.run {
        let number = check.is.map(|is| format!(" {}", value(check.unit, is))).unwrap_or_default();
        let reason = if check.reason.is_empty() { String::new() } else { format!(": {}", printable(&check.reason)) };
        return format!("{}: {key}{number}{reason} (limit: {limit})", printable(run));
    }
    let numbers = match (check.was, check.is, check.difference) {
        (Some(was), Some(is), Some(difference)) => {
            let percent = check.percent.map(|percent| format!(" ({})", signed_percent(percent))).unwrap_or_default();
            format!(
                "{key}: {}, was {}: {}{percent}",
                value(check.unit, is),
                value(check.unit, was),
                signed(check.unit, difference),
            )
        }
        _ => key.into_owned(),
    };
    let noise = check.noise_floor.map(|floor| format!("; noise {}", value(check.unit, floor))).unwrap_or_default();
    match check.verdict {
        GateVerdict::Pass => format!("{numbers}, within {limit}"),
        GateVerdict::Regression => format!("{numbers}, more than {limit}{noise}"),
        GateVerdict::NoVerdict => format!("{numbers}: {}{noise}", printable(&check.reason)),
    }
}

fn write_limit(limit: &LimitReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let note = match limit.checks.len() {
        0 | 1 => word(limit.verdict).to_owned(),
        measures => format!("{} · {}", word(limit.verdict), counted(measures as u64, "measure")),
    };
    title(&printable(&limit.limit), &note, out)?;
    if !limit.reason.is_empty() {
        return writeln!(out, "  {DOUBT}{}{DOUBT:#}", printable(&limit.reason));
    }
    let is_single = limit.checks.len() == 1;
    let shown_checks: Vec<&LimitCheck> =
        limit.checks.iter().filter(|check| is_single || check.verdict != GateVerdict::Pass).collect();
    if shown_checks.is_empty() {
        return Ok(());
    }
    let amount = |unit, number: Option<i64>| {
        let text = number.map_or_else(|| "-".to_owned(), |number| value(unit, number));
        Cell::text_only(Style::new(), text)
    };
    let section = Section::builder("checks", "", shown_checks.iter().copied())
        .top(top)
        .name("key", "", 56, |check| Value::text(&check.key))
        .name("run", "", 40, |check| Value::text(check.run.as_deref().unwrap_or_default()))
        .quantity("was", "baseline", |check| amount(check.unit, check.was))
        .quantity("is", "candidate", |check| amount(check.unit, check.is))
        .quantity("difference", "change", |check| {
            let change = check.difference.map(|difference| signed(check.unit, difference));
            Cell::text_only(Style::new(), change.unwrap_or_default())
        })
        .quantity("percent", "", |check| {
            Cell::text_only(Style::new(), check.percent.map(signed_percent).unwrap_or_default())
        })
        .quantity("noise_floor", "noise", |check| {
            Cell::text_only(QUIET, check.noise_floor.map(|floor| value(check.unit, floor)).unwrap_or_default())
        })
        .name("verdict", "", 14, |check| Value::text(word(check.verdict)).styled(style(check.verdict)))
        .name("reason", "", 110, |check| Value::text(&check.reason).styled(QUIET))
        .build();
    section::text::write(&section, out)?;
    let hidden_count = shown_checks.len().saturating_sub(top);
    if hidden_count > 0 {
        writeln!(out, "  {QUIET}and {} more{QUIET:#}", count(hidden_count as u64))?;
    }
    Ok(())
}

const fn word(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Pass => "pass",
        GateVerdict::NoVerdict => "no verdict",
        GateVerdict::Regression => "regression",
    }
}

const fn style(verdict: GateVerdict) -> anstyle::Style {
    match verdict {
        GateVerdict::Pass => HEADLINE,
        GateVerdict::NoVerdict => DOUBT,
        GateVerdict::Regression => MISSING,
    }
}
