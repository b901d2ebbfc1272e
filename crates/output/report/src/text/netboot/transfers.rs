//! Files transferred over TFTP, and where the time of the longest transfers went.

use std::io::{self, Write};

use anstyle::Style;
use onoff_netboot::transfer::Outcome;
use onoff_network::report::{Costs, FileTransfer, NetworkBoot};

use super::{file_name, title};
use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration, percent, share, size};
use crate::text::style::{DOUBT, MISSING, QUIET, WORST};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

pub(super) fn write(boot: &NetworkBoot, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if boot.transfers.is_empty() {
        return Ok(());
    }
    let mut shown_files: Vec<&FileTransfer> = boot.transfers.iter().collect();
    shown_files.sort_by_key(|file| std::cmp::Reverse(file.end_ns.saturating_sub(file.request_ns)));
    shown_files.truncate(top);
    shown_files.sort_by_key(|file| file.request_ns);
    let note = if shown_files.len() < boot.transfers.len() {
        format!("longest {} of {}", shown_files.len(), boot.transfers.len())
    } else {
        String::new()
    };
    title("Files over TFTP", &note, out)?;
    list(boot, &shown_files, out)?;
    let complete_files: Vec<&FileTransfer> =
        shown_files.iter().copied().filter(|file| file.costs.is_some() && file.counts.blocks >= 16).collect();
    if !complete_files.is_empty() {
        title("Transfer time by part", "", out)?;
        costs(&complete_files, out)?;
    }
    Ok(())
}

fn list(boot: &NetworkBoot, shown_files: &[&FileTransfer], out: &mut dyn Write) -> io::Result<()> {
    let words = |text: String| Cell::text_only(Style::new(), text);
    let unless_empty =
        |file: &FileTransfer, text: String| words(if file.counts.blocks > 0 { text } else { String::new() });
    let section = Section::builder("transfers", "", shown_files.iter().copied())
        .name("file", "file", 40, |file| Value::Text(file_name(&file.file).into()))
        .time("request_ns", "start", |file| words(duration(file.request_ns.saturating_sub(boot.start_ns))))
        .quantity("duration_ns", "duration", |file| Value::Duration(file.end_ns.saturating_sub(file.request_ns)))
        .quantity("bytes", "size", |file| unless_empty(file, size(file.counts.bytes)))
        .quantity("bytes_per_s", "per s", |file| {
            unless_empty(file, file.bytes_per_s.map_or(String::new(), |rate| size(rate as u64)))
        })
        .quantity("block_size", "block", |file| unless_empty(file, file.block_size.to_string()))
        .quantity("window", "window", |file| unless_empty(file, window(file)))
        .quantity("repeated_data", "retransmitted", |file| match file.counts.repeated_data {
            0 => words(String::new()),
            packets => Cell::text_only(DOUBT, format!("{} ({})", count(packets), percent(file.repeated_percent))),
        })
        .quantity("timeout_count", "timeouts", |file| match file.timeout_count {
            0 => words(String::new()),
            timeouts => {
                let average = duration(file.timeout_ns / timeouts.max(1) as i64);
                Cell::text_only(WORST, format!("{} × {average}", count(timeouts)))
            }
        })
        .name("", "", 64, |file| outcome(file))
        .build();
    section::text::write(&section, out)
}

/// Formats the granted window, with the requested or observed window if that differs.
fn window(file: &FileTransfer) -> String {
    if file.variable_window {
        return format!("{}..{}", file.window, file.max_window);
    }
    match file.requested.window {
        Some(requested) if requested > file.window && file.downgraded.contains(&"windowsize") => {
            format!("{} of {requested}", file.window)
        }
        _ => file.window.to_string(),
    }
}

