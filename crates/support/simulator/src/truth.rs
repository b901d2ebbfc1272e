//! What a simulated machine really did: the answer tests compare an analysis with.
//!
//! Times are nanoseconds since the recording's first event, exact to the 100 ns clock tick.

use std::collections::BTreeMap;

use serde::Serialize;

use super::timeline::Timeline;
use super::transition_truth::Transitions;
use super::usage::{PostBoot, Usage};

/// The answer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Truth {
    /// Loader duration, ns.
    pub os_loader_ns: Option<i64>,
    /// PreSMSS to TraceTail, contiguous.
    pub phases: Vec<Phase>,
    /// End of ExplorerInit, ns.
    pub desktop_ready_ns: Option<i64>,
    /// The idle metric after the desktop was ready.
    pub post_boot: Option<PostBoot>,
    /// Boot-start initialization, begin and end.
    pub boot_start_ns: Option<(i64, i64)>,
    /// System-start initialization, begin and end.
    pub system_start_ns: Option<(i64, i64)>,
    /// Automatic start of services, begin and end.
    pub auto_start_ns: Option<(i64, i64)>,
    /// Load-order groups, begin and end.
    pub service_groups: Vec<(String, i64, i64)>,
    /// Services in start order.
    pub services: Vec<Service>,
    /// Device and driver operations in start order.
    pub devices: Vec<Device>,
    /// Processes in creation order; the Idle process is not among them.
    pub processes: Vec<Process>,
    /// Programs of the Run key: command, process id, start, ns.
    pub startup_applications: Vec<(String, u32, i64)>,
    /// Video initialization of the system session, ns.
    pub system_video_ns: Option<i64>,
    /// Video initialization of the user session, ns.
    pub user_video_ns: Option<i64>,
    /// Policy of the computer, begin and end.
    pub computer_policy_ns: Option<(i64, i64)>,
    /// Policy of the user, begin and end.
    pub user_policy_ns: Option<(i64, i64)>,
    /// Logon script, begin and end.
    pub script_ns: Option<(i64, i64)>,
    /// Read-ahead training count.
    pub training_count: Option<u32>,
    /// What happened in shutdowns and sleeps.
    pub transitions: Transitions,
    /// Usage of any interval, in recordings of such.
    #[serde(skip)]
    pub timeline: Timeline,
    /// Call stacks of samples and context switches, in the order of their records.
    #[serde(skip)]
    pub stacks: Vec<Stack>,
    /// Time of the last record, ns.
    pub end_ns: i64,
    /// Records of all files, the logfile headers included.
    pub records: u64,
    /// Events that the recorder lost: they are in none of the numbers of records.
    pub events_lost: u64,
    /// Records by kind: a hook id as `0524`, a manifest event as `provider guid/id`, a classic
    /// event as `class guid:opcode`.
    pub kinds: BTreeMap<String, u64>,
    /// Thread of every simulated identity: thread id to process id.
    pub threads: BTreeMap<u32, u32>,
}

/// A phase of the boot.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Phase {
    /// Name as the papers have it.
    pub name: &'static str,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// What happened in it.
    pub usage: Usage,
}

/// A service's start.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Service {
    /// Name.
    pub name: String,
    /// Load-order group; empty = none.
    pub group: String,
    /// Started, ns.
    pub start_ns: i64,
    /// Its host reported for the first time, ns.
    pub checkpoint_ns: i64,
    /// Its own code began, ns.
    pub load_ns: i64,
    /// Running, ns.
    pub end_ns: i64,
    /// Command line of its host.
    pub container: String,
    /// Process id of its host.
    pub container_pid: u32,
}

/// A device or driver operation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Device {
    /// `BootInit`, `DriverLoad`, `DeviceStart` or `DeviceEnum`.
    pub kind: &'static str,
    /// Driver (`\Driver\…`) or device instance.
    pub name: String,
    /// Begin, ns.
    pub start_ns: i64,
    /// When it was pended, ns.
    pub pend_ns: Option<i64>,
    /// End, ns.
    pub end_ns: i64,
}

/// A process's life.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Image file name.
    pub image: String,
    /// Session.
    pub session: u32,
    /// Start, ns; `None` = existed before the recording.
    pub start_ns: Option<i64>,
    /// End, ns; `None` = outlived the recording.
    pub end_ns: Option<i64>,
}

impl Truth {
    /// A phase by name.
    #[must_use]
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Boot time without the 10 s of idle time, ns: the desktop's readiness plus the busy slices.
    #[must_use]
    pub fn total_boot_ns(&self) -> Option<i64> {
        Some(self.desktop_ready_ns? + self.post_boot.as_ref()?.busy_ns)
    }
}

/// A call stack that was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Time of the event it belongs to, ns.
    pub event_ns: i64,
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Return addresses, innermost first.
    pub frames: Vec<u64>,
}
