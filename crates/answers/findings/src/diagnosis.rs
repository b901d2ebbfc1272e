//! Runs the rules on a recording and ranks their findings.

use std::cmp::{Ordering, Reverse};

use onoff_blame::account::{
    AccountMeasure, AccountSubjectKind, AccountedPhase, Culprit, FixFirst, accounts_from_waits, culprits_of,
};
use onoff_blame::waits::{self, Waits};
use onoff_evidence::missing_evidence::MissingEvidence;
use onoff_trace::{Losses, ServiceTransition, SystemKind, TableName, TableSet, Trace};
use onoff_transitions::boot::{self, BootOptions};
use onoff_transitions::linux::suspend::SleepOutcome;
use onoff_transitions::shutdown::ShutdownOptions;
use onoff_transitions::suspend::{SuspendOptions, user_absences};
use onoff_transitions::{
    self, Details, MissingSource, Phase, PhaseName, Transition, TransitionKind, TransitionOptions, TypedTransition,
    Variant,
};
use onoff_usage::processes::Images;
use serde::Serialize;

use crate::attribution::{Attribution, TIME_ON_PATH};
use crate::context::{BootFacts, LinuxBootFacts, ShutdownFacts, SuspendFacts};
use crate::cost::Interval;
use crate::finding::{CostBasis, FindingEvidence, FindingSeverity, RuleFinding};
use crate::predicted_cost::{CombinedSaving, CostPredictions, Outlook};
use crate::quantities::time;
use crate::registry::RULES;
use crate::rule::{Check, Outcome, Rule};
use crate::rules::suspend::low_power_missed;
use crate::thresholds;

/// The tables the rules read. A recording opened with fewer tables is checked against fewer rules.
pub const TABLES: TableSet = onoff_transitions::tables(None)
    .union(waits::TABLES)
    .union(TableSet::from_names(&[TableName::FileIos, TableName::Inventory]));

#[derive(Clone, Debug)]
pub struct DiagnosisOptions {
    pub boot: BootOptions,
    pub shutdown: ShutdownOptions,
    /// Findings with a lower cost are dropped, ns.
    pub noise_ns: i64,
}

impl Default for DiagnosisOptions {
    fn default() -> Self {
        Self { boot: BootOptions::default(), shutdown: ShutdownOptions::default(), noise_ns: thresholds::NOISE_NS }
    }
}

/// A transition that was diagnosed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiagnosedTransition {
    /// Name used by findings: `boot`, `shutdown`, `suspend 1` and so on.
    pub name: String,
    /// Kind of transition, as a phrase.
    pub kind: String,
    /// How a boot failed, as the end of the sentence "the boot …"; empty for other transitions and boots that succeeded.
    pub failure: String,
    /// Duration, ns, without the required idle time of a boot and without the time asleep. `None` if the recording is
    /// incomplete.
    pub duration_ns: Option<i64>,
    /// Lower bound of the duration, ns; equal to the duration if that is known.
    pub at_least_ns: i64,
    /// The most expensive finding about the transition, the first in the list of findings; `None` without findings.
    pub fix_first: Option<FixFirst>,
    /// What all predicted changes together would save; `None` for fewer than two.
    pub combined_saving: Option<CombinedSaving>,
    /// Why costs are times on the critical path instead of predictions, as a clause; empty if they are predicted, or if
    /// there is nothing to predict.
    pub no_prediction: String,
    /// Subjects that made the transition slow, from the accounts of its phases.
    #[serde(skip)]
    pub culprits: Vec<Culprit>,
    /// Names of the services and units that the transition waited for.
    #[serde(skip)]
    pub waited_for: Vec<String>,
    /// Duration of a modern standby from entry to exit, ns; no event separates suspend and resume from the rest. `None`
    /// for other transitions, or if the entry or the exit was not recorded.
    pub standby_ns: Option<i64>,
}

