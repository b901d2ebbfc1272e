//! What the audit of an installation does with the findings of single rules: withholds advice that a write filter or the
//! edition makes wrong, resolves contradictions between findings, and says what a write filter discards.

use std::collections::HashMap;

use onoff_image::{EditionKind, ServiceStart, WriteFilter, WriteFilterKind};
use serde::Serialize;

use crate::finding::RuleFinding;
use crate::image_facts::ImageFacts;

/// A finding that the audit withholds, because its advice would be wrong on this installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithheldFinding {
    /// Stable code of the rule.
    pub code: &'static str,
    /// The finding, as a sentence without a period.
    pub title: String,
    /// Why its advice would be wrong, as a clause.
    pub reason: &'static str,
}

/// Two findings that advise different values of one setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdviceConflict {
    /// The setting.
    pub target: String,
    /// Code of the rule whose advice stays.
    pub kept: &'static str,
    /// Value that stays advised.
    pub kept_value: String,
    /// Code of the rule whose advice for this setting is withdrawn.
    pub withdrawn: &'static str,
    /// Value that is no longer advised.
    pub withdrawn_value: String,
}

/// Returns why the advice of a rule would be wrong on this installation; `None` if it applies.
pub(crate) fn withheld_reason(facts: &ImageFacts<'_>, code: &str) -> Option<&'static str> {
    let edition = &facts.report.edition;
    let uwf = facts.filter().filter(|filter| filter.kind == WriteFilterKind::Uwf);
    match code.strip_prefix("image/")? {
        "fast-startup-off" | "fast-startup-without-hibernation" | "fast-startup-power-cut" => match edition.kind {
            EditionKind::Server => Some("Windows Server has no fast startup"),
            EditionKind::Pe => Some("Windows PE has no fast startup: it always starts from its image"),
            _ if uwf.is_some() => Some("UWF keeps fast startup off while it is on"),
            _ if facts.filter().is_some() && code.ends_with("-off") => {
                Some("a write filter is on, and fast startup needs a shutdown that writes the volume")
            }
            _ if edition.is_virtual_desktop => {
                Some("a virtual desktop restarts from its image and does not resume, so fast startup has no use there")
            }
            _ => None,
        },
        "superfetch-limited" | "superfetch-service-off" | "prefetcher-off" => match edition.kind {
            EditionKind::Server => Some("Windows Server starts services, not programs: read-ahead is off by default"),
            EditionKind::Pe => Some("Windows PE runs from memory, so read-ahead has no use there"),
            _ if uwf.is_some() => Some("UWF turns Superfetch off while it is on"),
            _ if edition.is_virtual_desktop => {
                Some("virtual desktops share a storage that reads ahead itself; their optimization lists turn it off")
            }
            _ => None,
        },
        "filter-untrained" => {
            let is_off = facts.service("SysMain").is_some_and(|service| service.start != ServiceStart::Auto);
            (uwf.is_some() && is_off)
                .then_some("UWF turned Superfetch (SysMain) off, so Windows neither learns nor trains")
        }
        "filter-discards-prefetch" => is_horm_on(facts).then_some("HORM is on, and HORM forbids exclusions"),
        "pending-changes" => (edition.kind == EditionKind::Pe).then_some("Windows PE always starts as a setup"),
        "startup-programs" | "network-drives" => {
            (edition.kind == EditionKind::Pe).then_some("nobody logs on to Windows PE")
        }
        _ => None,
    }
}

/// True if HORM is on: exclusions are forbidden, and starts are resumes.
pub(crate) fn is_horm_on(facts: &ImageFacts<'_>) -> bool {
    facts.filter().is_some_and(|filter| filter.is_horm_enabled == Some(true))
}

/// Withdraws advice that contradicts the advice of a more important finding. `findings` are sorted by importance.
pub(crate) fn resolve_conflicts(findings: &mut [RuleFinding]) -> Vec<AdviceConflict> {
    let mut advised: HashMap<String, (&'static str, String)> = HashMap::new();
    let mut conflicts = Vec::new();
    for finding in findings {
        let code = finding.code;
        let mut notes = Vec::new();
        finding.actions.retain(|action| match advised.get(&action.target) {
            Some((kept, value)) if *value != action.value => {
                notes.push(format!("; for the {}, follow {kept} instead", action.target));
                conflicts.push(AdviceConflict {
                    target: action.target.clone(),
                    kept,
                    kept_value: value.clone(),
                    withdrawn: code,
                    withdrawn_value: action.value.clone(),
                });
                false
            }
            _ => {
                advised.insert(action.target.clone(), (code, action.value.clone()));
                true
            }
        });
        notes.dedup();
        finding.advice.extend(notes);
    }
    conflicts
}

/// Rules about the filter itself: its own settings survive a restart.
const FILTER_RULES: [&str; 6] = [
    "image/filter-discards-prefetch",
    "image/horm-blocked",
    "image/horm-data-volume",
    "image/overlay-fills",
    "image/prefetch-fills-overlay",
    "image/write-filter-on",
];

/// Adds to every finding of an installation behind a write filter, or in Windows PE, that its change is lost.
pub(crate) fn mark_lost_changes(facts: &ImageFacts<'_>, findings: &mut [RuleFinding]) {
    let note = match facts.filter() {
        Some(filter) if protects_windows(filter) => filter_note(filter),
        _ if facts.report.edition.kind == EditionKind::Pe => {
            "; Windows PE loses the change at the next restart: change its image (boot.wim) instead".to_owned()
        }
        _ => return,
    };
    for finding in findings {
        for action in &mut finding.actions {
            action.is_lost_at_restart = true;
        }
        if FILTER_RULES.contains(&finding.code) {
            let name = facts.filter().map_or("the filter", |filter| filter.kind.as_str());
            finding.advice.push_str(&format!(
                "; settings of {name} itself apply after the next restart, every other change is lost then, unless the filter is \
                 off or in servicing mode"
            ));
        } else {
            finding.advice.push_str(&note);
        }
    }
}

/// True unless the registry shows that the filter protects no volume with Windows.
fn protects_windows(filter: &WriteFilter) -> bool {
    let is_windows_volume = |name: &str| name.to_ascii_lowercase().trim_end_matches(['\\', ':']) == "c";
    let volume = filter.volumes.iter().find(|volume| is_windows_volume(&volume.name));
    match volume {
        Some(volume) => volume.is_protected != Some(false),
        None => filter.volumes.is_empty() || filter.volumes.iter().any(|volume| volume.is_protected != Some(false)),
    }
}

fn filter_note(filter: &WriteFilter) -> String {
    if filter.is_enabled_after_restart == Some(false) {
        return format!(
            "; {} is still on until the next restart and discards the change then: make it after that restart, when the filter \
             is off",
            filter.kind.as_str()
        );
    }
    let how = match filter.kind {
        WriteFilterKind::Uwf if filter.is_horm_enabled == Some(true) => {
            "turn HORM off first ('uwfmgr filter disable-horm'), then the filter ('uwfmgr filter disable' and a restart)"
        }
        WriteFilterKind::Uwf => {
            "turn the filter off first ('uwfmgr filter disable' and a restart), or use servicing mode ('uwfmgr servicing enable')"
        }
        WriteFilterKind::Ewf => {
            "commit it ('ewfmgr C: -commit'), or turn the filter off first ('ewfmgr C: -commitanddisable' and a restart)"
        }
        WriteFilterKind::Fbwf => "turn the filter off first ('fbwfmgr /disable' and a restart)",
    };
    format!("; while {} is on, the change is lost at the next restart: {how}", filter.kind.as_str())
}
