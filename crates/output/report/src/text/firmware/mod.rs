//! The text report of firmware times: headline, stages, phases, then the slowest modules and devices.

mod comparison;
mod headline;
mod lists;
mod stages;

use std::io::{self, Write};

use onoff_firmware_times::{FirmwareReport, MissingTable, NoFirmwareTimes};
use onoff_trace::firmware::{FirmwareLoggedBoot, FirmwareProblem, FirmwareTable};

use super::printable::printable;
use super::quantity::{count, counted, duration, duration_or_dash};
use super::section::title;
use super::style::{DOUBT, QUIET, TITLE, severity_style};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

pub use comparison::write_comparison;
pub use headline::sentences;

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &FirmwareReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    headline::write(report, out)?;
    let lists = [
        lists::gaps(report, top),
        lists::drivers(report, top),
        lists::devices(report, top),
        lists::lengths(report, top),
    ];
    let lists = lists.into_iter().filter(|list| !list.is_empty());
    let sections = [stages::stages(report), stages::phases(report)].into_iter().flatten().chain(lists);
    section::text::write_all(&sections.collect::<Vec<_>>(), out)?;
    write_sleep(report, out)?;
    section::text::write_all(boots(&report.boots).iter().chain(&tables(&report.tables)), out)?;
    write_missing(&report.missing_tables, out)?;
    write_faults(&report.faults, out)
}

fn write_sleep(report: &FirmwareReport, out: &mut dyn Write) -> io::Result<()> {
    if report.suspend.is_none() && report.resume.is_none() {
        return Ok(());
    }
    title("Sleep (S3)", "firmware part only", out)?;
    if let Some(suspend) = &report.suspend {
        match suspend.duration_ns {
            Some(0) if suspend.start_ns == 0 => writeln!(out, "  No suspend since the boot.")?,
            Some(took) => writeln!(out, "  The last suspend took {}.", duration(took))?,
            None => writeln!(out, "  {DOUBT}The last suspend has an end before its start: no duration.{DOUBT:#}")?,
        }
    }
    match &report.resume {
        Some(resume) if resume.count == 0 => writeln!(out, "  No resume since the boot."),
        Some(resume) => writeln!(
            out,
            "  The last of {} took {}, average {}.",
            counted(resume.count, "resume"),
            duration_or_dash(resume.last_ns),
            duration_or_dash(resume.average_ns)
        ),
        None => Ok(()),
    }
}

/// Lists the boots in a serial log of several boots, latest first.
fn boots(boots: &[FirmwareLoggedBoot]) -> Option<Section<'_>> {
    let hidden = boots.len().saturating_sub(MAX_BOOTS);
    let hidden_note = (hidden > 0).then(|| format!("and {} earlier; use --format json for all", count(hidden as u64)));
    let section = Section::builder("boots", "Boots in the log", boots.iter().rev())
        .note("use --boot to select one")
        .top(MAX_BOOTS)
        .name("read", "", 1, |boot| Cell::with_display_text(Value::Flag(boot.read), if boot.read { "*" } else { "" }))
        .id("number", "boot", |boot| Value::Id(boot.number))
        .quantity("line", "line", |boot| Value::Count(boot.line))
        .quantity("loader_load_ns", "loader loaded", |boot| Cell::duration_or_dash(boot.checkpoints.loader_load_ns))
        .quantity("exit_end_ns", "system", |boot| Cell::duration_or_dash(boot.checkpoints.exit_end_ns))
        .name("input", "", 60, |boot| Value::text(&boot.input).styled(QUIET))
        .build();
    Some(section.line_if(QUIET, hidden_note)).filter(|_| !boots.is_empty())
}

fn tables(tables: &[FirmwareTable]) -> Option<Section<'_>> {
    let records = |table: &FirmwareTable| {
        let records = table.records.iter().map(|record| format!("{} {}", count(record.count), record.name));
        records.collect::<Vec<_>>().join(", ")
    };
    Section::builder("tables", "Tables", tables)
        .name("signature", "", 4, |table| Value::text(&table.signature).styled(TITLE))
        .quantity("length_bytes", "", |table| {
            Cell::with_display_text(Value::Bytes(table.length_bytes), format!("{} B", count(table.length_bytes)))
        })
        .name("input", "", 60, |table| Value::text(&table.input))
        .name("records", "", 100, move |table| Value::Text(records(table).into()).styled(QUIET))
        .build_if_any()
}

fn write_missing(missing: &[MissingTable], out: &mut dyn Write) -> io::Result<()> {
    for table in missing {
        writeln!(
            out,
            "  {DOUBT}Missing: the {} at {}, which contains {}.{DOUBT:#}",
            table.part, table.address, table.unknown
        )?;
    }
    Ok(())
}

fn write_faults(faults: &[FirmwareProblem], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if faults.is_empty() {
        return writeln!(out, "{QUIET}No problems in the firmware tables.{QUIET:#}");
    }
    writeln!(out, "{TITLE}Problems{TITLE:#}")?;
    let mut sorted: Vec<&FirmwareProblem> = faults.iter().collect();
    sorted.sort_by_key(|fault| std::cmp::Reverse(fault.severity));
    for fault in sorted.iter().take(MAX_FAULTS) {
        let style = severity_style(fault.severity);
        let place = if fault.place.is_empty() { String::new() } else { format!("{}: ", printable(&fault.place)) };
        writeln!(
            out,
            "  {style}{:<7}{style:#} {}: {QUIET}{place}{}{QUIET:#}",
            fault.severity.as_str(),
            fault.kind.as_str(),
            printable(&fault.text)
        )?;
    }
    if sorted.len() > MAX_FAULTS {
        let hidden = (sorted.len() - MAX_FAULTS) as u64;
        writeln!(out, "  {QUIET}and {} more; use --format json for all{QUIET:#}", count(hidden))?;
    }
    Ok(())
}

/// Maximum number of boots listed, latest first.
const MAX_BOOTS: usize = 20;
/// Maximum number of problems listed.
const MAX_FAULTS: usize = 20;

/// Returns the one-line message for an input without times; `input` is its name.
#[must_use]
pub fn no_times(input: &str, result: &NoFirmwareTimes) -> String {
    let Some(first) = result.tables.first() else {
        return match result.faults.first() {
            Some(fault) => format!("{input}: no firmware tables; {}: {}", fault.place, fault.text),
            None => format!("{input}: no firmware tables"),
        };
    };
    let machine = [first.oem.as_str(), first.oem_table.as_str()].join(" ");
    let machine = machine.trim();
    let mut sentence = match result.tables.len() {
        1 => format!("{}: no times", first.input),
        tables => format!("{input}: no times in {tables} tables; the first is {}", first.input),
    };
    sentence += &format!(": the {}", first.signature);
    if !machine.is_empty() {
        sentence += &format!(" of {machine}");
    }
    if first.pointers.is_empty() {
        sentence += " has no record of a boot, suspend or resume";
    } else {
        let pointers: Vec<String> =
            first.pointers.iter().map(|pointer| format!("{} at {}", pointer.to, pointer.address)).collect();
        sentence += &format!(
            " only has the addresses of the tables with times: {}. Read the FBPT from memory and pass it, too",
            pointers.join(", ")
        );
    }
    if let Some(fault) = result.faults.first() {
        sentence += &format!(" ({}: {})", fault.kind.as_str(), fault.text);
    }
    sentence
}
