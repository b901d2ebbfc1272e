//! Drivers: how long each kept a request.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{Lengths, MAX_KEYS, ProcessLabel, Tally, hook, number};

/// A driver's function is called, and returns.
pub const EVENTS: [&str; 2] = ["0x0122", "0x0123"];

/// A call of a driver's function for a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverCall {
    /// Driver's module; empty when not known.
    pub driver: String,
    /// Address of the function.
    pub routine: u64,
    /// Call, ns.
    pub start_ns: i64,
    /// Return, ns.
    pub end_ns: i64,
    /// What the request asks for: `IRP_MJ_…`.
    pub major: u32,
    /// And more exactly: `IRP_MN_…`.
    pub minor: u32,
    /// On whose thread.
    pub process: ProcessLabel,
    /// Path of the file it is about; empty when not known.
    pub file: String,
}

/// What drivers took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverCalls {
    /// By driver, longest in sum first. A driver's time includes that of those it calls.
    pub drivers: Vec<(String, Lengths)>,
    /// The calls that took at least as long as was asked for, longest first.
    pub calls: Vec<DriverCall>,
    /// Calls that did not return in the recording.
    pub unfinished: u64,
    /// Calls beyond the number that is kept.
    pub left_out: u64,
}

/// Takes the events.
#[derive(Clone, Debug, Default)]
pub struct DriverCallListener {
    shortest_ns: i64,
    wanted: Option<String>,
    open: HashMap<u64, DriverCall>,
    drivers: Tally<String, Lengths>,
    calls: Vec<DriverCall>,
    left_out: u64,
}

impl DriverCallListener {
    /// A listener that keeps calls of `shortest_ns` at least, of the driver `wanted` or of all; names are compared
    /// without case and with or without `.sys`.
    #[must_use]
    pub fn new(shortest_ns: i64, wanted: Option<&str>) -> Self {
        Self { shortest_ns, wanted: wanted.map(plain), ..Self::default() }
    }

    /// Takes an event.
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let id = number(event, "UniqMatchId");
        match hook(event) {
            Some(0x0122) => {
                let routine = number(event, "RoutineAddr");
                let driver = event.directory.module(event.pid.unwrap_or(0), routine);
                let driver = driver.unwrap_or_default();
                if self.wanted.as_ref().is_some_and(|wanted| *wanted != plain(driver)) {
                    return;
                }
                if self.open.len() >= MAX_KEYS {
                    self.left_out += 1;
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
                        process: ProcessLabel::of(event),
                        file: file.unwrap_or_default().to_owned(),
                    },
                );
            }
            Some(0x0123) => {
                let Some(call) = self.open.remove(&id) else { return };
                let took = event.time_ns.saturating_sub(call.start_ns).max(0);
                if let Some(lengths) = self.drivers.of(call.driver.clone()) {
                    lengths.add(took);
                }
                if took < self.shortest_ns {
                    return;
                }
                if self.calls.len() >= MAX_KEYS {
                    self.left_out += 1;
                    return;
                }
                self.calls.push(DriverCall { end_ns: event.time_ns, ..call });
            }
            _ => {}
        }
    }

    /// What drivers took.
    #[must_use]
    pub fn finish(self) -> DriverCalls {
        let mut drivers: Vec<(String, Lengths)> = self.drivers.sums.into_iter().collect();
        drivers.sort_by(|(a, left), (b, right)| (right.total_ns, a).cmp(&(left.total_ns, b)));
        let mut calls = self.calls;
        calls.sort_by_key(|call| (call.start_ns.saturating_sub(call.end_ns), call.start_ns));
        DriverCalls {
            drivers,
            calls,
            unfinished: self.open.len() as u64,
            left_out: self.left_out + self.drivers.left_out,
        }
    }
}

fn plain(driver: &str) -> String {
    let name = driver.to_lowercase();
    name.strip_suffix(".sys").map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{Made, number};
    use super::*;

    #[test]
    fn a_call_lasts_until_its_return() {
        let mut directory = Directory::new();
        directory.set_module(4, 0x1000, 0x1000, r"\SystemRoot\disk.sys");
        directory.set_module(4, 0x2000, 0x1000, r"\SystemRoot\Slow.SYS");
        let tell = |listener: &mut DriverCallListener| {
            for (time_ns, hook, id, routine) in [
                (1_000, 0x0122, 1, 0x1010),
                (2_000, 0x0122, 2, 0x2010),
                (9_000, 0x0123, 2, 0),
                (9_500, 0x0123, 1, 0),
                (9_600, 0x0123, 7, 0),
                (9_700, 0x0122, 3, 0x1010),
            ] {
                let fields = [number("UniqMatchId", id), number("RoutineAddr", routine), number("MajorFunction", 3)];
                listener.take(&Made::at(time_ns, &fields).kernel(hook, "DiskIo", &directory));
            }
        };
        let mut listener = DriverCallListener::new(8_000, None);
        tell(&mut listener);
        let all = listener.finish();
        let sums: Vec<_> = all.drivers.iter().map(|(name, sum)| (name.as_str(), sum.total_ns)).collect();
        assert_eq!(sums, [("disk.sys", 8_500), ("Slow.SYS", 7_000)]);
        assert_eq!((all.calls.len(), all.unfinished), (1, 1));
        assert_eq!((all.calls[0].driver.as_str(), all.calls[0].major), ("disk.sys", 3));
        let mut listener = DriverCallListener::new(0, Some("slow"));
        tell(&mut listener);
        let one = listener.finish();
        assert_eq!((one.drivers.len(), one.calls.len(), one.unfinished), (1, 1, 0));
    }
}