fn outcome(file: &FileTransfer) -> Cell<'static> {
    match file.outcome {
        Outcome::Complete => {
            let mut notes = Vec::new();
            if file.write {
                notes.push("upload".to_owned());
            }
            if file.started_before_capture {
                notes.push("started before the capture".to_owned());
            }
            if file.counts.missing_blocks > 0 {
                notes.push(format!("{} not in the capture", counted(file.counts.missing_blocks, "block")));
            }
            if file.requests > 1 {
                notes.push(format!("requested {} times", file.requests));
            }
            if file.counts.fragmented > 0 {
                notes.push("in IP fragments".to_owned());
            }
            if file.wraps > 0 {
                notes.push(format!("block number wrapped {}", counted(file.wraps.into(), "time")));
            }
            Cell::text_only(QUIET, notes.join(", "))
        }
        Outcome::SizeProbe => Cell::text_only(QUIET, "size only"),
        Outcome::Refused | Outcome::Aborted => {
            let (code, text) = file.error.as_ref().map_or((0, ""), |error| (error.code, error.text.as_str()));
            let label = if file.outcome == Outcome::Refused { "refused" } else { "aborted by the client" };
            Cell::text_only(MISSING, format!("{label}: {} (code {code})", printable(text)))
        }
        Outcome::Unfinished => {
            let upload = if file.write { "upload, " } else { "" };
            let start = if file.started_before_capture { "started before the capture, " } else { "" };
            Cell::text_only(MISSING, format!("{upload}{start}not finished in this capture"))
        }
    }
}

fn costs(files: &[&FileTransfer], out: &mut dyn Write) -> io::Result<()> {
    let files_with_costs = files.iter().filter_map(|file| Some((*file, file.costs?)));
    let mut section = Section::builder("transfer_costs", "", files_with_costs)
        .name("file", "file", 40, |(file, _)| Value::Text(file_name(&file.file).into()));
    for (index, (name, title)) in PARTS.into_iter().enumerate() {
        section = section.quantity(name, title, |(file, costs)| part(file, costs, index));
    }
    section::text::write(&section.build(), out)?;
    for file in files.iter().filter(|file| file.client_turn.count > 0) {
        writeln!(
            out,
            "  {QUIET}{}: {} turns; server typically {} (median {}), client typically {} (median {}){}{QUIET:#}",
            file_name(&file.file),
            count(file.client_turn.count),
            usual(file.server_turn.usual_ns),
            usual(file.server_turn.median_ns),
            usual(file.client_turn.usual_ns),
            usual(file.client_turn.median_ns),
            gap(file),
        )?;
    }
    Ok(())
}

/// Names and titles of the parts of a transfer time, in the order of [`parts`].
const PARTS: [(&str, &str); 8] = [
    ("setup_ns", "setup"),
    ("blocks_ns", "blocks"),
    ("server_ns", "server turns"),
    ("client_ns", "client turns"),
    ("server_pauses_ns", "server pauses"),
    ("client_pauses_ns", "client pauses"),
    ("timeouts_ns", "timeouts"),
    ("remainder_ns", "rest"),
];

/// Formats a part with its share; empty if the part is zero.
fn part(file: &FileTransfer, costs: &Costs, index: usize) -> Cell<'static> {
    let total = file.duration_ns.unwrap_or(0);
    let parts = parts(costs);
    let ns = parts.get(index).copied().unwrap_or(0);
    if ns == 0 || (ns == costs.remainder_ns && share(ns.saturating_abs(), total) < 0.5) {
        return Cell::text_only(Style::new(), "");
    }
    let is_worst = parts.iter().max() == Some(&ns);
    let text = format!("{} {:>5}", duration(ns), percent(share(ns, total)));
    Cell::text_only(if is_worst { WORST } else { Style::new() }, text)
}

fn parts(costs: &Costs) -> [i64; 8] {
    [
        costs.setup_ns,
        costs.blocks_ns,
        costs.server_ns,
        costs.client_ns,
        costs.server_pauses_ns,
        costs.client_pauses_ns,
        costs.timeouts_ns,
        costs.remainder_ns,
    ]
}

fn usual(ns: Option<i64>) -> String {
    ns.map_or_else(|| "-".to_owned(), duration)
}

fn gap(file: &FileTransfer) -> String {
    match file.gap.median_ns {
        Some(gap) => format!(", {} between blocks", duration(gap)),
        None => String::new(),
    }
}
