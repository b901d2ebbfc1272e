//! Finds a phase by name, to select an interval.

use std::fmt;

use onoff_trace::{Pattern, TableSet, Trace};

use super::registry::{rules_of, tables};
use super::{PhaseName, TransitionKind};

/// The tables needed to find phases.
pub const PHASE_TABLES: TableSet = tables(None);

/// A phase with known start and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPhase {
    pub name: PhaseName,
    /// The kind of its transition.
    pub transition: TransitionKind,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Number of other phases with this name; this one is the first.
    pub others: usize,
}

impl fmt::Display for NamedPhase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, transition, others, .. } = self;
        write!(formatter, "{} of the {}", name.as_str(), transition.as_str())?;
        match others {
            0 => Ok(()),
            others => write!(formatter, ", the first of {}; use --range for another", others + 1),
        }
    }
}

/// No phase has this name, or its ends are unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", message(requested, available))]
pub struct PhaseNotFound {
    /// The requested name.
    pub requested: String,
    /// The phases with known start and end.
    pub available: Vec<&'static str>,
}

fn message(asked: &str, known: &[&str]) -> String {
    match known {
        [] => format!("--phase {asked}: no phase in this recording has a known start and end"),
        known => format!("--phase {asked}: no such phase; this recording has {}", known.join(", ")),
    }
}

/// The first phase in `trace` that matches `asked`, case-insensitively; `*` matches any text.
///
/// # Errors
/// No phase matches; the error lists the available phases.
pub fn named_phase(trace: &Trace, asked: &str) -> Result<NamedPhase, PhaseNotFound> {
    let pattern = Pattern::new(asked);
    let known: Vec<(TransitionKind, PhaseName, i64, i64)> = rules_of(trace.system.kind)
        .flat_map(|rules| (rules.phase_intervals)(trace).into_iter().map(|span| (rules.kind, span)))
        .filter_map(|(kind, (name, start_ns, end_ns))| Some((kind, name, start_ns?, end_ns?)))
        .filter(|&(_, _, start_ns, end_ns)| start_ns < end_ns)
        .collect();
    let mut found = known.iter().filter(|(_, name, ..)| pattern.matches(name.as_str()));
    match found.next() {
        Some(&(transition, name, start_ns, end_ns)) => {
            Ok(NamedPhase { name, transition, start_ns, end_ns, others: found.count() })
        }
        None => {
            let mut names: Vec<&'static str> = Vec::new();
            for (_, name, ..) in known {
                if !names.contains(&name.as_str()) {
                    names.push(name.as_str());
                }
            }
            Err(PhaseNotFound { requested: asked.to_owned(), available: names })
        }
    }
}
