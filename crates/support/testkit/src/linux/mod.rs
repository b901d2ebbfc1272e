//! A small machine of Linux, played in time: it boots, shuts down and sleeps as planned, and what its recorders write of that is
//! kept as they write it: the tracer's text, the kernel's log, the journal's export, the service manager's properties.
//!
//! Its threads share the processors a slice at a time, so a thread that is ready waits as it would. Who did what and when is
//! kept apart from what is written, in [`LinuxTruth`].
//!
//! ```
//! use onoff_testkit::linux::{LinuxMachine, LinuxUnit};
//!
//! let played = LinuxMachine::new()
//!     .unit(LinuxUnit::new("slow.service").sleeps(3_000))
//!     .unit(LinuxUnit::new("multi-user.target").after("slow.service"))
//!     .boots();
//! assert_eq!(played.truth.path, ["slow.service", "multi-user.target"]);
//! assert!(played.truth.start("slow.service").length_us() >= 3_000_000);
//! ```
//!
//! Source of the forms: recordings of the lab (Debian 12, Linux 6.1, systemd 252).

mod boot;
mod plan;
mod processors;
mod records;
mod shutdown;
mod sleep;
mod trace_data;
mod truth;

pub use plan::{Ending, Initcall, InitialFileSystem, LinuxDevice, LinuxMachine, LinuxSleepPlan, LinuxUnit, Work};
pub use records::{JournalledBoot, LinuxFiles, journal_of_boots};
pub use trace_data::{At, TraceData};
pub use truth::{LinuxTruth, TrueLife};

use processors::Processors;
use records::Records;

/// What a machine did: what was recorded of it, and what is true.
#[derive(Debug)]
pub struct Played {
    /// What the recorders wrote.
    pub files: LinuxFiles,
    pub truth: LinuxTruth,
}

impl LinuxMachine {
    /// Plays a boot and 13 s after it, or what there is of it until the recording ends.
    #[must_use]
    pub fn boots(&self) -> Played {
        let mut play = Play::new(self);
        play.boot();
        if play.truth.finished_us.is_some() {
            play.idle(13_000);
        }
        play.recorded()
    }

    /// Plays a boot, a quarter of a minute and a sleep.
    #[must_use]
    pub fn sleeps(&self, plan: &LinuxSleepPlan) -> Played {
        let mut play = Play::new(self);
        play.boot();
        play.idle(15_000);
        play.sleep(plan);
        play.idle(3_000);
        play.recorded()
    }

    /// Plays a boot, a quarter of a minute and a shutdown.
    #[must_use]
    pub fn shuts_down(&self) -> Played {
        let mut play = Play::new(self);
        play.boot();
        play.idle(15_000);
        play.shutdown();
        play.recorded()
    }
}

/// A machine while it is played.
struct Play<'p> {
    plan: &'p LinuxMachine,
    processors: Processors,
    records: Records,
    truth: LinuxTruth,
}

impl<'p> Play<'p> {
    fn new(plan: &'p LinuxMachine) -> Self {
        Self {
            plan,
            processors: Processors::new(plan.processors),
            records: Records::default(),
            truth: LinuxTruth::default(),
        }
    }

    /// Nothing happens for a while.
    fn idle(&mut self, ms: i64) {
        self.processors.pass(ms * 1_000);
        self.sign_of_life();
    }

    /// The kernel and a program say that they are there.
    fn sign_of_life(&mut self) {
        let worker = self.processors.thread(9, "kworker/0:1", true);
        self.works(worker, &[Work::Runs(50)]);
        self.processors.rests(worker);
        let now_us = self.processors.now_us();
        self.records.kernel(now_us, "hpet: Lost 1 RTC interrupts");
        self.records.program_says(now_us, ("systemd-timesyncd", 140), "Contacted time server 192.0.2.1:123.");
    }

    fn recorded(self) -> Played {
        Played { files: self.records.files(self.plan, self.processors), truth: self.truth }
    }
}
