//! The starts and stops of services that were under way in a range.

use onoff_trace::{Losses, TableName, Tables, Trace};
use serde::Serialize;

use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;
use onoff_evidence::touched_by;
use onoff_usage::units::{Unit, units};

/// The tables this is made from.
pub const TABLES: Tables = Tables::of(&[
    TableName::ServiceTransitions,
    TableName::ServiceDependencies,
    TableName::Processes,
    TableName::Activities,
    TableName::Milestones,
]);

/// The answer of `onoff services`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceList {
    /// The range.
    pub range: Interval,
    /// Starts and stops in the whole recording.
    pub recorded: u64,
    /// Those that were under way in the range, by start. Their waits are those of the whole recording.
    pub services: Vec<Unit>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
    /// What was lost.
    pub losses: Losses,
}

/// The starts and stops under way in the scope; a process stands for the services in it.
#[must_use]
pub fn list(trace: &Trace, scope: &Scope) -> ServiceList {
    let mut services = units(trace);
    let recorded = services.len() as u64;
    services.retain(|service| {
        scope.range.meets(Some(service.start_ns), service.end_ns) && scope.has_process(service.pid, &service.image)
    });
    ServiceList {
        range: scope.range,
        recorded,
        services,
        touched_by: touched_by(trace, &[TableName::ServiceTransitions]),
        losses: trace.losses.clone(),
    }
}
