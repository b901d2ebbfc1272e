//! Time that drivers spent on requests, from the kernel's driver events.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{DurationStats, MAX_KEYS, ProcessRef, Tally, hook, number};

/// Call and return of a driver function.
pub const EVENTS: [&str; 2] = ["0x0122", "0x0123"];

/// A call of a driver function for a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverCall {
    /// Module name; empty if unknown.
    pub driver: String,
    /// Function address.
    pub routine: u64,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Major function (`IRP_MJ_…`).
    pub major: u32,
    /// Minor function (`IRP_MN_…`).
    pub minor: u32,
    /// Process of the calling thread.
    pub process: ProcessRef,
    /// File path; empty if unknown.
    pub file: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverCalls {
    /// Totals by driver, longest first. The time of a driver includes the time of the drivers that it calls.
    pub drivers: Vec<(String, DurationStats)>,
    /// Calls of at least the minimum duration, longest first.
    pub calls: Vec<DriverCall>,
    /// Calls without a return in the recording.
    pub unfinished: u64,
    /// Calls beyond the limit.
    pub omitted: u64,
}

#[derive(Clone, Debug, Default)]
pub struct DriverCallListener {
    min_ns: i64,
    driver_name: Option<String>,
    /// Calls without a return so far, by match id.
    open: HashMap<u64, DriverCall>,
    drivers: Tally<String, DurationStats>,
    calls: Vec<DriverCall>,
    omitted: u64,
}

impl DriverCallListener {
    /// Creates a listener for calls of at least `min_ns` by all drivers, or only by `driver_name` (in any case, with or
    /// without `.sys`).
    #[must_use]
    pub fn new(min_ns: i64, driver_name: Option<&str>) -> Self {
        Self { min_ns, driver_name: driver_name.map(normalized), ..Self::default() }
    }

    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let id = number(event, "UniqMatchId");
        match hook(event) {
            Some(0x0122) => {
                let routine = number(event, "RoutineAddr");
                let driver = event.directory.module(event.pid.unwrap_or(0), routine);
                let driver = driver.unwrap_or_default();
                if self.driver_name.as_ref().is_some_and(|name| *name != normalized(driver)) {
                    return;
                }
                if self.open.len() >= MAX_KEYS {
                    self.omitted += 1;
                    return;
                }
                let file = event.directory.file(number(event, "FileObject"));
                self.open.insert(
                    id,
                    DriverCall {
                        driver: driver.to_owned(),
                        routine,
                        start_ns: event.time_ns,
                        end_ns: event.time_ns,
                        major: number(event, "MajorFunction") as u32,
                        minor: number(event, "MinorFunction") as u32,
                        process: ProcessRef::from_event(event),
                        file: file.unwrap_or_default().to_owned(),
                    },
                );
            }
            Some(0x0123) => {
                let Some(call) = self.open.remove(&id) else { return };
                let duration_ns = event.time_ns.saturating_sub(call.start_ns).max(0);
                if let Some(durations) = self.drivers.entry(call.driver.clone()) {
                    durations.add(duration_ns);
                }
                if duration_ns < self.min_ns {
                    return;
                }
                if self.calls.len() >= MAX_KEYS {
                    self.omitted += 1;
                    return;
                }
                self.calls.push(DriverCall { end_ns: event.time_ns, ..call });
            }
            _ => {}
        }
    }

    #[must_use]
    pub fn finish(self) -> DriverCalls {
        let mut drivers: Vec<(String, DurationStats)> = self.drivers.sums.into_iter().collect();
        drivers.sort_by(|(name_a, a), (name_b, b)| (b.total_ns, name_a).cmp(&(a.total_ns, name_b)));
        let mut calls = self.calls;
        calls.sort_by_key(|call| (call.start_ns.saturating_sub(call.end_ns), call.start_ns));
        DriverCalls { drivers, calls, unfinished: self.open.len() as u64, omitted: self.omitted + self.drivers.omitted }
    }
}

fn normalized(driver: &str) -> String {
    let name = driver.to_lowercase();
    name.strip_suffix(".sys").map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{EventTemplate, number};
    use super::*;

    #[test]
    fn measures_calls_until_return() {
        let mut directory = Directory::new();
        directory.set_module(4, 0x1000, 0x1000, r"\SystemRoot\disk.sys");
        directory.set_module(4, 0x2000, 0x1000, r"\SystemRoot\Slow.SYS");
        let send = |listener: &mut DriverCallListener| {
            for (time_ns, hook, id, routine) in [
                (1_000, 0x0122, 1, 0x1010),
                (2_000, 0x0122, 2, 0x2010),
                (9_000, 0x0123, 2, 0),
                (9_500, 0x0123, 1, 0),
                (9_600, 0x0123, 7, 0),
                (9_700, 0x0122, 3, 0x1010),
            ] {
                let fields = [number("UniqMatchId", id), number("RoutineAddr", routine), number("MajorFunction", 3)];
                listener.take(&EventTemplate::new(time_ns, &fields).kernel(hook, "DiskIo", &directory));
            }
        };
        let mut listener = DriverCallListener::new(8_000, None);
        send(&mut listener);
        let report = listener.finish();
        let sums: Vec<_> = report.drivers.iter().map(|(name, sum)| (name.as_str(), sum.total_ns)).collect();
        assert_eq!(sums, [("disk.sys", 8_500), ("Slow.SYS", 7_000)]);
        assert_eq!((report.calls.len(), report.unfinished), (1, 1));
        assert_eq!((report.calls[0].driver.as_str(), report.calls[0].major), ("disk.sys", 3));
        let mut listener = DriverCallListener::new(0, Some("slow"));
        send(&mut listener);
        let selected = listener.finish();
        assert_eq!((selected.drivers.len(), selected.calls.len(), selected.unfinished), (1, 1, 0));
    }
}
