//! The text report of `what-if --limit`: how fast the transition could be, and four lower bounds.

use std::io::{self, Write};

use anstyle::Style;
use onoff_sections::section::{self, Cell, Section};
use onoff_what_if::limit::{BoundKind, Limit, NoBound};

use super::super::losses;
use super::super::quantity::duration;
use super::super::style::{DOUBT, HEADLINE, QUIET};
use super::{MIN_SHOWN_NS, bottleneck, foundation, reasons};

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(limit: &Limit, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", headline(limit))?;
    if let Some(reason) = limit.no_prediction {
        for line in reasons(&limit.identity, limit.unknown_percent, reason) {
            writeln!(out, "{DOUBT}{line}{DOUBT:#}")?;
        }
    }
    if let Some(first) = &limit.bottleneck {
        writeln!(out, "What remains: {}.", bottleneck(first))?;
    }
    writeln!(out)?;
    let text = |text: String| Cell::text_only(Style::new(), text);
    let section = Section::builder("bounds", "", limit.bounds.iter())
        .name("bound", "Cannot be shorter than", 58, |bound| text(title(bound.bound).to_owned()))
        .quantity("ns", "at least", |bound| text(bound.ns.map_or_else(|| "not known".to_owned(), duration)))
        .build();
    section::text::write(&section, out)?;
    for reason in limit.bounds.iter().filter_map(|bound| bound.no_bound) {
        if let Some(line) = missing(reason) {
            writeln!(out, "{DOUBT}{line}{DOUBT:#}")?;
        }
    }
    writeln!(out)?;
    for line in foundation(&limit.identity, limit.unknown_percent, limit.uncertain_waits) {
        writeln!(out, "{QUIET}{line}{QUIET:#}")?;
    }
    losses::write(&limit.losses, out)
}

fn headline(limit: &Limit) -> String {
    let (transition, measured) = (limit.transition.as_str(), duration(limit.measured_ns));
    let Some(shortest_ns) = limit.shortest_ns else {
        return format!("The {transition} took {measured}. How fast it could be is not known.");
    };
    let parts: Vec<String> =
        [(limit.timers_ns, "for timers"), (limit.contention_ns, "waiting for CPUs and disks in use")]
            .into_iter()
            .filter_map(|(ns, words)| Some((ns.filter(|&ns| ns >= MIN_SHOWN_NS)?, words)))
            .map(|(ns, words)| format!("{} {words}", duration(ns)))
            .collect();
    let could =
        format!("The {transition} took {measured}; with the same hardware it could take {}", duration(shortest_ns));
    if parts.is_empty() { format!("{could}.") } else { format!("{could}: {}.", parts.join(", ")) }
}

const fn title(bound: BoundKind) -> &'static str {
    match bound {
        BoundKind::Chain => "its longest chain, with free CPUs and disks",
        BoundKind::Processors => "its CPU time, divided by the CPUs",
        BoundKind::DiskReads => "its bytes, read once at the disk's bandwidth",
        BoundKind::ChainWithoutTimers => "its longest chain, without timers and time-outs",
    }
}

/// Returns what was missing for a bound; `None` if the report says it elsewhere.
const fn missing(reason: NoBound) -> Option<&'static str> {
    match reason {
        NoBound::NoReplay => None,
        NoBound::NoDiskRequests => Some("No disk requests were recorded."),
        NoBound::NoBandwidth => Some("Too few large reads to measure the disk's bandwidth."),
    }
}
