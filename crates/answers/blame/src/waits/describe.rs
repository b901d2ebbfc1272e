//! Turns the steps of a walk into a critical path with names.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::{StringId, Trace, Upid};

use super::cause::UnknownCause;
use super::identities::Identities;
use super::path::{
    CriticalPath, KindShare, PathShare, PathStep, PathThread, ServiceWait, StepGroup, StepKind, SubjectKind,
    SubjectOnPath, WaitedService, driver_name,
};
use super::reason;
use super::requests::{Overlap, Request, Requests};
use super::service_waits::Blockers;
use super::walk::{NO_BLOCKER, NO_REASON, NO_STACK, RawStep, WalkResult, Work, threads_of};
use onoff_evidence::Certainty;
use onoff_usage::cpu::percent_of;
use onoff_usage::owners::file_name;

/// Maximum number of step groups; those with the longest total time are kept.
const MAX_GROUPS: usize = 64;
/// Maximum number of waiters listed with a step.
const MAX_LISTED_WAITERS: usize = 16;

/// Which steps to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathOptions {
    /// Minimum duration of a listed step, ns. All steps count in the sums.
    pub min_step_ns: i64,
    /// Maximum number of listed steps; the longest are listed.
    pub max_steps: usize,
}

impl Default for PathOptions {
    fn default() -> Self {
        Self { min_step_ns: 100_000, max_steps: 1000 }
    }
}

impl UnknownCause {
    const fn phrase(self) -> &'static str {
        match self {
            Self::Unfinished => "the wait was still in progress when the recording ended",
            Self::NoReadyEvent => "no ready-thread event was recorded for the end of the wait",
            Self::Interrupt => "an unrecorded interrupt (timer or device) ended the wait",
            Self::NoEvents => "the thread never ran in the recording",
            Self::Cycle => "contradictory events (the chain returns to a thread that is already in it)",
            Self::TooLong => "too many steps in the chain",
            Self::BeforeRecording => "the wait began before the recording, and its end was not recorded",
            Self::UnknownCreator => "the creator of the thread was not recorded",
            Self::Exited => "the thread had already exited",
            Self::NoSwitches => "no context switches were recorded for this time",
            Self::NoServiceThread => "no thread of the service was recorded",
            Self::Asleep => "the machine was asleep",
        }
    }
}

/// Key of a share. The process lifetime distinguishes processes with the same name or a reused id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ShareName {
    Process(Option<u32>, Option<Upid>),
    Text(StringId),
    Unknown(UnknownCause),
    Kernel,
}

/// Steps with equal keys form a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct GroupKey {
    kind: StepKind,
    tid: u32,
    /// Thread ids are reused.
    pid: Option<u32>,
    blocker: u32,
    name: Option<ShareName>,
    device: StringId,
}

/// Totals of a group.
#[derive(Clone, Copy, Debug)]
struct GroupSum {
    count: u64,
    ns: i64,
    /// Duration and index of the longest step.
    longest: (i64, usize),
    start_ns: i64,
    end_ns: i64,
}

/// Label for CPU time before any thread is known to have run.
const KERNEL: &str = "kernel (before the first recorded context switch)";

pub(super) struct Describer<'a, 't> {
    pub(super) trace: &'t Trace,
    pub(super) identities: &'a Identities<'t>,
    pub(super) requests: &'a Requests,
    pub(super) blockers: &'a Blockers,
    pub(super) options: PathOptions,
}

impl Describer<'_, '_> {
    /// Describes a walk over the interval from `start_ns` to `end_ns`.
    pub(super) fn describe(&self, walk: &WalkResult, (start_ns, end_ns): (i64, i64)) -> CriticalPath {
        let duration_ns = end_ns.saturating_sub(start_ns).max(0);
        let mut path = CriticalPath { start_ns, end_ns, duration_ns, ..CriticalPath::default() };
        let mut shares: HashMap<(StepKind, ShareName), i64> = HashMap::new();
        for step in &walk.steps {
            let ns = step.end_ns.saturating_sub(step.start_ns);
            let name = self.share_name(step);
            *shares.entry((kind_of(step), name)).or_default() += ns;
            match certainty_of(step) {
                Certainty::Measured => path.measured_ns += ns,
                Certainty::Inferred => path.inferred_ns += ns,
                Certainty::Missing => path.missing_ns += ns,
            }
        }
        path.shares = self.shares(shares, duration_ns);
        path.kinds = kinds(&path.shares, duration_ns);
        path.on_path = self.on_path(walk, duration_ns);
        path.services = self.services(walk, duration_ns);
        self.list_longest_steps(walk, &mut path);
        path.groups = self.groups(walk);
        path
    }

