//! What the transfers would take with other windows and block sizes.

use std::io::{self, Write};

use onoff_analysis::netboot::report::NetworkBoot;

use super::title;
use crate::text::quantity::{duration, percent, share};
use crate::text::style::QUIET;
use crate::text::table::{Table, cell};

const TITLES: [&str; 4] = ["block 512", "block 1024", "block 1456", "block 1468"];
const TITLES_6: [&str; 3] = ["block 512", "block 1024", "block 1448"];

pub(super) fn write(boot: &NetworkBoot, link_bits_per_s: u64, out: &mut dyn Write) -> io::Result<()> {
    if boot.predictions.is_empty() {
        return Ok(());
    }
    title("What other settings would take", "model, without pauses and time-outs", out)?;
    let mut sizes: Vec<u32> = boot.predictions.iter().map(|row| row.block_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let titles: &[&'static str] = if sizes.contains(&1448) { &TITLES_6 } else { &TITLES };
    let mut table = Table::new().left("", 16);
    for title in titles {
        table = table.right(*title);
    }
    let mut windows: Vec<u32> = boot.predictions.iter().map(|row| row.window).collect();
    windows.dedup();
    for window in windows {
        let mut row = vec![cell(format!("window {window}"))];
        for &size in &sizes {
            let found = boot.predictions.iter().find(|row| row.window == window && row.block_size == size);
            row.push(cell(found.map_or(String::new(), |row| duration(row.duration_ns.saturating_add(row.losses_ns)))));
        }
        table.row(row);
    }
    table.write(out)?;
    let (Some(model), Some(unexplained)) = (boot.total.model_ns, boot.total.unexplained_ns) else {
        return Ok(());
    };
    let measured = model.saturating_add(unexplained);
    let losses = if boot.predictions.iter().any(|row| row.losses_ns > 0) {
        " The table counts losses as frequent as those seen."
    } else {
        ""
    };
    let pauses = match boot.total.pauses_ns {
        0 => String::new(),
        pauses => format!(", {} of it pauses", duration(pauses)),
    };
    writeln!(
        out,
        "  {QUIET}With the settings as they were the model gives {}, measured were {}: {} ({}) is not explained{pauses}.{losses}{QUIET:#}",
        duration(model),
        duration(measured),
        duration(unexplained),
        percent(share(unexplained.saturating_abs(), measured)),
    )?;
    let guessed = boot.transfers.iter().filter_map(|file| file.model).any(|model| !model.gap_measured);
    if guessed {
        writeln!(
            out,
            "  {QUIET}Time from block to block is that of a link of {} Mbit/s (--link-rate), as windows of one block do not show it.{QUIET:#}",
            link_bits_per_s / 1_000_000
        )?;
    }
    Ok(())
}
