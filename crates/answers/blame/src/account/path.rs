//! Divides the critical path among the subjects that made it long.
//!
//! Every step of the walk is split where a request, a service change or a script starts or ends, and each interval goes
//! to the innermost subject of the waiting threads there. Interrupt time within CPU time goes to the interrupt's
//! driver, and the time a ready thread waited for a processor goes to the threads that occupied the processors.

use std::cell::OnceCell;

use onoff_trace::{StringId, Trace};

use super::culprits::is_system_component_name;
use super::disks::Disks;
use super::ledger::{Attribution, Ledger, Part, Subject, SubjectId};
use super::processors::{Gaps, RoutineTime, for_each_assignment, routine_times};
use super::recorded::awaited_requests;
use super::subject_resolver::{SubjectResolver, ThreadSubject, is_kernel};
use crate::waits::{RawStep, UnknownCause, Waits, WalkResult, Work, threads_of};
use onoff_evidence::Certainty;
use onoff_evidence::account_model::{AccountAction, AccountSubjectKind, UnknownReason};
use onoff_usage::user_input;

/// Maximum number of waiting threads whose subject is examined.
const MAX_WAITERS: usize = 16;
/// Minimum ready wait that is attributed to other threads, ns: 50 µs. A context switch takes a few µs.
const MIN_READY_NS: i64 = 50_000;
/// Maximum number of splits of one step.
const MAX_SPLITS: usize = 4096;

/// Divides paths. Built once per recording.
#[derive(Debug)]
pub(super) struct PathDivider<'t> {
    trace: &'t Trace,
    gaps: Gaps,
    disks: OnceCell<Disks>,
    /// Credential requests to a person, with their session.
    credential_requests: Vec<user_input::CredentialRequest>,
}

struct Context<'a, 't> {
    waits: &'a Waits<'t>,
    walk: &'a WalkResult,
    /// Returns the service that a step waited for.
    blocking_service: &'a dyn Fn(&RawStep) -> Option<StringId>,
}

/// Attribution of an interval before interrupts and processors are considered.
struct IntervalAttribution {
    attribution: Attribution,
    action: AccountAction,
    certainty: Certainty,
}

impl<'t> PathDivider<'t> {
    pub(super) fn new(trace: &'t Trace) -> Self {
        Self { trace, gaps: Gaps::new(trace), disks: OnceCell::new(), credential_requests: awaited_requests(trace) }
    }

    pub(super) fn divide(
        &self,
        waits: &Waits<'t>,
        resolver: &mut SubjectResolver<'t>,
        walk: &WalkResult,
        blocking_service: &dyn Fn(&RawStep) -> Option<StringId>,
        ledger: &mut Ledger,
    ) {
        let context = Context { waits, walk, blocking_service };
        let mut points: Vec<i64> = Vec::new();
        let mut parts: Vec<Part> = Vec::new();
        for step in &walk.steps {
            self.split_points(resolver, walk, step, &mut points);
            // The walk goes back in time, and so do the parts.
            for bounds in points.windows(2).rev() {
                parts.clear();
                self.divide_interval(&context, resolver, step, (bounds[0], bounds[1]), &mut parts);
                for &part in parts.iter().rev() {
                    ledger.add(part);
                }
            }
        }
    }

    /// Collects the split points of the step: its ends, and every start and end of work of its threads.
    fn split_points(&self, resolver: &SubjectResolver<'t>, walk: &WalkResult, step: &RawStep, points: &mut Vec<i64>) {
        points.clear();
        points.push(step.start_ns);
        for tid in threads_of(walk, step).take(MAX_WAITERS) {
            resolver.boundaries(tid, step.start_ns, step.end_ns, MAX_SPLITS.saturating_sub(points.len()), points);
        }
        for &(start, end, _) in self.credential_requests.iter().take_while(|&&(start, ..)| start < step.end_ns) {
            points.extend([start, end].into_iter().filter(|&time_ns| time_ns > step.start_ns && time_ns < step.end_ns));
        }
        points.push(step.end_ns);
        points.sort();
        points.dedup();
    }