    fn groups(&self, walk: &WalkResult) -> Vec<StepGroup> {
        let mut sums: HashMap<GroupKey, GroupSum> = HashMap::new();
        for (index, step) in walk.steps.iter().enumerate() {
            let name = match step.work {
                Work::Disk(row) => Some(ShareName::Text(self.file_of(row))),
                Work::Timer(driver) | Work::Device(driver) => Some(ShareName::Text(driver)),
                Work::Unknown(cause) => Some(ShareName::Unknown(cause)),
                Work::Kernel => Some(ShareName::Kernel),
                Work::Running | Work::Ready => None,
            };
            let ns = step.end_ns.saturating_sub(step.start_ns);
            let pid = self.identities.pid_of(step.tid, step.start_ns);
            // Waits in requests to different devices are separate groups; CPU time is not split by device.
            let request = name.and_then(|_| self.request(walk, step));
            let device = request.map_or(StringId::EMPTY, Request::subject);
            let key = GroupKey { kind: kind_of(step), tid: step.tid, pid, blocker: step.blocker, name, device };
            let sum = sums.entry(key).or_insert_with(|| GroupSum {
                count: 0,
                ns: 0,
                longest: (0, index),
                start_ns: step.start_ns,
                end_ns: step.end_ns,
            });
            sum.count += 1;
            sum.ns = sum.ns.saturating_add(ns);
            sum.longest = sum.longest.max((ns, index));
            sum.start_ns = sum.start_ns.min(step.start_ns);
            sum.end_ns = sum.end_ns.max(step.end_ns);
        }
        let mut list: Vec<(GroupKey, GroupSum)> = sums.into_iter().filter(|(_, sum)| sum.count > 1).collect();
        list.sort_by_key(|(_, sum)| (std::cmp::Reverse(sum.ns), sum.start_ns, sum.longest.1));
        list.truncate(MAX_GROUPS);
        list.into_iter()
            .filter_map(|(key, sum)| {
                let step = self.step(walk, walk.steps.get(sum.longest.1)?);
                Some(StepGroup {
                    kind: step.kind,
                    thread: step.thread,
                    detail: step.detail,
                    service: step.service.map(|service| service.name).unwrap_or_default(),
                    device: self.trace.text(key.device).to_owned(),
                    count: sum.count,
                    ns: sum.ns,
                    longest_ns: sum.longest.0,
                    start_ns: sum.start_ns,
                    end_ns: sum.end_ns,
                })
            })
            .collect()
    }

    pub(super) fn thread(&self, tid: u32, time_ns: i64) -> PathThread {
        let pid = self.identities.pid_of(tid, time_ns);
        PathThread {
            tid,
            name: self.identities.thread_name(tid, time_ns).to_owned(),
            pid,
            process: self.process(pid, time_ns),
            services: pid.map_or_else(Vec::new, |pid| self.identities.services(pid, time_ns)),
        }
    }

    fn process(&self, pid: Option<u32>, time_ns: i64) -> String {
        pid.and_then(|pid| self.identities.image(pid, time_ns)).unwrap_or_default().to_owned()
    }

    fn share_name(&self, step: &RawStep) -> ShareName {
        match step.work {
            Work::Device(driver) => ShareName::Text(driver),
            Work::Timer(driver) if driver != StringId::EMPTY => ShareName::Text(driver),
            Work::Unknown(_) if let Some(blocker) = self.blockers.get(step.blocker) => ShareName::Text(blocker.service),
            Work::Unknown(cause) => ShareName::Unknown(cause),
            Work::Kernel => ShareName::Kernel,
            Work::Running | Work::Ready | Work::Timer(_) | Work::Disk(_) => {
                let (pid, life) = (
                    self.identities.pid_of(step.tid, step.start_ns),
                    self.identities.process_of(step.tid, step.start_ns),
                );
                ShareName::Process(pid, life)
            }
        }
    }

    fn file_of(&self, row: u32) -> StringId {
        let files = &self.trace.disk_ios.file;
        files.get(row as usize).copied().unwrap_or_default()
    }

