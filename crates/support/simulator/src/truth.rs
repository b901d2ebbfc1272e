//! What a simulated machine really did, against which tests check an analysis.
//!
//! Times are nanoseconds since the recording's first event, exact to the 100 ns clock tick.

use std::collections::BTreeMap;

use serde::Serialize;

use super::timeline::UsageTimeline;
use super::transition_truth::Transitions;
use super::usage::{PostBoot, Usage};

#[derive(Clone, Debug, Default, Serialize)]
pub struct Truth {
    /// Loader duration, ns.
    pub os_loader_ns: Option<i64>,
    /// PreSMSS to TraceTail, without gaps.
    pub phases: Vec<Phase>,
    /// End of ExplorerInit.
    pub desktop_ready_ns: Option<i64>,
    pub post_boot: Option<PostBoot>,
    /// Start and end of boot-start initialization.
    pub boot_start_ns: Option<(i64, i64)>,
    /// Start and end of system-start initialization.
    pub system_start_ns: Option<(i64, i64)>,
    /// Start and end of the services' automatic start.
    pub auto_start_ns: Option<(i64, i64)>,
    /// Load-order groups: name, start, end.
    pub service_groups: Vec<(String, i64, i64)>,
    pub services: Vec<Service>,
    /// Device and driver operations in start order.
    pub devices: Vec<Device>,
    /// Processes in creation order, without the Idle process.
    pub processes: Vec<Process>,
    /// Programs of the Run key: command, process id, start.
    pub startup_applications: Vec<(String, u32, i64)>,
    /// Duration of video initialization in the system session.
    pub system_video_ns: Option<i64>,
    /// Duration of video initialization in the user session.
    pub user_video_ns: Option<i64>,
    /// Start and end of computer policy.
    pub computer_policy_ns: Option<(i64, i64)>,
    /// Start and end of user policy.
    pub user_policy_ns: Option<(i64, i64)>,
    /// Start and end of the logon script.
    pub script_ns: Option<(i64, i64)>,
    /// Start and end of the wait for the user's credentials.
    pub credentials_ns: Option<(i64, i64)>,
    /// Start and end of the check of the user's credentials.
    pub authentication_ns: Option<(i64, i64)>,
    /// Subscribers of the logon notification: name, start, end.
    pub subscribers: Vec<(String, i64, i64)>,
    /// Steps of the wall clock: time, length.
    pub clock_steps: Vec<(i64, i64)>,
    /// ReadyBoot training count.
    pub training_count: Option<u32>,
    pub transitions: Transitions,
    /// Usage of any interval; only for scenarios with transitions.
    #[serde(skip)]
    pub timeline: UsageTimeline,
    /// Call stacks of samples and context switches, in record order.
    #[serde(skip)]
    pub stacks: Vec<Stack>,
    /// Time of the last record.
    pub end_ns: i64,
    /// Number of records in all files, including the logfile headers.
    pub records: u64,
    /// Number of events the recorder lost; `records` and `kinds` do not include them.
    pub events_lost: u64,
    /// Records by kind: `0524` for a hook id, `provider guid/id` for a manifest event, `class guid:opcode` for a
    /// classic event.
    pub kinds: BTreeMap<String, u64>,
    /// Process id by thread id.
    pub threads: BTreeMap<u32, u32>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Phase {
    /// Name as in the published papers.
    pub name: &'static str,
    pub start_ns: i64,
    pub end_ns: i64,
    pub usage: Usage,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Service {
    pub name: String,
    /// Load-order group; empty for none.
    pub group: String,
    pub start_ns: i64,
    /// First report of the host.
    pub checkpoint_ns: i64,
    /// Start of the service's own code.
    pub load_ns: i64,
    /// SERVICE_RUNNING.
    pub end_ns: i64,
    /// Command line of its host.
    pub container: String,
    /// Process id of its host.
    pub container_pid: u32,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Device {
    /// `BootInit`, `DriverLoad`, `DeviceStart` or `DeviceEnum`.
    pub kind: &'static str,
    /// Driver (`\Driver\…`) or device instance.
    pub name: String,
    pub start_ns: i64,
    pub pend_ns: Option<i64>,
    pub end_ns: i64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    pub pid: u32,
    pub image: String,
    pub session: u32,
    /// `None` if the process existed before the recording.
    pub start_ns: Option<i64>,
    /// `None` if the process outlived the recording.
    pub end_ns: Option<i64>,
}

impl Truth {
    #[must_use]
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Returns the boot time without the 10 s of idle time: time to the desktop plus the busy slices.
    #[must_use]
    pub fn total_boot_ns(&self) -> Option<i64> {
        Some(self.desktop_ready_ns? + self.post_boot.as_ref()?.busy_ns)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Time of the event with this stack.
    pub event_ns: i64,
    pub pid: u32,
    pub tid: u32,
    /// Return addresses, innermost first.
    pub frames: Vec<u64>,
}
