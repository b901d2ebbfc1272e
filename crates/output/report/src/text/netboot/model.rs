//! Predicted transfer times with other window and block sizes.

use std::io::{self, Write};

use anstyle::Style;
use onoff_network::model::{LatencyModel, MAX_KNOWN_FACTOR, Prediction, Settings};
use onoff_network::report::NetworkBoot;

use crate::text::quantity::{duration, percent, share};
use crate::text::style::{HEADLINE, QUIET};
use onoff_sections::section::{self, Cell, Heading, Section};

pub(super) fn write(
    boot: &NetworkBoot,
    link_bits_per_s: u64,
    settings: &Settings,
    out: &mut dyn Write,
) -> io::Result<()> {
    if boot.predictions.is_empty() {
        return Ok(());
    }
    let mut sizes: Vec<u32> = boot.predictions.iter().filter_map(|row| row.block_size).collect();
    sizes.sort();
    sizes.dedup();
    let mut windows: Vec<u32> = boot.predictions.iter().filter_map(|row| row.window).collect();
    windows.dedup();
    let mut section = Section::builder("predictions", "Predicted times with other settings", windows)
        .note("from the model, with pauses as measured")
        .name("", "", 16, |window| Cell::text_only(Style::new(), format!("window {window}")));
    for size in sizes {
        section = section.column_with_title(Heading::quantity("", ""), format!("block {size}"), |&window| {
            let prediction =
                boot.predictions.iter().find(|row| row.window == Some(window) && row.block_size == Some(size));
            Cell::text_only(Style::new(), prediction.map_or(String::new(), cell))
        });
    }
    section::text::write(&section.build(), out)?;
    notes(boot, link_bits_per_s, out)?;
    let (Some(answer), Some(model_ns)) = (&boot.what_if, boot.total.model_ns) else { return Ok(()) };
    let measured = model_ns.saturating_add(boot.total.unexplained_ns.unwrap_or(0));
    writeln!(
        out,
        "  {HEADLINE}With {}: {}{} (measured: {}).{HEADLINE:#}",
        setting_names(settings),
        if answer.is_known() { "" } else { "not known, " },
        range(answer),
        duration(measured)
    )
}

fn notes(boot: &NetworkBoot, link_bits_per_s: u64, out: &mut dyn Write) -> io::Result<()> {
    let models = || boot.transfers.iter().filter_map(|file| file.model.as_ref());
    if models().any(|model| !model.fitted) {
        let text = "Ranges: a capture with one window size cannot separate client time per acknowledgment from client time per block.";
        writeln!(out, "  {QUIET}{text} A capture with a second window size can.{QUIET:#}")?;
    }
    if boot.predictions.iter().any(|row| !row.is_known()) {
        let text =
            format!("Not known: the capture allows times that differ by more than a factor of {MAX_KNOWN_FACTOR}.");
        writeln!(out, "  {QUIET}{text}{QUIET:#}")?;
    }
    let error_percent = models().map(|model| model.turn_error_percent).fold(0.0, f64::max);
    let variation_percent = models().filter_map(|model| model.pace_variation_percent).reduce(f64::max);
    let pace = match variation_percent {
        Some(variation) => format!("The client's pace varied by {} within a file", percent(variation)),
        None => "The files are too short to show how the client's pace varies".to_owned(),
    };
    writeln!(out, "  {QUIET}{pace}: ranges allow turns to be {} longer or shorter.{QUIET:#}", percent(error_percent))?;
    let mut distinct_models: Vec<&LatencyModel> = Vec::new();
    for model in models().filter(|model| model.fitted) {
        if distinct_models.iter().all(|distinct| distinct.per_block != model.per_block) {
            distinct_models.push(model);
        }
    }
    for model in distinct_models {
        let windows: Vec<String> = model.fitted_windows.iter().map(u32::to_string).collect();
        let client_turn = model.per_block;
        let (fixed, block) = (duration(client_turn.fixed_ns as i64), duration(client_turn.per_block_ns as i64));
        let text = if model.fitted_block_sizes.is_empty() {
            format!("{fixed} per acknowledgment and {block} per block")
        } else {
            let kibibyte = duration((client_turn.per_byte_ns * 1024.0) as i64);
            format!("{fixed} per acknowledgment, {block} per block and {kibibyte} per KiB")
        };
        writeln!(out, "  {QUIET}Client time: {text}, fitted to windows of {}.{QUIET:#}", windows.join(", "))?;
    }
    if let (Some(model), Some(unexplained)) = (boot.total.model_ns, boot.total.unexplained_ns) {
        let measured = model.saturating_add(unexplained);
        let pauses = match boot.total.pauses_ns {
            0 => String::new(),
            pauses => format!(" Pauses account for {} of the difference.", duration(pauses)),
        };
        writeln!(
            out,
            "  {QUIET}Expected with the captured settings: {}. Measured: {} (± {}).{pauses}{QUIET:#}",
            duration(model),
            duration(measured),
            percent(share(unexplained.saturating_abs(), measured)),
        )?;
    }
    if boot.predictions.iter().any(|row| row.losses_ns > 0) {
        writeln!(out, "  {QUIET}Packet loss is assumed to be as frequent as in the capture.{QUIET:#}")?;
    }
    if models().any(|model| !model.gap_measured) {
        writeln!(
            out,
            "  {QUIET}The time between blocks assumes a link of {} Mbit/s (--link-rate), because windows of one block do not show it.{QUIET:#}",
            link_bits_per_s / 1_000_000
        )?;
    }
    Ok(())
}

/// Formats one number, a range, or that the capture does not show the time.
fn cell(row: &Prediction) -> String {
    if row.is_known() { range(row) } else { "not known".to_owned() }
}

/// Formats one number or a range.
fn range(row: &Prediction) -> String {
    let (min, max) = (duration(row.shortest_ns), duration(row.longest_ns));
    // A range of less than 2 % is one number.
    let is_narrow = row.longest_ns.saturating_sub(row.shortest_ns) <= row.longest_ns / 50;
    if is_narrow { max } else { format!("{min} to {max}") }
}

fn setting_names(settings: &Settings) -> String {
    let mut parts = Vec::new();
    if let Some(window) = settings.window {
        parts.push(format!("windows of {window}"));
    }
    if let Some(bytes) = settings.block_size {
        parts.push(format!("blocks of {bytes} bytes"));
    }
    if let Some(ns) = settings.round_trip_ns {
        parts.push(format!("a round trip of {}", duration(ns)));
    }
    if let Some(loss) = settings.loss {
        parts.push(format!("{} of the blocks lost", percent(loss * 100.0)));
    }
    parts.join(", ")
}
