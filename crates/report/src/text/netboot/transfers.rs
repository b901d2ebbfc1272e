//! The files, and where the time of the longest went.

use std::io::{self, Write};

use onoff_analysis::netboot::report::{Costs, FileTransfer, NetworkBoot};
use onoff_netboot::transfer::Outcome;

use super::{file_name, title};
use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration, percent, share, size};
use crate::text::style::{DOUBT, MISSING, QUIET, WORST};
use crate::text::table::{Cell, Table, cell, styled_cell};

pub(super) fn write(boot: &NetworkBoot, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if boot.transfers.is_empty() {
        return Ok(());
    }
    let mut shown: Vec<&FileTransfer> = boot.transfers.iter().collect();
    shown.sort_by_key(|file| std::cmp::Reverse(file.end_ns.saturating_sub(file.request_ns)));
    shown.truncate(top);
    shown.sort_by_key(|file| file.request_ns);
    let note = if shown.len() < boot.transfers.len() {
        format!("longest {} of {}", shown.len(), boot.transfers.len())
    } else {
        String::new()
    };
    title("Files by TFTP", &note, out)?;
    list(boot, &shown, out)?;
    let complete: Vec<&FileTransfer> =
        shown.iter().copied().filter(|file| file.costs.is_some() && file.counts.blocks >= 16).collect();
    if !complete.is_empty() {
        title("Where their time went", "", out)?;
        costs(&complete, out)?;
    }
    Ok(())
}

fn list(boot: &NetworkBoot, shown: &[&FileTransfer], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new()
        .left("file", 40)
        .right("begins")
        .right("took")
        .right("size")
        .right("per s")
        .right("block")
        .right("window")
        .right("sent again")
        .right("time-outs")
        .left("", 64);
    for file in shown {
        let transferred = file.counts.blocks > 0;
        let rate = file.bytes_per_s.map_or(String::new(), |rate| size(rate as u64));
        let when = |text: String| if transferred { text } else { String::new() };
        let again = match file.counts.repeated_data {
            0 => String::new(),
            packets => format!("{} ({})", count(packets), percent(file.repeated_percent)),
        };
        let timeouts = match file.timeout_count {
            0 => String::new(),
            timeouts => format!("{} × {}", count(timeouts), duration(file.timeout_ns / timeouts.max(1) as i64)),
        };
        table.row([
            cell(file_name(&file.file)),
            cell(duration(file.request_ns.saturating_sub(boot.start_ns))),
            cell(duration(file.end_ns.saturating_sub(file.request_ns))),
            cell(when(size(file.counts.bytes))),
            cell(when(rate)),
            cell(when(file.block_size.to_string())),
            cell(when(window(file))),
            styled_cell(DOUBT, again),
            styled_cell(WORST, timeouts),
            outcome(file),
        ]);
    }
    table.write(out)
}

/// The window as granted; with what was asked for, or seen, when that differs.
fn window(file: &FileTransfer) -> String {
    if file.variable_window {
        return format!("{}..{}", file.window, file.window_largest);
    }
    match file.asked.window {
        Some(asked) if asked > file.window && file.downgraded.contains(&"windowsize") => {
            format!("{} of {asked}", file.window)
        }
        _ => file.window.to_string(),
    }
}

fn outcome(file: &FileTransfer) -> Cell {
    match file.outcome {
        Outcome::Complete => {
            let mut notes = Vec::new();
            if file.write {
                notes.push("upload".to_owned());
            }
            if file.under_way {
                notes.push("under way when the capture began".to_owned());
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
            styled_cell(QUIET, notes.join(", "))
        }
        Outcome::SizeProbe => styled_cell(QUIET, "size only"),
        Outcome::Refused | Outcome::Aborted => {
            let (code, text) = file.error.as_ref().map_or((0, ""), |error| (error.code, error.text.as_str()));
            let who = if file.outcome == Outcome::Refused { "refused" } else { "the client broke off" };
            styled_cell(MISSING, format!("{who}: {} (code {code})", printable(text)))
        }
        Outcome::Unfinished => {
            let upload = if file.write { "upload, " } else { "" };
            let begun = if file.under_way { "under way when the capture began, " } else { "" };
            styled_cell(MISSING, format!("{upload}{begun}not finished in this capture"))
        }
    }
}

fn costs(files: &[&FileTransfer], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new()
        .left("file", 40)
        .right("set-up")
        .right("blocks")
        .right("server turns")
        .right("client turns")
        .right("server pauses")
        .right("client pauses")
        .right("time-outs")
        .right("rest");
    for file in files {
        let Some(costs) = file.costs else { continue };
        let total = file.duration_ns.unwrap_or(0);
        let worst = parts(&costs).into_iter().max().unwrap_or(0);
        let part = |ns: i64| {
            if ns == 0 || (ns == costs.remainder_ns && share(ns.saturating_abs(), total) < 0.5) {
                return cell("");
            }
            let text = format!("{} {:>5}", duration(ns), percent(share(ns, total)));
            if ns == worst { styled_cell(WORST, text) } else { cell(text) }
        };
        let mut row = vec![cell(file_name(&file.file))];
        row.extend(parts(&costs).into_iter().map(part));
        table.row(row);
    }
    table.write(out)?;
    for file in files.iter().filter(|file| file.client_turn.count > 0) {
        writeln!(
            out,
            "  {QUIET}{}: {} turns; server {} (median {}), client {} (median {}){}{QUIET:#}",
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
        Some(gap) => format!(", {} from block to block", duration(gap)),
        None => String::new(),
    }
}
