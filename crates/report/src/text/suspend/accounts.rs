//! What the events measure beside what the kernel counted, and the parts of a resume from a memory image.

use onoff_analysis::transition::Variant;
use std::io::{self, Write};

use onoff_analysis::transition::suspend::{PowerTotal, PowerTransition};

use super::title;
use crate::text::printable::printable;
use crate::text::quantity::{count, duration, duration_or_dash, size};
use crate::text::style::{DOUBT, QUIET};
use crate::text::table::{Table, cell, styled_cell};

/// A difference from which on the two accounts disagree, ns: the kernel counts milliseconds.
const NOTABLE_NS: i64 = 2_000_000;

pub(super) fn write(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    let totals = [("suspend", &transition.details.suspend), ("resume", &transition.details.resume)];
    if totals.iter().any(|(_, total)| total.kernel_ns.is_some()) {
        title("Two accounts", "the events, and what the kernel itself counted", out)?;
        let mut table = Table::new().left("half", 10).right("events").right("kernel").right("more").left("", 110);
        for (name, total) in totals {
            table.row([
                cell(name),
                cell(duration_or_dash(total.measured.duration_ns)),
                cell(duration_or_dash(total.kernel_ns)),
                cell(difference(total)),
                styled_cell(QUIET, printable(&total.measured.rule)),
            ]);
        }
        table.write(out)?;
    }
    write_image(transition, out)?;
    write_resume_parts(transition, out)?;
    write_firmware(transition, out)
}

fn difference(total: &PowerTotal) -> String {
    match total.difference_ns {
        Some(ns) if ns.abs() >= NOTABLE_NS => duration(ns),
        Some(_) => "same".to_owned(),
        None => String::new(),
    }
}

fn write_image(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    let mut parts = Vec::new();
    if let Some(bytes) = transition.details.hibernate_file_bytes.filter(|&bytes| bytes > 0) {
        parts.push(format!("its file has {}", size(bytes.unsigned_abs())));
    }
    if let Some(pages) = transition.details.hibernate_pages.filter(|&pages| pages > 0) {
        parts.push(format!("{} pages were written", count(pages.unsigned_abs())));
    }
    if parts.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {QUIET}Memory image: {}.{QUIET:#}", parts.join(", "))
}

fn write_resume_parts(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    let Some(parts) = &transition.details.resume_parts else {
        return Ok(());
    };
    title("From power-on to resumed", "the kernel's account of a resume from a memory image", out)?;
    let mut table = Table::new().left("part", 44).right("took").left("", 60);
    for (name, ns, note) in [
        ("firmware", parts.firmware_ns, ""),
        ("boot manager", parts.boot_manager_ns, ""),
        ("resume loader", parts.loader_ns, "with its share of reading"),
        ("  reading by the loader", parts.loader_read_ns, ""),
        ("  waiting for a person", parts.user_input_ns.filter(|&ns| ns > 0), ""),
        ("reading by the kernel", parts.kernel_read_ns, ""),
        ("devices", parts.devices_ns, ""),
        ("sum", parts.total_ns, "what fleet tools call the time of a fast boot"),
        ("main path by the system's own account", parts.main_path_ns, ""),
    ] {
        if let Some(ns) = ns {
            table.row([cell(name), cell(duration(ns)), styled_cell(QUIET, note)]);
        }
    }
    table.write(out)?;
    if parts.total_ns.is_none() && transition.variant == Variant::FastStartup {
        writeln!(out, "  {DOUBT}No sum: a part was not recorded.{DOUBT:#}")?;
    }
    Ok(())
}

fn write_firmware(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    let firmware = &transition.details.firmware;
    let parts: Vec<String> = [
        ("suspend", firmware.suspend_ns),
        ("resume", firmware.resume_ns),
        ("resume on average", firmware.average_resume_ns),
    ]
    .into_iter()
    .filter_map(|(name, ns)| Some(format!("{name} {}", duration(ns?))))
    .collect();
    if parts.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {QUIET}Firmware's own account: {}.{QUIET:#}", parts.join(", "))
}
