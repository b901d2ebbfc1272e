//! Services: how long each took to start or stop, in which part, and which other service it waited for.

use onoff_trace::{ServiceChange, ServiceOutcome};
use serde::Serialize;

use crate::evidence::Certainty;

/// Why a service is held to have waited for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The earlier service of the same load-order group had to finish.
    SameGroup,
    /// The load-order group before had to finish.
    EarlierGroup,
}

/// The service that another one waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitedFor {
    /// Name of the service that ended just before.
    pub name: String,
    /// Why it is held to be the cause.
    pub kind: WaitKind,
    /// From its end to this service's start, ns.
    pub gap_ns: i64,
    /// How certain it is; the order of starts is evidence, not proof, so never [`Certainty::Measured`].
    pub certainty: Certainty,
    /// The evidence in words.
    pub evidence: String,
}

/// One service's change of state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Service {
    /// Name (the short one, not the display name).
    pub name: String,
    /// Load-order group; empty for none.
    pub group: String,
    /// Start or stop.
    pub kind: ServiceChange,
    /// Asked for, ns.
    pub start_ns: i64,
    /// Container there, ns; `None` when not recorded.
    pub container_done_ns: Option<i64>,
    /// Image loaded, ns; `None` when not recorded.
    pub load_done_ns: Option<i64>,
    /// Done, ns; `None` when it was under way at the end of the recording.
    pub end_ns: Option<i64>,
    /// All of it, ns: `end_ns - start_ns`.
    pub total_ns: Option<i64>,
    /// Making the container, ns.
    pub container_ns: Option<i64>,
    /// Loading the service's image, ns.
    pub image_load_ns: Option<i64>,
    /// The service's own initialisation, ns.
    pub initialisation_ns: Option<i64>,
    /// Command line of the container; empty when not known.
    pub container: String,
    /// Process id of the container.
    pub container_pid: Option<u32>,
    /// Image file name of the container; empty when not known.
    pub container_image: String,
    /// How it ended.
    pub outcome: ServiceOutcome,
    /// Started by the automatic start phase.
    pub automatic: bool,
    /// The service it waited for, if the order of starts shows one.
    pub waited_for: Option<WaitedFor>,
    /// Names of the services that waited for this one.
    pub held_up: Vec<String>,
    /// The record that set the start.
    pub event: String,
}

/// A load-order group as the service control manager started it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServiceGroup {
    /// Name.
    pub name: String,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns; `None` when it did not end in the recording.
    pub end_ns: Option<i64>,
    /// Length, ns.
    pub duration_ns: Option<i64>,
    /// Services of the group that were started.
    pub services: u64,
    /// How certain the ends are: measured from the manager's own events, inferred from its services' starts and ends.
    pub certainty: Certainty,
}
