//! The critical path, divided among those who made it long.
//!
//! Every step of the walk is cut where somebody's request, a service's change or a script begins or ends, and each piece goes
//! to the innermost subject of the threads that wait for one another there. What interrupts took of a stretch of running is
//! their driver's; what a ready thread waited for a processor is that of those who had the processors.

use std::cell::OnceCell;

use onoff_trace::{StringId, Trace};

use super::actors::{Actor, Actors, is_kernel};
use super::culprits::is_name_of_every_transition;
use super::disks::Disks;
use super::ledger::{Ledger, Part, Subject, SubjectId, Who};
use super::processors::{Gaps, occupied, taken_by_routines};
use crate::waits::{RawStep, Unknown, Waits, WalkResult, Work, threads_of};
use onoff_evidence::Certainty;
use onoff_evidence::account_model::{AccountSubjectKind, Did, NotKnown};
use onoff_usage::person;

/// Threads that wait for one another and are asked for their subject, at most.
const MAX_WAITERS: usize = 16;
/// A ready thread that got a processor sooner waited for nobody, ns: 50 µs. To switch takes a few of them.
const SHORT_READY_NS: i64 = 50_000;
/// Cuts of one step, at most.
const MAX_CUTS: usize = 4096;

/// What paths are divided with; made once per recording.
#[derive(Debug)]
pub(super) struct PathDivider<'t> {
    trace: &'t Trace,
    gaps: Gaps,
    disks: OnceCell<Disks>,
    /// Times at which a person was asked for something, and in which session.
    persons: Vec<person::CredentialRequest>,
}

/// What a walk is divided with.
struct Context<'a, 't> {
    waits: &'a Waits<'t>,
    walked: &'a WalkResult,
    /// The service that a step waited for.
    held: &'a dyn Fn(&RawStep) -> Option<StringId>,
}

/// Whose a piece is, before interrupts and processors are looked at.
struct Piece {
    who: Who,
    did: Did,
    certainty: Certainty,
}

impl<'t> PathDivider<'t> {
    pub(super) fn of(trace: &'t Trace) -> Self {
        Self { trace, gaps: Gaps::of(trace), disks: OnceCell::new(), persons: person::credential_requests(trace) }
    }

    /// Divides the steps of `walked`.
    pub(super) fn divide(
        &self,
        waits: &Waits<'t>,
        actors: &mut Actors<'t>,
        walked: &WalkResult,
        held: &dyn Fn(&RawStep) -> Option<StringId>,
        ledger: &mut Ledger,
    ) {
        let context = Context { waits, walked, held };
        let mut cuts: Vec<i64> = Vec::new();
        let mut parts: Vec<Part> = Vec::new();
        for step in &walked.steps {
            self.cuts(actors, walked, step, &mut cuts);
            // The walk goes back in time, and so do the parts.
            for ends in cuts.windows(2).rev() {
                parts.clear();
                self.piece(&context, actors, step, (ends[0], ends[1]), &mut parts);
                for &part in parts.iter().rev() {
                    ledger.add(part);
                }
            }
        }
    }

    /// Where the step is cut: its ends, and every begin and end of work that its threads do.
    fn cuts(&self, actors: &Actors<'t>, walked: &WalkResult, step: &RawStep, cuts: &mut Vec<i64>) {
        cuts.clear();
        cuts.push(step.start_ns);
        for tid in threads_of(walked, step).take(MAX_WAITERS) {
            actors.edges(tid, step.start_ns, step.end_ns, MAX_CUTS.saturating_sub(cuts.len()), cuts);
        }
        for &(start, end, _) in self.persons.iter().take_while(|person| person.0 < step.end_ns) {
            cuts.extend([start, end].into_iter().filter(|&at| at > step.start_ns && at < step.end_ns));
        }
        cuts.push(step.end_ns);
        cuts.sort();
        cuts.dedup();
    }

