//! What really happened on a simulated machine.

use std::collections::BTreeMap;

/// An interval, µs since the kernel's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrueInterval {
    pub start_us: i64,
    /// `None` if it has not ended.
    pub end_us: Option<i64>,
}

impl TrueInterval {
    /// Returns the length, µs; 0 if it has not ended.
    #[must_use]
    pub fn duration_us(&self) -> i64 {
        self.end_us.map_or(0, |end| end - self.start_us)
    }
}

#[derive(Clone, Debug, Default)]
pub struct LinuxTruth {
    /// Initcalls and modules, by name.
    pub drivers: BTreeMap<String, TrueInterval>,
    /// First starts of units.
    pub starts: BTreeMap<String, TrueInterval>,
    /// Stops of units.
    pub stops: BTreeMap<String, TrueInterval>,
    /// The chain of units that the default target waited for.
    pub critical_path: Vec<String>,
    /// The chain of units that the shutdown waited for.
    pub critical_stop_path: Vec<String>,
    /// Start of the service manager in the initramfs, if there is one.
    pub initrd_us: Option<i64>,
    /// Start of the service manager.
    pub user_space_us: i64,
    /// Time at which every job was done.
    pub finished_us: Option<i64>,
    /// Phases of a sleep in order: name in the trace, start and end, µs.
    pub sleep_phases: Vec<(&'static str, i64, i64)>,
    /// Time of resuming from a sleep; set only if the plan has a wireless interface.
    pub resumed_us: i64,
    /// Device callbacks in a sleep: device, phase, start and end, µs.
    pub callbacks: Vec<(String, &'static str, i64, i64)>,
}

impl LinuxTruth {
    /// Returns the start of a unit.
    ///
    /// # Panics
    /// The machine has no such unit, or it did not start.
    #[must_use]
    #[allow(clippy::expect_used, reason = "asking for a unit that was not planned is a bug in the test")]
    pub fn start(&self, unit: &str) -> TrueInterval {
        *self.starts.get(unit).expect("the unit was not started")
    }

    /// Returns the stop of a unit.
    ///
    /// # Panics
    /// The machine has no such unit, or it did not stop.
    #[must_use]
    #[allow(clippy::expect_used, reason = "asking for a unit that was not planned is a bug in the test")]
    pub fn stop(&self, unit: &str) -> TrueInterval {
        *self.stops.get(unit).expect("the unit was not stopped")
    }

    /// Returns the total length of the phases with this name, µs; 0 for none.
    #[must_use]
    pub fn sleep_phase_us(&self, name: &str) -> i64 {
        self.sleep_phases
            .iter()
            .filter(|(phase, ..)| *phase == name)
            .map(|(_, start_us, end_us)| end_us - start_us)
            .sum()
    }
}
