//! The registry of transitions: for each system and kind, the tables and functions that find them.

use std::fmt::Display;

use onoff_trace::{SystemKind, TableSet, Trace};

use super::boot::{self, BootOptions};
use super::linux;
use super::shutdown::{self, ShutdownOptions};
use super::suspend::{self, SuspendOptions};
use super::{Details, Phase, PhaseInterval, Transition, TransitionKind};

/// Options for each kind of transition.
#[derive(Clone, Debug, Default)]
pub struct TransitionOptions {
    pub boot: BootOptions,
    pub shutdown: ShutdownOptions,
    pub suspend: SuspendOptions,
}

/// How to find transitions of one kind on one system.
#[derive(Clone, Copy, Debug)]
pub struct TransitionRules {
    pub system: SystemKind,
    pub kind: TransitionKind,
    /// The tables that the rules read; if a trace was opened with fewer, results are less complete.
    pub tables: TableSet,
    /// Returns the transitions in a trace, ordered by start, or a message about what the recording contains instead.
    pub find: fn(&Trace, &TransitionOptions) -> Result<Vec<Transition>, String>,
    /// Returns the phases of these transitions without CPU and disk usage, with default options.
    pub phase_intervals: fn(&Trace) -> Vec<PhaseInterval>,
}

/// The rules for each system and kind of transition.
pub const RULES: [TransitionRules; 6] = [
    TransitionRules {
        system: SystemKind::Windows,
        kind: TransitionKind::Boot,
        tables: boot::TABLES,
        find: |trace, options| single(boot::analyze(trace, &options.boot)),
        phase_intervals: |trace| boot::phase_intervals(trace, &BootOptions::default()),
    },
    TransitionRules {
        system: SystemKind::Windows,
        kind: TransitionKind::Suspend,
        tables: suspend::TABLES,
        find: |trace, options| multiple(suspend::analyze(trace, &options.suspend).map(|report| report.transitions)),
        phase_intervals: |trace| {
            let result = suspend::analyze(trace, &SuspendOptions::default());
            result.map(|report| report.transitions.iter().flat_map(phase_intervals).collect()).unwrap_or_default()
        },
    },
    TransitionRules {
        system: SystemKind::Windows,
        kind: TransitionKind::Shutdown,
        tables: shutdown::TABLES,
        find: |trace, options| single(shutdown::analyze(trace, &options.shutdown)),
        phase_intervals: |trace| {
            shutdown::analyze(trace, &ShutdownOptions::default())
                .map(|report| phase_intervals(&report))
                .unwrap_or_default()
        },
    },
    TransitionRules {
        system: SystemKind::Linux,
        kind: TransitionKind::Boot,
        tables: linux::boot::TABLES,
        find: |trace, options| single(linux::boot::analyze(trace, &options.boot)),
        phase_intervals: linux::boot::phase_intervals,
    },
    TransitionRules {
        system: SystemKind::Linux,
        kind: TransitionKind::Suspend,
        tables: linux::suspend::TABLES,
        find: |trace, options| {
            multiple(linux::suspend::analyze(trace, &options.suspend).map(|report| report.transitions))
        },
        phase_intervals: linux::suspend::phase_intervals,
    },
    TransitionRules {
        system: SystemKind::Linux,
        kind: TransitionKind::Shutdown,
        tables: linux::shutdown::TABLES,
        find: |trace, _| single(linux::shutdown::analyze(trace)),
        phase_intervals: |trace| {
            linux::shutdown::analyze(trace).map(|report| phase_intervals(&report)).unwrap_or_default()
        },
    },
];

/// Returns the rules for a recording of `system`: Linux rules for Linux, otherwise Windows rules.
pub fn rules_for(system: SystemKind) -> impl Iterator<Item = &'static TransitionRules> {
    let system = match system {
        SystemKind::Linux => SystemKind::Linux,
        _ => SystemKind::Windows,
    };
    RULES.iter().filter(move |rules| rules.system == system)
}

/// Returns the tables that the rules for `kind` read on any system. Without `kind`, returns the tables of all rules.
#[must_use]
pub const fn tables(kind: Option<TransitionKind>) -> TableSet {
    let mut tables = TableSet::NONE;
    let mut index = 0;
    while index < RULES.len() {
        let is_selected = match kind {
            None => true,
            Some(kind) => kind as u8 == RULES[index].kind as u8,
        };
        if is_selected {
            tables = tables.union(RULES[index].tables);
        }
        index += 1;
    }
    tables
}

/// Finds all transitions in `trace`: boots, then suspends, then shutdowns.
#[must_use]
pub fn find_all(trace: &Trace, options: &TransitionOptions) -> Vec<Transition> {
    rules_for(trace.system.kind).filter_map(|rules| (rules.find)(trace, options).ok()).flatten().collect()
}

fn single<D: Into<Details>, N: Display>(result: Result<Transition<D>, N>) -> Result<Vec<Transition>, String> {
    multiple(result.map(|transition| vec![transition]))
}

fn multiple<D: Into<Details>, N: Display>(result: Result<Vec<Transition<D>>, N>) -> Result<Vec<Transition>, String> {
    match result {
        Ok(transitions) => Ok(transitions.into_iter().map(|transition| transition.map(Into::into)).collect()),
        Err(error) => Err(error.to_string()),
    }
}

fn phase_intervals<D>(transition: &Transition<D>) -> Vec<PhaseInterval> {
    transition.phases.iter().map(Phase::interval).collect()
}
