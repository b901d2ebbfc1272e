//! Requests that threads carry out: starting a service, starting or suspending a device. A path is inside a request
//! while the thread that carries it out, or one that this thread waits for, is on the path.

use onoff_evidence::interval::covered_ns;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::{Lifetimes, StringId, ThreadKey, Trace};

use super::path::{SubjectKind, driver_name};
use super::walk::threads_of;
use super::walk::{RawStep, WalkResult};

/// The thread or process that carries out a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Executor {
    Thread(u32),
    Process(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    start_ns: i64,
    end_ns: i64,
    executor: Executor,
    /// Service or device; empty for work without a device.
    name: StringId,
    /// Driver; empty for services.
    driver: StringId,
}

impl Request {
    /// Returns the device, otherwise the driver.
    pub(super) fn subject(&self) -> StringId {
        if self.name == StringId::EMPTY { self.driver } else { self.name }
    }
}

pub(super) struct Overlap {
    pub(super) kind: SubjectKind,
    pub(super) name: String,
    pub(super) ns: i64,
}

#[derive(Debug, Default)]
pub(super) struct Requests {
    devices: Vec<Request>,
    services: Vec<Request>,
    /// Indexes into `devices` by thread, sorted by start.
    by_thread: HashMap<ThreadKey, Vec<usize>>,
}

/// Maximum number of nested requests of one thread that are examined per step.
const MAX_NESTING: usize = 64;

impl Requests {
    pub(super) fn new(trace: &Trace, lives: &Lifetimes) -> Self {
        let operations = trace.device_operations.iter().map(|row| {
            let interval = (row.start_ns, row.end_ns);
            (interval, row.tid, row.device, row.driver)
        });
        let power = trace.power_requests.iter().map(|row| {
            let interval = (row.start_ns, row.end_ns);
            (interval, row.tid, row.device, row.driver)
        });
        let mut devices: Vec<Request> = operations
            .chain(power)
            .filter_map(|((start_ns, end_ns), tid, name, driver)| {
                Some(Request {
                    start_ns,
                    end_ns: end_ns.unwrap_or(i64::MAX),
                    executor: Executor::Thread(tid?),
                    name,
                    driver,
                })
            })
            .collect();
        devices.sort_by_key(|request| request.start_ns);
        let mut by_thread: HashMap<ThreadKey, Vec<usize>> = HashMap::new();
        for (index, request) in devices.iter().enumerate() {
            if let Executor::Thread(tid) = request.executor {
                by_thread.entry(lives.key(tid, request.start_ns)).or_default().push(index);
            }
        }
        let services = trace
            .service_transitions
            .iter()
            .filter_map(|row| {
                Some(Request {
                    start_ns: row.start_ns,
                    end_ns: row.end_ns.unwrap_or(i64::MAX),
                    executor: Executor::Process(row.container_pid?),
                    name: row.service,
                    driver: StringId::EMPTY,
                })
            })
            .collect();
        Self { devices, services, by_thread }
    }

    /// Returns the innermost device request that a thread was carrying out at `time_ns`.
    pub(super) fn innermost_request(&self, thread: ThreadKey, time_ns: i64) -> Option<&Request> {
        let rows = self.by_thread.get(&thread)?;
        let has_begun = |&index: &usize| self.devices.get(index).is_some_and(|request| request.start_ns <= time_ns);
        let end_index = rows.partition_point(has_begun);
        rows.get(..end_index)?
            .iter()
            .rev()
            .take(MAX_NESTING)
            .filter_map(|&index| self.devices.get(index))
            .find(|request| request.end_ns > time_ns && request.subject() != StringId::EMPTY)
    }

    /// Returns the time the path spent in each service, device and driver; overlapping requests count once.
    pub(super) fn overlaps(
        &self,
        trace: &Trace,
        walk: &WalkResult,
        pid_of: impl Fn(u32, i64) -> Option<u32>,
    ) -> Vec<Overlap> {
        let mut parts: BTreeMap<(SubjectKind, String), Vec<(i64, i64)>> = BTreeMap::new();
        let mut add = |kind, name: &str, intervals: &[(i64, i64)]| {
            if !name.is_empty() {
                let list: &mut Vec<(i64, i64)> = parts.entry((kind, name.to_owned())).or_default();
                list.extend_from_slice(intervals);
            }
        };
        let mut intervals = Vec::new();
        for request in &self.devices {
            request_intervals(walk, request, &pid_of, &mut intervals);
            if !intervals.is_empty() {
                add(SubjectKind::Device, trace.text(request.name), &intervals);
                let driver = driver_name(trace.text(request.driver));
                add(SubjectKind::Driver, driver, &intervals);
            }
        }
        for request in &self.services {
            request_intervals(walk, request, &pid_of, &mut intervals);
            if !intervals.is_empty() {
                add(SubjectKind::Service, trace.text(request.name), &intervals);
            }
        }
        parts
            .into_iter()
            .map(|((kind, name), parts)| Overlap { kind, name, ns: covered_ns(parts, (i64::MIN, i64::MAX)) })
            .collect()
    }
}

/// Collects the intervals of the path in which `request` is carried out. Steps are sorted last first.
fn request_intervals(
    walk: &WalkResult,
    request: &Request,
    pid_of: impl Fn(u32, i64) -> Option<u32>,
    intervals: &mut Vec<(i64, i64)>,
) {
    intervals.clear();
    let first = walk.steps.partition_point(|step| step.start_ns >= request.end_ns);
    let steps = walk.steps.get(first..).unwrap_or(&[]);
    let overlapping = steps.iter().take_while(|step| step.end_ns > request.start_ns);
    for step in overlapping {
        let is_executor = |tid: u32| match request.executor {
            Executor::Thread(executor) => executor == tid,
            Executor::Process(executor) => pid_of(tid, step.end_ns) == Some(executor),
        };
        if threads_of(walk, step).any(is_executor) {
            intervals.push(clip(step, request));
        }
    }
}

fn clip(step: &RawStep, request: &Request) -> (i64, i64) {
    (step.start_ns.max(request.start_ns), step.end_ns.min(request.end_ns))
}
