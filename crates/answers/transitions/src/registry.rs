//! The kinds of transitions of each system, and what finds them: one entry each. Whoever wants transitions, or their phases, walks this
//! list.

use std::fmt::Display;

use onoff_trace::{SystemKind, Tables, Trace};

use super::boot::{self, BootOptions};
use super::linux;
use super::shutdown::{self, ShutdownOptions};
use super::suspend::{self, SuspendOptions};
use super::{Details, Phase, PhaseSpan, Transition, TransitionKind};

/// What a caller can choose for each kind.
#[derive(Clone, Debug, Default)]
pub struct TransitionOptions {
    /// For boots.
    pub boot: BootOptions,
    /// For shutdowns.
    pub shutdown: ShutdownOptions,
    /// For sleeps.
    pub suspend: SuspendOptions,
}

/// The rules that find transitions of one kind on one system.
#[derive(Clone, Copy, Debug)]
pub struct TransitionRules {
    /// The system.
    pub system: SystemKind,
    /// The kind.
    pub kind: TransitionKind,
    /// The tables that the rules read; of a trace that was opened with fewer they say less.
    pub tables: Tables,
    /// The transitions that a trace holds, by start; else what it holds instead.
    pub find: fn(&Trace, &TransitionOptions) -> Result<Vec<Transition>, String>,
    /// Their phases alone, without what the machine did in them, with default options.
    pub spans: fn(&Trace) -> Vec<PhaseSpan>,
}

/// The rules of every system and kind.
pub const RULES: [TransitionRules; 6] = [
    TransitionRules {
        system: SystemKind::Windows,
        kind: TransitionKind::Boot,
        tables: boot::TABLES,
        find: |trace, options| one(boot::analyze(trace, &options.boot)),
        spans: |trace| boot::spans(trace, &BootOptions::default()),
    },
    TransitionRules {
        system: SystemKind::Windows,
        kind: TransitionKind::Suspend,
        tables: suspend::TABLES,
        find: |trace, options| several(suspend::analyze(trace, &options.suspend).map(|report| report.transitions)),
        spans: |trace| {
            let found = suspend::analyze(trace, &SuspendOptions::default());
            found.map(|report| report.transitions.iter().flat_map(spans_of).collect()).unwrap_or_default()
        },
    },
    TransitionRules {
        system: SystemKind::Windows,
        kind: TransitionKind::Shutdown,
        tables: shutdown::TABLES,
        find: |trace, options| one(shutdown::analyze(trace, &options.shutdown)),
        spans: |trace| {
            shutdown::analyze(trace, &ShutdownOptions::default()).map(|report| spans_of(&report)).unwrap_or_default()
        },
    },
    TransitionRules {
        system: SystemKind::Linux,
        kind: TransitionKind::Boot,
        tables: linux::boot::TABLES,
        find: |trace, options| one(linux::boot::analyze(trace, &options.boot)),
        spans: linux::boot::spans,
    },
    TransitionRules {
        system: SystemKind::Linux,
        kind: TransitionKind::Suspend,
        tables: linux::suspend::TABLES,
        find: |trace, options| {
            several(linux::suspend::analyze(trace, &options.suspend).map(|report| report.transitions))
        },
        spans: linux::suspend::spans,
    },
    TransitionRules {
        system: SystemKind::Linux,
        kind: TransitionKind::Shutdown,
        tables: linux::shutdown::TABLES,
        find: |trace, _| one(linux::shutdown::analyze(trace)),
        spans: |trace| linux::shutdown::analyze(trace).map(|report| spans_of(&report)).unwrap_or_default(),
    },
];

/// The rules for a recording of `system`: those of Linux, else those of Windows.
pub fn rules_of(system: SystemKind) -> impl Iterator<Item = &'static TransitionRules> {
    let system = match system {
        SystemKind::Linux => SystemKind::Linux,
        _ => SystemKind::Windows,
    };
    RULES.iter().filter(move |rules| rules.system == system)
}

/// The tables that the rules for `kind` read, whatever the system; of all kinds where it is not chosen.
#[must_use]
pub const fn tables(kind: Option<TransitionKind>) -> Tables {
    let mut tables = Tables::NONE;
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

/// Every transition that `trace` holds: boots, then sleeps, then shutdowns.
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

fn spans_of<D>(transition: &Transition<D>) -> Vec<PhaseSpan> {
    transition.phases.iter().map(Phase::span).collect()
}