    fn divide_interval(
        &self,
        context: &Context<'_, 't>,
        resolver: &mut SubjectResolver<'t>,
        step: &RawStep,
        (start_ns, end_ns): (i64, i64),
        parts: &mut Vec<Part>,
    ) {
        let waits = context.waits;
        if step.work == Work::Unknown(UnknownCause::Asleep) {
            parts.push(Part {
                start_ns,
                end_ns,
                attribution: Attribution::Idle,
                action: AccountAction::Nothing,
                certainty: Certainty::Measured,
            });
            return;
        }
        if self.waits_for_person(resolver, context.walk, step, start_ns) {
            let attribution =
                Attribution::Subject(resolver.subjects.id(Subject::new(AccountSubjectKind::UserInput, "credentials")));
            let action = if is_wait(step.work) { action(step.work) } else { AccountAction::Waited };
            let certainty = step.certainty.min(Certainty::Inferred);
            parts.push(Part { start_ns, end_ns, attribution, action, certainty });
            return;
        }
        let interval_attribution = self.attribution(context, resolver, step, start_ns);
        let part = Part {
            start_ns,
            end_ns,
            attribution: interval_attribution.attribution,
            action: interval_attribution.action,
            certainty: interval_attribution.certainty,
        };
        match step.work {
            Work::Running => {
                let mut done_ns = start_ns;
                for (gap_start, gap_end) in self.gaps.on_processor(step.cpu, start_ns, end_ns) {
                    self.divide_cpu(
                        waits,
                        resolver,
                        Part { start_ns: done_ns, end_ns: gap_start, ..part },
                        step.cpu,
                        parts,
                    );
                    parts.push(lost_part(gap_start, gap_end));
                    done_ns = gap_end;
                }
                self.divide_cpu(waits, resolver, Part { start_ns: done_ns, ..part }, step.cpu, parts);
            }
            Work::Ready if end_ns.saturating_sub(start_ns) >= MIN_READY_NS => {
                self.divide_ready(waits, resolver, &part, step.tid, parts);
            }
            Work::Disk(row) => self.divide_disk_wait(waits, resolver, part, row, parts),
            _ => {
                let mut done_ns = start_ns;
                for (gap_start, gap_end) in self.gaps.on_any_processor(start_ns, end_ns) {
                    parts.push(Part { start_ns: done_ns, end_ns: gap_start, ..part });
                    parts.push(lost_part(gap_start, gap_end));
                    done_ns = gap_end;
                }
                parts.push(Part { start_ns: done_ns, ..part });
            }
        }
    }

    /// Divides CPU time: interrupts go to their drivers.
    fn divide_cpu(
        &self,
        waits: &Waits<'t>,
        resolver: &mut SubjectResolver<'t>,
        part: Part,
        cpu: u16,
        parts: &mut Vec<Part>,
    ) {
        if part.start_ns >= part.end_ns {
            return;
        }
        let mut done_ns = part.start_ns;
        for routine in routine_times(self.trace, cpu, part.start_ns, part.end_ns) {
            let Some(path) = driver_of(self.trace, waits, &routine) else { continue };
            parts.push(Part { start_ns: done_ns, end_ns: routine.start_ns, ..part });
            let attribution = Attribution::Subject(resolver.driver(path));
            parts.push(Part {
                start_ns: routine.start_ns,
                end_ns: routine.end_ns,
                attribution,
                action: AccountAction::Interrupted,
                certainty: Certainty::Measured,
            });
            done_ns = routine.end_ns;
        }
        parts.push(Part { start_ns: done_ns, ..part });
    }