    fn piece(
        &self,
        context: &Context<'_, 't>,
        actors: &mut Actors<'t>,
        step: &RawStep,
        (start_ns, end_ns): (i64, i64),
        parts: &mut Vec<Part>,
    ) {
        let waits = context.waits;
        if step.work == Work::Unknown(Unknown::Asleep) {
            parts.push(Part { start_ns, end_ns, who: Who::Idle, did: Did::Nothing, certainty: Certainty::Measured });
            return;
        }
        if self.is_a_persons(actors, context.walked, step, start_ns) {
            let who = Who::Subject(actors.subjects.id(Subject::new(AccountSubjectKind::Person, "credentials")));
            let did = if is_wait(step.work) { did(step.work) } else { Did::Waited };
            let certainty = step.certainty.min(Certainty::Inferred);
            parts.push(Part { start_ns, end_ns, who, did, certainty });
            return;
        }
        let piece = self.whose(context, actors, step, start_ns);
        let whole = Part { start_ns, end_ns, who: piece.who, did: piece.did, certainty: piece.certainty };
        match step.work {
            Work::Running => {
                let mut done = start_ns;
                for (from, to) in self.gaps.of_processor(step.cpu, start_ns, end_ns) {
                    self.ran(waits, actors, Part { start_ns: done, end_ns: from, ..whole }, step.cpu, parts);
                    parts.push(lost(from, to));
                    done = to;
                }
                self.ran(waits, actors, Part { start_ns: done, ..whole }, step.cpu, parts);
            }
            Work::Ready if end_ns.saturating_sub(start_ns) >= SHORT_READY_NS => {
                self.was_ready(waits, actors, &whole, step.tid, parts);
            }
            Work::Disk(row) => self.waited_for_disk(waits, actors, whole, row, parts),
            _ => {
                let mut done = start_ns;
                for (from, to) in self.gaps.of_any(start_ns, end_ns) {
                    parts.push(Part { start_ns: done, end_ns: from, ..whole });
                    parts.push(lost(from, to));
                    done = to;
                }
                parts.push(Part { start_ns: done, ..whole });
            }
        }
    }

    /// A stretch of running: what interrupts took of it is theirs.
    fn ran(&self, waits: &Waits<'t>, actors: &mut Actors<'t>, whole: Part, cpu: u16, parts: &mut Vec<Part>) {
        if whole.start_ns >= whole.end_ns {
            return;
        }
        let mut done = whole.start_ns;
        for taken in taken_by_routines(self.trace, cpu, whole.start_ns, whole.end_ns) {
            let path = if taken.name == StringId::EMPTY {
                waits.modules().at(0, taken.routine, taken.start_ns).unwrap_or_default()
            } else {
                taken.name
            };
            // The kernel's own routines keep the time and expire timers, for whoever runs.
            if path == StringId::EMPTY || is_kernel(self.trace.text(path)) || is_kernel_routine(self.trace.text(path)) {
                continue;
            }
            parts.push(Part { start_ns: done, end_ns: taken.start_ns, ..whole });
            let who = Who::Subject(actors.driver(path));
            parts.push(Part {
                start_ns: taken.start_ns,
                end_ns: taken.end_ns,
                who,
                did: Did::Interrupted,
                certainty: Certainty::Measured,
            });
            done = taken.end_ns;
        }
        parts.push(Part { start_ns: done, ..whole });
    }

    /// A stretch in which a thread could run and had no processor: it is divided among those who had them.
    fn was_ready(&self, waits: &Waits<'t>, actors: &mut Actors<'t>, whole: &Part, tid: u32, parts: &mut Vec<Part>) {
        let mut holders: Vec<Who> = Vec::new();
        occupied(self.trace, whole.start_ns, whole.end_ns, &mut |from, to, threads| {
            if let Some((lost_from, lost_to)) = self.gaps.of_any(from, to).next() {
                parts.push(Part { start_ns: from, end_ns: lost_from, ..*whole });
                parts.push(lost(lost_from, lost_to));
                parts.push(Part { start_ns: lost_to, end_ns: to, ..*whole });
                return;
            }
            holders.clear();
            // With a processor idle, nobody held the thread up: it was on its way.
            let all_busy = !threads.is_empty() && threads.iter().all(|&running| running != 0 && running != tid);
            if all_busy {
                for &running in threads {
                    let who = actors.user(running, from, waits.modules()).map_or(whole.who, Who::Subject);
                    holders.push(who);
                }
                holders.sort_by(|a, b| subject_of(actors, *a).cmp(&subject_of(actors, *b)));
            }
            if holders.is_empty() {
                parts.push(Part { start_ns: from, end_ns: to, ..*whole });
                return;
            }
            let count = i64::try_from(holders.len()).unwrap_or(1);
            let length = to.saturating_sub(from);
            let mut start_ns = from;
            for (at, &who) in (1_i64..).zip(&holders) {
                let end_ns = if at == count { to } else { from.saturating_add(share(length, at, count)) };
                parts.push(Part { start_ns, end_ns, who, did: Did::HeldProcessors, certainty: Certainty::Measured });
                start_ns = end_ns;
            }
        });
    }

