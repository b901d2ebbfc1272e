//! Recording jobs: what to record, how often and where to.

use serde::{Deserialize, Serialize};

use crate::trace_group::TraceGroup;

/// The transition to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transition {
    /// From the kernel's start until the computer is idle.
    Boot,
    /// From the restart request until all processes have ended.
    Shutdown,
    /// Sleep and resume.
    Suspend,
    /// Hibernation and resume.
    Hibernate,
    /// A shutdown and the boot after it.
    RebootCycle,
}

impl Transition {
    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Shutdown => "shutdown",
            Self::Suspend => "suspend",
            Self::Hibernate => "hibernate",
            Self::RebootCycle => "reboot-cycle",
        }
    }

    /// True if each run records a boot.
    #[must_use]
    pub const fn records_boot(self) -> bool {
        matches!(self, Self::Boot | Self::RebootCycle)
    }

    /// True if each run records a shutdown.
    #[must_use]
    pub const fn records_shutdown(self) -> bool {
        matches!(self, Self::Shutdown | Self::RebootCycle)
    }

    /// True if each run restarts the computer.
    #[must_use]
    pub const fn restarts(self) -> bool {
        self.records_boot() || self.records_shutdown()
    }
}

/// How the computer is put to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SleepMethod {
    /// A write to `/sys/power/state`: the kernel only.
    Kernel,
    /// systemd's service, including the hooks in `system-sleep`.
    Systemd,
}

/// How the kernel options get onto the kernel command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoaderChoice {
    /// Through the boot loader that was detected.
    Found,
    /// The user has added them.
    Manual,
}

/// A recording job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub transition: Transition,
    /// Number of recordings to make.
    pub runs: u32,
    /// Number of training runs before the recorded runs. They warm up the computer's caches and are not recorded.
    pub train: u32,
    /// Delay after the boot or the resume, in seconds; `None` to wait until the computer is idle.
    pub post_delay_s: Option<u64>,
    /// Absolute path of the folder of the recordings.
    pub out: String,
    /// Groups of kernel events to trace.
    pub groups: Vec<TraceGroup>,
    /// Additional events, as `system:event`.
    pub events: Vec<String>,
    /// Trace buffer per CPU, in MiB; `None` to choose it by the size of the memory.
    pub buffer_mib: Option<u64>,
    pub loader: LoaderChoice,
    pub sleep_by: SleepMethod,
    /// Value for `/sys/power/state`: `mem`, `freeze` or `standby`.
    pub sleep_state: String,
    /// Value for `/sys/power/mem_sleep`: `s2idle`, `shallow` or `deep`.
    pub mem_sleep: Option<String>,
    /// Value for `/sys/power/disk` before hibernating.
    pub hibernate_mode: Option<String>,
    /// Time from the sleep request to the wake alarm, in seconds.
    pub wake_after_s: Option<u64>,
    /// User and group id of the recordings' owner.
    pub owner: Option<(u32, u32)>,
}

impl Job {
    /// Returns the number of training and recorded runs.
    #[must_use]
    pub const fn total_runs(&self) -> u32 {
        self.train.saturating_add(self.runs)
    }

    /// Returns the name of run `run` (from 1): `training run 1 of 2`, `run 3 of 10`.
    #[must_use]
    pub fn run_name(&self, run: u32) -> String {
        match run.checked_sub(self.train) {
            None | Some(0) => format!("training run {run} of {}", self.train),
            Some(recorded) => format!("run {recorded} of {}", self.runs),
        }
    }

    /// Returns the number of the recording that run `run` makes; `None` for a training run.
    #[must_use]
    pub fn recording_number(&self, run: u32) -> Option<u32> {
        run.checked_sub(self.train).filter(|&number| number > 0)
    }

    /// Returns the path of recording `number` of a kind (`boot`, `shutdown`, …).
    #[must_use]
    pub fn recording_path(&self, kind: &str, number: u32) -> String {
        format!("{}/{kind}-{number}.tar.gz", self.out.trim_end_matches('/'))
    }
}
