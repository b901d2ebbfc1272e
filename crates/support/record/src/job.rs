//! What is to be recorded, how often and where to.

use serde::{Deserialize, Serialize};

use crate::trace_group::TraceGroup;

/// The transition that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transition {
    /// From the first moment of the kernel until the computer has settled.
    Boot,
    /// From the request to restart until the kernel takes over.
    Shutdown,
    /// Into sleep and back.
    Suspend,
    /// To disk and back.
    Hibernate,
    /// A shutdown and the boot after it.
    RebootCycle,
}

impl Transition {
    /// The word for it, as typed.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Shutdown => "shutdown",
            Self::Suspend => "suspend",
            Self::Hibernate => "hibernate",
            Self::RebootCycle => "reboot-cycle",
        }
    }

    /// Whether each run gives a recording of a boot.
    #[must_use]
    pub const fn records_boot(self) -> bool {
        matches!(self, Self::Boot | Self::RebootCycle)
    }

    /// Whether each run gives a recording of a shutdown.
    #[must_use]
    pub const fn records_shutdown(self) -> bool {
        matches!(self, Self::Shutdown | Self::RebootCycle)
    }

    /// Whether each run restarts the computer.
    #[must_use]
    pub const fn restarts(self) -> bool {
        self.records_boot() || self.records_shutdown()
    }
}

/// Who sends the computer to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SleepBy {
    /// A write to `/sys/power/state`: the kernel's part alone.
    Kernel,
    /// systemd's service, with the hooks that other programs have put into `system-sleep`.
    Systemd,
}

/// Who puts the kernel options onto the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoaderChoice {
    /// Whatever boot loader is found.
    Found,
    /// A person has done it.
    Manual,
}

/// A recording job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What is recorded.
    pub transition: Transition,
    /// Recordings to make.
    pub runs: u32,
    /// Runs before those that leave no recording: the computer's caches get used to being restarted.
    pub train: u32,
    /// How long to wait once the boot is done or the computer is awake, s; `None` until it has settled.
    pub post_delay_s: Option<u64>,
    /// The folder of the recordings, absolute.
    pub out: String,
    /// What the kernel traces.
    pub groups: Vec<TraceGroup>,
    /// Further events, as `system:event`.
    pub events: Vec<String>,
    /// Buffer of the kernel's trace for each processor, MiB; `None` by the memory there is.
    pub buffer_mib: Option<u64>,
    /// Who puts the kernel options onto the command line.
    pub loader: LoaderChoice,
    /// Who sends the computer to sleep.
    pub sleep_by: SleepBy,
    /// What is written to `/sys/power/state`: `mem`, `freeze`, `standby`.
    pub sleep_state: String,
    /// What is written to `/sys/power/mem_sleep` before: `s2idle`, `shallow`, `deep`.
    pub mem_sleep: Option<String>,
    /// What is written to `/sys/power/disk` before a hibernation.
    pub hibernate_mode: Option<String>,
    /// When the real-time clock wakes the computer, s after it is sent to sleep.
    pub wake_after_s: Option<u64>,
    /// The user and group that the recordings are given to.
    pub owner: Option<(u32, u32)>,
}

impl Job {
    /// Training runs and recorded runs together.
    #[must_use]
    pub const fn total_runs(&self) -> u32 {
        self.train.saturating_add(self.runs)
    }

    /// What run `run` (from 1) is called: `training run 1 of 2`, `run 3 of 10`.
    #[must_use]
    pub fn run_name(&self, run: u32) -> String {
        match run.checked_sub(self.train) {
            None | Some(0) => format!("training run {run} of {}", self.train),
            Some(recorded) => format!("run {recorded} of {}", self.runs),
        }
    }

    /// The number of the recording that run `run` leaves; `None` for a training run.
    #[must_use]
    pub fn recording_number(&self, run: u32) -> Option<u32> {
        run.checked_sub(self.train).filter(|&number| number > 0)
    }

    /// The file of recording `number` of a kind (`boot`, `shutdown`, …).
    #[must_use]
    pub fn recording_path(&self, kind: &str, number: u32) -> String {
        format!("{}/{kind}-{number}.tar.gz", self.out.trim_end_matches('/'))
    }
}
