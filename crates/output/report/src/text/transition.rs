//! Text and JSON reports of transitions: headline, phases, then the slowest of each kind. Several sleeps are listed
//! first, then reported one by one.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use onoff_evidence::recording::{Provenance, RecordingSummary};
use onoff_transitions::boot::WindowsBoot;
use onoff_transitions::linux::boot::LinuxBoot;
use onoff_transitions::linux::shutdown::LinuxShutdown;
use onoff_transitions::linux::suspend::LinuxSuspend;
use onoff_transitions::shutdown::WindowsShutdown;
use onoff_transitions::suspend::WindowsSuspend;
use onoff_transitions::{Transition, Transitions, TypedTransition};

use super::machine::machine;
use super::printable::printable;
use super::quantity::counted;
use super::style::{HEADLINE, QUIET, TITLE};
use super::{absences, ending, fix_first};
use onoff_sections::json::document::{self, Document};
use onoff_sections::report_writer::ReportWriter;
use onoff_sections::section::{self, Section};

/// Default number of rows per list in text.
pub const DEFAULT_LIST_ROWS: usize = 5;

/// A report of boots, shutdowns or sleeps of any system.
pub trait TransitionReport {
    /// Writes the report with `top` rows per list.
    ///
    /// # Errors
    /// Returns errors from `writer`.
    fn write(&self, recording: &RecordingSummary, top: usize, writer: &mut dyn ReportWriter) -> io::Result<()>;

    /// Returns the sections of all transitions. Text shows `top` rows of each list.
    fn sections(&self, top: usize) -> Vec<Section<'_>>;

    /// Writes the report on `recordings` as JSON.
    ///
    /// # Errors
    /// Returns errors from `out`.
    fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()>;
}

/// Returns the one-line message for a recording without the transition.
pub(super) fn no_transition(reason: &impl Display, recorder: &str) -> String {
    format!("{}. Recorded by {}", printable(&reason.to_string()), session_name(recorder))
}

/// Returns the name of the recording session.
pub(super) fn session_name(recorder: &str) -> Cow<'_, str> {
    if recorder.is_empty() { "an unnamed session".into() } else { printable(recorder) }
}

/// Returns the first sentences of the text report of a transition, without styles and without the machine.
#[must_use]
pub fn headline_sentences(transition: Transition, recording: &RecordingSummary) -> Vec<String> {
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _written = match TypedTransition::from(transition) {
        TypedTransition::WindowsBoot(boot) => WindowsBoot::headline(&boot, recording, &mut out),
        TypedTransition::LinuxBoot(boot) => LinuxBoot::headline(&boot, recording, &mut out),
        TypedTransition::WindowsShutdown(shutdown) => WindowsShutdown::headline(&shutdown, recording, &mut out),
        TypedTransition::LinuxShutdown(shutdown) => LinuxShutdown::headline(&shutdown, recording, &mut out),
        TypedTransition::WindowsSuspend(sleep) => {
            WindowsSuspend::headline(&sleep, &mut out).and_then(|()| fix_first::write(&sleep, &mut out))
        }
        TypedTransition::LinuxSuspend(sleep) => {
            LinuxSuspend::headline(&sleep, &mut out).and_then(|()| fix_first::write(&sleep, &mut out))
        }
    };
    let machine = machine(recording, None);
    let lines = String::from_utf8_lossy(&out).lines().map(without_styles).collect::<Vec<_>>();
    lines.into_iter().filter(|line| !line.is_empty() && (machine.is_empty() || !line.starts_with(&machine))).collect()
}

/// Removes the escape sequences of styles.
fn without_styles(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    parts.fold(first.to_owned(), |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// The report of the boot or shutdown of one system.
pub(super) trait SingleReport: Sized {
    /// Writes a few sentences with the result and the machine.
    fn headline(transition: &Transition<Self>, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()>;

    fn sections(transition: &Transition<Self>, top: usize) -> Vec<Section<'_>>;
}

impl<D: SingleReport> TransitionReport for Transition<D>
where
    Self: Document,
{
    fn write(&self, recording: &RecordingSummary, top: usize, writer: &mut dyn ReportWriter) -> io::Result<()> {
        writer.lines(&mut |out| D::headline(self, recording, out))?;
        writer.sections(&D::sections(self, top))?;
        writer.lines(&mut |out| ending::write(&self.losses, &self.missing_evidence, out))
    }

    fn sections(&self, top: usize) -> Vec<Section<'_>> {
        D::sections(self, top)
    }

    fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        document::write(recordings, self, out)
    }
}

/// The report of the sleeps of one system.
pub(super) trait SleepReport: Sized {
    /// Singular noun for a sleep, capitalized and in lower case.
    const NAMES: (&str, &str);

    /// Writes the result in a few sentences.
    fn headline(sleep: &Transition<Self>, out: &mut dyn Write) -> io::Result<()>;

    /// Returns the time that a sleep cost, ns. If there are many sleeps, text shows the most expensive ones.
    fn severity(sleep: &Transition<Self>) -> i64 {
        sleep.total_ns.unwrap_or(sleep.total_at_least_ns)
    }

    /// Returns the section that lists several sleeps.
    fn overview<'a>(sleeps: &[&'a Transition<Self>]) -> Section<'a>;

    fn sections(sleep: &Transition<Self>, top: usize) -> Vec<Section<'_>>;
}