/// A rule that could not be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UncheckedRule {
    /// Stable code.
    pub code: &'static str,
    /// What the rule finds, as a phrase.
    pub title: &'static str,
    pub transition: String,
    /// Evidence that was not recorded.
    pub missing_sources: Vec<MissingSource>,
    /// Other missing input, as a clause; empty if `missing_sources` is sufficient.
    pub needs: &'static str,
}

/// The result of running all rules on a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The transitions of the recording, ordered by start.
    pub transitions: Vec<DiagnosedTransition>,
    /// Findings, most expensive first; findings of unknown cost last.
    pub findings: Vec<RuleFinding>,
    /// Limits of the recording, such as losses, untrained read-ahead or time spent waiting for a person.
    pub caveats: Vec<RuleFinding>,
    /// Number of rules that were checked.
    pub checked: u64,
    /// Rules that could not be checked because events were not recorded.
    pub unchecked_rules: Vec<UncheckedRule>,
    /// Evidence that was not recorded, for all transitions, and how to record it next time.
    pub missing_evidence: MissingEvidence,
    pub losses: Losses,
}

/// Indexes the waits of `trace` and finds its transitions, at the same time.
#[must_use]
pub fn find_waits_and_transitions<'t>(trace: &'t Trace, options: &DiagnosisOptions) -> (Waits<'t>, Vec<Transition>) {
    let boot = &options.boot;
    let options = TransitionOptions {
        boot: boot.clone(),
        shutdown: options.shutdown,
        suspend: SuspendOptions { transition: None, idle: boot.idle, shell: boot.shell.clone() },
    };
    rayon::join(|| Waits::new(trace), || onoff_transitions::find_all(trace, &options))
}

/// Runs every rule on the transitions of `trace`, which may have none.
#[must_use]
pub fn diagnose(trace: &Trace, options: &DiagnosisOptions) -> Diagnosis {
    let (waits, transitions) = find_waits_and_transitions(trace, options);
    diagnose_transitions(&waits, transitions, options)
}

/// Like [`diagnose`], for waits that are indexed and transitions that are found already.
#[must_use]
pub fn diagnose_transitions(waits: &Waits<'_>, transitions: Vec<Transition>, options: &DiagnosisOptions) -> Diagnosis {
    let trace = waits.trace();
    let mut run = Run {
        noise_ns: options.noise_ns,
        active: Vec::new(),
        diagnosis: Diagnosis { losses: trace.losses.clone(), ..Diagnosis::default() },
    };
    let mut predictions = CostPredictions::new(trace, waits);
    let mut accounted: Option<(TransitionKind, Vec<AccountedPhase>)> = None;
    for transition in transitions {
        // A fast startup is diagnosed as a suspend.
        if (transition.kind, transition.variant) == (TransitionKind::Boot, Variant::FastStartup) {
            continue;
        }
        // Accounts are computed once per kind: transitions of one kind are adjacent.
        let kind_accounts = match accounted.take() {
            Some((kind, accounts)) if kind == transition.kind => accounts,
            _ => accounts_from_waits(waits, Some(transition.kind)),
        };
        let transition_accounts = match transition.kind {
            TransitionKind::Suspend => accounts_of_phases(&kind_accounts, &transition.phases),
            _ => kind_accounts.clone(),
        };
        accounted = Some((transition.kind, kind_accounts));
        run.check(&mut predictions, trace, transition, &transition_accounts, options);
    }
    let mut recording = DiagnosedTransition {
        name: "recording".to_owned(),
        kind: "recording".to_owned(),
        failure: String::new(),
        duration_ns: Some(trace.length_ns()),
        at_least_ns: trace.length_ns(),
        fix_first: None,
        combined_saving: None,
        no_prediction: String::new(),
        culprits: Vec::new(),
        waited_for: Vec::new(),
        standby_ns: None,
    };
    let absences = user_absences(trace);
    let first_finding = run.diagnosis.findings.len();
    run.transition(trace, &recording, &[], |check| match check {
        Check::Recording(check) => Some(check(trace)),
        Check::Absences(check) if !absences.is_empty() => Some(check(&absences)),
        _ => None,
    });
    run.rank(&mut recording, first_finding, |_, _| Outlook::default());
    run.finish()
}

