//! An installation that is not running, held to the rules.

use std::cmp::Reverse;

use onoff_image::{ImageReport, OverlayGrowth, ServiceEntry};
use serde::Serialize;

pub use crate::candidates::ServiceCandidate;
use crate::candidates::candidates;
use crate::diagnosis::Diagnosis;
use crate::finding::{FindingEvidence, FindingSubjectKind, RuleFinding};
pub use crate::image_facts::ImageFacts;
use crate::protected::guard;
use crate::registry::RULES;
use crate::rule::Check;

/// A rule that could not be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotApplicableRule {
    /// Code.
    pub code: &'static str,
    /// What it finds, as a phrase.
    pub title: &'static str,
    /// What is not there.
    pub reason: &'static str,
}

/// What the rules say about an installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImageAudit {
    /// What was found, what matters most first.
    pub findings: Vec<RuleFinding>,
    /// Rules that were checked.
    pub checked: u64,
    /// Rules whose input is not there.
    pub not_applicable: Vec<NotApplicableRule>,
    /// Services of Windows that start with the computer and that a device with one purpose often does without. No finding: only who
    /// built the device knows.
    pub candidates: Vec<ServiceCandidate>,
}

/// A file of an installation that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadableHive {
    /// Its path.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// All that is said about an installation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImageAnswer {
    /// What it says about its next boot.
    pub image: ImageReport,
    /// What the rules say.
    pub audit: ImageAudit,
    /// How its write filter's overlay grows with the writes of a recording; `None` without one.
    pub overlay: Option<OverlayGrowth>,
    /// Files that could not be read.
    pub unreadable: Vec<UnreadableHive>,
}

/// Holds an installation to every rule that is about one.
#[must_use]
pub fn audit(facts: &ImageFacts<'_>) -> ImageAudit {
    let needed = facts.needed_services();
    let stays = |service: &ServiceEntry| guard(service).is_some() || needed.contains(&service.name.to_lowercase());
    let mut audit = ImageAudit { candidates: candidates(facts.report, stays), ..ImageAudit::default() };
    for rule in RULES {
        let Check::Image(check) = rule.check else { continue };
        match check(facts) {
            Ok(found) => {
                audit.checked += 1;
                audit.findings.extend(found.into_iter().map(|mut finding| {
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
    audit
}

/// Lets an installation speak in the diagnosis of a recording of the same computer: a service gets its start type, whom it waits for and what
/// is safe to change, a driver how its file is signed.
pub fn speak_together(diagnosis: &mut Diagnosis, report: &ImageReport) {
    for finding in &mut diagnosis.findings {
        let names = finding.subject.name.clone();
        match finding.subject.kind {
            FindingSubjectKind::Service => {
                // A finding can be about several: a list, or a chain.
                let names = names.split([',', '→']).map(str::trim);
                let services =
                    names.filter_map(|name| report.services.iter().find(|one| one.name.eq_ignore_ascii_case(name)));
                for service in services {
                    finding.evidence.push(FindingEvidence { time_ns: None, text: service_in_image(service) });
                    if let Some(reason) = guard(service) {
                        finding.advice.push_str(&format!("; leave {} on: {reason}", service.name));
                    }
                }
            }
            FindingSubjectKind::Driver => {
                for name in names.split(',').map(str::trim) {
                    finding
                        .evidence
                        .extend(driver_in_image(name, report).map(|text| FindingEvidence { time_ns: None, text }));
                }
            }
            _ => {}
        }
    }
}

/// What the registry says about a service, in one sentence.
fn service_in_image(service: &ServiceEntry) -> String {
    let mut parts = vec![service.evidence()];
    if service.is_delayed {
        parts.push("delayed".to_owned());
    }
    if service.has_trigger {
        parts.push("has a trigger".to_owned());
    }
    if !service.group.is_empty() {
        parts.push(format!("group {}", service.group));
    }
    if !service.depends_on_services.is_empty() {
        parts.push(format!("starts after {}", service.depends_on_services.join(", ")));
    }
    if !service.needed_by.is_empty() {
        parts.push(format!("needed by {}", service.needed_by.join(", ")));
    }
    if guard(service).is_none() && service.is_auto() && service.needed_by.is_empty() {
        parts.push("nothing names it as needed: it can be tried as delayed-auto or demand".to_owned());
    }
    parts.join("; ")
}

/// How the file of a driver is signed; `None` when the installation does not know it.
fn driver_in_image(name: &str, report: &ImageReport) -> Option<String> {
    let lower = name.to_lowercase();
    let stem = lower.strip_suffix(".sys").unwrap_or(&lower);
    let of_file = |file: &str| file.strip_suffix(".sys").is_some_and(|file| file == stem);
    let signed = report.boot_drivers.iter().find(|one| one.service.eq_ignore_ascii_case(stem) || of_file(&one.file));
    if let Some(driver) = signed.filter(|driver| driver.is_present) {
        let how = match (driver.embedded_signature, driver.signed_for_tests) {
            (_, true) => "is signed with a certificate for tests",
            (true, _) => "carries its own signature",
            _ => "holds no signature: a catalog has it, or nothing does (the loader looks through all of them)",
        };
        return Some(format!("{} {how}", driver.file));
    }
    report.services.iter().find(|one| one.name.eq_ignore_ascii_case(stem)).map(ServiceEntry::evidence)
}