    /// Divides the time a ready thread waited for a processor among the threads that occupied the processors.
    fn divide_ready(
        &self,
        waits: &Waits<'t>,
        resolver: &mut SubjectResolver<'t>,
        part: &Part,
        tid: u32,
        parts: &mut Vec<Part>,
    ) {
        let mut holders: Vec<Attribution> = Vec::new();
        for_each_assignment(self.trace, part.start_ns, part.end_ns, &mut |interval_start, interval_end, threads| {
            if let Some((gap_start, gap_end)) = self.gaps.on_any_processor(interval_start, interval_end).next() {
                parts.push(Part { start_ns: interval_start, end_ns: gap_start, ..*part });
                parts.push(lost_part(gap_start, gap_end));
                parts.push(Part { start_ns: gap_end, end_ns: interval_end, ..*part });
                return;
            }
            holders.clear();
            // With an idle processor nothing blocked the thread: it was about to run.
            let all_busy = !threads.is_empty() && threads.iter().all(|&running| running != 0 && running != tid);
            if all_busy {
                for &running in threads {
                    let attribution = resolver
                        .user(running, interval_start, waits.modules())
                        .map_or(part.attribution, Attribution::Subject);
                    holders.push(attribution);
                }
                holders.sort_by(|a, b| subject_of(resolver, *a).cmp(&subject_of(resolver, *b)));
            }
            if holders.is_empty() {
                parts.push(Part { start_ns: interval_start, end_ns: interval_end, ..*part });
                return;
            }
            let count = i64::try_from(holders.len()).unwrap_or(1);
            let length = interval_end.saturating_sub(interval_start);
            let mut start_ns = interval_start;
            for (index, &attribution) in (1_i64..).zip(&holders) {
                let end_ns = if index == count {
                    interval_end
                } else {
                    interval_start.saturating_add(share(length, index, count))
                };
                parts.push(Part {
                    start_ns,
                    end_ns,
                    attribution,
                    action: AccountAction::OccupiedCpu,
                    certainty: Certainty::Measured,
                });
                start_ns = end_ns;
            }
        });
    }

    /// Divides a wait for a disk request: while the disk served other requests, the time belongs to their subjects.
    fn divide_disk_wait(
        &self,
        waits: &Waits<'t>,
        resolver: &mut SubjectResolver<'t>,
        part: Part,
        row: u32,
        parts: &mut Vec<Part>,
    ) {
        let request = self.trace.disk_ios.get(row as usize);
        let reader = part.attribution;
        let mut part = part;
        // If a system component waits, the time goes to the file. A program is responsible for what it reads.
        if let (Some(request), Attribution::Subject(reader)) = (&request, reader)
            && resolver.subjects.get(reader).is_some_and(is_system_component)
        {
            part.attribution = Attribution::File { file: resolver.file(request.file, request.disk), reader };
        }
        let part = part;
        let queued = request.and_then(|request| {
            let service_start_ns = request.complete_ns.saturating_sub(request.service_ns.max(0));
            let (queue_start_ns, queue_end_ns) =
                (request.issue_ns?.max(part.start_ns), service_start_ns.min(part.end_ns));
            (queue_start_ns < queue_end_ns).then_some((request.disk, queue_start_ns, queue_end_ns))
        });
        let mut done_ns = part.start_ns;
        if let Some((disk, queue_start_ns, queue_end_ns)) = queued {
            let disks = self.disks.get_or_init(|| Disks::new(self.trace));
            for service_time in disks.service_times(disk, queue_start_ns, queue_end_ns) {
                let thread_subject =
                    service_time.tid.and_then(|tid| resolver.user(tid, service_time.start_ns, waits.modules()));
                let subject = thread_subject
                    .or_else(|| service_time.pid.and_then(|pid| resolver.process(pid, service_time.start_ns)));
                let Some(attribution) = subject.map(Attribution::Subject).filter(|&attribution| attribution != reader)
                else {
                    continue;
                };
                parts.push(Part { start_ns: done_ns, end_ns: service_time.start_ns, ..part });
                parts.push(Part {
                    start_ns: service_time.start_ns,
                    end_ns: service_time.end_ns,
                    attribution,
                    action: AccountAction::OccupiedDisk,
                    certainty: Certainty::Measured,
                });
                done_ns = service_time.end_ns;
            }
        }
        parts.push(Part { start_ns: done_ns, ..part });
    }

    /// True if a user was being prompted for credentials at that time in the session of a waiting thread. The time is
    /// then attributed to the person, whatever else happened, and is excluded from all durations.
    fn waits_for_person(
        &self,
        resolver: &SubjectResolver<'t>,
        walk: &WalkResult,
        step: &RawStep,
        time_ns: i64,
    ) -> bool {
        let requests = self.credential_requests.iter().take_while(|&&(start_ns, ..)| start_ns <= time_ns);
        let mut requests = requests.filter(|&&(_, end_ns, _)| time_ns < end_ns);
        requests.any(|&(_, _, session)| {
            let threads = threads_of(walk, step).take(MAX_WAITERS);
            let mut sessions = threads.filter_map(|tid| resolver.session(tid, time_ns)).peekable();
            session.is_none()
                || sessions.peek().is_none()
                || sessions.any(|thread_session| Some(thread_session) == session)
        })
    }