impl DiagnosedTransition {
    fn new(transition: &Transition) -> Self {
        Self {
            name: name(transition.kind, transition.number),
            kind: phrase(transition),
            failure: match &transition.details {
                Details::LinuxBoot(boot) => boot.outcome.clause(),
                _ => String::new(),
            },
            duration_ns: transition.duration_ns(),
            at_least_ns: transition.total_at_least_ns,
            fix_first: None,
            combined_saving: None,
            no_prediction: String::new(),
            culprits: Vec::new(),
            waited_for: Vec::new(),
            standby_ns: transition.phase(PhaseName::Standby).and_then(|phase| phase.duration_ns),
        }
    }
}

fn name(kind: TransitionKind, number: u32) -> String {
    match kind {
        TransitionKind::Suspend => format!("suspend {number}"),
        kind => kind.as_str().to_owned(),
    }
}

fn phrase(transition: &Transition) -> String {
    let is_linux = transition.system == SystemKind::Linux;
    let phrase = match (transition.kind, transition.variant) {
        (TransitionKind::Boot, _) if is_linux => "Linux boot",
        (TransitionKind::Boot, _) => "boot",
        (TransitionKind::Shutdown, _) if is_linux => "Linux shutdown",
        (TransitionKind::Shutdown, _) => "shutdown",
        (TransitionKind::Suspend, Variant::Sleep) if is_linux => "suspend to memory",
        (TransitionKind::Suspend, Variant::Sleep) => "sleep",
        (TransitionKind::Suspend, Variant::Hibernate) => "hibernation",
        (TransitionKind::Suspend, Variant::HybridSleep) => "hybrid sleep",
        (TransitionKind::Suspend, Variant::ModernStandby) => "modern standby",
        (TransitionKind::Suspend, Variant::FastStartup) => "fast startup",
        (TransitionKind::Suspend, Variant::SuspendToIdle) => "suspend to idle",
        (TransitionKind::Suspend, Variant::Standby) => "standby",
        (TransitionKind::Suspend, _) if is_linux => "sleep",
        (TransitionKind::Suspend, _) => "power transition",
    };
    match &transition.details {
        Details::LinuxSuspend(sleep) if sleep.outcome == SleepOutcome::Aborted => format!("aborted {phrase}"),
        _ => phrase.to_owned(),
    }
}

/// Selects the accounts of these phases.
fn accounts_of_phases(accounts: &[AccountedPhase], phases: &[Phase]) -> Vec<AccountedPhase> {
    let is_selected = |accounted: &&AccountedPhase| {
        phases
            .iter()
            .any(|phase| phase.name.as_str() == accounted.phase && phase.start_ns == Some(accounted.account.start_ns))
    };
    accounts.iter().filter(is_selected).cloned().collect()
}

