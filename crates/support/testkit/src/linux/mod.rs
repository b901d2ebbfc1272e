//! A small simulated Linux machine: it boots, shuts down and sleeps as planned. Its recorders write the files that a
//! real machine writes: the trace, the kernel log, the journal export, the service manager's properties.
//!
//! Threads share the processors in time slices, so ready threads wait as on a real machine. What really happened is
//! kept separately, in [`LinuxTruth`].
//!
//! ```
//! use onoff_testkit::linux::{LinuxMachine, LinuxUnit};
//!
//! let result = LinuxMachine::new()
//!     .unit(LinuxUnit::new("slow.service").sleep_ms(3_000))
//!     .unit(LinuxUnit::new("multi-user.target").after("slow.service"))
//!     .simulate_boot();
//! assert_eq!(result.truth.critical_path, ["slow.service", "multi-user.target"]);
//! assert!(result.truth.start("slow.service").duration_us() >= 3_000_000);
//! ```
//!
//! Source of the formats: recordings made in the lab (Debian 12, Linux 6.1, systemd 252).

mod boot;
mod plan;
mod records;
mod scheduler;
mod shutdown;
mod sleep;
mod text_log;
mod trace_data;
mod truth;

pub use plan::{Initcall, Initramfs, LinuxDevice, LinuxMachine, LinuxSleepPlan, LinuxUnit, StartOutcome, Work};
pub use records::{JournaledBoot, LinuxFiles, journal_of_boots};
pub use text_log::TextLog;
pub use trace_data::{EventOrigin, TraceDatBuilder};
pub use truth::{LinuxTruth, TrueInterval};

use records::Recorder;
use scheduler::Scheduler;

/// What was recorded of a simulated machine, and what really happened.
#[derive(Debug)]
pub struct SimulationResult {
    pub files: LinuxFiles,
    pub truth: LinuxTruth,
}

impl LinuxMachine {
    /// Simulates a boot and the 13 s after it, or up to the end of the recording if the boot hangs.
    #[must_use]
    pub fn simulate_boot(&self) -> SimulationResult {
        let mut simulation = Simulation::new(self);
        simulation.boot();
        if simulation.truth.finished_us.is_some() {
            simulation.idle(13_000);
        }
        simulation.finish()
    }

    /// Simulates a boot, 15 s of idle time and a sleep.
    #[must_use]
    pub fn simulate_sleep(&self, plan: &LinuxSleepPlan) -> SimulationResult {
        let mut simulation = Simulation::new(self);
        simulation.boot();
        simulation.idle(15_000);
        simulation.sleep(plan);
        simulation.idle(3_000);
        simulation.finish()
    }

    /// Simulates a boot, 15 s of idle time and a shutdown.
    #[must_use]
    pub fn simulate_shutdown(&self) -> SimulationResult {
        let mut simulation = Simulation::new(self);
        simulation.boot();
        simulation.idle(15_000);
        simulation.shutdown();
        simulation.finish()
    }
}

struct Simulation<'p> {
    plan: &'p LinuxMachine,
    scheduler: Scheduler,
    recorder: Recorder,
    truth: LinuxTruth,
}

impl<'p> Simulation<'p> {
    fn new(plan: &'p LinuxMachine) -> Self {
        Self {
            plan,
            scheduler: Scheduler::new(plan.processors),
            recorder: Recorder::default(),
            truth: LinuxTruth::default(),
        }
    }

    fn idle(&mut self, ms: i64) {
        self.scheduler.advance(ms * 1_000);
        self.log_activity();
    }

    /// Logs one message each of the kernel and a program.
    fn log_activity(&mut self) {
        let worker = self.scheduler.thread(9, "kworker/0:1", true);
        self.run_work(worker, &[Work::Cpu(50)]);
        self.scheduler.block(worker);
        let now_us = self.scheduler.now_us();
        self.recorder.log_kernel(now_us, "hpet: Lost 1 RTC interrupts");
        self.recorder.log_program(now_us, ("systemd-timesyncd", 140), "Contacted time server 192.0.2.1:123.");
    }

    fn finish(self) -> SimulationResult {
        SimulationResult { files: self.recorder.files(self.plan, self.scheduler), truth: self.truth }
    }
}
