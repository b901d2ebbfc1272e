//! Where the time before the operating system went, for a person: the answer first, then the stages and phases, then the worst.

mod comparison;
mod headline;
mod lists;
mod stages;

use std::io::{self, Write};

use onoff_analysis::firmware::{FirmwareMissing, FirmwareReport, NoTimes};
use onoff_trace::Severity;
use onoff_trace::firmware::{FirmwareFault, FirmwareLoggedBoot, FirmwareTable};

use super::printable::printable;
use super::quantity::{count, counted, duration, duration_or_dash};
use super::style::{DOUBT, MISSING, QUIET, TITLE};
use super::table::{Table, cell, styled_cell};

pub use comparison::write_comparison;

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirmwareTextOptions {
    /// Rows of each list.
    pub top: usize,
}

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &FirmwareReport, options: &FirmwareTextOptions, out: &mut dyn Write) -> io::Result<()> {
    headline::write(report, out)?;
    stages::write(report, out)?;
    stages::write_phases(report, out)?;
    lists::write_gaps(report, options.top, out)?;
    lists::write_drivers(report, options.top, out)?;
    lists::write_devices(report, options.top, out)?;
    write_sleep(report, out)?;
    write_boots(&report.boots, out)?;
    write_tables(&report.tables, out)?;
    write_missing(&report.missing, out)?;
    write_faults(&report.faults, out)
}

fn title(text: &str, note: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if note.is_empty() {
        writeln!(out, "{TITLE}{text}{TITLE:#}")
    } else {
        writeln!(out, "{TITLE}{text}{TITLE:#}  {QUIET}{note}{QUIET:#}")
    }
}

fn write_sleep(report: &FirmwareReport, out: &mut dyn Write) -> io::Result<()> {
    if report.suspend.is_none() && report.resume.is_none() {
        return Ok(());
    }
    title("Sleep (S3)", "the firmware's part of it", out)?;
    if let Some(suspend) = &report.suspend {
        match suspend.duration_ns {
            Some(0) if suspend.start_ns == 0 => writeln!(out, "  No suspend since the boot.")?,
            Some(took) => writeln!(out, "  The last suspend took {}.", duration(took))?,
            None => writeln!(out, "  {DOUBT}The last suspend ends before it begins: no length.{DOUBT:#}")?,
        }
    }
    match &report.resume {
        Some(resume) if resume.count == 0 => writeln!(out, "  No resume since the boot."),
        Some(resume) => writeln!(
            out,
            "  The last of {} took {}, on average {}.",
            counted(resume.count, "resume"),
            duration_or_dash(resume.last_ns),
            duration_or_dash(resume.average_ns)
        ),
        None => Ok(()),
    }
}

/// The boots of a serial log that runs over several.
fn write_boots(boots: &[FirmwareLoggedBoot], out: &mut dyn Write) -> io::Result<()> {
    if boots.is_empty() {
        return Ok(());
    }
    title("Boots in the log", "--boot chooses", out)?;
    let mut table =
        Table::new().left("", 1).right("boot").right("line").right("loader loaded").right("system").left("", 60);
    for boot in boots.iter().rev().take(MOST_BOOTS) {
        table.row([
            cell(if boot.read { "*" } else { "" }),
            cell(boot.number.to_string()),
            cell(count(boot.line)),
            cell(duration_or_dash(boot.checkpoints.loader_load_ns)),
            cell(duration_or_dash(boot.checkpoints.exit_end_ns)),
            styled_cell(QUIET, printable(&boot.input)),
        ]);
    }
    table.write(out)?;
    match boots.len().saturating_sub(MOST_BOOTS) {
        0 => Ok(()),
        more => writeln!(out, "  {QUIET}and {} earlier; JSON has them all{QUIET:#}", count(more as u64)),
    }
}

fn write_missing(missing: &[FirmwareMissing], out: &mut dyn Write) -> io::Result<()> {
    for part in missing {
        writeln!(
            out,
            "  {DOUBT}Missing: the {} at {}, and with it {}.{DOUBT:#}",
            part.part, part.address, part.unknown
        )?;
    }
    Ok(())
}

fn write_tables(tables: &[FirmwareTable], out: &mut dyn Write) -> io::Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    title("Tables", "", out)?;
    let mut rows = Table::new().left("", 4).right("").left("", 60).left("", 100);
    for table in tables {
        let mut records: Vec<String> = Vec::new();
        for record in &table.records {
            records.push(format!("{} {}", count(record.count), record.name));
        }
        rows.row([
            styled_cell(TITLE, table.signature.clone()),
            cell(format!("{} B", count(table.length_bytes))),
            cell(printable(&table.input)),
            styled_cell(QUIET, records.join(", ")),
        ]);
    }
    rows.write(out)
}

fn write_faults(faults: &[FirmwareFault], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if faults.is_empty() {
        return writeln!(out, "{QUIET}Nothing wrong with what the firmware handed over.{QUIET:#}");
    }
    writeln!(out, "{TITLE}What is wrong or missing{TITLE:#}")?;
    let mut sorted: Vec<&FirmwareFault> = faults.iter().collect();
    sorted.sort_by_key(|fault| std::cmp::Reverse(fault.severity));
    for fault in sorted.iter().take(MOST_FAULTS) {
        let style = match fault.severity {
            Severity::Error => MISSING,
            Severity::Warning => DOUBT,
            Severity::Notice => QUIET,
        };
        let place = if fault.place.is_empty() { String::new() } else { format!("{}: ", printable(&fault.place)) };
        writeln!(
            out,
            "  {style}{:<7}{style:#} {}: {QUIET}{place}{}{QUIET:#}",
            fault.severity.as_str(),
            fault.kind.as_str(),
            printable(&fault.text)
        )?;
    }
    if sorted.len() > MOST_FAULTS {
        let more = (sorted.len() - MOST_FAULTS) as u64;
        writeln!(out, "  {QUIET}and {} more; JSON has them all{QUIET:#}", count(more))?;
    }
    Ok(())
}

/// Boots of a log in the text, the latest.
const MOST_BOOTS: usize = 20;
/// Faults in the text.
const MOST_FAULTS: usize = 20;

/// Why there is no report, in one line.
#[must_use]
pub fn no_times(asked: &str, nothing: &NoTimes) -> String {
    let Some(first) = nothing.tables.first() else {
        return match nothing.faults.first() {
            Some(fault) => format!("{asked}: no firmware tables; {}: {}", fault.place, fault.text),
            None => format!("{asked}: no firmware tables in it"),
        };
    };
    let machine = [first.oem.as_str(), first.oem_table.as_str()].join(" ");
    let machine = machine.trim();
    let mut sentence = match nothing.tables.len() {
        1 => format!("{}: no times in it", first.input),
        tables => format!("{asked}: no times in its {tables} tables, of which the first is {}", first.input),
    };
    sentence += &format!(": the {}", first.signature);
    if !machine.is_empty() {
        sentence += &format!(" of {machine}");
    }
    if first.pointers.is_empty() {
        sentence += " holds no record of a boot, suspend or resume";
    } else {
        let pointers: Vec<String> =
            first.pointers.iter().map(|pointer| format!("{} at {}", pointer.to, pointer.address)).collect();
        sentence += &format!(
            " only says where they lie in memory: {}; the bytes of the FBPT tell the boot",
            pointers.join(", ")
        );
    }
    if let Some(fault) = nothing.faults.first() {
        sentence += &format!(" ({}: {})", fault.kind.as_str(), fault.text);
    }
    sentence
}
