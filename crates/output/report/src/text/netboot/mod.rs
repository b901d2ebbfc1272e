//! The text report of network boots: headline, stages, files, then findings.

mod attempts;
mod blame;
mod dhcp;
mod findings;
mod headline;
mod http;
mod model;
mod path;
mod stages;
mod transfers;

use std::io::{self, Write};

use onoff_network::model::Settings;
use onoff_network::outcome::Verdict;
use onoff_network::report::{Client, NetbootReport, NetworkBoot};

pub use headline::verdict;

use super::losses;
use super::printable::printable;
use super::section::title;
use super::style::{QUIET, TITLE};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

/// Limits on what is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetbootTextOptions {
    /// Rows per list.
    pub top: usize,
    /// The settings to predict.
    pub what_if: Settings,
}

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &NetbootReport, options: &NetbootTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let shown_count = report.boots.len().min(options.top.max(1));
    if report.boots.len() > 1 {
        overview(report, out)?;
    }
    for boot in report.boots.iter().take(shown_count) {
        if report.boots.len() > 1 {
            writeln!(out)?;
        }
        headline::write(boot, out)?;
        let attempts = attempts::section(boot, options.top);
        let dialogues = dhcp::section(boot, options.top);
        section::text::write_all(
            attempts.iter().chain(&[blame::section(boot), stages::section(boot)]).chain(&dialogues),
            out,
        )?;
        transfers::write(boot, options.top, out)?;
        section::text::write_all(&http::section(boot, options.top), out)?;
        model::write(boot, report.link_bits_per_s, &options.what_if, out)?;
        findings::write(boot, out)?;
    }
    if shown_count < report.boots.len() {
        writeln!(out)?;
        writeln!(
            out,
            "{QUIET}{shown_count} of {} boots shown; use --top to show more, --client to select one.{QUIET:#}",
            report.boots.len()
        )?;
    }
    path::write(report, out)?;
    writeln!(out)?;
    headline::write_capture(report, out)?;
    losses::write(&report.losses, out)
}

fn overview(report: &NetbootReport, out: &mut dyn Write) -> io::Result<()> {
    let boots = Section::builder("network_boots", "", &report.boots)
        .name("client", "client", 24, |boot| Value::Text(name(&boot.client).into()))
        .name("address", "address", 40, |boot| Value::text(boot.client.addresses.first().map_or("", String::as_str)))
        .time("start_ns", "start", |boot| Cell::since(boot.start_ns, 0))
        .quantity("duration_ns", "duration", |boot| Value::Duration(boot.duration_ns))
        .quantity("files", "files", |boot| Value::Count(boot.total.files))
        .quantity("bytes", "loaded", |boot| Value::Bytes(boot.total.bytes))
        .name("outcome", "outcome", 40, |boot| Value::Text(outcome(boot).into()))
        .name("worst", "top finding", 60, |boot| {
            let worst = boot.findings.iter().find(|finding| !finding.stops_boot).map_or("", |finding| finding.rule);
            Cell::with_display_text(Value::text(worst), worst.replace('_', " "))
        })
        .build();
    writeln!(out, "{TITLE}{} network boots{TITLE:#}", report.boots.len())?;
    section::text::write(&boots, out)
}

fn outcome(boot: &NetworkBoot) -> String {
    let verdict = match boot.outcome.verdict {
        Verdict::Loaded => return "loaded".to_owned(),
        Verdict::Failed => "failed",
        Verdict::Unknown => "unknown",
    };
    format!("{verdict}: {}", boot.outcome.reason.as_str().replace('_', " "))
}

/// Names a client by its MAC address or, if that is unknown, by its IP address.
fn name(client: &Client) -> String {
    match (client.mac, client.addresses.first()) {
        (Some(mac), _) => mac.to_string(),
        (None, Some(address)) => address.clone(),
        (None, None) => "an unknown client".to_owned(),
    }
}

/// Returns the requested file name, or a placeholder.
fn file_name(name: &str) -> String {
    if name.is_empty() { "(no name)".to_owned() } else { printable(name).into_owned() }
}
