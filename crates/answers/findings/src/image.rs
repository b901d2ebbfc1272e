//! Runs the rules on an offline installation.

use std::cmp::Reverse;

use onoff_image::{ImageReport, OverlayGrowth, ServiceEntry};
use serde::Serialize;

pub use crate::candidates::ServiceCandidate;
use crate::candidates::candidates;
use crate::diagnosis::Diagnosis;
use crate::finding::{FindingEvidence, FindingSubjectKind, RuleFinding};
pub use crate::image_facts::ImageFacts;
pub use crate::image_policy::{AdviceConflict, WithheldFinding};
use crate::image_policy::{mark_lost_changes, resolve_conflicts, withheld_reason};
use crate::protected::guard;
use crate::registry::RULES;
use crate::rule::Check;

/// A rule that could not be checked because its input is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotApplicableRule {
    /// Stable code.
    pub code: &'static str,
    /// What the rule finds, as a phrase.
    pub title: &'static str,
    /// The missing input, as a clause.
    pub reason: &'static str,
}

/// The result of running all rules on an installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImageAudit {
    /// Findings, most severe first.
    pub findings: Vec<RuleFinding>,
    /// Number of rules that were checked.
    pub checked: u64,
    pub not_applicable: Vec<NotApplicableRule>,
    /// Windows services that start at boot and that a single-purpose device often does not need. They are not findings
    /// because the need depends on the device.
    pub candidates: Vec<ServiceCandidate>,
    /// Findings whose advice would be wrong on this installation, with the reason.
    pub withheld: Vec<WithheldFinding>,
    /// Advice that was withdrawn because a more important finding advises another value of the same setting.
    pub conflicts: Vec<AdviceConflict>,
}

/// A registry hive of an installation that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadableHive {
    /// Path of the file.
    pub name: String,
    pub reason: String,
}

/// The analysis and audit of an installation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImageDiagnosis {
    pub image: ImageReport,
    pub audit: ImageAudit,
    /// Growth of the write filter overlay at the write rate of a recording; `None` without a recording.
    pub overlay: Option<OverlayGrowth>,
    pub unreadable: Vec<UnreadableHive>,
}

/// Runs every image rule on an installation.
#[must_use]
pub fn audit(facts: &ImageFacts<'_>) -> ImageAudit {
    let needed = facts.needed_services();
    let must_stay = |service: &ServiceEntry| guard(service).is_some() || needed.contains(&service.name.to_lowercase());
    let mut audit = ImageAudit { candidates: candidates(facts.report, must_stay), ..ImageAudit::default() };
    for rule in RULES {
        let Check::Image(check) = rule.check else { continue };
        match check(facts) {
            Ok(findings) => {
                audit.checked += 1;
                if let Some(reason) = withheld_reason(facts, rule.code) {
                    let withheld = findings.into_iter().map(|finding| WithheldFinding {
                        code: rule.code,
                        title: finding.title,
                        reason,
                    });
                    audit.withheld.extend(withheld);
                    continue;
                }
                audit.findings.extend(findings.into_iter().map(|mut finding| {
                    finding.code = rule.code;
                    "image".clone_into(&mut finding.transition);
                    finding
                }));
            }
            Err(missing) => {
                audit.not_applicable.push(NotApplicableRule {
                    code: rule.code,
                    title: rule.title,
                    reason: missing.needs,
                });
            }
        }
    }
    audit.findings.sort_by(|a, b| {
        (Reverse(a.severity), a.code, &a.subject.name).cmp(&(Reverse(b.severity), b.code, &b.subject.name))
    });
    audit.conflicts = resolve_conflicts(&mut audit.findings);
    mark_lost_changes(facts, &mut audit.findings);
    audit
}

/// Adds facts from an installation to the diagnosis of a recording of the same computer: start type, dependencies and
/// protection of services, signatures of drivers.
pub fn add_image_evidence(diagnosis: &mut Diagnosis, report: &ImageReport) {
    for finding in &mut diagnosis.findings {
        let subject_name = finding.subject.name.clone();
        match finding.subject.kind {
            FindingSubjectKind::Service => {
                // A finding can name several services: a list or a chain.
                let names = subject_name.split([',', '→']).map(str::trim);
                let services = names
                    .filter_map(|name| report.services.iter().find(|service| service.name.eq_ignore_ascii_case(name)));
                for service in services {
                    finding.evidence.push(FindingEvidence { time_ns: None, text: service_in_image(service) });
                    if let Some(reason) = guard(service) {
                        finding.advice.push_str(&format!("; leave {} on: {reason}", service.name));
                    }
                }
            }
            FindingSubjectKind::Driver => {
                for name in subject_name.split(',').map(str::trim) {
                    finding
                        .evidence
                        .extend(driver_in_image(name, report).map(|text| FindingEvidence { time_ns: None, text }));
                }
            }
            _ => {}
        }
    }
}

/// Describes the registry settings of a service.
fn service_in_image(service: &ServiceEntry) -> String {
    let mut parts = vec![service.evidence()];
    if service.is_delayed {
        parts.push("delayed".to_owned());
    }
    if service.has_trigger {
        parts.push("trigger-start".to_owned());
    }
    if !service.group.is_empty() {
        parts.push(format!("group {}", service.group));
    }
    if !service.depends_on_services.is_empty() {
        parts.push(format!("depends on {}", service.depends_on_services.join(", ")));
    }
    if !service.needed_by.is_empty() {
        parts.push(format!("needed by {}", service.needed_by.join(", ")));
    }
    if guard(service).is_none() && service.is_auto() && service.needed_by.is_empty() {
        parts.push("no service depends on it: try delayed-auto or demand".to_owned());
    }
    parts.join("; ")
}

/// Describes how a driver file is signed; `None` if the driver is not in the installation.
fn driver_in_image(name: &str, report: &ImageReport) -> Option<String> {
    let lower = name.to_lowercase();
    let stem = lower.strip_suffix(".sys").unwrap_or(&lower);
    let is_driver_file = |file: &str| file.strip_suffix(".sys").is_some_and(|file| file == stem);
    let signed = report
        .boot_drivers
        .iter()
        .find(|driver| driver.service.eq_ignore_ascii_case(stem) || is_driver_file(&driver.file));
    if let Some(driver) = signed.filter(|driver| driver.is_present) {
        let signature = match (driver.has_embedded_signature, driver.is_test_signed) {
            (_, true) => "is test-signed",
            (true, _) => "has an embedded signature",
            _ if driver.is_part_of_windows => "is a part of Windows and signed by its catalogs, by design",
            _ => "has no embedded signature, so the loader searches all catalogs",
        };
        return Some(format!("{} {signature}", driver.file));
    }
    report.services.iter().find(|service| service.name.eq_ignore_ascii_case(stem)).map(ServiceEntry::evidence)
}
