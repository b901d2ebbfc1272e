//! Service starts and stops in an interval.

use onoff_trace::{Losses, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;
use onoff_usage::units::{Unit, units};

/// The tables that the list needs.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::ServiceTransitions,
    TableName::ServiceDependencies,
    TableName::Processes,
    TableName::Activities,
    TableName::Milestones,
]);

/// The result of `onoff services`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceList {
    /// The listed interval.
    pub range: Interval,
    /// Number of starts and stops in the whole recording.
    pub recorded: u64,
    /// Starts and stops in progress in the interval, by start. Their waits are computed over the whole recording.
    pub services: Vec<Unit>,
    /// Names of the losses that affect this list.
    pub affecting_losses: Vec<String>,
    /// Events lost by the recorder.
    pub losses: Losses,
}

/// Lists the starts and stops in progress in `scope`; a process selects the services it hosts.
#[must_use]
pub fn list(trace: &Trace, scope: &Scope) -> ServiceList {
    let mut services = units(trace);
    let recorded = services.len() as u64;
    services.retain(|service| {
        scope.range.overlaps(Some(service.start_ns), service.end_ns) && scope.has_process(service.pid, &service.image)
    });
    ServiceList {
        range: scope.range,
        recorded,
        services,
        affecting_losses: affecting_losses(trace, &[TableName::ServiceTransitions]),
        losses: trace.losses.clone(),
    }
}
