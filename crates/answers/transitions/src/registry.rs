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
    /// Returns their phases without CPU and disk usage, with default options.
    pub phase_intervals: fn(&Trace) -> Vec<PhaseInterval>,
}

pub const RULES: [TransitionRules; 6] = [
    TransitionRules {
        system: SystemKind::Windows,
        kind: TransitionKind::Boot,
        tables: boot::TABLES,
        find: |trace, options| one(boot::analyze(trace, &options.boot)),
        phase_intervals: |trace| boot::phase_intervals(trace, &BootOptions::default()),
    },
    TransitionRules {
        system: SystemKind::Windows,
        kind: TransitionKind::Suspend,
        tables: suspend::TABLES,
        find: |trace, options| several(suspend::analyze(trace, &options.suspend).map(|report| report.transitions)),
        phase_intervals: |trace| {
            let found = suspend::analyze(trace, &SuspendOptions::default());
            found.map(|report| report.transitions.iter().flat_map(phase_intervals).collect()).unwrap_or_default()
        },
    },
    TransitionRules {
        system: SystemKind::Windows,
        kind: TransitionKind::Shutdown,
        tables: shutdown::TABLES,
        find: |trace, options| one(shutdown::analyze(trace, &options.shutdown)),
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
        find: |trace, options| one(linux::boot::analyze(trace, &options.boot)),
        phase_intervals: linux::boot::phase_intervals,
    },
    TransitionRules {
        system: SystemKind::Linux,
        kind: TransitionKind::Suspend,
        tables: linux::suspend::TABLES,
        find: |trace, options| {
            several(linux::suspend::analyze(trace, &options.suspend).map(|report| report.transitions))
        },
        phase_intervals: linux::suspend::phase_intervals,
    },
    TransitionRules {
        system: SystemKind::Linux,
        kind: TransitionKind::Shutdown,
        tables: linux::shutdown::TABLES,
        find: |trace, _| one(linux::shutdown::analyze(trace)),
        phase_intervals: |trace| {
            linux::shutdown::analyze(trace).map(|report| phase_intervals(&report)).unwrap_or_default()
        },
    },
];

/// The rules for a recording of `system`: Linux rules for Linux, otherwise Windows rules.
pub fn rules_of(system: SystemKind) -> impl Iterator<Item = &'static TransitionRules> {
    let system = match system {
        SystemKind::Linux => SystemKind::Linux,
        _ => SystemKind::Windows,
    };
    RULES.iter().filter(move |rules| rules.system == system)
}

/// The tables that the rules for `kind` read on any system; without `kind`, those of all rules.
#[must_use]
pub const fn tables(kind: Option<TransitionKind>) -> TableSet {
    let mut tables = TableSet::NONE;
    let mut at = 0;
    while at < RULES.len() {
        let wanted = match kind {
            None => true,
            Some(kind) => kind as u8 == RULES[at].kind as u8,
        };
        if wanted {
            tables = tables.union(RULES[at].tables);
        }
        at += 1;
    }
    tables
}

/// All transitions in `trace`: boots, then suspends, then shutdowns.
#[must_use]
pub fn all(trace: &Trace, options: &TransitionOptions) -> Vec<Transition> {
    rules_of(trace.system.kind).filter_map(|rules| (rules.find)(trace, options).ok()).flatten().collect()
}

fn one<D: Into<Details>, N: Display>(found: Result<Transition<D>, N>) -> Result<Vec<Transition>, String> {
    several(found.map(|transition| vec![transition]))
}

fn several<D: Into<Details>, N: Display>(found: Result<Vec<Transition<D>>, N>) -> Result<Vec<Transition>, String> {
    match found {
        Ok(found) => Ok(found.into_iter().map(|transition| transition.map(Into::into)).collect()),
        Err(nothing) => Err(nothing.to_string()),
    }
}

fn phase_intervals<D>(transition: &Transition<D>) -> Vec<PhaseInterval> {
    transition.phases.iter().map(Phase::interval).collect()
}