    /// A wait for a disk request: while the disk worked on requests of others, it is theirs.
    fn waited_for_disk(
        &self,
        waits: &Waits<'t>,
        actors: &mut Actors<'t>,
        whole: Part,
        row: u32,
        parts: &mut Vec<Part>,
    ) {
        let request = self.trace.disk_ios.get(row as usize);
        let reader = whole.who;
        let mut whole = whole;
        // What a part of the system waits for is the file: programs read their files for reasons of their own.
        if let (Some(request), Who::Subject(reader)) = (&request, reader)
            && actors.subjects.get(reader).is_some_and(is_part_of_system)
        {
            whole.who = Who::File { file: actors.file(request.file, request.disk), reader };
        }
        let whole = whole;
        let queued = request.and_then(|request| {
            let served_ns = request.complete_ns.saturating_sub(request.service_ns.max(0));
            let (from, to) = (request.issue_ns?.max(whole.start_ns), served_ns.min(whole.end_ns));
            (from < to).then_some((request.disk, from, to))
        });
        let mut done = whole.start_ns;
        if let Some((disk, from, to)) = queued {
            let disks = self.disks.get_or_init(|| Disks::of(self.trace));
            for served in disks.served(disk, from, to) {
                let by_thread = served.tid.and_then(|tid| actors.user(tid, served.start_ns, waits.modules()));
                let by = by_thread.or_else(|| served.pid.and_then(|pid| actors.process(pid, served.start_ns)));
                let Some(who) = by.map(Who::Subject).filter(|&who| who != reader) else { continue };
                parts.push(Part { start_ns: done, end_ns: served.start_ns, ..whole });
                parts.push(Part {
                    start_ns: served.start_ns,
                    end_ns: served.end_ns,
                    who,
                    did: Did::HeldDisk,
                    certainty: Certainty::Measured,
                });
                done = served.end_ns;
            }
        }
        parts.push(Part { start_ns: done, ..whole });
    }

    /// Whether a person was asked at that time, in the session of somebody who waits there: whatever else happened meanwhile, the person
    /// took that time, and it is in no length.
    fn is_a_persons(&self, actors: &Actors<'t>, walked: &WalkResult, step: &RawStep, time_ns: i64) -> bool {
        let asked = self.persons.iter().take_while(|person| person.0 <= time_ns);
        let mut asked = asked.filter(|person| time_ns < person.1);
        asked.any(|&(_, _, session)| {
            let threads = threads_of(walked, step).take(MAX_WAITERS);
            let mut sessions = threads.filter_map(|tid| actors.session(tid, time_ns)).peekable();
            session.is_none() || sessions.peek().is_none() || sessions.any(|its| Some(its) == session)
        })
    }

    fn whose(&self, context: &Context<'_, 't>, actors: &mut Actors<'t>, step: &RawStep, time_ns: i64) -> Piece {
        let (waits, walked) = (context.waits, context.walked);
        let did = did(step.work);
        let certainty = step.certainty;
        let found = innermost(actors, waits, walked, step, time_ns);
        let at_work = found.filter(|actor| actor.at_work);
        if found.is_none_or(|actor| actor.is_kernel)
            && let Some(step_of) = actors.kernel_step(time_ns)
        {
            return Piece { who: Who::Subject(step_of), did, certainty };
        }
        if is_wait(step.work)
            && at_work.is_none()
            && let Some(video) = actors.video(step.tid, time_ns)
        {
            return Piece { who: Who::Subject(video), did, certainty: Certainty::Inferred };
        }
        match step.work {
            Work::Device(driver) | Work::Timer(driver)
                if driver != StringId::EMPTY && !is_kernel(self.trace.text(driver)) =>
            {
                // The driver that carries out a request is named with its device.
                let who = match at_work.filter(|actor| is_driver(actors, *actor)) {
                    Some(actor) => actor.subject,
                    None => actors.driver(driver),
                };
                Piece { who: Who::Subject(who), did, certainty }
            }
            Work::Kernel => {
                let who = match at_work {
                    Some(actor) => actor.subject,
                    None => actors.subjects.id(Subject::new(AccountSubjectKind::Kernel, "kernel")),
                };
                Piece { who: Who::Subject(who), did, certainty }
            }
            Work::Unknown(why) => {
                let certainty = Certainty::Inferred;
                if let Some(actor) = at_work.filter(|_| is_told_by_requests(why)) {
                    let did = if is_unit(actors, actor.subject) { Did::Waited } else { did };
                    return Piece { who: Who::Subject(actor.subject), did, certainty };
                }
                if let Some(service) = (context.held)(step) {
                    let id = actors.service_id(self.trace.text(service).to_owned(), None);
                    let did = if is_unit(actors, id) { Did::Waited } else { did };
                    return Piece { who: Who::Subject(id), did, certainty };
                }
                Piece { who: Who::Nobody(reason(why)), did: Did::Nothing, certainty: Certainty::Missing }
            }
            _ => match found {
                Some(actor) => Piece { who: Who::Subject(actor.subject), did, certainty },
                None => {
                    let name = format!("thread {}", step.tid);
                    let id = actors.subjects.id(Subject::new(AccountSubjectKind::Process, name));
                    Piece { who: Who::Subject(id), did, certainty }
                }
            },
        }
    }
}

