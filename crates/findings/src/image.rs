//! An installation that is not running, held to the rules.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use onoff_analysis::image::{HiveKind, Image, ImageReport, OverlayGrowth, ServiceEntry, Setting, WriteFilter};
use serde::Serialize;

use crate::context::lacks_other;
use crate::diagnosis::Diagnosis;
use crate::finding::{FindingEvidence, FindingSubject, FindingSubjectKind, RuleFinding};
use crate::protected::guard;
use crate::registry::RULES;
use crate::rule::{Check, NotChecked};

/// An installation, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct ImageFacts<'a> {
    /// What is known of it.
    pub image: &'a Image,
    /// Its analysis.
    pub report: &'a ImageReport,
    /// Services and programs that the computer needs, as who asks says; empty when nobody said.
    pub needed: &'a [String],
    /// How an overlay grows with the writes of a recording; `None` without one.
    pub overlay: Option<&'a OverlayGrowth>,
    /// Whether the computer loses power without a shutdown, as who asks says.
    pub is_power_cut: bool,
}

impl<'a> ImageFacts<'a> {
    /// That the hive `SYSTEM` is there.
    ///
    /// # Errors
    /// It is not.
    pub fn needs_system(&self) -> Result<(), NotChecked> {
        if self.image.has(HiveKind::System) { Ok(()) } else { Err(lacks_other("the hive SYSTEM is not there")) }
    }

    /// Whether parts of `SYSTEM` cannot be read: what is not found there may only be unreadable.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.report
            .hives
            .iter()
            .any(|hive| hive.kind == HiveKind::System && hive.unreadable_keys + hive.unreadable_values > 0)
    }

    /// A value of `SYSTEM`.
    #[must_use]
    pub fn system(&self, path: &str, name: &str) -> Option<Setting> {
        self.image.setting(HiveKind::System, path, name)
    }

    /// A service, in any case.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<&'a ServiceEntry> {
        self.report.services.iter().find(|service| service.name.eq_ignore_ascii_case(name))
    }

    /// The write filter that is on.
    #[must_use]
    pub fn filter(&self) -> Option<&'a WriteFilter> {
        self.report.write_filters.iter().find(|filter| filter.is_on == Some(true))
    }

    /// A finding that rests on a setting.
    #[must_use]
    pub fn finding(&self, setting: &Setting, subject: FindingSubject, title: &str) -> RuleFinding {
        RuleFinding::new(subject, title).because(None, setting.evidence())
    }

    /// The services that the list of what is needed names, and all that these depend on, in lower case. Of a group, all members are kept.
    #[must_use]
    pub fn needed_services(&self) -> HashSet<String> {
        let mut needed = HashSet::new();
        let mut next: Vec<String> = self.needed.iter().map(|name| name.to_lowercase()).collect();
        while let Some(name) = next.pop() {
            if !needed.insert(name.clone()) {
                continue;
            }
            let Some(service) = self.service(&name) else { continue };
            next.extend(service.depends_on_services.iter().map(|name| name.to_lowercase()));
            for group in &service.depends_on_groups {
                let members = self.report.services.iter().filter(|one| one.group.eq_ignore_ascii_case(group));
                next.extend(members.map(|one| one.name.to_lowercase()));
            }
        }
        needed
    }

    /// The longest chain of automatic services of which each depends on the one before; `None` without any.
    #[must_use]
    pub fn longest_chain(&self) -> Option<Vec<&'a ServiceEntry>> {
        let autos: HashMap<String, &'a ServiceEntry> = self
            .report
            .services
            .iter()
            .filter(|service| service.is_auto())
            .map(|service| (service.name.to_lowercase(), service))
            .collect();
        let mut depths: HashMap<String, (usize, Option<String>)> = HashMap::new();
        let mut names: Vec<&String> = autos.keys().collect();
        names.sort();
        for name in names {
            depth(name, &autos, &mut depths);
        }
        let mut best: Vec<(&String, usize)> = depths.iter().map(|(name, depth)| (name, depth.0)).collect();
        best.sort_by_key(|&(name, depth)| (Reverse(depth), name));
        let mut chain = Vec::new();
        let mut next = best.first().map(|best| best.0.clone());
        while let Some(name) = next {
            chain.extend(autos.get(&name).copied());
            next = depths.get(&name).and_then(|depth| depth.1.clone());
        }
        chain.reverse();
        (!chain.is_empty()).then_some(chain)
    }
}

/// How long the chain up to each service below `name` is; a circle ends where it began.
fn depth(name: &str, autos: &HashMap<String, &ServiceEntry>, depths: &mut HashMap<String, (usize, Option<String>)>) {
    // Depth first, with its own stack: hives can hold chains of any length. A service is done when all below it are.
    let mut stack = vec![(name.to_owned(), false)];
    let mut open = HashSet::new();
    while let Some((name, below_done)) = stack.pop() {
        let Some(service) = autos.get(&name).filter(|_| !depths.contains_key(&name)) else { continue };
        let needed = service.depends_on_services.iter().map(|name| name.to_lowercase());
        if below_done {
            let longest = needed
                .filter_map(|name| Some((depths.get(&name)?.0, name)))
                .max_by(|a, b| (a.0, Reverse(&a.1)).cmp(&(b.0, Reverse(&b.1))));
            let found = longest.map_or((1, None), |(depth, name)| (depth + 1, Some(name)));
            depths.insert(name, found);
            continue;
        }
        if !open.insert(name.clone()) {
            continue;
        }
        stack.push((name, true));
        stack.extend(needed.map(|name| (name, false)));
    }
}

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
    let mut audit = ImageAudit::default();
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
            _ => "holds no signature: a catalogue has it, or nothing does (the loader looks through all of them)",
        };
        return Some(format!("{} {how}", driver.file));
    }
    report.services.iter().find(|one| one.name.eq_ignore_ascii_case(stem)).map(ServiceEntry::evidence)
}
