//! The summary of many recordings, one row per transition.

use std::io::{self, Write};

use onoff_compare::sleep_statistics::SleepStatistics;
use onoff_compare::summary::{Summary, SummaryRow, UnreadableLog};

use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::printable::printable;
use crate::terminal::quantity::{counted, duration};
use crate::terminal::style::{HEADLINE, QUIET};

impl TableReport for Summary {
    type Row = SummaryRow;

    fn columns(&self) -> Vec<Column<SummaryRow>> {
        let new = Column::<SummaryRow>::new;
        vec![
            new("recording", "recording", Kind::Name, |row| Value::text(&row.recording)).with_width(40),
            new("boot", "boot", Kind::Name, |row| Value::text(&row.boot)).with_width(18),
            new("computer", "computer", Kind::Name, |row| Value::text(&row.computer)).with_width(18),
            new("os", "system", Kind::Name, |row| Value::text(&row.os)).with_width(26),
            new("os_build", "", Kind::Id, |row| {
                Value::from_option((row.os_build > 0).then_some(row.os_build), |build| Value::Id(build.into()))
            }),
            new("recorded_utc", "", Kind::Name, |row| Value::text(row.recorded_utc.as_deref().unwrap_or_default())),
            new("transition", "", Kind::Name, |row| Value::text(row.transition)),
            new("variant", "", Kind::Name, |row| Value::text(&row.variant)),
            new("kind", "kind", Kind::Name, |row| Value::Text(kind(row).into())).with_width(24),
            new("duration_ns", "duration", Kind::Quantity, |row| match row.error.is_empty() {
                true => match (row.duration_ns, row.at_least_ns) {
                    (Some(ns), _) => Value::Duration(ns),
                    (None, ns) if ns > 0 => Value::AtLeast(ns),
                    (None, _) => Value::Unknown,
                },
                false => Value::Nothing,
            }),
            new("at_least_ns", "", Kind::Quantity, |row| Value::Duration(row.at_least_ns)),
            new("user_input_ns", "waiting for user", Kind::Quantity, |row| {
                Value::from_option((row.user_input_ns > 0).then_some(row.user_input_ns), Value::Duration)
            }),
            new("asleep_ns", "asleep", Kind::Quantity, |row| Value::from_option(row.asleep_ns, Value::Duration)),
            new("phases", "", Kind::Name, |row| {
                let phases = row.phases.iter().map(|phase| format!("{}={}", phase.phase, phase.duration_ns));
                Value::Text(phases.collect::<Vec<_>>().join(";").into())
            }),
            new("phase", "longest phase", Kind::Name, |row| Value::text(&row.phase)).with_width(16),
            new("phase_ns", "phase duration", Kind::Quantity, |row| Value::from_option(row.phase_ns, Value::Duration)),
            new("subject", "fix first", Kind::Name, |row| {
                Value::text(if row.error.is_empty() { &row.subject } else { &row.error })
            })
            .with_width(60),
            new("subject_ns", "cost", Kind::Quantity, |row| match row.subject_is_upper_bound {
                true => Value::from_option(row.subject_ns, Value::AtMost),
                false => Value::from_option(row.subject_ns, Value::Duration),
            }),
            new("subject_is_upper_bound", "", Kind::Name, |row| Value::Flag(row.subject_is_upper_bound)),
            new("error", "", Kind::Name, |row| Value::text(&row.error)),
        ]
    }

