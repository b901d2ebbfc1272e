//! What really happened on a played machine.

use std::collections::BTreeMap;

/// From when to when something was under way, µs since the kernel's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrueLife {
    pub start_us: i64,
    /// End; `None` when it was not over.
    pub end_us: Option<i64>,
}

impl TrueLife {
    /// Length, µs; 0 when it was not over.
    #[must_use]
    pub fn length_us(&self) -> i64 {
        self.end_us.map_or(0, |end| end - self.start_us)
    }
}

#[derive(Clone, Debug, Default)]
pub struct LinuxTruth {
    /// Initialization functions and modules, by name.
    pub drivers: BTreeMap<String, TrueLife>,
    /// First starts of units.
    pub starts: BTreeMap<String, TrueLife>,
    /// Stops of units.
    pub stops: BTreeMap<String, TrueLife>,
    /// The units that the default target waited for, one after the other.
    pub path: Vec<String>,
    /// The units that the end of a shutdown waited for, one after the other.
    pub stop_path: Vec<String>,
    /// When the service manager of the initial file system began, µs; `None` for none.
    pub initrd_us: Option<i64>,
    /// When the service manager began, µs.
    pub user_space_us: i64,
    /// When every job was done, µs.
    pub finished_us: Option<i64>,
    /// Phases of a sleep, in order: name as the tracer has it, begin and end.
    pub sleep_phases: Vec<(&'static str, i64, i64)>,
    /// When the machine was back from a sleep, µs; 0 where its network was not played.
    pub machine_back_us: i64,
    /// Callbacks of devices in a sleep: device, phase, begin and end.
    pub callbacks: Vec<(String, &'static str, i64, i64)>,
}

impl LinuxTruth {
    /// The start of a unit.
    ///
    /// # Panics
    /// The machine has no such unit, or it did not start.
    #[must_use]
    #[allow(clippy::expect_used, reason = "a test that asks for what it did not plan is wrong")]
    pub fn start(&self, unit: &str) -> TrueLife {
        *self.starts.get(unit).expect("a unit that was started")
    }

    /// The stop of a unit.
    ///
    /// # Panics
    /// The machine has no such unit, or it did not stop.
    #[must_use]
    #[allow(clippy::expect_used, reason = "a test that asks for what it did not plan is wrong")]
    pub fn stop(&self, unit: &str) -> TrueLife {
        *self.stops.get(unit).expect("a unit that was stopped")
    }

    /// Length of a phase of a sleep, µs; 0 when it has none.
    #[must_use]
    pub fn sleep_phase_us(&self, name: &str) -> i64 {
        self.sleep_phases.iter().filter(|phase| phase.0 == name).map(|phase| phase.2 - phase.1).sum()
    }
}
