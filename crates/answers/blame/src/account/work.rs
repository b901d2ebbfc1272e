//! Who a thread worked for at a time, with the subjects and names of the accounts.

use hashbrown::HashMap;
use onoff_evidence::account_model::AccountSubjectKind;
use onoff_trace::{StringId, Trace};

use super::path::driver_of;
use super::processors::all_routine_times;
use super::subject_resolver::SubjectResolver;
use crate::waits::Waits;

/// Looks up the subjects of threads. Build it once and reuse it.
#[derive(Debug)]
pub struct ThreadWork<'w, 't> {
    waits: &'w Waits<'t>,
    resolver: SubjectResolver<'t>,
    /// The last answer for each thread.
    last: HashMap<u32, LastWork>,
}

/// What a thread did in an interval.
#[derive(Clone, Copy, Debug)]
struct LastWork {
    /// Start and end, ns.
    interval: (i64, i64),
    work: Option<WorkSubject>,
    process_row: Option<usize>,
}

/// The subject of a thread at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkSubject {
    /// Index for [`ThreadWork::subject`].
    pub subject: u32,
    /// True if the subject is what the thread waits for, e.g. one of several services. The thread may do work of its
    /// own meanwhile.
    pub is_waited_for: bool,
    /// True for a kernel thread that works on behalf of whatever waits for it.
    pub is_kernel: bool,
}

/// A time in which a driver's interrupt routine ran instead of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// The driver, an index for [`ThreadWork::subject`].
    pub driver: u32,
    /// The thread on the processor.
    pub tid: u32,
    pub start_ns: i64,
    /// Time in the routine, ns.
    pub ns: i64,
}

/// A subject as named in accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedSubject<'a> {
    pub kind: AccountSubjectKind,
    pub name: &'a str,
    /// Device of a driver; empty if not recorded.
    pub device: &'a str,
}

impl<'w, 't> ThreadWork<'w, 't> {
    /// `waits` should be built from [`crate::waits::TABLES`].
    #[must_use]
    pub fn new(waits: &'w Waits<'t>) -> Self {
        Self { waits, resolver: SubjectResolver::new(waits.trace()), last: HashMap::new() }
    }

    #[must_use]
    pub fn trace(&self) -> &'t Trace {
        self.waits.trace()
    }

    /// Returns the subject that thread `tid` worked for at `time_ns`; `None` for the idle thread and unrecorded threads.
    /// Times of one thread that follow each other cost little.
    pub fn at(&mut self, tid: u32, time_ns: i64) -> Option<WorkSubject> {
        self.last_work(tid, time_ns).work
    }

    fn last_work(&mut self, tid: u32, time_ns: i64) -> LastWork {
        let last = self.last.get(&tid).copied();
        if let Some(last) = last.filter(|last| last.interval.0 <= time_ns && time_ns < last.interval.1) {
            return last;
        }
        let found = self.resolver.thread(tid, time_ns, self.waits.modules());
        let work = found.map(|found| {
            let is_waited_for = self.resolver.waited_for(tid, time_ns).contains(&found.subject);
            WorkSubject { subject: found.subject, is_waited_for, is_kernel: found.is_kernel }
        });
        let process_row = self.waits.identities.process_of(tid, time_ns).map(onoff_trace::Upid::row);
        let last = LastWork { interval: self.resolver.steady_interval(tid, time_ns), work, process_row };
        self.last.insert(tid, last);
        last
    }

    /// Returns the subjects for which thread `tid` waits at `time_ns`, all at once: the responses to notifications and
    /// the state changes of services. Empty if it does not wait for others.
    pub fn waited_for(&mut self, tid: u32, time_ns: i64) -> Vec<u32> {
        self.resolver.waited_for(tid, time_ns)
    }

    /// Returns the subject of the driver in a file.
    pub fn driver(&mut self, file: StringId) -> u32 {
        self.resolver.driver(file)
    }

    /// Returns the times in which interrupts and DPCs of drivers kept a thread from its work, without nested ones.
    pub fn interruptions(&mut self) -> Vec<Interruption> {
        let trace = self.waits.trace();
        // The routines of each processor, last first, so that passed ones can be removed.
        let mut pending: HashMap<u16, Vec<Interruption>> = HashMap::new();
        for (cpu, routines) in all_routine_times(trace) {
            let with_driver = routines.into_iter().rev().filter_map(|routine| {
                let driver = self.resolver.driver(driver_of(trace, self.waits, &routine)?);
                let ns = routine.end_ns.saturating_sub(routine.start_ns);
                Some(Interruption { driver, tid: 0, start_ns: routine.start_ns, ns })
            });
            pending.insert(cpu, with_driver.collect());
        }
        let mut found = Vec::new();
        for chunk in trace.context_switches.chunks() {
            let rows = chunk.time_ns.iter().zip(&chunk.cpu).zip(&chunk.old_tid);
            for ((&time_ns, &cpu), &tid) in rows {
                let Some(routines) = pending.get_mut(&cpu) else { continue };
                while let Some(interruption) = routines.pop_if(|routine| routine.start_ns < time_ns) {
                    if tid != 0 {
                        found.push(Interruption { tid, ..interruption });
                    }
                }
            }
        }
        found
    }

    /// Returns the row of the process of thread `tid` at `time_ns`.
    pub fn process_row(&mut self, tid: u32, time_ns: i64) -> Option<usize> {
        self.last_work(tid, time_ns).process_row
    }

    /// Returns the subject that all work of the process in `row` belongs to; `None` if it hosts several services.
    pub fn process_subject(&mut self, row: usize) -> Option<u32> {
        self.resolver.sole_subject(row)
    }

    /// Returns the subject with an index from [`Self::at`].
    #[must_use]
    pub fn subject(&self, index: u32) -> Option<NamedSubject<'_>> {
        let subject = self.resolver.subjects.get(index)?;
        Some(NamedSubject { kind: subject.kind, name: &subject.name, device: &subject.device })
    }
}
