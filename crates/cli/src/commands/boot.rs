//! `onoff boot`.

use std::path::PathBuf;

use onoff_analysis::recording::summarise;
use onoff_analysis::transition::boot::{self, BootKind, BootOptions, BootReport, GivenFirmware};
use onoff_analysis::transition::linux;
use onoff_analysis::transition::suspend::{self, SuspendOptions};
use onoff_files::Options;
use onoff_report::text::suspend::SuspendTextOptions;
use onoff_report::{json, text};
use onoff_trace::{SystemKind, Tables, Trace};
use onoff_xperf::layouts::boot_xml::{self, BootXmlOptions};
use onoff_xperf::layouts::pnp_csv;
use onoff_xperf::layouts::services_csv::{self, PointsOfInterest};

use crate::arguments::PlainFormat;
use crate::failure::Failure;
use crate::invocation::suspend::SuspendFormat;
use crate::invocation::{BootFormat, Recording};
use crate::output::Destination;

pub fn run(
    recording: Recording,
    mut options: BootOptions,
    format: BootFormat,
    firmware: &[PathBuf],
    destination: &Destination,
) -> Result<(), Failure> {
    if !firmware.is_empty() {
        options.firmware = Some(given_firmware(firmware, &recording.options)?);
    }
    let tables = boot::TABLES.union(suspend::TABLES).union(linux::boot::TABLES);
    let trace = super::open(recording, tables)?;
    if trace.system.kind == SystemKind::Linux {
        return of_linux(&trace, &options, format, destination);
    }
    let report = boot::analyse(&trace, &options);
    let from_off = |report: &BootReport| report.before_kernel.boot_kind != BootKind::FastStartup;
    if !report.as_ref().is_ok_and(from_off)
        && let Some(answer) = fast_startup(&trace, &options, format, destination)
    {
        return answer;
    }
    let report = report.map_err(|answer| Failure::NothingToAnswer(text::boot::no_boot(&answer)))?;
    destination.write(|out| {
        match format {
            BootFormat::Text(options) => text::boot::write(&report, &summarise(&trace), &options, out)?,
            BootFormat::Json => json::document::write(&report, out)?,
            BootFormat::Xml => boot_xml::write(&report, &BootXmlOptions::default(), out)?,
            BootFormat::ServicesCsv => {
                services_csv::write(&report.auto_start, &report.services, &PointsOfInterest::default(), out)?
            }
            BootFormat::PnpCsv => pnp_csv::write(&report.devices, out)?,
        }
        Ok(())
    })
}

/// The boot of a computer with Linux.
fn of_linux(
    trace: &Trace,
    options: &BootOptions,
    format: BootFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    if matches!(format, BootFormat::Xml | BootFormat::ServicesCsv | BootFormat::PnpCsv) {
        let message = "xperf's documents and tables have no place for a Linux boot; write text or JSON, or see 'onoff services' and 'onoff devices'";
        return Err(Failure::NothingToAnswer(message.to_owned()));
    }
    let report = linux::boot::analyse(trace, options)
        .map_err(|answer| Failure::NothingToAnswer(text::boot::no_boot(&answer)))?;
    destination.write(|out| {
        match format {
            BootFormat::Text(options) => {
                text::linux::boot::write(&report, &summarise(trace), &options, out)?;
            }
            _ => json::document::write(&report, out)?,
        }
        Ok(())
    })
}

/// The boots that a recording's journals hold.
pub fn list(recording: Recording, format: PlainFormat, destination: &Destination) -> Result<(), Failure> {
    let trace = super::open(recording, Tables::NONE)?;
    let list = linux::boot::BootList { boots: trace.boots };
    if list.boots.is_empty() {
        let message = "the recording holds no journal, so no list of boots";
        return Err(Failure::NothingToAnswer(message.to_owned()));
    }
    destination.write(|out| {
        match format {
            PlainFormat::Text => text::linux::boot::write_boots(&list, out)?,
            PlainFormat::Json => json::document::write(&list, out)?,
        }
        Ok(())
    })
}

/// On a computer with fast startup a boot is a resume with a new session: answers so, if the recording holds one and the
/// format can say it.
fn fast_startup(
    trace: &Trace,
    options: &BootOptions,
    format: BootFormat,
    destination: &Destination,
) -> Option<Result<(), Failure>> {
    let format = match format {
        BootFormat::Text(options) => SuspendFormat::Text(SuspendTextOptions { top: options.top }),
        BootFormat::Json => SuspendFormat::Json,
        // xperf's document of a boot has no place for a resume.
        BootFormat::Xml | BootFormat::ServicesCsv | BootFormat::PnpCsv => return None,
    };
    let options = SuspendOptions { transition: None, idle: options.idle, shell: options.shell.clone() };
    let report = suspend::fast_startup(trace, &options)?;
    Some(destination.write(|out| super::suspend::write(trace, &report, format, out)))
}

/// The five times of the boot in firmware tables.
fn given_firmware(files: &[PathBuf], options: &Options) -> Result<GivenFirmware, Failure> {
    let recording = onoff_files::open_firmware(files, &options.limits)?;
    match recording.checkpoints {
        Some(checkpoints) => Ok(GivenFirmware { checkpoints, from: recording.boot_from }),
        None => {
            let asked: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            Err(Failure::NothingToAnswer(text::firmware::no_times(&asked.join(", "), &recording.into())))
        }
    }
}
