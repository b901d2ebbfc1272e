//! Sets the cost of a finding from the account, or limits it.

use onoff_blame::account::{AccountEntry, AccountMeasure, AccountSubjectKind, AccountedPhase, PhaseAccount};
use onoff_evidence::Certainty;
use onoff_evidence::interval::covered_ns;

use super::entries::without_extension;
use super::wording::{activities, subject};
use super::{
    Attribution, MAX_ACTIVITIES, MAX_DIFFERENCE_PART, MIN_SUBJECT_PART, SETTLING_RULES, SLEEP_DEVICE, TIME_ON_PATH,
};
use crate::finding::{CostBasis, FindingEvidence, FindingSubjectKind, RuleFinding};
use crate::quantities::time;

/// The rule about CPU-heavy processes.
pub(super) const CPU_HOG: &str = "boot/cpu-hog";
/// An account is complete if less than this fraction of its phase is unknown: a twentieth.
const MAX_UNKNOWN_PART: i64 = 20;

impl Attribution<'_> {
    /// Drops the cost of a CPU-heavy program with little time on the critical path: what ran was interrupts and
    /// deferred procedure calls of other subjects.
    pub(super) fn drop_foreign_cost(&self, finding: &mut RuleFinding) {
        let entry_index = self.entry_named(finding, &finding.subject.name).filter(|_| finding.code == CPU_HOG);
        let Some(((phase_index, _), entry)) = entry_index.and_then(|index| Some((index, self.entry(index)?))) else {
            return;
        };
        let is_path =
            self.phases.get(phase_index).is_some_and(|phase| phase.account.measure == AccountMeasure::CriticalPath);
        if is_path && entry.ns < crate::thresholds::HOG_NS {
            finding.cost_ns = Some(0);
        }
    }

    /// Limits the cost of a unit to its account entry: for the rest of the wait, others used the CPU or were waited
    /// for. Returns false if the account has no such entry.
    pub(super) fn attribute_unit(&self, finding: &mut RuleFinding) -> bool {
        let index = match finding.subject.kind {
            FindingSubjectKind::Service => self.entry_named(finding, &finding.subject.name),
            _ => None,
        };
        let index = index.map(|index| self.subject_index(index));
        let Some((phase, entry)) = index.and_then(|index| Some((self.phases.get(index.0)?, self.total_entry(index)?)))
        else {
            return false;
        };
        let rule_cost_ns = finding.cost_ns.unwrap_or(0);
        if phase.account.measure == AccountMeasure::RecordedWork {
            subtract_loaded_drivers(finding, &phase.account, rule_cost_ns);
            return true;
        }
        let is_path = phase.account.measure == AccountMeasure::CriticalPath;
        if entry.kind != AccountSubjectKind::Unit || !is_path || entry.ns >= rule_cost_ns {
            return false;
        }
        let others_ns = rule_cost_ns.saturating_sub(entry.ns);
        finding.cost_ns = Some(entry.ns);
        finding.cost_basis = CostBasis::CriticalPath;
        finding.phase = Some(phase.phase.clone());
        let text = format!(
            "{}; other subjects were on the critical path for the other {}",
            activities(entry),
            time(others_ns)
        );
        let time_ns = entry.intervals.first().map(|interval| interval.start_ns);
        finding.evidence.push(FindingEvidence { time_ns, text });
        true
    }

    /// If other subjects explain the critical path, limits the cost of a subject that ran in parallel to its account
    /// entry.
    pub(super) fn limit_parallel_cost(&self, finding: &mut RuleFinding) {
        let is_subject = matches!(
            finding.subject.kind,
            FindingSubjectKind::Process | FindingSubjectKind::Service | FindingSubjectKind::Driver
        ) && finding.code != SLEEP_DEVICE;
        let start_ns = finding
            .active_interval
            .map(|when| when.0)
            .or_else(|| finding.evidence.iter().find_map(|fact| fact.time_ns));
        let phase = start_ns.and_then(|time_ns| {
            self.phases.iter().find(|phase| time_ns >= phase.account.start_ns && time_ns < phase.account.end_ns)
        });
        let Some(phase) = phase.filter(|phase| phase.account.measure == AccountMeasure::CriticalPath) else { return };
        let account = &phase.account;
        let explained = account
            .entries
            .iter()
            .filter(|entry| entry.kind.is_attributable() && !onoff_blame::account::is_system_component(entry))
            .fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
        let is_mostly_known = account.unknown_ns.saturating_mul(MAX_UNKNOWN_PART) < account.duration_ns;
        if !is_subject
            || finding.cost_basis != CostBasis::AtMost
            || !is_mostly_known
            || explained.saturating_mul(MIN_SUBJECT_PART) < account.duration_ns
        {
            return;
        }
        let matching_entries = account.entries.iter().filter(|entry| {
            without_extension(&entry.name).eq_ignore_ascii_case(without_extension(&finding.subject.name))
        });
        finding.cost_ns = Some(matching_entries.fold(0_i64, |sum, entry| sum.saturating_add(entry.ns)));
        finding.cost_basis = CostBasis::CriticalPath;
        finding.phase = Some(phase.phase.clone());
    }
}

