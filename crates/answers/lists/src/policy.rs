//! Group Policy work in an interval: policy applications, extensions, scripts, and waits for the network.

use onoff_trace::{ActivityKind, Losses, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_evidence::activity::{NamedActivity, activities_of_kind};
use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;
use onoff_usage::processes::Images;

/// The tables that the list needs.
pub const TABLES: TableSet = TableSet::from_names(&[TableName::Activities, TableName::Processes]);

const KINDS: [ActivityKind; 4] = [
    ActivityKind::GroupPolicy,
    ActivityKind::GroupPolicyExtension,
    ActivityKind::GroupPolicyScript,
    ActivityKind::GroupPolicyNetworkWait,
];

/// The result of `onoff policy`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyList {
    /// The listed interval.
    pub range: Interval,
    /// Number of policy work items in the whole recording.
    pub recorded: u64,
    /// Work in progress in the interval, by start: each policy application, followed by its parts.
    pub work: Vec<NamedActivity>,
    /// Names of the losses that affect this list.
    pub affecting_losses: Vec<String>,
    /// Events lost by the recorder.
    pub losses: Losses,
}

/// Lists the policy work in progress in `scope`.
#[must_use]
pub fn list(trace: &Trace, scope: &Scope) -> PolicyList {
    let images = Images::new(trace);
    let mut works: Vec<NamedActivity> = KINDS.into_iter().flat_map(|kind| activities_of_kind(trace, kind)).collect();
    let recorded = works.len() as u64;
    works.retain(|work| {
        let image = work.pid.and_then(|pid| images.image_at(pid, work.start_ns));
        scope.range.overlaps(Some(work.start_ns), work.end_ns) && scope.has_process(work.pid, image.unwrap_or_default())
    });
    // Enclosing work comes before its parts.
    works.sort_by_key(|work| (work.start_ns, std::cmp::Reverse(work.end_ns.unwrap_or(i64::MAX))));
    PolicyList {
        range: scope.range,
        recorded,
        work: works,
        affecting_losses: affecting_losses(trace, &[TableName::Activities]),
        losses: trace.losses.clone(),
    }
}
