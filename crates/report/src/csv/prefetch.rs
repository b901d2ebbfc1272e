//! Plans, their files, volumes or ReadyBoot's boots, one row each, for a spreadsheet.

use std::io::{self, Write};

use onoff_analysis::prefetch::PrefetchReport;

use super::row;

/// What the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchRows {
    /// Plans.
    Plans,
    /// Files.
    Files,
    /// Volumes.
    Volumes,
    /// Boots as ReadyBoot kept them.
    Boots,
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Writes the rows. Names and units are those of the JSON; what is not known is empty.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &PrefetchReport, rows: PrefetchRows, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |cells: &[String]| row(cells.iter().map(String::as_str), out);
    let header = |names: &str| names.split(',').map(str::to_owned).collect::<Vec<_>>();
    match rows {
        PrefetchRows::Plans => {
            line(&header(
                "name,executable,path,path_hash,version,is_boot,run_count,last_run_unix_ns,modified_unix_ns,files,pages,bytes,\
                 other_volume_files,is_older_than_program,missing_files,newer_files,unreadable",
            ))?;
            for plan in &report.plans {
                line(&[
                    plan.name.clone(),
                    plan.executable.clone(),
                    plan.path.clone(),
                    plan.path_hash.clone(),
                    plan.version.to_string(),
                    plan.is_boot.to_string(),
                    plan.run_count.to_string(),
                    text(plan.last_run_unix_ns),
                    text(plan.modified_unix_ns),
                    plan.files.to_string(),
                    plan.pages.to_string(),
                    plan.bytes.to_string(),
                    plan.other_volume_files.to_string(),
                    text(plan.is_older_than_program),
                    text(plan.missing_files),
                    text(plan.newer_files),
                    plan.unreadable.to_string(),
                ])?;
            }
        }
        PrefetchRows::Files => {
            line(&header("path,plans,pages,bytes,planned_bytes,file_bytes"))?;
            for file in &report.files {
                let numbers = [file.plans, file.pages, file.bytes, file.planned_bytes].map(|number| number.to_string());
                let mut cells = vec![file.path.clone()];
                cells.extend(numbers);
                cells.push(text(file.file_bytes));
                line(&cells)?;
            }
        }
        PrefetchRows::Volumes => {
            line(&header("device,serial,created_unix_ns,is_system,plans,files,bytes"))?;
            for volume in &report.volumes {
                line(&[
                    volume.device.clone(),
                    volume.serial.clone(),
                    text(volume.created_unix_ns),
                    volume.is_system.to_string(),
                    volume.plans.to_string(),
                    volume.files.to_string(),
                    volume.bytes.to_string(),
                ])?;
            }
        }
        PrefetchRows::Boots => {
            line(&header(
                "name,modified_unix_ns,reads,bytes,unattributed_reads,files,duration_ns,sequential_percent,unreadable",
            ))?;
            for boot in &report.boots {
                line(&[
                    boot.name.clone(),
                    text(boot.modified_unix_ns),
                    boot.reads.to_string(),
                    boot.bytes.to_string(),
                    boot.unattributed_reads.to_string(),
                    boot.files.to_string(),
                    boot.duration_ns.to_string(),
                    format!("{:.3}", boot.sequential_percent),
                    boot.unreadable.to_string(),
                ])?;
            }
        }
    }
    Ok(())
}