    fn shares(&self, shares: HashMap<(StepKind, ShareName), i64>, duration_ns: i64) -> Vec<PathShare> {
        // Different ids may share a name, e.g. drivers in two folders.
        let mut sums: BTreeMap<(StepKind, String, Option<u32>), i64> = BTreeMap::new();
        for ((kind, name), ns) in shares {
            let (name, pid) = match name {
                ShareName::Process(pid, life) => {
                    (life.map_or_else(String::new, |life| self.identities.image_of(life).to_owned()), pid)
                }
                ShareName::Text(text) if kind == StepKind::ServiceDependency => {
                    (self.trace.text(text).to_owned(), None)
                }
                ShareName::Kernel => (KERNEL.to_owned(), None),
                ShareName::Text(text) => (file_name(self.trace.text(text)).to_owned(), None),
                ShareName::Unknown(cause) => (cause.phrase().to_owned(), None),
            };
            *sums.entry((kind, name, pid)).or_default() += ns;
        }
        let mut list: Vec<PathShare> = sums
            .into_iter()
            .map(|((kind, name, pid), ns)| PathShare { kind, name, pid, ns, percent: percent_of(ns, duration_ns) })
            .collect();
        list.sort_by_key(|share| std::cmp::Reverse(share.ns));
        list
    }

    fn on_path(&self, walk: &WalkResult, duration_ns: i64) -> Vec<SubjectOnPath> {
        let mut sums: BTreeMap<(SubjectKind, String, Option<u32>), i64> = BTreeMap::new();
        let paths = &self.trace.system.drive_paths;
        let mut lives: HashMap<(u32, Option<Upid>), i64> = HashMap::new();
        let mut counted_lives: Vec<(u32, Option<Upid>)> = Vec::new();
        for step in &walk.steps {
            let ns = step.end_ns.saturating_sub(step.start_ns);
            counted_lives.clear();
            for tid in threads_of(walk, step) {
                let Some(pid) = self.identities.pid_of(tid, step.start_ns) else { continue };
                let life = (pid, self.identities.process_of(tid, step.start_ns));
                if !counted_lives.contains(&life) {
                    counted_lives.push(life);
                    *lives.entry(life).or_default() += ns;
                }
            }
            if let Some(blocker) = self.blockers.get(step.blocker) {
                let name = self.trace.text(blocker.service).to_owned();
                *sums.entry((SubjectKind::Service, name, None)).or_default() += ns;
            }
            let (kind, name) = match step.work {
                Work::Disk(row) => (SubjectKind::File, paths.readable(self.trace.text(self.file_of(row)))),
                Work::Device(driver) | Work::Timer(driver) if driver != StringId::EMPTY => {
                    (SubjectKind::Driver, driver_name(self.trace.text(driver)).into())
                }
                _ => continue,
            };
            *sums.entry((kind, name.into_owned(), None)).or_default() += ns;
        }
        for ((pid, life), ns) in lives {
            let name = life.map_or("", |life| self.identities.image_of(life)).to_owned();
            *sums.entry((SubjectKind::Process, name, Some(pid))).or_default() += ns;
        }
        for Overlap { kind, name, ns } in
            self.requests.overlaps(self.trace, walk, |tid, time| self.identities.pid_of(tid, time))
        {
            let sum = sums.entry((kind, name, None)).or_default();
            *sum = (*sum).max(ns);
        }
        let mut list: Vec<SubjectOnPath> = sums
            .into_iter()
            .map(|((kind, name, pid), ns)| SubjectOnPath { kind, name, pid, ns, percent: percent_of(ns, duration_ns) })
            .collect();
        list.sort_by_key(|row| std::cmp::Reverse(row.ns));
        list
    }

    fn waited_service(&self, index: u32) -> Option<WaitedService> {
        let blocker = self.blockers.get(index)?;
        Some(WaitedService {
            name: self.trace.text(blocker.service).to_owned(),
            change: blocker.change,
            start_ns: blocker.start_ns,
            ready_ns: blocker.ready_ns,
        })
    }

    fn services(&self, walk: &WalkResult, duration_ns: i64) -> Vec<ServiceWait> {
        let mut sums: BTreeMap<u32, i64> = BTreeMap::new();
        for step in walk.steps.iter().filter(|step| step.blocker != NO_BLOCKER) {
            *sums.entry(step.blocker).or_default() += step.end_ns.saturating_sub(step.start_ns);
        }
        let mut list: Vec<ServiceWait> = sums
            .into_iter()
            .filter_map(|(blocker, ns)| {
                Some(ServiceWait { service: self.waited_service(blocker)?, ns, percent: percent_of(ns, duration_ns) })
            })
            .collect();
        list.sort_by_key(|row| row.service.start_ns);
        list
    }

