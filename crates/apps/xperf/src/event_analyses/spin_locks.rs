//! Spin locks: acquisitions and wait times by lock and caller.

use onoff_trace::DescribedEvent;

use super::{Tally, hook, number};

/// Release of a spin lock.
pub const EVENTS: [&str; 1] = ["0x0529"];

/// Acquisitions of one lock by one caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpinLock {
    /// Address.
    pub lock: u64,
    /// Address of the acquiring code.
    pub caller: u64,
    /// Module of the caller; empty if unknown.
    pub module: String,
    /// Number of recorded acquisitions; the recorder may sample them.
    pub acquisitions: u64,
    /// Acquisitions that had to spin.
    pub contended: u64,
    pub spins: u64,
    pub wait_cycles: u64,
    /// Time from acquire to release, in ticks of the recorder's clock.
    pub held_ticks: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpinLockUse {
    /// Most wait cycles first.
    pub locks: Vec<SpinLock>,
    /// Events of locks beyond the limit.
    pub omitted: u64,
}

#[derive(Clone, Debug, Default)]
pub struct SpinLockListener {
    locks: Tally<(u64, u64), SpinLock>,
}

impl SpinLockListener {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        if hook(event) != Some(0x0529) {
            return;
        }
        let (lock, caller) = (number(event, "SpinLockAddress"), number(event, "CallerAddress"));
        let Some(sums) = self.locks.entry((lock, caller)) else { return };
        if sums.acquisitions == 0 {
            let module = event.directory.module(event.pid.unwrap_or(0), caller);
            sums.module = module.unwrap_or_default().to_owned();
        }
        let (spins, wait_cycles) = (number(event, "SpinCount"), number(event, "WaitTimeInCycles"));
        let held_ticks = number(event, "ReleaseTime").saturating_sub(number(event, "AcquireTime"));
        sums.lock = lock;
        sums.caller = caller;
        sums.acquisitions += 1;
        sums.contended += u64::from(spins > 0 || wait_cycles > 0);
        sums.spins = sums.spins.saturating_add(spins);
        sums.wait_cycles = sums.wait_cycles.saturating_add(wait_cycles);
        sums.held_ticks = sums.held_ticks.saturating_add(held_ticks);
    }

    #[must_use]
    pub fn finish(self) -> SpinLockUse {
        let mut locks: Vec<SpinLock> = self.locks.sums.into_values().collect();
        locks.sort_by_key(|lock| {
            let key = std::cmp::Reverse((lock.wait_cycles, lock.acquisitions));
            (key, lock.lock, lock.caller)
        });
        SpinLockUse { locks, omitted: self.locks.omitted }
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{EventTemplate, number};
    use super::*;

    #[test]
    fn sums_by_lock_and_caller() {
        let mut directory = Directory::new();
        directory.set_module(0, 0x1000, 0x1000, r"\SystemRoot\a.sys");
        let mut listener = SpinLockListener::default();
        let mut send = |lock: u64, caller: u64, spins: u64, cycles: u64, (acquire_time, release_time): (u64, u64)| {
            let fields = [
                number("SpinLockAddress", lock),
                number("CallerAddress", caller),
                number("SpinCount", spins),
                number("WaitTimeInCycles", cycles),
                number("AcquireTime", acquire_time),
                number("ReleaseTime", release_time),
            ];
            listener.take(&EventTemplate::new(0, &fields).kernel(0x0529, "Thread/SpinLock", &directory));
        };
        send(1, 0x1010, 0, 0, (10, 14));
        send(1, 0x1010, 3, 500, (20, 21));
        send(1, 0x2010, 0, 0, (9, 4));
        let rows: Vec<_> = listener
            .finish()
            .locks
            .into_iter()
            .map(|row| {
                (row.caller, row.module, row.acquisitions, row.contended, row.spins, row.wait_cycles, row.held_ticks)
            })
            .collect();
        assert_eq!(rows, [(0x1010, "a.sys".to_owned(), 2, 1, 3, 500, 5), (0x2010, String::new(), 1, 0, 0, 0, 0)]);
    }
}
