//! A recording as runs of a transition, for comparisons.

use onoff_analysis::compare::Run;
use onoff_analysis::compare::measures::{self, Origin};
use onoff_analysis::transition::TransitionKind;
use onoff_analysis::transition::boot::{self, BootKind, BootOptions};
use onoff_analysis::transition::linux;
use onoff_analysis::transition::shutdown::{self, ShutdownOptions};
use onoff_analysis::transition::suspend::{self, SuspendOptions};
use onoff_trace::{SystemKind, Tables, Trace};

use crate::Session;
use crate::error::Refusal;

/// The runs of one transition that a recording holds; several sleeps are several runs.
#[derive(Clone, Debug)]
pub struct RunsOfTransition {
    /// Which transition.
    pub transition: TransitionKind,
    /// Its runs.
    pub runs: Vec<Run>,
}

/// The tables that runs of a transition are made of; of all three where it is not chosen.
#[must_use]
pub fn tables_of_runs(transition: Option<TransitionKind>) -> Tables {
    let tables = match transition {
        Some(TransitionKind::Boot) => boot::TABLES
            .union(suspend::TABLES)
            .union(linux::boot::TABLES)
            .union(linux::shutdown::TABLES)
            .union(linux::suspend::TABLES),
        Some(TransitionKind::Shutdown) => shutdown::TABLES.union(linux::shutdown::TABLES),
        Some(TransitionKind::Suspend) => suspend::TABLES.union(linux::suspend::TABLES),
        None => boot::TABLES.union(shutdown::TABLES).union(suspend::TABLES).union(linux::boot::TABLES),
    };
    tables.with(measures::TABLE)
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
        transition: Option<TransitionKind>,
        number: Option<u32>,
    ) -> Result<RunsOfTransition, Refusal<String>> {
        let trace = self.system_tables(tables_of_runs(transition))?;
        let origin = Origin::of(name, &trace);
        let candidates = match transition {
            Some(transition) => vec![transition],
            None => vec![TransitionKind::Boot, TransitionKind::Suspend, TransitionKind::Shutdown],
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
}
/// The runs of one transition, or what the recording holds instead.
fn runs(trace: &Trace, origin: &Origin, name: TransitionKind, number: Option<u32>) -> Result<Vec<Run>, String> {
    if trace.system.kind == SystemKind::Linux {
        return linux_runs(trace, origin, name, number);
    }
    match name {
        TransitionKind::Boot => boot_run(trace, origin).map(|run| vec![run]),
        TransitionKind::Shutdown => shutdown::analyse(trace, &ShutdownOptions::default())
            .map(|report| vec![measures::of_shutdown(origin, &report)])
            .map_err(|answer| answer.to_string()),
        TransitionKind::Suspend => {
            let options = SuspendOptions { transition: number, ..SuspendOptions::default() };
            let report = suspend::analyse(trace, &options).map_err(|answer| answer.to_string())?;
            let several = report.transitions.len() > 1;
            Ok(report
                .transitions
                .iter()
                .map(|transition| {
                    let mut origin = origin.clone();
                    if several {
                        origin.name = format!("{}, transition {}", origin.name, transition.number);
                    }
                    measures::of_suspend(&origin, transition, &report.losses)
                })
                .collect())
        }
    }
}

/// The same of a recording of Linux.
fn linux_runs(trace: &Trace, origin: &Origin, name: TransitionKind, number: Option<u32>) -> Result<Vec<Run>, String> {
    match name {
        TransitionKind::Boot => linux::boot::analyse(trace, &BootOptions::default())
            .map(|report| vec![measures::of_linux_boot(origin, &report)])
            .map_err(|answer| answer.to_string()),
        TransitionKind::Shutdown => linux::shutdown::analyse(trace)
            .map(|report| vec![measures::of_linux_shutdown(origin, &report)])
            .map_err(|answer| answer.to_string()),
        TransitionKind::Suspend => {
            let options = SuspendOptions { transition: number, ..SuspendOptions::default() };
            let report = linux::suspend::analyse(trace, &options).map_err(|answer| answer.to_string())?;
            let several = report.sleeps.len() > 1;
            let runs = report.sleeps.iter().map(|sleep| {
                let mut origin = origin.clone();
                if several {
                    origin.name = format!("{}, transition {}", origin.name, sleep.number);
                }
                measures::of_linux_sleep(&origin, sleep, &report.losses)
            });
            Ok(runs.collect())
        }
    }
}

/// A boot; on a computer with fast startup, the half that comes back.
fn boot_run(trace: &Trace, origin: &Origin) -> Result<Run, String> {
    let report = boot::analyse(trace, &BootOptions::default());
    if let Ok(report) = &report
        && report.before_kernel.boot_kind != BootKind::FastStartup
    {
        return Ok(measures::of_boot(origin, report));
    }
    if let Some(resumed) = suspend::fast_startup(trace, &SuspendOptions::default())
        && let Some(transition) = resumed.transitions.first()
    {
        return Ok(measures::of_fast_startup(origin, transition, &resumed.losses));
    }
    report.map(|report| measures::of_boot(origin, &report)).map_err(|answer| answer.to_string())
}