    fn attribution(
        &self,
        context: &Context<'_, 't>,
        resolver: &mut SubjectResolver<'t>,
        step: &RawStep,
        time_ns: i64,
    ) -> IntervalAttribution {
        let (waits, walk) = (context.waits, context.walk);
        let action = action(step.work);
        let certainty = step.certainty;
        let innermost_actor = innermost_subject(resolver, waits, walk, step, time_ns);
        let on_task = innermost_actor.filter(|actor| actor.on_task);
        if innermost_actor.is_none_or(|actor| actor.is_kernel)
            && let Some(kernel_step) = resolver.kernel_step(time_ns)
        {
            return IntervalAttribution { attribution: Attribution::Subject(kernel_step), action, certainty };
        }
        if is_wait(step.work)
            && on_task.is_none()
            && let Some(video) = resolver.video_driver(step.tid, time_ns)
        {
            return IntervalAttribution {
                attribution: Attribution::Subject(video),
                action,
                certainty: Certainty::Inferred,
            };
        }
        match step.work {
            Work::Device(driver) | Work::Timer(driver)
                if driver != StringId::EMPTY && !is_kernel(self.trace.text(driver)) =>
            {
                // The driver that carries out a request is reported with its device.
                let attribution = match on_task.filter(|actor| is_driver(resolver, *actor)) {
                    Some(actor) => actor.subject,
                    None => resolver.driver(driver),
                };
                IntervalAttribution { attribution: Attribution::Subject(attribution), action, certainty }
            }
            Work::Kernel => {
                let attribution = match on_task {
                    Some(actor) => actor.subject,
                    None => resolver.subjects.id(Subject::new(AccountSubjectKind::Kernel, "kernel")),
                };
                IntervalAttribution { attribution: Attribution::Subject(attribution), action, certainty }
            }
            Work::Unknown(cause) => {
                let certainty = Certainty::Inferred;
                if let Some(actor) = on_task.filter(|_| is_explained_by_request(cause)) {
                    let action = if is_unit(resolver, actor.subject) { AccountAction::Waited } else { action };
                    return IntervalAttribution { attribution: Attribution::Subject(actor.subject), action, certainty };
                }
                if let Some(service) = (context.blocking_service)(step) {
                    let id = resolver.service_id(self.trace.text(service).to_owned(), None);
                    let action = if is_unit(resolver, id) { AccountAction::Waited } else { action };
                    return IntervalAttribution { attribution: Attribution::Subject(id), action, certainty };
                }
                IntervalAttribution {
                    attribution: Attribution::Unattributed(unknown_reason(cause)),
                    action: AccountAction::Nothing,
                    certainty: Certainty::Missing,
                }
            }
            _ => match innermost_actor {
                Some(actor) => {
                    IntervalAttribution { attribution: Attribution::Subject(actor.subject), action, certainty }
                }
                None => {
                    let name = format!("thread {}", step.tid);
                    let id = resolver.subjects.id(Subject::new(AccountSubjectKind::Process, name));
                    IntervalAttribution { attribution: Attribution::Subject(id), action, certainty }
                }
            },
        }
    }
}

fn subject_of<'a>(resolver: &'a SubjectResolver<'_>, attribution: Attribution) -> Option<&'a Subject> {
    match attribution {
        Attribution::Subject(id) => resolver.subjects.get(id),
        _ => None,
    }
}

/// Returns `length` × `index` ÷ `count` without overflow.
fn share(length: i64, index: i64, count: i64) -> i64 {
    let part = i128::from(length) * i128::from(index) / i128::from(count.max(1));
    i64::try_from(part).unwrap_or(length)
}

fn lost_part(start_ns: i64, end_ns: i64) -> Part {
    let attribution = Attribution::Unattributed(UnknownReason::EventsLost);
    Part { start_ns, end_ns, attribution, action: AccountAction::Nothing, certainty: Certainty::Missing }
}