fn subject_of<'a>(actors: &'a Actors<'_>, who: Who) -> Option<&'a Subject> {
    match who {
        Who::Subject(id) => actors.subjects.get(id),
        _ => None,
    }
}

/// `length` × `at` ÷ `count`, without overflow.
fn share(length: i64, at: i64, count: i64) -> i64 {
    let part = i128::from(length) * i128::from(at) / i128::from(count.max(1));
    i64::try_from(part).unwrap_or(length)
}

fn lost(start_ns: i64, end_ns: i64) -> Part {
    let who = Who::Nobody(NotKnown::EventsLost);
    Part { start_ns, end_ns, who, did: Did::Nothing, certainty: Certainty::Missing }
}

/// Soft interrupts of Linux that are the kernel's own.
fn is_kernel_routine(name: &str) -> bool {
    matches!(name, "TIMER" | "HRTIMER" | "SCHED" | "RCU" | "TASKLET" | "HI")
}

const fn is_wait(work: Work) -> bool {
    !matches!(work, Work::Running | Work::Ready | Work::Kernel | Work::Disk(_))
}

fn is_driver(actors: &Actors<'_>, actor: Actor) -> bool {
    actors.subjects.get(actor.subject).is_some_and(|subject| subject.kind == AccountSubjectKind::Driver)
}

fn is_unit(actors: &Actors<'_>, subject: SubjectId) -> bool {
    actors.subjects.get(subject).is_some_and(|subject| subject.kind == AccountSubjectKind::Unit)
}

/// Whether a subject is a program that every transition consists of.
fn is_part_of_system(subject: &Subject) -> bool {
    subject.kind == AccountSubjectKind::Process && is_name_of_every_transition(&subject.name)
}

/// The innermost of the threads that wait for one another which names more than the kernel.
fn innermost<'t>(
    actors: &mut Actors<'t>,
    waits: &Waits<'t>,
    walked: &WalkResult,
    step: &RawStep,
    time_ns: i64,
) -> Option<Actor> {
    let mut kernel = None;
    for tid in threads_of(walked, step).take(MAX_WAITERS) {
        match actors.thread(tid, time_ns, waits.modules()) {
            Some(actor) if actor.is_kernel => {
                kernel.get_or_insert(actor);
            }
            Some(actor) => return Some(actor),
            None => {}
        }
    }
    kernel
}

/// Whether a request under way says whose a wait is, when no event says what ended it.
const fn is_told_by_requests(why: Unknown) -> bool {
    matches!(
        why,
        Unknown::NoReady
            | Unknown::Interrupt
            | Unknown::NotSeen
            | Unknown::BeforeRecording
            | Unknown::Creator
            | Unknown::NoServiceThread
    )
}

const fn reason(why: Unknown) -> NotKnown {
    match why {
        Unknown::NotOver => NotKnown::NotOver,
        Unknown::NoReady | Unknown::NoServiceThread => NotKnown::NoReadyThread,
        Unknown::Interrupt => NotKnown::InterruptNotRecorded,
        Unknown::NotSeen | Unknown::Creator => NotKnown::ThreadNotSeen,
        Unknown::Cycle | Unknown::Gone => NotKnown::Contradiction,
        Unknown::TooLong => NotKnown::TooLong,
        Unknown::BeforeRecording => NotKnown::BeforeRecording,
        Unknown::NoSwitches => NotKnown::NoEnd,
        Unknown::Asleep => NotKnown::NothingRecorded,
    }
}

const fn did(work: Work) -> Did {
    match work {
        Work::Running | Work::Kernel => Did::Ran,
        Work::Ready => Did::WaitedForProcessor,
        Work::Disk(_) => Did::WaitedForDisk,
        Work::Timer(_) => Did::WaitedForTimer,
        Work::Device(_) => Did::WaitedForDevice,
        Work::Unknown(_) => Did::HeldRequest,
    }
}
