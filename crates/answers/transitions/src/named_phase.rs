//! A phase by its name, wherever a range of time can be chosen.

use std::fmt;

use onoff_trace::{Pattern, Tables, Trace};

use super::registry::{rules_of, tables};
use super::{PhaseName, TransitionKind};

/// The tables that phases are found from.
pub const PHASE_TABLES: Tables = tables(None);

/// A phase whose ends are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPhase {
    /// Which.
    pub name: PhaseName,
    /// Of what.
    pub transition: TransitionKind,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// How many further phases have that name; this is the first.
    pub others: usize,
}

impl fmt::Display for NamedPhase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, transition, others, .. } = self;
        write!(formatter, "{} of the {}", name.as_str(), transition.as_str())?;
        match others {
            0 => Ok(()),
            others => write!(formatter, ", the first of {}; --range chooses another", others + 1),
        }
    }
}

/// No phase has that name, or its ends are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", message(asked, known))]
pub struct NoSuchPhase {
    /// The name that was looked for.
    pub asked: String,
    /// The phases whose ends are known.
    pub known: Vec<&'static str>,
}

fn message(asked: &str, known: &[&str]) -> String {
    match known {
        [] => format!("--phase {asked}: the recording holds no phase whose start and end are known"),
        known => format!("--phase {asked}: no such phase; the recording holds {}", known.join(", ")),
    }
}

/// The first phase of `trace` that is called `asked`, in any case, `*` for any text.
///
/// # Errors
/// There is none; the error names those that there are.
pub fn named_phase(trace: &Trace, asked: &str) -> Result<NamedPhase, NoSuchPhase> {
    let pattern = Pattern::new(asked);
    let known: Vec<(TransitionKind, PhaseName, i64, i64)> = rules_of(trace.system.kind)
        .flat_map(|rules| (rules.spans)(trace).into_iter().map(|span| (rules.kind, span)))
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
            Err(NoSuchPhase { asked: asked.to_owned(), known: names })
        }
    }
}
