//! Group policy in a range: for whom it was applied, its extensions and scripts, and what waited for the network.

use onoff_trace::{ActivityKind, Losses, TableName, Tables, Trace};
use serde::Serialize;

use onoff_evidence::activity::{Work, of_kind};
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;
use onoff_evidence::touched_by;
use onoff_usage::processes::Images;

/// The tables this is made from.
pub const TABLES: Tables = Tables::of(&[TableName::Activities, TableName::Processes]);

const KINDS: [ActivityKind; 4] = [
    ActivityKind::GroupPolicy,
    ActivityKind::GroupPolicyExtension,
    ActivityKind::GroupPolicyScript,
    ActivityKind::GroupPolicyNetworkWait,
];

/// The answer of `onoff policy`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyList {
    /// The range.
    pub range: Interval,
    /// Work for policy in the whole recording.
    pub recorded: u64,
    /// The work under way in the range, by start: each application of policy, and its parts.
    pub works: Vec<Work>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
    /// What was lost.
    pub losses: Losses,
}

/// The work for policy under way in the scope.
#[must_use]
pub fn list(trace: &Trace, scope: &Scope) -> PolicyList {
    let images = Images::of(trace);
    let mut works: Vec<Work> = KINDS.into_iter().flat_map(|kind| of_kind(trace, kind)).collect();
    let recorded = works.len() as u64;
    works.retain(|work| {
        let image = work.pid.and_then(|pid| images.at(pid, work.start_ns));
        scope.range.meets(Some(work.start_ns), work.end_ns) && scope.has_process(work.pid, image.unwrap_or_default())
    });
    // What encloses others comes before them.
    works.sort_by_key(|work| (work.start_ns, std::cmp::Reverse(work.end_ns.unwrap_or(i64::MAX))));
    PolicyList {
        range: scope.range,
        recorded,
        works,
        touched_by: touched_by(trace, &[TableName::Activities]),
        losses: trace.losses.clone(),
    }
}
