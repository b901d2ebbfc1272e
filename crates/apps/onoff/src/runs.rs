//! A recording as runs of a transition, for comparisons.

use onoff_blame::account::{AccountedPhase, accounts};
use onoff_blame::waits;
use onoff_compare::Run;
use onoff_compare::RunSubject;
use onoff_compare::measures::{self, Origin};
use onoff_firmware_times::FirmwareReport;
use onoff_network::NetbootOptions;
use onoff_sources::RecordingKind;
use onoff_trace::{Tables, Trace};
use onoff_transitions::suspend::{self, SuspendOptions};
use onoff_transitions::{Half, Phase, Transition, TransitionKind, TransitionOptions, Variant};

use crate::Session;
use crate::error::Refusal;
use crate::tables::tables_of_runs;

/// The runs of one transition that a recording holds; several sleeps are several runs.
#[derive(Clone, Debug)]
pub struct RunsOfTransition {
    /// Which transition.
    pub transition: RunSubject,
    /// Its runs.
    pub runs: Vec<Run>,
}

/// The tables of runs, with those that say who took the time of each phase: whichever transition is chosen, an account is made of the same
/// tables, so that it is the same in every verb.
fn tables_with_accounts() -> Tables {
    tables_of_runs(None).union(waits::TABLES)
}

impl Session {
    /// The measures of the recording's runs of `transition`; where it is not chosen, of the first that the recording holds: a boot,
    /// else sleeps, else a shutdown. Of several sleeps that with `number`, or all. `name` is the recording's in the comparison.
    ///
    /// # Errors
    /// A recording that cannot be read, or holds no such transition; what it holds instead is said.
    pub fn runs(
        &self,
        name: String,
        transition: Option<RunSubject>,
        number: Option<u32>,
    ) -> Result<RunsOfTransition, Refusal<String>> {
        let chosen = transition == Some(RunSubject::Netboot);
        if chosen || (self.kind() == RecordingKind::NetworkCapture && transition.is_none()) {
            return self.network_boots(&name, number);
        }
        let trace = self.system_tables(tables_with_accounts())?;
        let origin = Origin::of(name, &trace);
        let candidates = match transition {
            Some(transition) => vec![transition],
            None => vec![RunSubject::Boot, RunSubject::Suspend, RunSubject::Shutdown],
        };
        let mut refusals = Vec::new();
        for transition in candidates {
            match runs(&trace, &origin, transition, number) {
                Ok(runs) => return Ok(RunsOfTransition { transition, runs }),
                Err(refusal) => refusals.push(refusal),
            }
        }
        Err(Refusal::Nothing(format!("{}: {}", origin.name, refusals.join("; "))))
    }

    /// The network boots of a capture as runs; of several that with `number`, or all.
    fn network_boots(&self, name: &str, number: Option<u32>) -> Result<RunsOfTransition, Refusal<String>> {
        let report = self
            .netboot(&NetbootOptions::default())
            .map_err(|refusal| refusal.map(|nothing| format!("{name}: {nothing}")))?;
        let several = report.boots.len() > 1;
        let numbered = report.boots.iter().zip(1_u32..);
        let wanted = numbered.filter(|(_, at)| number.is_none_or(|number| number == *at));
        let runs: Vec<Run> = wanted
            .map(|(boot, at)| {
                let name = if several { format!("{name}, network boot {at}") } else { name.to_owned() };
                measures::of_network_boot(&Origin::without_stacks(name), boot)
            })
            .collect();
        if runs.is_empty() {
            let held = report.boots.len();
            return Err(Refusal::Nothing(format!("{name}: holds {held} network boots, and none with that number")));
        }
        Ok(RunsOfTransition { transition: RunSubject::Netboot, runs })
    }
}

/// What a firmware measured of a boot as a run, called `name` in the comparison.
#[must_use]
pub fn firmware_run(name: String, report: &FirmwareReport) -> RunsOfTransition {
    let run = measures::of_firmware(&Origin::without_stacks(name), report);
    RunsOfTransition { transition: RunSubject::Firmware, runs: vec![run] }
}

/// The runs of one transition, or what the recording holds instead.
fn runs(trace: &Trace, origin: &Origin, subject: RunSubject, number: Option<u32>) -> Result<Vec<Run>, String> {
    let Some(kind) = subject.transition() else { return Err(no_trace_holds(subject)) };
    let options = TransitionOptions {
        suspend: SuspendOptions { transition: number, ..SuspendOptions::default() },
        ..TransitionOptions::default()
    };
    let found = match onoff_transitions::rules_of(trace.system.kind).find(|rules| rules.kind == kind) {
        Some(rules) => (rules.find)(trace, &options),
        None => Err(format!("no rules find a {} of this system", kind.as_str())),
    };
    // On a computer with fast startup, a boot is the half that comes back.
    let is_from_off = |found: &[Transition]| found.iter().any(|one| one.variant != Variant::FastStartup);
    if kind == TransitionKind::Boot
        && !found.as_deref().is_ok_and(is_from_off)
        && let Some(resumed) = suspend::fast_startup(trace, &SuspendOptions::default())
        && let Some(transition) = resumed.transitions.first()
    {
        let mut run = measures::of_fast_startup(origin, transition);
        let accounts = accounts(trace, Some(TransitionKind::Suspend));
        let back = transition.phases.iter().filter(|phase| matches!(phase.half, Some(Half::Resume | Half::After)));
        measures::add_accounts(&mut run, of_phases(&accounts, back));
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
            let its: Vec<AccountedPhase> = match kind {
                TransitionKind::Suspend => of_phases(&accounts, &transition.phases).cloned().collect(),
                _ => accounts.clone(),
            };
            let mut run = measures::of(&origin, transition);
            measures::add_accounts(&mut run, &its);
            run
        })
        .collect())
}

/// That a recording of an operating system does not hold this.
fn no_trace_holds(name: RunSubject) -> String {
    let needs = if name == RunSubject::Netboot { "a network capture" } else { "the firmware's tables" };
    format!("a recording of an operating system, where '{}' needs {needs}", name.as_str())
}

/// The accounts of these phases.
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