    fn list_longest_steps(&self, walk: &WalkResult, path: &mut CriticalPath) {
        let duration_ns = |step: &RawStep| step.end_ns.saturating_sub(step.start_ns);
        let mut min_ns = self.options.min_step_ns;
        if walk.steps.len() > self.options.max_steps {
            let mut lengths: Vec<i64> = walk.steps.iter().map(duration_ns).collect();
            lengths.sort_by_key(|&ns| std::cmp::Reverse(ns));
            let first_omitted_ns = lengths.get(self.options.max_steps).copied().unwrap_or(0);
            min_ns = min_ns.max(first_omitted_ns.saturating_add(1));
        }
        for step in walk.steps.iter().rev() {
            if duration_ns(step) < min_ns {
                path.omitted_steps += 1;
                path.omitted_ns += duration_ns(step);
            } else {
                path.steps.push(self.step(walk, step));
            }
        }
    }

    /// Returns the request that the thread of a step, or a thread waiting for it, was carrying out.
    fn request(&self, walk: &WalkResult, step: &RawStep) -> Option<&Request> {
        let middle_ns = step.start_ns.midpoint(step.end_ns);
        threads_of(walk, step)
            .take(MAX_LISTED_WAITERS)
            .find_map(|tid| self.requests.innermost_request(self.identities.lives().key(tid, middle_ns), middle_ns))
    }

    fn step(&self, walk: &WalkResult, step: &RawStep) -> PathStep {
        let request = self.request(walk, step);
        PathStep {
            start_ns: step.start_ns,
            end_ns: step.end_ns,
            duration_ns: step.end_ns.saturating_sub(step.start_ns),
            // Looked up at the start: by the end the id may be reused.
            thread: self.thread(step.tid, step.start_ns),
            kind: kind_of(step),
            service: self.waited_service(step.blocker),
            detail: match step.work {
                Work::Running | Work::Ready => String::new(),
                Work::Kernel => KERNEL.to_owned(),
                Work::Disk(row) => {
                    self.trace.system.drive_paths.readable(self.trace.text(self.file_of(row))).into_owned()
                }
                Work::Timer(driver) | Work::Device(driver) => file_name(self.trace.text(driver)).to_owned(),
                Work::Unknown(cause) => cause.phrase().to_owned(),
            },
            certainty: certainty_of(step),
            wait_reason: if step.reason == NO_REASON {
                String::new()
            } else {
                reason::name(self.trace.system.kind, step.reason).to_owned()
            },
            readies_tid: (step.readied_tid != 0).then_some(step.readied_tid),
            waiters: threads_of(walk, step).skip(1).take(MAX_LISTED_WAITERS).collect(),
            device: request.map(|request| self.trace.text(request.subject()).to_owned()).unwrap_or_default(),
            stack: Vec::new(),
            stack_ns: (step.stack_ns != NO_STACK).then_some(step.stack_ns),
        }
    }
}

pub(super) const fn kind_of(step: &RawStep) -> StepKind {
    match step.work {
        Work::Running | Work::Kernel => StepKind::Cpu,
        Work::Ready => StepKind::Ready,
        Work::Disk(_) => StepKind::Disk,
        Work::Timer(_) => StepKind::Timer,
        Work::Device(_) => StepKind::Device,
        Work::Unknown(_) if step.blocker != NO_BLOCKER => StepKind::ServiceDependency,
        Work::Unknown(_) => StepKind::Other,
    }
}

/// Waiting for a service explains an otherwise unknown step.
const fn certainty_of(step: &RawStep) -> Certainty {
    match step.certainty {
        Certainty::Missing if step.blocker != NO_BLOCKER => Certainty::Inferred,
        certainty => certainty,
    }
}

fn kinds(shares: &[PathShare], duration_ns: i64) -> Vec<KindShare> {
    let mut list: Vec<KindShare> = StepKind::ALL
        .into_iter()
        .map(|kind| {
            let ns =
                shares.iter().filter(|share| share.kind == kind).fold(0_i64, |sum, share| sum.saturating_add(share.ns));
            KindShare { kind, ns, percent: percent_of(ns, duration_ns) }
        })
        .filter(|share| share.ns > 0)
        .collect();
    list.sort_by_key(|share| std::cmp::Reverse(share.ns));
    list
}
