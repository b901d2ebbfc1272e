//! Spin locks: who took which, and how long others spun.

use onoff_trace::DescribedEvent;

use super::{Tally, hook, number};

/// A spin lock was released.
pub const EVENTS: [&str; 1] = ["0x0529"];

/// One lock as taken by one caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpinLock {
    /// Address of the lock.
    pub lock: u64,
    /// Address of the code that took it.
    pub caller: u64,
    /// Module of that code; empty when not known.
    pub module: String,
    /// Times taken, as far as the recorder samples them.
    pub taken: u64,
    /// Times somebody had to spin for it.
    pub contended: u64,
    /// Turns spun.
    pub spins: u64,
    /// Processor cycles waited.
    pub wait_cycles: u64,
    /// Ticks of the recorder's clock from acquire to release.
    pub held_ticks: u64,
}

/// Spin locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpinLockUse {
    /// By lock and caller, most cycles waited first.
    pub locks: Vec<SpinLock>,
    /// Events of locks beyond the number that is kept.
    pub left_out: u64,
}

/// Takes the events.
#[derive(Clone, Debug, Default)]
pub struct SpinLockListener {
    locks: Tally<(u64, u64), SpinLock>,
}

impl SpinLockListener {
    /// Takes an event.
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        if hook(event) != Some(0x0529) {
            return;
        }
        let (lock, caller) = (number(event, "SpinLockAddress"), number(event, "CallerAddress"));
        let Some(sums) = self.locks.of((lock, caller)) else { return };
        if sums.taken == 0 {
            let module = event.directory.module(event.pid.unwrap_or(0), caller);
            sums.module = module.unwrap_or_default().to_owned();
        }
        let (spins, waited) = (number(event, "SpinCount"), number(event, "WaitTimeInCycles"));
        let held = number(event, "ReleaseTime").saturating_sub(number(event, "AcquireTime"));
        sums.lock = lock;
        sums.caller = caller;
        sums.taken += 1;
        sums.contended += u64::from(spins > 0 || waited > 0);
        sums.spins = sums.spins.saturating_add(spins);
        sums.wait_cycles = sums.wait_cycles.saturating_add(waited);
        sums.held_ticks = sums.held_ticks.saturating_add(held);
    }

    /// Spin locks by lock and caller.
    #[must_use]
    pub fn finish(self) -> SpinLockUse {
        let mut locks: Vec<SpinLock> = self.locks.sums.into_values().collect();
        locks.sort_by_key(|lock| {
            let most = std::cmp::Reverse((lock.wait_cycles, lock.taken));
            (most, lock.lock, lock.caller)
        });
        SpinLockUse { locks, left_out: self.locks.left_out }
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{Made, number};
    use super::*;

    #[test]
    fn sums_are_by_lock_and_caller() {
        let mut directory = Directory::new();
        directory.set_module(0, 0x1000, 0x1000, r"\SystemRoot\a.sys");
        let mut listener = SpinLockListener::default();
        let mut tell = |lock: u64, caller: u64, spins: u64, cycles: u64, held: (u64, u64)| {
            let fields = [
                number("SpinLockAddress", lock),
                number("CallerAddress", caller),
                number("SpinCount", spins),
                number("WaitTimeInCycles", cycles),
                number("AcquireTime", held.0),
                number("ReleaseTime", held.1),
            ];
            listener.take(&Made::at(0, &fields).kernel(0x0529, "Thread/SpinLock", &directory));
        };
        tell(1, 0x1010, 0, 0, (10, 14));
        tell(1, 0x1010, 3, 500, (20, 21));
        tell(1, 0x2010, 0, 0, (9, 4));
        let rows: Vec<_> = listener
            .finish()
            .locks
            .into_iter()
            .map(|row| (row.caller, row.module, row.taken, row.contended, row.spins, row.wait_cycles, row.held_ticks))
            .collect();
        assert_eq!(rows, [(0x1010, "a.sys".to_owned(), 2, 1, 3, 500, 5), (0x2010, String::new(), 1, 0, 0, 0, 0)]);
    }
}
