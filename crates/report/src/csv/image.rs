//! Services and drivers, findings, or changes of an installation that is not running, one row each, for a spreadsheet.

use std::io::{self, Write};

use onoff_analysis::image::{ImageComparison, ImageReport};
use onoff_findings::image::ImageAudit;

use super::row;

/// What the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRows {
    /// Services and drivers.
    Services,
    /// Findings.
    Findings,
}

/// Writes the rows. Names and units are those of the JSON; lists are joined with semicolons, what is not known is empty.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &ImageReport, audit: &ImageAudit, rows: ImageRows, out: &mut dyn Write) -> io::Result<()> {
    match rows {
        ImageRows::Services => {
            writeln!(
                out,
                "name,display_name,kind,start,error_control,group,tag,depends_on_services,depends_on_groups,needed_by,has_trigger,\
                 is_delayed,launch_protected,image_path,file,is_outside_windows,account,key,last_written_unix_ns"
            )?;
            for service in &report.services {
                let kind = serde_name(&service.kind);
                let [tag, written] = [
                    service.tag.map_or_else(String::new, |tag| tag.to_string()),
                    service.last_written_unix_ns.map_or_else(String::new, |ns| ns.to_string()),
                ];
                let lists = [&service.depends_on_services, &service.depends_on_groups, &service.needed_by]
                    .map(|list| list.join(";"));
                let [trigger, delayed, outside] =
                    [service.has_trigger, service.is_delayed, service.is_outside_windows].map(|is| is.to_string());
                let protected = service.launch_protected.to_string();
                row(
                    [
                        service.name.as_str(),
                        &service.display_name,
                        kind,
                        service.start.as_str(),
                        service.error_control.as_str(),
                        &service.group,
                        &tag,
                        &lists[0],
                        &lists[1],
                        &lists[2],
                        &trigger,
                        &delayed,
                        &protected,
                        &service.image_path,
                        &service.file,
                        &outside,
                        &service.account,
                        &service.key,
                        &written,
                    ],
                    out,
                )?;
            }
        }
        ImageRows::Findings => {
            writeln!(out, "code,severity,subject,title,advice,evidence")?;
            for finding in &audit.findings {
                let evidence: Vec<&str> = finding.evidence.iter().map(|one| one.text.as_str()).collect();
                row(
                    [
                        finding.code,
                        finding.severity.as_str(),
                        &finding.subject.name,
                        &finding.title,
                        &finding.advice,
                        &evidence.join("; "),
                    ],
                    out,
                )?;
            }
        }
    }
    Ok(())
}

const fn serde_name(kind: &onoff_analysis::image::ServiceKind) -> &'static str {
    use onoff_analysis::image::ServiceKind::{Driver, FileSystem, Other, Service, UserTemplate};
    match kind {
        Driver => "driver",
        FileSystem => "file_system",
        Service => "service",
        UserTemplate => "user_template",
        Other => "other",
    }
}

/// Writes what changed between two images.
///
/// # Errors
/// What `out` answers.
pub fn write_comparison(comparison: &ImageComparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "what,name,field,was,is,weight")?;
    for change in &comparison.changes {
        let side = |text: &Option<String>| text.clone().unwrap_or_default();
        let (was, is, weight) = (side(&change.was), side(&change.is), change.weight.to_string());
        row([change.what, &change.name, change.field, &was, &is, &weight], out)?;
    }
    Ok(())
}