impl<D: SleepReport> TransitionReport for Transitions<D>
where
    Self: Document,
{
    fn write(&self, recording: &RecordingSummary, top: usize, writer: &mut dyn ReportWriter) -> io::Result<()> {
        let (title, item_name) = D::NAMES;
        let has_several = self.transitions.len() > 1;
        let detailed = worst(&self.transitions, top.max(DEFAULT_LIST_ROWS));
        if has_several {
            writer.lines(&mut |out| {
                let sleep_count = counted(self.found.into(), item_name);
                writeln!(
                    out,
                    "{HEADLINE}{sleep_count}.{HEADLINE:#} {QUIET}Use --transition N to show only one.{QUIET:#}"
                )?;
                let listed = worst(&self.transitions, MAX_LISTED);
                section::text::write(&D::overview(&listed), out)?;
                if listed.len() < self.transitions.len() {
                    writeln!(out, "{QUIET}Only the {} most expensive are listed.{QUIET:#}", listed.len())?;
                }
                if detailed.len() < self.transitions.len() {
                    writeln!(
                        out,
                        "{QUIET}Details of the {} most expensive follow. Show more with --top N.{QUIET:#}",
                        detailed.len()
                    )?;
                }
                writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
            })?;
        }
        for sleep in detailed {
            writer.lines(&mut |out| {
                if has_several {
                    writeln!(out, "\n{TITLE}{title} {} of {}{TITLE:#}", sleep.number, self.found)?;
                    D::headline(sleep, out)?;
                    return fix_first::write(sleep, out);
                }
                D::headline(sleep, out)?;
                fix_first::write(sleep, out)?;
                writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
            })?;
            writer.sections(&sleep_sections(sleep, top))?;
        }
        if self.transitions.is_empty() {
            writer.lines(&mut |out| {
                writeln!(out, "{HEADLINE}No {item_name}.{HEADLINE:#}")?;
                writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
            })?;
        }
        // These intervals are why a user opens system sleep diagnostics, so the list is longer than others.
        writer.sections(absences::section(&self.absences, top.saturating_mul(2)).as_slice())?;
        let missing = self.missing_evidence().cloned().unwrap_or_default();
        writer.lines(&mut |out| ending::write(self.losses().unwrap_or(&recording.losses), &missing, out))
    }

    fn sections(&self, top: usize) -> Vec<Section<'_>> {
        let sleeps = self.transitions.iter().flat_map(|sleep| sleep_sections(sleep, top));
        sleeps.chain(absences::section(&self.absences, top)).collect()
    }

    fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        document::write(recordings, self, out)
    }
}

/// Maximum number of sleeps in the list of a text report.
const MAX_LISTED: usize = 40;

/// Returns the `limit` most expensive sleeps, in their order.
fn worst<D: SleepReport>(sleeps: &[Transition<D>], limit: usize) -> Vec<&Transition<D>> {
    let mut worst: Vec<&Transition<D>> = sleeps.iter().collect();
    if worst.len() > limit {
        worst.sort_by_key(|sleep| std::cmp::Reverse(D::severity(sleep)));
        worst.truncate(limit);
        worst.sort_by_key(|sleep| sleep.number);
    }
    worst
}

/// Returns the sections of a sleep. The last section names the losses that affect the sleep.
fn sleep_sections<D: SleepReport>(sleep: &Transition<D>, top: usize) -> Vec<Section<'_>> {
    let mut sections = D::sections(sleep, top);
    sections.extend(super::usage::sections(&sleep.phases, &sleep.affecting_losses));
    let last = sections.pop().unwrap_or_else(|| Section::without_table("losses", ""));
    sections.push(last.affected_by(&sleep.affecting_losses, &[]));
    sections
}
