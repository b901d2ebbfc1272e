//! The text report of Linux sleeps.

mod devices;
mod headline;
mod phases;

use std::cmp::Reverse;
use std::io::{self, Write};

use anstyle::Style;
pub(crate) use headline::variant_name;

use onoff_transitions::linux::suspend::{LinuxSleep, LinuxSuspend, SleepOutcome};

use crate::text::linux::call_graphs;
use crate::text::style::QUIET;
use crate::text::transition::SleepReport;
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

/// What a sleep that failed counts more than one that did not, ns: longer than any sleep takes.
const FAILED_SEVERITY_NS: i64 = 1_000_000_000_000_000;

/// Describes why a sleep failed; `None` if it did not.
fn failure(sleep: &LinuxSleep) -> Option<String> {
    if sleep.details.outcome == SleepOutcome::Crashed {
        return Some(format!("the kernel failed: {}", sleep.details.crash));
    }
    if sleep.details.outcome != SleepOutcome::Aborted {
        return None;
    }
    let error = sleep.details.error.map_or_else(String::new, |error| format!(" (error {error})"));
    let reason = sleep.details.refusals.first().map_or_else(String::new, |reason| format!(": {reason}"));
    Some(format!("failed{error}{reason}"))
}

/// Describes how much of its batteries a sleep used; empty if not recorded.
fn battery(sleep: &LinuxSleep) -> String {
    let used_uwh = sleep.details.batteries.iter().fold(0_i64, |sum, battery| sum.saturating_add(battery.used_uwh));
    if sleep.details.batteries.is_empty() { String::new() } else { format!("{:.2} Wh", used_uwh as f64 / 1e6) }
}

impl SleepReport for LinuxSuspend {
    const NAMES: (&str, &str) = ("Sleep", "sleep");

    fn headline(sleep: &LinuxSleep, out: &mut dyn Write) -> io::Result<()> {
        headline::write(sleep, out)
    }

    /// A sleep that failed is worse than any that cost time.
    fn severity(sleep: &LinuxSleep) -> i64 {
        let time_ns = sleep.total_ns.unwrap_or(sleep.total_at_least_ns);
        match sleep.details.outcome {
            SleepOutcome::Aborted | SleepOutcome::Crashed => time_ns.saturating_add(FAILED_SEVERITY_NS),
            _ => time_ns,
        }
    }

    fn overview<'a>(sleeps: &[&'a LinuxSleep]) -> Section<'a> {
        let mut sleeps = sleeps.to_vec();
        sleeps.sort_by_key(|sleep| (Reverse(Self::severity(sleep)), sleep.number));
        Section::builder("sleeps", "worst first", sleeps)
            .id("number", "no", |sleep| Value::Id(sleep.number.into()))
            .name("variant", "kind", 24, |sleep| {
                Cell::with_display_text(Value::text(sleep.variant.as_str()), headline::kind(sleep))
            })
            .time("start_ns", "start", |sleep| Cell::since(sleep.start_or_zero_ns(), 0))
            .quantity("suspend_ns", "suspend", |sleep| Cell::duration_or_dash(sleep.details.suspend.duration_ns))
            .quantity("asleep_ns", "asleep", |sleep| Cell::duration_or_dash(sleep.details.asleep.slept_ns))
            .quantity("resume_ns", "resume", |sleep| Cell::duration_or_dash(sleep.details.resume.duration_ns))
            .column(Heading::name("wake_source", "woken by").with_width(28).sparse(), |sleep| {
                let names: Vec<&str> = sleep.details.wake_sources.iter().map(|source| source.name.as_str()).collect();
                Value::Text(names.join(", ").into())
            })
            .column(Heading::name("", "battery").with_width(12).sparse(), |sleep| {
                Cell::text_only(Style::new(), battery(sleep))
            })
            .name("", "longest", 90, |sleep| {
                let longest = match (failure(sleep), headline::unknown(sleep)) {
                    (Some(text), _) => text,
                    (None, Some(text)) => format!("unknown: {text}"),
                    (None, None) => headline::longest(sleep).unwrap_or_default(),
                };
                Cell::text_only(QUIET, longest)
            })
            .build()
    }

    fn sections(sleep: &LinuxSleep, top: usize) -> Vec<Section<'_>> {
        let mut sections = Vec::new();
        sections.extend(phases::section(sleep));
        sections.extend(devices::devices(sleep, top));
        sections.extend(devices::callbacks(sleep, top));
        sections.extend(call_graphs::section(&sleep.details.call_graphs, top));
        sections.extend(devices::paths(sleep, top));
        sections.extend(devices::tasks(sleep, top));
        sections
    }
}
