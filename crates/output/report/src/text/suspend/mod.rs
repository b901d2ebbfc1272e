//! The text report of Windows power transitions.

mod accounts;
mod headline;
mod longest;
mod overview;
mod phases;
mod power_report;

use std::io::{self, Write};

use onoff_transitions::suspend::{PowerTransition, WindowsSuspend};

use super::transition::SleepReport;
use onoff_sections::section::Section;

impl SleepReport for WindowsSuspend {
    const NAMES: (&str, &str) = ("Transition", "power transition");

    fn headline(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
        headline::write(transition, out)
    }

    fn severity(transition: &PowerTransition) -> i64 {
        overview::severity(transition)
    }

    fn overview<'a>(transitions: &[&'a PowerTransition]) -> Section<'a> {
        overview::section(transitions)
    }

    fn sections(transition: &PowerTransition, top: usize) -> Vec<Section<'_>> {
        let mut sections = Vec::new();
        sections.extend(phases::section(transition));
        sections.extend(power_report::blockers(transition, top));
        sections.extend(accounts::sections(transition));
        sections.extend(longest::notified(transition, top));
        sections.extend(longest::devices(transition, top));
        sections.extend(longest::drivers(transition, top));
        sections
    }
}
