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

/// Returns the tables for runs and for attributing the time of each phase. They do not depend on the transition, so
/// every verb gives the same attribution.
fn tables_with_accounts() -> TableSet {
    run_tables(None).union(waits::TABLES)
}

impl Session {
    /// Measures the runs of `transition`; by default a boot, otherwise sleeps, otherwise a shutdown. `number` selects
    /// one of several sleeps. `name` identifies the recording in the comparison.
    ///
    /// # Errors
    /// The recording is unreadable, or does not have the transition.
    pub fn runs(
        &self,
        name: String,
        transition: Option<RunSubject>,
        number: Option<u32>,
    ) -> Result<TransitionRuns, QueryError<String>> {
        let is_netboot = transition == Some(RunSubject::Netboot);
        if is_netboot || (self.kind() == RecordingKind::NetworkCapture && transition.is_none()) {
            return self.network_boots(&name, number);
        }
        let trace = self.system_tables(tables_with_accounts())?;
        let origin = Origin::from_trace(name, &trace);
        let candidates = match transition {
            Some(transition) => vec![transition],
            None => vec![RunSubject::Boot, RunSubject::Suspend, RunSubject::Shutdown],
        };
        let mut reasons = Vec::new();
        for transition in candidates {
            match measure_runs(&trace, &origin, transition, number) {
                Ok(runs) => return Ok(TransitionRuns { transition, runs }),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(QueryError::Unanswerable(format!("{}: {}", origin.name, reasons.join("; "))))
    }

    /// Measures the network boots of a capture; `number` selects one of several.
    fn network_boots(&self, name: &str, number: Option<u32>) -> Result<TransitionRuns, QueryError<String>> {
        let report = self
            .netboot(&NetbootOptions::default())
            .map_err(|error| error.map(|reason| format!("{name}: {reason}")))?;
        let has_several = report.boots.len() > 1;
        let numbered_boots = report.boots.iter().zip(1_u32..);
        let selected_boots =
            numbered_boots.filter(|(_, boot_number)| number.is_none_or(|number| number == *boot_number));
        let runs: Vec<Run> = selected_boots
            .map(|(boot, boot_number)| {
                let name = if has_several { format!("{name}, network boot {boot_number}") } else { name.to_owned() };
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

/// Converts firmware times to a run. `name` identifies it in the comparison.
#[must_use]
pub fn firmware_run(name: String, report: &FirmwareReport) -> TransitionRuns {
    let run = measures::firmware_run(&Origin::without_stacks(name), report);
    TransitionRuns { transition: RunSubject::Firmware, runs: vec![run] }
}

/// Measures the runs of one transition. The error describes the contents of the recording.
fn measure_runs(trace: &Trace, origin: &Origin, subject: RunSubject, number: Option<u32>) -> Result<Vec<Run>, String> {
    let Some(kind) = subject.transition() else { return Err(wrong_input_message(subject)) };
    let options = TransitionOptions {
        suspend: SuspendOptions { transition: number, ..SuspendOptions::default() },
        ..TransitionOptions::default()
    };
    let result = match onoff_transitions::rules_for(trace.system.kind).find(|rules| rules.kind == kind) {
        Some(rules) => (rules.find)(trace, &options),
        None => Err(format!("{} is not supported for this operating system", kind.as_str())),
    };
    // With fast startup, a boot is the resume half of a hibernation.
    let has_full_boot =
        |transitions: &[Transition]| transitions.iter().any(|transition| transition.variant != Variant::FastStartup);
    if kind == TransitionKind::Boot
        && !result.as_deref().is_ok_and(has_full_boot)
        && let Some(report) = suspend::fast_startup(trace, &SuspendOptions::default())
        && let Some(transition) = report.transitions.first()
    {
        let mut run = measures::fast_startup_run(origin, transition);
        let accounts = accounts(trace, Some(TransitionKind::Suspend));
        let resume_phases = transition
            .phases
            .iter()
            .filter(|phase| matches!(phase.half, Some(SuspendStage::Resume | SuspendStage::After)));
        measures::add_accounts(&mut run, accounts_of_phases(&accounts, resume_phases));
        return Ok(vec![run]);
    }
    let transitions = result?;
    let has_several = transitions.len() > 1;
    let accounts = accounts(trace, Some(kind));
    Ok(transitions
        .into_iter()
        .map(|transition| {
            let mut origin = origin.clone();
            if has_several {
                origin.name = format!("{}, transition {}", origin.name, transition.number);
            }
            let transition_accounts: Vec<AccountedPhase> = match kind {
                TransitionKind::Suspend => accounts_of_phases(&accounts, &transition.phases).cloned().collect(),
                _ => accounts.clone(),
            };
            let mut run = measures::transition_run(&origin, transition);
            measures::add_accounts(&mut run, &transition_accounts);
            run
        })
        .collect())
}

fn wrong_input_message(subject: RunSubject) -> String {
    let input = if subject == RunSubject::Netboot { "a network capture" } else { "firmware tables" };
    format!("this is a recording of an operating system, but '{}' needs {input}", subject.as_str())
}

fn accounts_of_phases<'a>(
    accounts: &'a [AccountedPhase],
    phases: impl IntoIterator<Item = &'a Phase> + Clone,
) -> impl Iterator<Item = &'a AccountedPhase> {
    accounts.iter().filter(move |accounted| {
        phases
            .clone()
            .into_iter()
            .any(|phase| phase.name.as_str() == accounted.phase && phase.start_ns == Some(accounted.account.start_ns))
    })
}