/// Returns the file or name of the driver whose routine ran. Kernel routines belong to no driver: they keep the time and
/// expire timers on behalf of whatever runs.
pub(super) fn driver_of(trace: &Trace, waits: &Waits<'_>, routine: &RoutineTime) -> Option<StringId> {
    let path = match routine.name {
        StringId::EMPTY => waits.modules().path_at(0, routine.routine, routine.start_ns)?,
        name => name,
    };
    let name = trace.text(path);
    (path != StringId::EMPTY && !is_kernel(name) && !is_kernel_routine(name)).then_some(path)
}

/// Linux softirqs that belong to the kernel itself.
fn is_kernel_routine(name: &str) -> bool {
    matches!(name, "TIMER" | "HRTIMER" | "SCHED" | "RCU" | "TASKLET" | "HI")
}

const fn is_wait(work: Work) -> bool {
    !matches!(work, Work::Running | Work::Ready | Work::Kernel | Work::Disk(_))
}

fn is_driver(resolver: &SubjectResolver<'_>, actor: ThreadSubject) -> bool {
    resolver.subjects.get(actor.subject).is_some_and(|subject| subject.kind == AccountSubjectKind::Driver)
}

fn is_unit(resolver: &SubjectResolver<'_>, subject: SubjectId) -> bool {
    resolver.subjects.get(subject).is_some_and(|subject| subject.kind == AccountSubjectKind::Unit)
}

/// True if a subject is a program that takes part in every transition.
fn is_system_component(subject: &Subject) -> bool {
    subject.kind == AccountSubjectKind::Process && is_system_component_name(&subject.name)
}

/// Returns the innermost subject among the waiting threads that is more specific than the kernel, otherwise the kernel.
fn innermost_subject<'t>(
    resolver: &mut SubjectResolver<'t>,
    waits: &Waits<'t>,
    walk: &WalkResult,
    step: &RawStep,
    time_ns: i64,
) -> Option<ThreadSubject> {
    let mut kernel = None;
    for tid in threads_of(walk, step).take(MAX_WAITERS) {
        match resolver.thread(tid, time_ns, waits.modules()) {
            Some(actor) if actor.is_kernel => {
                kernel.get_or_insert(actor);
            }
            Some(actor) => return Some(actor),
            None => {}
        }
    }
    kernel
}

/// True if an ongoing request explains a wait whose end was not recorded.
const fn is_explained_by_request(cause: UnknownCause) -> bool {
    matches!(
        cause,
        UnknownCause::NoReadyEvent
            | UnknownCause::Interrupt
            | UnknownCause::NoEvents
            | UnknownCause::BeforeRecording
            | UnknownCause::UnknownCreator
            | UnknownCause::NoServiceThread
    )
}

const fn unknown_reason(cause: UnknownCause) -> UnknownReason {
    match cause {
        UnknownCause::Unfinished => UnknownReason::Unfinished,
        UnknownCause::NoReadyEvent | UnknownCause::NoServiceThread => UnknownReason::NoReadyThread,
        UnknownCause::Interrupt => UnknownReason::InterruptNotRecorded,
        UnknownCause::NoEvents | UnknownCause::UnknownCreator => UnknownReason::CreatorUnknown,
        UnknownCause::Cycle | UnknownCause::Exited => UnknownReason::Contradiction,
        UnknownCause::TooLong => UnknownReason::ChainTooLong,
        UnknownCause::BeforeRecording => UnknownReason::BeforeRecording,
        UnknownCause::NoSwitches => UnknownReason::EndingThreadUnknown,
        UnknownCause::Asleep => UnknownReason::NothingRecorded,
    }
}

const fn action(work: Work) -> AccountAction {
    match work {
        Work::Running | Work::Kernel => AccountAction::Ran,
        Work::Ready => AccountAction::WaitedForCpu,
        Work::Disk(_) => AccountAction::WaitedForDisk,
        Work::Timer(_) => AccountAction::WaitedForTimer,
        Work::Device(_) => AccountAction::WaitedForDevice,
        Work::Unknown(_) => AccountAction::ProcessedRequest,
    }
}
