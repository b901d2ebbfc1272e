//! Network boots for a person: the answer first, then the stages, then the files and what to change.

mod dhcp;
mod findings;
mod headline;
mod http;
mod model;
mod stages;
mod transfers;

use std::io::{self, Write};

use onoff_analysis::netboot::model::Settings;
use onoff_analysis::netboot::outcome::Verdict;
use onoff_analysis::netboot::report::{Client, NetbootReport, NetworkBoot};

use super::losses;
use super::printable::printable;
use super::quantity::{duration, size};
use super::style::{QUIET, TITLE};
use super::table::{Table, cell};

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetbootTextOptions {
    /// Rows of each list.
    pub top: usize,
    /// The settings that are asked about.
    pub what_if: Settings,
}

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &NetbootReport, options: &NetbootTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let shown = report.boots.len().min(options.top.max(1));
    if report.boots.len() > 1 {
        overview(report, out)?;
    }
    for boot in report.boots.iter().take(shown) {
        if report.boots.len() > 1 {
            writeln!(out)?;
        }
        headline::write(boot, out)?;
        stages::write(boot, out)?;
        dhcp::write(boot, options.top, out)?;
        transfers::write(boot, options.top, out)?;
        http::write(boot, options.top, out)?;
        model::write(boot, report.link_bits_per_s, &options.what_if, out)?;
        findings::write(boot, out)?;
    }
    if shown < report.boots.len() {
        writeln!(out)?;
        writeln!(
            out,
            "{QUIET}Shown: {shown} of {} boots; --top shows more, --client one.{QUIET:#}",
            report.boots.len()
        )?;
    }
    writeln!(out)?;
    headline::write_capture(report, out)?;
    losses::write(&report.losses, out)
}

fn overview(report: &NetbootReport, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new()
        .left("client", 24)
        .left("address", 40)
        .right("begins")
        .right("took")
        .right("files")
        .right("loaded")
        .left("outcome", 40)
        .left("costs most", 60);
    for boot in &report.boots {
        let worst = boot.findings.iter().find(|finding| !finding.stops_boot).map_or("", |finding| finding.rule);
        table.row([
            cell(name(&boot.client)),
            cell(boot.client.addresses.first().cloned().unwrap_or_default()),
            cell(duration(boot.start_ns)),
            cell(duration(boot.duration_ns)),
            cell(boot.total.files.to_string()),
            cell(size(boot.total.bytes)),
            cell(outcome(boot)),
            cell(worst.replace('_', " ")),
        ]);
    }
    writeln!(out, "{TITLE}{} network boots{TITLE:#}", report.boots.len())?;
    table.write(out)
}

fn outcome(boot: &NetworkBoot) -> String {
    let verdict = match boot.outcome.verdict {
        Verdict::Loaded => return "loaded".to_owned(),
        Verdict::Failed => "failed",
        Verdict::Unknown => "not known",
    };
    format!("{verdict}: {}", boot.outcome.reason.as_str().replace('_', " "))
}

/// What to call a client: its station address, or else its address.
fn name(client: &Client) -> String {
    match (client.mac, client.addresses.first()) {
        (Some(mac), _) => mac.to_string(),
        (None, Some(address)) => address.clone(),
        (None, None) => "an unknown client".to_owned(),
    }
}

/// A file's name as the client asked for it, or something to show when there is none.
fn file_name(name: &str) -> String {
    if name.is_empty() { "(no name)".to_owned() } else { printable(name).into_owned() }
}

fn title(text: &str, note: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if note.is_empty() {
        writeln!(out, "{TITLE}{text}{TITLE:#}")
    } else {
        writeln!(out, "{TITLE}{text}{TITLE:#}  {QUIET}{note}{QUIET:#}")
    }
}