/// Subtracts the time of drivers that a unit loaded from its cost, if the account is based on recorded work.
fn subtract_loaded_drivers(finding: &mut RuleFinding, account: &PhaseAccount, rule_cost_ns: i64) {
    let Some(start_ns) =
        finding.active_interval.map(|when| when.0).or_else(|| finding.evidence.iter().find_map(|fact| fact.time_ns))
    else {
        return;
    };
    let window = (start_ns, start_ns.saturating_add(rule_cost_ns));
    let drivers = account.entries.iter().filter(|entry| entry.kind == AccountSubjectKind::Driver);
    let time_in_window = |entry: &AccountEntry| {
        covered_ns(entry.intervals.iter().map(|interval| (interval.start_ns, interval.end_ns)).collect(), window)
    };
    let mut driver_times: Vec<(i64, &str)> =
        drivers.map(|entry| (time_in_window(entry), entry.name.as_str())).collect();
    driver_times.retain(|&(ns, _)| ns > 0);
    driver_times.sort_by(|a, b| b.cmp(a));
    let loaded_ns = driver_times.iter().fold(0_i64, |sum, &(ns, _)| sum.saturating_add(ns));
    if loaded_ns.saturating_mul(MIN_SUBJECT_PART) < rule_cost_ns {
        return;
    }
    let names: Vec<String> =
        driver_times.iter().take(MAX_ACTIVITIES).map(|&(ns, name)| format!("{name} {}", time(ns))).collect();
    finding.cost_ns = Some(rule_cost_ns.saturating_sub(loaded_ns));
    let text = format!("drivers it loaded account for {}: {}", time(loaded_ns), names.join(", "));
    finding.evidence.push(FindingEvidence { time_ns: None, text });
}

/// Sets name, cost and evidence of a finding from the account.
pub(super) fn take_from_account(
    finding: &mut RuleFinding,
    (phase, phase_names): (&AccountedPhase, &str),
    entries: &[&AccountEntry],
) {
    if finding.code == TIME_ON_PATH {
        return;
    }
    let ns = entries.iter().fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
    let rule_cost_ns = finding.cost_ns.replace(ns);
    if phase.account.measure == AccountMeasure::CriticalPath {
        finding.cost_basis = CostBasis::CriticalPath;
    } else if finding.cost_basis == CostBasis::Unknown {
        finding.cost_basis = CostBasis::AtMost;
    }
    let certainty = entries.iter().fold(Certainty::Measured, |combined, entry| combined.and(entry.certainty));
    finding.certainty = finding.certainty.and(certainty);
    let [entry] = entries else {
        if phase.account.measure == AccountMeasure::CriticalPath {
            // In the order on the critical path, like the account.
            let mut members = entries.to_vec();
            members.sort_by_key(|entry| entry.intervals.first().map(|interval| interval.start_ns));
            let names: Vec<&str> = members.iter().map(|entry| entry.name.as_str()).collect();
            finding.subject.name = names.join(" → ");
            finding.members = names.into_iter().map(str::to_owned).collect();
        }
        return;
    };
    let is_same_name = finding.subject.name.eq_ignore_ascii_case(&entry.name);
    let start_ns = entry.intervals.first().map(|interval| interval.start_ns);
    let text = format!("critical path ({phase_names}): {}", activities(entry));
    let title_has_name = finding.title.to_lowercase().contains(&entry.name.to_lowercase());
    let rule_cost_ns = rule_cost_ns.unwrap_or(ns);
    let differs = rule_cost_ns.abs_diff(ns).saturating_mul(MAX_DIFFERENCE_PART) > ns.unsigned_abs();
    // The account names kernel steps by code; the rule has a description.
    let is_device = finding.subject.kind == FindingSubjectKind::Device || entry.kind == AccountSubjectKind::Kernel;
    if phase.account.measure == AccountMeasure::CriticalPath && (differs || !title_has_name && !is_device) {
        finding.title = match (entry.kind, differs) {
            (AccountSubjectKind::Script, false) if finding.code.ends_with("script") => {
                format!("{} script {} took {}", finding.subject.name, entry.name, time(entry.ns))
            }
            _ if title_has_name => format!("{} ({} on the critical path)", finding.title, time(entry.ns)),
            _ => format!("{} took {}: {}", entry.name, time(entry.ns), finding.title),
        };
    }
    if SETTLING_RULES.contains(&finding.code) {
        let busy = finding.title.split("; ").next().unwrap_or_default().to_owned();
        finding.title = format!("{busy}; mostly with {} ({})", entry.name, time(entry.ns));
    }
    let kind = finding.subject.kind;
    finding.subject = subject(entry);
    if kind == FindingSubjectKind::Service && entry.kind == AccountSubjectKind::Process && is_same_name {
        // Notifications name the process, not whether it is a service.
        finding.subject.kind = kind;
    }
    finding.evidence.push(FindingEvidence { time_ns: start_ns, text });
}
