//! Finds a phase by name, to select an interval.

use std::fmt;

use onoff_trace::{Pattern, TableSet, Trace};

use super::registry::{rules_for, tables};
use super::{PhaseName, TransitionKind};

/// The tables needed to find phases.
pub const PHASE_TABLES: TableSet = tables(None);

/// A phase with known start and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPhase {
    pub name: PhaseName,
    /// The kind of transition that the phase belongs to.
    pub transition: TransitionKind,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Number of later phases with the same name.
    pub others: usize,
}

impl fmt::Display for NamedPhase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, transition, others, .. } = self;
        write!(formatter, "{} of the {}", name.as_str(), transition.as_str())?;
        match others {
            0 => Ok(()),
            _ => write!(formatter, ", the first of {}; use --range for another", others + 1),
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

fn message(requested: &str, available: &[&str]) -> String {
    match available {
        [] => format!("--phase {requested}: no phase in this recording has a known start and end"),
        available => format!("--phase {requested}: no such phase; this recording has {}", available.join(", ")),
    }
}

/// Returns the first phase in `trace` that matches `requested`, case-insensitively; `*` matches any text.
///
/// # Errors
/// No phase matches; the error lists the available phases.
pub fn named_phase(trace: &Trace, requested: &str) -> Result<NamedPhase, PhaseNotFound> {
    let pattern = Pattern::new(requested);
    let phases: Vec<(TransitionKind, PhaseName, i64, i64)> = rules_for(trace.system.kind)
        .flat_map(|rules| (rules.phase_intervals)(trace).into_iter().map(|interval| (rules.kind, interval)))
        .filter_map(|(kind, (name, start_ns, end_ns))| Some((kind, name, start_ns?, end_ns?)))
        .filter(|&(_, _, start_ns, end_ns)| start_ns < end_ns)
        .collect();
    let mut matches = phases.iter().filter(|(_, name, ..)| pattern.matches(name.as_str()));
    match matches.next() {
        Some(&(transition, name, start_ns, end_ns)) => {
            Ok(NamedPhase { name, transition, start_ns, end_ns, others: matches.count() })
        }
        None => {
            let mut available: Vec<&'static str> = Vec::new();
            for (_, name, ..) in phases {
                if !available.contains(&name.as_str()) {
                    available.push(name.as_str());
                }
            }
            Err(PhaseNotFound { requested: requested.to_owned(), available })
        }
    }
}
