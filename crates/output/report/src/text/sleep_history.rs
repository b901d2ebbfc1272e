//! The history of the sleeps in one journal: all sleeps, the worst first, and what changed when.

use std::cmp::Reverse;
use std::io::{self, Write};

use anstyle::Style;
use onoff_compare::sleep_history::{FailureChange, HistoricSleep, SleepChange, SleepHistory};
use onoff_transitions::linux::suspend::SleepOutcome;

use crate::text::boot_history::{MIN_BOOTS, day, linux_update_lines, more_or_less, phase_phrase, subject_line};
use crate::text::linux::suspend::variant_name;
use crate::text::printable::printable;
use crate::text::quantity::{counted, duration, second_or_dash};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

/// Writes the changes between sleeps, then the sleeps.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(history: &SleepHistory, top: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", styled(HEADLINE, printable(&headline(history))))?;
    for change in &history.failure_changes {
        write_lines(&failure_title(change), failure_lines(change, history), out)?;
    }
    for change in &history.changes {
        write_lines(&change_title(change), change_lines(change, history), out)?;
    }
    for note in notes(history) {
        writeln!(out, "{}", styled(QUIET, printable(&note)))?;
    }
    section::text::write(&sleeps(history, top), out)
}

fn write_lines(title: &str, lines: Vec<String>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", styled(WORST, printable(title)))?;
    for line in lines {
        writeln!(out, "  {}", printable(&line))?;
    }
    Ok(())
}

fn headline(history: &SleepHistory) -> String {
    let of_host = match history.host.as_str() {
        "" => String::new(),
        host => format!(" of {host}"),
    };
    let failed = history.sleeps.iter().filter(|sleep| sleep.failed).count();
    let failures = match failed {
        0 => "none failed".to_owned(),
        failed => format!("{failed} failed"),
    };
    let sleeps = match history.sleeps.len() {
        1 => format!("Only one sleep{of_host}, {failures}"),
        count => format!("The last {}{of_host}, {failures}", counted(count as u64, "sleep")),
    };
    // Failures come first, then the largest change; of equal ones the latest.
    if let Some(change) = history.failure_changes.last() {
        return format!("{sleeps}: {}", failure_title(change));
    }
    let largest = history.changes.iter().max_by_key(|change| (change.difference_ns.abs(), change.first_sleep_after));
    if let Some(change) = largest {
        let since = since(change.first_sleep_after_unix_ns, change.first_sleep_after);
        let explained = change.devices.iter().find(|device| device.explains);
        let explanation = explained.map_or_else(String::new, |device| format!(": {}", device.name));
        return format!(
            "{sleeps}: {since}, {} takes {}{explanation}.",
            phase_phrase(&change.phase),
            more_or_less(change.difference_ns)
        );
    }
    match history.sleeps.len() >= MIN_BOOTS {
        true => format!("{sleeps}: no part of the sleeps changed significantly."),
        false => format!("{sleeps}: too few to separate a change from noise (at least {MIN_BOOTS} are needed)."),
    }
}

fn since(unix_ns: Option<i64>, number: i64) -> String {
    day(unix_ns).map_or_else(|| format!("since sleep {number}"), |day| format!("since {day}"))
}

fn failure_title(change: &FailureChange) -> String {
    format!(
        "{}, {} of {} failed; before, {} of {}.",
        since(change.first_sleep_after_unix_ns, change.first_sleep_after).replacen("since", "Since", 1),
        change.failed_after,
        counted(change.sleeps_after, "sleep"),
        change.failed_before,
        change.sleeps_before
    )
}

fn failure_lines(change: &FailureChange, history: &SleepHistory) -> Vec<String> {
    let mut lines = vec![format!(
        "{}, sleeps {} and {}; p = {:.4} (permutation test, {} random orders of these sleeps).",
        variant_name(change.variant),
        change.last_sleep_before,
        change.first_sleep_after,
        change.p_value,
        history.permutations
    )];
    lines.extend(linux_update_lines(&change.updates, change.omitted_updates));
    lines
}

fn change_title(change: &SleepChange) -> String {
    format!(
        "From sleep {} on, {} takes {}: {} instead of {}.",
        change.first_sleep_after,
        phase_phrase(&change.phase),
        more_or_less(change.difference_ns),
        duration(change.after_ns),
        duration(change.before_ns)
    )
}

fn change_lines(change: &SleepChange, history: &SleepHistory) -> Vec<String> {
    let mut lines = vec![format!(
        "{}: {} before, {} since; difference {} to {} (95 % confidence); p = {:.4} (permutation test, {} random orders of these sleeps).",
        variant_name(change.variant),
        counted(change.sleeps_before, "sleep"),
        counted(change.sleeps_after, "sleep"),
        duration(change.low_ns),
        duration(change.high_ns),
        change.p_value,
        history.permutations
    )];
    lines.extend(change.devices.iter().map(|device| subject_line(device, &change.phase)));
    lines.extend(linux_update_lines(&change.updates, change.omitted_updates));
    lines
}