/// Returns the names of the services and units on the critical path of these phases.
fn waited_for(accounts: &[AccountedPhase]) -> Vec<String> {
    let on_path = accounts.iter().filter(|phase| phase.account.measure == AccountMeasure::CriticalPath);
    let entries = on_path.flat_map(|phase| &phase.account.entries);
    let mut names: Vec<String> = entries
        .filter(|entry| matches!(entry.kind, AccountSubjectKind::Service | AccountSubjectKind::Unit))
        .map(|entry| entry.name.clone())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Services hosted by the process with this id at `time_ns`.
fn services_of(trace: &Trace, images: &Images<'_>, pid: u32, time_ns: i64) -> Vec<String> {
    let lifetime_row = images.row_at(pid, time_ns);
    let is_hosted = |row: &ServiceTransition| {
        let seen_ns = row.checkpoint_ns.or(row.end_ns).unwrap_or(row.start_ns);
        row.container_pid == Some(pid) && images.row_at(pid, seen_ns) == lifetime_row
    };
    let hosted = trace.service_transitions.iter().filter(is_hosted);
    let mut names: Vec<String> = hosted.map(|row| trace.text(row.service).to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

struct Run {
    noise_ns: i64,
    /// Subjects the rules found active in the transition, regardless of cost: rule code, interval and name.
    active: Vec<(&'static str, Interval, String)>,
    diagnosis: Diagnosis,
}

impl Run {
    fn check(
        &mut self,
        predictions: &mut CostPredictions<'_, '_>,
        trace: &Trace,
        transition: Transition,
        accounts: &[AccountedPhase],
        options: &DiagnosisOptions,
    ) {
        let mut diagnosed = DiagnosedTransition::new(&transition);
        self.add_missing_evidence(transition.missing_evidence.clone());
        let waits = predictions.waits();
        let first_finding = self.diagnosis.findings.len();
        let general = transition.clone();
        match TypedTransition::from(transition) {
            TypedTransition::WindowsBoot(report) => {
                let facts = BootFacts::new(trace, waits, &report, &options.boot.shell);
                self.transition(trace, &diagnosed, accounts, |check| match check {
                    Check::Boot(check) | Check::Session(check) => Some(check(&facts)),
                    Check::BootCaveat(check) | Check::SessionCaveat(check) => Some(check(&facts)),
                    _ => None,
                })
            }
            TypedTransition::WindowsSuspend(power) => {
                let facts = SuspendFacts { trace, missing_evidence: &power.missing_evidence };
                let session = boot::fast_startup(trace, &power, &options.boot);
                let session = session.as_ref().map(|report| BootFacts::new(trace, waits, report, &options.boot.shell));
                self.transition(trace, &diagnosed, accounts, |check| match check {
                    Check::Suspend(check) => Some(check(&facts, &power)),
                    Check::Session(check) | Check::SessionCaveat(check) => Some(check(session.as_ref()?)),
                    _ => None,
                })
            }
            TypedTransition::WindowsShutdown(report) => {
                let facts = ShutdownFacts::new(trace, &report);
                self.transition(trace, &diagnosed, accounts, |check| match check {
                    Check::Shutdown(check) => Some(check(&facts)),
                    _ => None,
                })
            }
            TypedTransition::LinuxBoot(report) => {
                let facts = LinuxBootFacts { trace, report: &report };
                self.transition(trace, &diagnosed, accounts, |check| match check {
                    Check::LinuxBoot(check) => Some(check(&facts)),
                    _ => None,
                })
            }
            TypedTransition::LinuxSuspend(sleep) => self.transition(trace, &diagnosed, accounts, |check| match check {
                Check::LinuxSuspend(check) => Some(check(&sleep)),
                _ => None,
            }),
            TypedTransition::LinuxShutdown(report) => {
                self.transition(trace, &diagnosed, accounts, |check| match check {
                    Check::LinuxShutdown(check) => Some(check(&report)),
                    _ => None,
                })
            }
        }
        self.rank(&mut diagnosed, first_finding, |findings, parallel| {
            predictions.apply(&general, accounts, findings, parallel)
        });
        diagnosed.culprits = culprits_of(accounts, diagnosed.at_least_ns);
        if let Some(fix) = &diagnosed.fix_first
            && let Some(culprit) = diagnosed.culprits.iter_mut().find(|culprit| culprit.is_about(fix))
        {
            // The rule may know less about the subject than the account.
            culprit.entry.certainty = culprit.entry.certainty.and(fix.certainty);
        }
        diagnosed.waited_for = waited_for(accounts);
        self.diagnosis.transitions.push(diagnosed);
    }

    /// Runs the rules for which `run` returns an outcome, and adds their findings.
    fn transition(
        &mut self,
        trace: &Trace,
        transition: &DiagnosedTransition,
        accounts: &[AccountedPhase],
        run: impl Fn(Check) -> Option<Outcome>,
    ) {
        let culprits = culprits_of(accounts, transition.at_least_ns);
        let previous_count = self.diagnosis.findings.len();
        self.active.clear();
        for rule in RULES {
            let outcome = match rule.check {
                Check::Account(_) if accounts.is_empty() => None,
                Check::Account(check) => Some(check(&culprits)),
                check => run(check),
            };
            match outcome {
                None => {}
                Some(Ok(findings)) => {
                    self.diagnosis.checked += 1;
                    self.add_findings(rule, transition, findings);
                }
                Some(Err(missing)) => self.diagnosis.unchecked_rules.push(UncheckedRule {
                    code: rule.code,
                    title: rule.title,
                    transition: transition.name.clone(),
                    missing_sources: missing.missing_evidence,
                    needs: missing.needs,
                }),
            }
        }
        let new_findings = self.diagnosis.findings.split_off(previous_count);
        let images = Images::new(trace);
        let hosted = |pid: u32, time_ns: i64| services_of(trace, &images, pid, time_ns);
        let mut merged = Attribution::new(accounts, &hosted).merge(new_findings);
        merged.retain(|finding| finding.cost_ns.is_none_or(|ns| ns >= self.noise_ns));
        self.diagnosis.findings.append(&mut merged);
    }

    /// Predicts the costs of the findings from index `first` on, which are about one transition, and sorts them.
    fn rank(
        &mut self,
        transition: &mut DiagnosedTransition,
        first: usize,
        predict: impl FnOnce(&mut [RuleFinding], &dyn Fn(&RuleFinding) -> Option<String>) -> Outlook,
    ) {
        let mut findings = self.diagnosis.findings.split_off(first);
        for finding in &mut findings {
            finding.measured_ns = finding.cost_ns.or(finding.measured_ns);
        }
        let parallel = |finding: &RuleFinding| self.longest_parallel(finding).map(|(_, name)| name.to_owned());
        let Outlook { combined, no_prediction } = predict(&mut findings, &parallel);
        for finding in &mut findings {
            self.bound_by_parallel(finding);
            finding.severity = match is_outcome(finding.code) {
                true => FindingSeverity::High,
                false => severity(finding.cost_ns, transition.at_least_ns),
            };
        }
        findings.sort_by(by_cost);
        transition.fix_first = findings.first().map(RuleFinding::fix_first);
        transition.combined_saving = combined;
        transition.no_prediction = no_prediction;
        self.diagnosis.findings.append(&mut findings);
    }

    /// Turns a cost into an upper bound if the same rule found another subject active at the same time, which would
    /// then become critical.
    fn bound_by_parallel(&self, finding: &mut RuleFinding) {
        if finding.cost_basis != CostBasis::CriticalPath {
            return;
        }
        if let Some((ns, name)) = self.longest_parallel(finding) {
            finding.cost_basis = CostBasis::AtMost;
            let text = format!("{name} was active at the same time for {} and may become critical instead", time(ns));
            finding.evidence.push(FindingEvidence { time_ns: None, text });
        }
    }

    /// Returns the subject that the same rule found active for longest at the same time, and for how long, ns.
    fn longest_parallel(&self, finding: &RuleFinding) -> Option<(i64, &str)> {
        let (start_ns, end_ns) = finding.active_interval?;
        let others = self
            .active
            .iter()
            .filter(|(code, when, _)| *code == finding.code && Some(*when) != finding.active_interval);
        let overlap = |when: &Interval| when.1.min(end_ns).saturating_sub(when.0.max(start_ns));
        let longest = others.map(|(_, when, name)| (overlap(when), name.as_str())).max();
        longest.filter(|&(ns, _)| ns >= self.noise_ns)
    }

    fn add_findings(&mut self, rule: &Rule, transition: &DiagnosedTransition, findings: Vec<RuleFinding>) {
        for mut finding in findings {
            finding.code = rule.code;
            if let Some(when) = finding.active_interval {
                self.active.push((rule.code, when, finding.subject.name.clone()));
            }
            finding.transition.clone_from(&transition.name);
            if rule.check.is_caveat() {
                self.diagnosis.caveats.push(finding);
            } else if finding.cost_ns.is_none_or(|ns| ns >= self.noise_ns) {
                self.diagnosis.findings.push(finding);
            }
        }
    }

    fn add_missing_evidence(&mut self, missing_evidence: MissingEvidence) {
        for item in missing_evidence.items {
            let all = &mut self.diagnosis.missing_evidence.items;
            if !all.iter().any(|existing| existing.unknown == item.unknown) {
                all.push(item);
            }
        }
        for command in missing_evidence.record {
            let all = &mut self.diagnosis.missing_evidence.record;
            if !all.contains(&command) {
                all.push(command);
            }
        }
    }

    fn finish(mut self) -> Diagnosis {
        // Transitions may share a phase: the user session end of a fast startup is also part of a shutdown.
        let specific: Vec<(String, Option<String>, Option<i64>)> = self
            .diagnosis
            .findings
            .iter()
            .filter(|finding| finding.code != TIME_ON_PATH)
            .map(|finding| (finding.subject.name.clone(), finding.phase.clone(), finding.measured_ns))
            .collect();
        self.diagnosis.findings.retain(|finding| {
            let is_duplicate = |(name, phase, ns): &(String, Option<String>, Option<i64>)| {
                *name == finding.subject.name && *phase == finding.phase && *ns == finding.measured_ns
            };
            finding.code != TIME_ON_PATH || !specific.iter().any(is_duplicate)
        });
        low_power_missed::fold_repeated(&mut self.diagnosis.findings);
        self.diagnosis.findings.sort_by(by_cost);
        self.diagnosis
    }
}

/// True for findings about how a boot ended. They come first: without the end, no cost matters.
fn is_outcome(code: &str) -> bool {
    ["linux/boot-failed", "linux/boot-unfinished"].contains(&code)
}

/// Orders by cost, most expensive first, unknown last and by the measured time. How a boot ended comes before that.
fn by_cost(a: &RuleFinding, b: &RuleFinding) -> Ordering {
    let key = |finding: &RuleFinding| {
        let measured_ns = finding.measured_ns.filter(|_| finding.cost_ns.is_none());
        (Reverse(finding.cost_ns.unwrap_or(-1)), Reverse(measured_ns))
    };
    (!is_outcome(a.code), key(a), a.code, &a.subject.name).cmp(&(!is_outcome(b.code), key(b), b.code, &b.subject.name))
}

fn severity(cost_ns: Option<i64>, transition_ns: i64) -> FindingSeverity {
    let Some(cost_ns) = cost_ns else { return FindingSeverity::Note };
    let percent = if transition_ns > 0 { cost_ns as f64 * 100.0 / transition_ns as f64 } else { 0.0 };
    if cost_ns >= thresholds::HIGH_NS || percent >= thresholds::HIGH_PERCENT {
        FindingSeverity::High
    } else if cost_ns >= thresholds::MODERATE_NS || percent >= thresholds::MODERATE_PERCENT {
        FindingSeverity::Moderate
    } else {
        FindingSeverity::Note
    }
}

impl Diagnosis {
    #[must_use]
    pub fn transition(&self, kind: TransitionKind, number: u32) -> Option<&DiagnosedTransition> {
        let name = name(kind, number);
        self.transitions.iter().find(|transition| transition.name == name)
    }

    /// Cost of the most expensive finding with a predicted or measured cost, ns. Upper bounds do not count.
    #[must_use]
    pub fn max_measured_cost_ns(&self) -> Option<i64> {
        let is_measured =
            |finding: &&RuleFinding| !matches!(finding.cost_basis, CostBasis::AtMost | CostBasis::Unknown);
        let measured = self.findings.iter().filter(is_measured);
        measured.filter_map(|finding| finding.cost_ns).max()
    }
}
