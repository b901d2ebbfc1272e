//! Changes as transforms of the graph: without a subject, with pended requests, without the wait for a service.

mod delay;
mod index;
pub(crate) mod names;
mod pend;
mod ungroup;
mod without;

use std::sync::Arc;

use onoff_blame::account::{ThreadWork, is_system_component_name};
use onoff_evidence::account_model::AccountSubjectKind;
use onoff_trace::system::MAX_PROCESSORS;
use serde::Serialize;
use thiserror::Error;

use crate::graph::{Graph, Segment};
use crate::model::Model;
use index::WorkIndex;

/// A change of the computer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WhatIfChange"))]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum Change {
    /// Without a service, program, driver, unit or script.
    Without { name: String },
    /// The driver returns "pending" from its start and enumeration requests.
    Pend { driver: String },
    /// The service manager does not wait for the service with its load-order group.
    Ungroup { service: String },
    /// A service or program starts when the desktop is ready.
    Delay { name: String },
    /// Linux: other units do not wait for the unit's start, unless they require it.
    Parallel { unit: String },
    /// Linux: the driver probes its devices asynchronously, while the kernel initializes other drivers.
    Async { driver: String },
    /// Disks of this speed, percent of the recorded ones.
    DiskSpeed { percent: u32 },
    /// Processors of this speed, percent of the recorded ones.
    ProcessorSpeed { percent: u32 },
    /// Number of processors.
    Processors { count: u32 },
}

impl Change {
    /// Returns the change that removes a subject of an account; `None` for a subject that a computer cannot do without.
    #[must_use]
    pub fn removal(kind: AccountSubjectKind, name: &str) -> Option<Self> {
        let is_possible = names::is_removable(kind) && !name.is_empty() && !is_system_component_name(name);
        is_possible.then(|| Self::Without { name: name.to_owned() })
    }

    /// True if the change may concern units of Linux.
    pub(crate) const fn is_of_units(&self) -> bool {
        matches!(self, Self::Without { .. } | Self::Delay { .. } | Self::Parallel { .. } | Self::Async { .. })
    }

    /// True if a replay of threads can make the change.
    pub(crate) const fn is_of_threads(&self) -> bool {
        !matches!(self, Self::Parallel { .. } | Self::Async { .. })
    }
}

/// Why a change cannot be predicted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    #[error("no {kind} named '{name}' worked in this recording{}", candidates_text(.candidates))]
    Unknown {
        /// What was searched for, e.g. `driver`.
        kind: &'static str,
        name: String,
        /// Similar names, or those with the most work.
        candidates: Vec<String>,
    },
    #[error("{name} is part of the system: nothing works without it")]
    SystemComponent { name: String },
    #[error("{name} cannot start later: {by} waits for it")]
    Needed { name: String, by: String },
    #[error("{by} requires {name}")]
    Required { name: String, by: String },
    #[error("{name}: {reason}")]
    NotPossible { name: String, reason: &'static str },
}

fn candidates_text(candidates: &[String]) -> String {
    if candidates.is_empty() { String::new() } else { format!("; there are {}", candidates.join(", ")) }
}

/// Applies changes to the graph of a model.
#[derive(Debug)]
pub struct Changes<'m, 'w, 't> {
    model: &'m Model<'w, 't>,
    work: ThreadWork<'w, 't>,
    removed_ns: i64,
    /// Built when a change first needs it.
    index: Option<Arc<WorkIndex>>,
}

impl<'m, 'w, 't> Changes<'m, 'w, 't> {
    #[must_use]
    pub fn new(model: &'m Model<'w, 't>) -> Self {
        Self { model, work: ThreadWork::new(model.waits), removed_ns: 0, index: None }
    }

    /// Returns the recorded length of the work and waits that the last changes removed, ns.
    #[must_use]
    pub const fn removed_ns(&self) -> i64 {
        self.removed_ns
    }

    /// Builds the index of subjects, which most changes need.
    pub(crate) fn prepare(&mut self) {
        self.index();
    }

    fn index(&mut self) -> Arc<WorkIndex> {
        let index = self.index.get_or_insert_with(|| Arc::new(WorkIndex::new(self.model, &mut self.work)));
        Arc::clone(index)
    }

    /// Returns the graph with the changes.
    ///
    /// # Errors
    /// A name is unknown, or a change cannot be predicted.
    pub fn apply(&mut self, changes: &[Change]) -> Result<Graph, ChangeError> {
        let mut graph = self.model.graph.clone();
        let mut removed: Vec<&str> = Vec::new();
        self.removed_ns = 0;
        for change in changes {
            match change {
                Change::Without { name } => removed.push(name),
                Change::Pend { driver } => self.pend(&mut graph, driver)?,
                Change::Ungroup { service } => self.ungroup(&mut graph, service)?,
                Change::Delay { name } => self.delay(&mut graph, name)?,
                Change::Parallel { unit: name } | Change::Async { driver: name } => {
                    let reason = "this change is predicted only for Linux boots";
                    return Err(ChangeError::NotPossible { name: name.clone(), reason });
                }
                &Change::DiskSpeed { percent } => {
                    let percent = speed(percent)?;
                    for request in &mut graph.requests {
                        request.service_ns = request.service_ns.saturating_mul(100) / percent;
                    }
                }
                &Change::ProcessorSpeed { percent } => {
                    let percent = speed(percent)?;
                    graph.processor_percent =
                        Some(graph.processor_percent.unwrap_or(100).saturating_mul(percent) / 100);
                    for timed in graph.tasks.iter_mut().flat_map(|task| &mut Arc::make_mut(task).segments) {
                        if let Segment::Run { cpu_ns, .. } = &mut timed.segment {
                            *cpu_ns = cpu_ns.saturating_mul(100) / percent;
                        }
                    }
                }
                &Change::Processors { count } if (1..=MAX_PROCESSORS).contains(&count) => graph.processors = count,
                Change::Processors { count } => {
                    let reason = "this number of processors is out of range";
                    return Err(ChangeError::NotPossible { name: count.to_string(), reason });
                }
            }
        }
        // Together: a thread may wait for several of them at once.
        if !removed.is_empty() {
            self.removed_ns = self.without(&mut graph, &removed)?;
        }
        Ok(graph)
    }
}

/// Checks a speed, percent.
fn speed(percent: u32) -> Result<i64, ChangeError> {
    if percent == 0 {
        return Err(ChangeError::NotPossible { name: "0 %".to_owned(), reason: "nothing can run at this speed" });
    }
    Ok(i64::from(percent))
}
