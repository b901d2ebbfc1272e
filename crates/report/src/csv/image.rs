//! Services and drivers, findings, or changes of an installation that is not running, one row each, for a spreadsheet.

use onoff_analysis::image::{ImageComparison, ImageReport, ServiceKind};
use onoff_findings::image::ImageAudit;

use crate::section::{Heading, Section};
use crate::table::Value;

/// What the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRows {
    /// Services and drivers.
    Services,
    /// Findings.
    Findings,
}

/// The rows. Lists are joined with semicolons, what is not known is empty.
#[must_use]
pub fn rows<'a>(report: &'a ImageReport, audit: &'a ImageAudit, rows: ImageRows) -> Section<'a> {
    match rows {
        ImageRows::Services => services(report),
        ImageRows::Findings => findings(audit),
    }
}

fn services(report: &ImageReport) -> Section<'_> {
    let list = |names: &[String]| Value::Text(names.join(";").into());
    let data = Heading::data;
    Section::of("services", "Services and drivers", &report.services)
        .column(data("name"), |service| Value::text(&service.name))
        .column(data("display_name"), |service| Value::text(&service.display_name))
        .column(data("kind"), |service| Value::text(kind(service.kind)))
        .column(data("start"), |service| Value::text(service.start.as_str()))
        .column(data("error_control"), |service| Value::text(service.error_control.as_str()))
        .column(data("group"), |service| Value::text(&service.group))
        .column(data("tag"), |service| Value::of(service.tag, Value::Count))
        .column(data("depends_on_services"), move |service| list(&service.depends_on_services))
        .column(data("depends_on_groups"), move |service| list(&service.depends_on_groups))
        .column(data("needed_by"), move |service| list(&service.needed_by))
        .column(data("has_trigger"), |service| Value::Flag(service.has_trigger))
        .column(data("is_delayed"), |service| Value::Flag(service.is_delayed))
        .column(data("launch_protected"), |service| Value::Count(service.launch_protected))
        .column(data("image_path"), |service| Value::text(&service.image_path))
        .column(data("file"), |service| Value::text(&service.file))
        .column(data("is_outside_windows"), |service| Value::Flag(service.is_outside_windows))
        .column(data("account"), |service| Value::text(&service.account))
        .column(data("key"), |service| Value::text(&service.key))
        .column(data("last_written_unix_ns"), |service| Value::of(service.last_written_unix_ns, Value::Id))
        .done()
}

fn findings(audit: &ImageAudit) -> Section<'_> {
    let data = Heading::data;
    Section::of("findings", "Findings", &audit.findings)
        .column(data("code"), |finding| Value::text(finding.code))
        .column(data("severity"), |finding| Value::text(finding.severity.as_str()))
        .column(data("subject"), |finding| Value::text(&finding.subject.name))
        .column(data("title"), |finding| Value::text(&finding.title))
        .column(data("advice"), |finding| Value::text(&finding.advice))
        .column(data("evidence"), |finding| {
            let evidence: Vec<&str> = finding.evidence.iter().map(|one| one.text.as_str()).collect();
            Value::Text(evidence.join("; ").into())
        })
        .done()
}

const fn kind(kind: ServiceKind) -> &'static str {
    match kind {
        ServiceKind::Driver => "driver",
        ServiceKind::FileSystem => "file_system",
        ServiceKind::Service => "service",
        ServiceKind::UserTemplate => "user_template",
        ServiceKind::Other => "other",
    }
}

/// What changed between two images.
#[must_use]
pub fn changes(comparison: &ImageComparison) -> Section<'_> {
    let data = Heading::data;
    Section::of("changes", "Changes", &comparison.changes)
        .column(data("what"), |change| Value::text(change.what))
        .column(data("name"), |change| Value::text(&change.name))
        .column(data("field"), |change| Value::text(change.field))
        .column(data("was"), |change| Value::text(change.was.as_deref().unwrap_or_default()))
        .column(data("is"), |change| Value::text(change.is.as_deref().unwrap_or_default()))
        .column(data("weight"), |change| Value::Id(change.weight.into()))
        .done()
}
