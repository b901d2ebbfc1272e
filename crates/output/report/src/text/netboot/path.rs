//! The path between the places of two captures of one boot.

use std::io::{self, Write};

use onoff_netboot::path::{CapturePath, PathDirection};
use onoff_network::report::NetbootReport;

use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::style::QUIET;
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

pub(super) fn write(report: &NetbootReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(path) = &report.path else { return Ok(()) };
    let section = section(path).line(QUIET, clocks(path)).line(
        QUIET,
        "The split between the directions assumes equal shortest delays; the round trip does not depend on it."
            .to_owned(),
    );
    section::text::write_all([&section], out)
}

/// Returns the rows of both directions.
fn section(path: &CapturePath) -> Section<'_> {
    let rows: [(&str, &PathDirection); 2] = [("to the server", &path.to_server), ("to the client", &path.to_client)];
    let shortest_ns = path.shortest_round_trip_ns / 2;
    Section::builder("path", "Path between the captures", rows)
        .name("direction", "direction", 16, |(name, _)| Value::text(name))
        .quantity("packets", "packets", |(_, direction)| Value::Count(direction.packets))
        .quantity("lost", "lost", |(_, direction)| Value::Count(direction.lost))
        .quantity("lost_percent", "", |(_, direction)| Value::Percent(direction.lost_percent))
        .quantity("not_captured", "not captured", |(_, direction)| Value::Count(direction.not_captured))
        .quantity("shortest_ns", "shortest", move |_| Value::Duration(shortest_ns))
        .quantity("median_ns", "median", |(_, direction)| Value::Duration(direction.median_ns))
        .quantity("longest_ns", "longest", |(_, direction)| {
            Cell::with_display_text(Value::Duration(direction.longest_ns), duration(direction.longest_ns))
        })
        .build()
}

fn clocks(path: &CapturePath) -> String {
    let ahead = if path.clock_offset_ns < 0 { "behind" } else { "ahead of" };
    let drift = match path.clock_drift_ppm {
        Some(ppm) => format!(", and drifts by {ppm:.1} ppm"),
        None => String::new(),
    };
    format!(
        "Round trip: {} at least, {} as a sum of medians. The clock of {} is {} {ahead} the clock of {}{drift}.",
        duration(path.shortest_round_trip_ns),
        duration(path.median_round_trip_ns),
        printable(&path.server_capture),
        duration(path.clock_offset_ns.saturating_abs()),
        printable(&path.client_capture)
    )
}
