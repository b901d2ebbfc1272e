//! The text report of Linux sleeps.

mod devices;
mod headline;
mod phases;

use std::io::{self, Write};

use onoff_transitions::linux::suspend::{LinuxSleep, LinuxSuspend};

use crate::text::linux::call_graphs;
use crate::text::style::QUIET;
use crate::text::transition::SleepReport;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

impl SleepReport for LinuxSuspend {
    const NAMES: (&str, &str) = ("Sleep", "sleep");

    fn headline(sleep: &LinuxSleep, out: &mut dyn Write) -> io::Result<()> {
        headline::write(sleep, out)
    }

    fn overview<'a>(sleeps: &[&'a LinuxSleep]) -> Section<'a> {
        Section::builder("sleeps", "", sleeps.iter().copied())
            .id("number", "no", |sleep| Value::Id(sleep.number.into()))
            .name("variant", "kind", 24, |sleep| {
                Cell::with_display_text(Value::text(sleep.variant.as_str()), headline::kind(sleep))
            })
            .time("start_ns", "start", |sleep| Cell::since(sleep.start_or_zero_ns(), 0))
            .quantity("suspend_ns", "suspend", |sleep| Cell::duration_or_dash(sleep.details.suspend.duration_ns))
            .quantity("asleep_ns", "asleep", |sleep| Cell::duration_or_dash(sleep.details.asleep.slept_ns))
            .quantity("resume_ns", "resume", |sleep| Cell::duration_or_dash(sleep.details.resume.duration_ns))
            .name("", "longest", 90, |sleep| {
                let longest = match headline::unknown(sleep) {
                    Some(text) => format!("unknown: {text}"),
                    None => headline::longest(sleep).unwrap_or_default(),
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