    fn rows(&self) -> &[SummaryRow] {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut Vec<SummaryRow> {
        &mut self.rows
    }

    fn empty_message(&self) -> String {
        "no recordings in these files".to_owned()
    }

    fn write_headline(&self, _: usize, out: &mut dyn Write) -> io::Result<()> {
        let (transitions, recordings) =
            (counted(self.transitions, "transition"), counted(self.recordings, "recording"));
        let headline = format!("{transitions} in {recordings}.");
        writeln!(out, "{HEADLINE}{headline}{HEADLINE:#}")
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        let unreadable = self.unreadable.saturating_sub(self.unreadable_logs.len() as u64);
        if unreadable > 0 {
            writeln!(out, "{} could not be read.", counted(unreadable, "recording"))?;
        }
        write_unreadable_logs(&self.unreadable_logs, out)?;
        if self.boots_without_duration > 0 {
            let boots = counted(self.boots_without_duration, "boot");
            writeln!(out, "{QUIET}Not listed: {boots} of which Windows wrote no account.{QUIET:#}")?;
        }
        if self.other_files > 0 {
            writeln!(out, "{QUIET}Skipped {} without a recording.{QUIET:#}", counted(self.other_files, "other file"))?;
        }
        for sleeps in &self.sleeps {
            write_sleeps(sleeps, out)?;
        }
        writeln!(
            out,
            "{QUIET}For details, use 'onoff boot FILE', 'onoff shutdown FILE' or 'onoff suspend FILE'.{QUIET:#}"
        )
    }
}

/// Names the event logs that could not be read.
fn write_unreadable_logs(logs: &[UnreadableLog], out: &mut dyn Write) -> io::Result<()> {
    const MAX_NAMED: usize = 5;
    if logs.is_empty() {
        return Ok(());
    }
    writeln!(out, "{} could not be read:", counted(logs.len() as u64, "event log"))?;
    for log in logs.iter().take(MAX_NAMED) {
        writeln!(out, "  {}", printable(&log.error))?;
    }
    match logs.len().saturating_sub(MAX_NAMED) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more"),
    }
}

/// Writes the statistics of all sleeps of one kind.
fn write_sleeps(sleeps: &SleepStatistics, out: &mut dyn Write) -> io::Result<()> {
    let row = SummaryRow { transition: "suspend", variant: sleeps.variant.clone(), ..SummaryRow::default() };
    let failures: Vec<String> = [(sleeps.aborted, "aborted"), (sleeps.unfinished, "unfinished")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, outcome)| format!("{count} {outcome}"))
        .collect();
    let failures = if failures.is_empty() { "none failed".to_owned() } else { failures.join(", ") };
    writeln!(out, "\n{HEADLINE}{} × {}: {failures}.{HEADLINE:#}", sleeps.sleeps, kind(&row))?;
    for (half, spread) in [("suspend", &sleeps.suspend), ("resume", &sleeps.resume)] {
        if let Some(spread) = spread {
            let text = format!(
                "  {half:<7}  median {}, {} to {} (longest: {})",
                duration(spread.median_ns),
                duration(spread.min_ns),
                duration(spread.max_ns),
                spread.max_recording
            );
            writeln!(out, "{}", printable(&text))?;
        }
    }
    for device in &sleeps.devices {
        let failed = if device.failed > 0 { format!(", failed in {}", device.failed) } else { String::new() };
        let driver = if device.driver.is_empty() { String::new() } else { format!(" ({})", device.driver) };
        let text = format!(
            "  {}{driver}  median {}, worst {} ({}){failed}",
            device.device,
            duration(device.median_ns),
            duration(device.worst_ns),
            device.worst_recording
        );
        writeln!(out, "{}", printable(&text))?;
    }
    Ok(())
}

/// Returns the kind of a transition in words.
pub fn kind(row: &SummaryRow) -> String {
    let variant = match (row.transition, row.variant.as_str()) {
        // The variants are the kernel's names.
        ("suspend", "memory") => "suspend to memory".to_owned(),
        ("suspend", "disk") => "hibernation".to_owned(),
        ("suspend", "idle") => "suspend to idle".to_owned(),
        (_, variant) => variant.replace('_', " "),
    };
    match (row.transition, variant.as_str()) {
        ("suspend", "") => "sleep".to_owned(),
        (transition, "") => transition.to_owned(),
        ("boot", variant) => format!("boot, {variant}"),
        ("netboot", variant) => format!("network boot, {variant}"),
        // A variant such as "restart" or "hibernation" needs no transition.
        (_, variant) => variant.to_owned(),
    }
}