fn notes(history: &SleepHistory) -> Vec<String> {
    let mut notes = Vec::new();
    if history.omitted_sleeps > 0 {
        notes.push(format!("Omitted: {} (see --last).", counted(history.omitted_sleeps, "earlier sleep")));
    }
    if history.other_machine_boots > 0 {
        notes.push(format!(
            "Omitted: {} of other computers, or of text logs beside journals.",
            counted(history.other_machine_boots, "boot")
        ));
    }
    notes
}

/// Describes how a sleep ended, if it did not end well.
fn ending(sleep: &HistoricSleep) -> Option<String> {
    match sleep.outcome {
        SleepOutcome::Aborted => {
            let error = sleep.error.map_or_else(String::new, |error| format!(" (error {error})"));
            let reason = sleep.refusals.first().map_or_else(String::new, |reason| format!(": {reason}"));
            Some(format!("failed{error}{reason}"))
        }
        SleepOutcome::Unfinished if sleep.failed => {
            Some("did not wake up: the next record is of another boot".to_owned())
        }
        SleepOutcome::Unfinished => Some("the end is not in the recording".to_owned()),
        SleepOutcome::Crashed => Some(format!("the kernel failed: {}", sleep.crash)),
        SleepOutcome::Slept | SleepOutcome::Unknown => None,
    }
}

/// Names the longest phase and the slowest device.
fn longest(sleep: &HistoricSleep) -> String {
    let mut parts = Vec::new();
    if let Some(phase) = sleep.phases.iter().max_by_key(|phase| phase.duration_ns).filter(|phase| phase.duration_ns > 0)
    {
        parts.push(format!("{} {}", phase_phrase(&phase.phase), duration(phase.duration_ns)));
    }
    if let Some(device_ns) = sleep.slowest_device_ns {
        parts.push(format!("{} {}", sleep.slowest_device, duration(device_ns)));
    }
    parts.join(", ")
}

/// Lists the sleeps, the worst first: failed ones, then the longest.
#[must_use]
pub fn sleeps(history: &SleepHistory, top: usize) -> Section<'_> {
    let mut worst_first: Vec<&HistoricSleep> = history.sleeps.iter().collect();
    let known_ns = |sleep: &HistoricSleep| {
        let phases_ns = || sleep.phases.iter().fold(0_i64, |sum, phase| sum.saturating_add(phase.duration_ns));
        sleep.total_ns.unwrap_or_else(phases_ns)
    };
    worst_first.sort_by_key(|sleep| (!sleep.failed, Reverse(known_ns(sleep)), Reverse(sleep.number)));
    let optional = |name, title| Heading::quantity(name, title).sparse();
    Section::builder("sleeps", "Sleeps", worst_first)
        .note("worst first")
        .top(top)
        .id("number", "sleep", |sleep| Value::Id(sleep.number))
        .id("boot", "boot", |sleep| Value::Id(sleep.boot))
        .id("transition", "no", |sleep| Value::Id(sleep.transition.into()))
        .name("start_unix_ns", "start (UTC)", 24, |sleep| {
            Cell::with_display_text(
                Value::from_option(sleep.start_unix_ns, Value::Time),
                second_or_dash(sleep.start_unix_ns),
            )
        })
        .name("variant", "kind", 24, |sleep| {
            Cell::with_display_text(Value::text(sleep.variant.as_str()), variant_name(sleep.variant))
        })
        .quantity("suspend_ns", "suspend", |sleep| Cell::duration_or_dash(sleep.suspend_ns))
        .quantity("asleep_ns", "asleep", |sleep| Cell::duration_or_dash(sleep.asleep_ns))
        .quantity("resume_ns", "resume", |sleep| Cell::duration_or_dash(sleep.resume_ns))
        .column(optional("total_ns", "total"), |sleep| Value::from_option(sleep.total_ns, Value::Duration))
        .column(Heading::name("wake_sources", "woken by").with_width(28).sparse(), |sleep| {
            Value::Text(sleep.wake_sources.join(", ").into())
        })
        .column(Heading::name("battery_used_uwh", "battery").with_width(12).sparse(), |sleep| {
            let watt_hours = |uwh: i64| format!("{:.2} Wh", uwh as f64 / 1e6);
            let text = sleep.battery_used_uwh.map_or_else(String::new, watt_hours);
            Cell::with_display_text(Value::id(sleep.battery_used_uwh), text)
        })
        .data("failed", |sleep| Value::Flag(sleep.failed))
        .data("error", |sleep| Value::id(sleep.error))
        .data("kernel", |sleep| Value::text(&sleep.kernel))
        .name("", "longest", 90, |sleep| match ending(sleep) {
            Some(text) => Cell::text_only(WORST, text),
            None => Cell::text_only(if sleep.failed { WORST } else { Style::new() }, longest(sleep)),
        })
        .build()
}
