//! Converts a recording to runs of a transition, for comparisons.

use onoff_blame::account::{AccountedPhase, accounts};
use onoff_blame::waits;
use onoff_compare::Run;
use onoff_compare::RunSubject;
use onoff_compare::measures::{self, Origin};
use onoff_firmware_times::FirmwareReport;
use onoff_network::NetbootOptions;
use onoff_sources::RecordingKind;
use onoff_trace::{TableSet, Trace};
use onoff_transitions::suspend::{self, SuspendOptions};
use onoff_transitions::{Phase, SuspendStage, Transition, TransitionKind, TransitionOptions, Variant};

use crate::Session;
use crate::error::QueryError;
use crate::tables::run_tables;

/// The runs of one transition in a recording; several sleeps are several runs.
#[derive(Clone, Debug)]
pub struct TransitionRuns {
    pub transition: RunSubject,
    pub runs: Vec<Run>,
}

/// The tables for runs and for attributing the time of each phase. They do not depend on the transition, so that the
/// attribution is the same in every verb.
fn tables_with_accounts() -> TableSet {
    run_tables(None).union(waits::TABLES)
}

impl Session {
    /// Measures the runs of `transition`; by default a boot, otherwise sleeps, otherwise a shutdown. `number` selects
    /// one of several sleeps. `name` is the name of the recording in the comparison.
    ///
    /// # Errors
    /// The recording is unreadable, or does not have the transition.
    pub fn runs(
        &self,
        name: String,
        transition: Option<RunSubject>,
        number: Option<u32>,
    ) -> Result<TransitionRuns, QueryError<String>> {
        let chosen = transition == Some(RunSubject::Netboot);
        if chosen || (self.kind() == RecordingKind::NetworkCapture && transition.is_none()) {
            return self.network_boots(&name, number);
        }
        let trace = self.system_tables(tables_with_accounts())?;
        let origin = Origin::from_trace(name, &trace);
        let candidates = match transition {
            Some(transition) => vec![transition],
            None => vec![RunSubject::Boot, RunSubject::Suspend, RunSubject::Shutdown],
        };
        let mut refusals = Vec::new();
        for transition in candidates {
            match runs(&trace, &origin, transition, number) {
                Ok(runs) => return Ok(TransitionRuns { transition, runs }),
                Err(refusal) => refusals.push(refusal),
            }
        }
        Err(QueryError::Unanswerable(format!("{}: {}", origin.name, refusals.join("; "))))
    }

    /// Measures the network boots of a capture; `number` selects one of several.
    fn network_boots(&self, name: &str, number: Option<u32>) -> Result<TransitionRuns, QueryError<String>> {
        let report = self
            .netboot(&NetbootOptions::default())
            .map_err(|refusal| refusal.map(|reason| format!("{name}: {reason}")))?;
        let several = report.boots.len() > 1;
        let numbered = report.boots.iter().zip(1_u32..);
        let wanted = numbered.filter(|(_, at)| number.is_none_or(|number| number == *at));
        let runs: Vec<Run> = wanted
            .map(|(boot, at)| {
                let name = if several { format!("{name}, network boot {at}") } else { name.to_owned() };
                measures::network_boot_run(&Origin::without_stacks(name), boot)
            })
            .collect();
        if runs.is_empty() {
            let count = report.boots.len();
            return Err(QueryError::Unanswerable(format!(
                "{name}: no network boot with that number; the capture has {count}"
            )));
        }
        Ok(TransitionRuns { transition: RunSubject::Netboot, runs })
    }
}

/// Converts firmware times to a run; `name` is its name in the comparison.
#[must_use]
pub fn firmware_run(name: String, report: &FirmwareReport) -> TransitionRuns {
    let run = measures::firmware_run(&Origin::without_stacks(name), report);
    TransitionRuns { transition: RunSubject::Firmware, runs: vec![run] }
}

/// Measures the runs of one transition; the error describes what the recording contains instead.
fn runs(trace: &Trace, origin: &Origin, subject: RunSubject, number: Option<u32>) -> Result<Vec<Run>, String> {
    let Some(kind) = subject.transition() else { return Err(not_in_a_trace(subject)) };
    let options = TransitionOptions {
        suspend: SuspendOptions { transition: number, ..SuspendOptions::default() },
        ..TransitionOptions::default()
    };
    let found = match onoff_transitions::rules_of(trace.system.kind).find(|rules| rules.kind == kind) {
        Some(rules) => (rules.find)(trace, &options),
        None => Err(format!("{} is not supported for this operating system", kind.as_str())),
    };
    // With fast startup, a boot is the resume half of a hibernation.
    let is_from_off = |found: &[Transition]| found.iter().any(|one| one.variant != Variant::FastStartup);
    if kind == TransitionKind::Boot
        && !found.as_deref().is_ok_and(is_from_off)
        && let Some(resumed) = suspend::fast_startup(trace, &SuspendOptions::default())
        && let Some(transition) = resumed.transitions.first()
    {
        let mut run = measures::fast_startup_run(origin, transition);
        let accounts = accounts(trace, Some(TransitionKind::Suspend));
        let resume = transition
            .phases
            .iter()
            .filter(|phase| matches!(phase.half, Some(SuspendStage::Resume | SuspendStage::After)));
        measures::add_accounts(&mut run, of_phases(&accounts, resume));
        return Ok(vec![run]);
    }
    let found = found?;
    let several = found.len() > 1;
    let accounts = accounts(trace, Some(kind));
    Ok(found
        .into_iter()
        .map(|transition| {
            let mut origin = origin.clone();
            if several {
                origin.name = format!("{}, transition {}", origin.name, transition.number);
            }
            let own: Vec<AccountedPhase> = match kind {
                TransitionKind::Suspend => of_phases(&accounts, &transition.phases).cloned().collect(),
                _ => accounts.clone(),
            };
            let mut run = measures::transition_run(&origin, transition);
            measures::add_accounts(&mut run, &own);
            run
        })
        .collect())
}

fn not_in_a_trace(name: RunSubject) -> String {
    let needs = if name == RunSubject::Netboot { "a network capture" } else { "firmware tables" };
    format!("this is a recording of an operating system, but '{}' needs {needs}", name.as_str())
}

fn of_phases<'a>(
    accounts: &'a [AccountedPhase],
    phases: impl IntoIterator<Item = &'a Phase> + Clone,
) -> impl Iterator<Item = &'a AccountedPhase> {
    accounts.iter().filter(move |one| {
        phases
            .clone()
            .into_iter()
            .any(|phase| phase.name.as_str() == one.phase && phase.start_ns == Some(one.account.start_ns))
    })
}
