//! An index of the subjects that each thread worked for, so that a change looks only at the threads it concerns.

use hashbrown::{HashMap, HashSet};
use onoff_blame::account::{Interruption, ThreadWork};

use crate::graph::{Action, ExternalWait, Segment, TimedSegment};
use crate::model::Model;

/// The subjects and processes of a thread id.
#[derive(Debug, Default)]
struct ThreadSubjects {
    subjects: Vec<u32>,
    /// Rows of processes.
    processes: Vec<usize>,
    /// Subjects that it waited for in waits of fixed length, and drivers that ended such waits.
    waited_for: Vec<u32>,
}

/// The subjects of all threads.
#[derive(Debug, Default)]
pub(super) struct WorkIndex {
    /// Work of each subject, ns.
    pub(super) work_ns: HashMap<u32, i64>,
    threads: HashMap<u32, ThreadSubjects>,
    /// Interruptions of each thread by drivers, by time.
    interruptions: HashMap<u32, Vec<Interruption>>,
}

impl WorkIndex {
    pub(super) fn new(model: &Model<'_, '_>, work: &mut ThreadWork<'_, '_>) -> Self {
        let mut index = Self::default();
        for (&(tid, _), &driver) in &model.driver_waits {
            let driver = work.driver(driver);
            let _ = index.work_ns.entry(driver).or_default();
            add(&mut index.threads.entry(tid).or_default().waited_for, driver);
        }
        for task in model.graph.tasks.iter().filter(|task| task.tid != 0) {
            let thread = index.threads.entry(task.tid).or_default();
            for timed in &task.segments {
                let length_ns = match timed.segment {
                    Segment::Run { cpu_ns, .. } => cpu_ns,
                    Segment::Delay(delay_ns) | Segment::Timer(delay_ns) => delay_ns,
                    Segment::Act(Action::Signal(_)) | Segment::ActLater(_) => continue,
                    _ => 0,
                };
                if let Some(found) = work.at(task.tid, timed.recorded_ns) {
                    add(&mut thread.subjects, found.subject);
                    let sum = index.work_ns.entry(found.subject).or_default();
                    *sum = sum.saturating_add(length_ns);
                }
                if let Some(row) = work.process_row(task.tid, timed.recorded_ns) {
                    add(&mut thread.processes, row);
                }
                if let Some(end_ns) = fixed_wait_end_ns(timed, &model.graph.external_waits) {
                    for subject in work.waited_for(task.tid, end_ns.saturating_sub(1)) {
                        add(&mut thread.waited_for, subject);
                    }
                }
            }
        }
        for interruption in work.interruptions() {
            let sum = index.work_ns.entry(interruption.driver).or_default();
            *sum = sum.saturating_add(interruption.ns);
            index.interruptions.entry(interruption.tid).or_default().push(interruption);
        }
        for interruptions in index.interruptions.values_mut() {
            interruptions.sort_unstable_by_key(|interruption| interruption.start_ns);
        }
        index
    }

    /// True if one of the drivers interrupted the thread.
    pub(super) fn interrupted(&self, tid: u32, drivers: &HashSet<u32>) -> bool {
        let interruptions = self.interruptions.get(&tid);
        interruptions.is_some_and(|list| list.iter().any(|interruption| drivers.contains(&interruption.driver)))
    }

    /// Returns for how long drivers interrupted a thread from `start_ns` to `end_ns`, ns.
    pub(super) fn interrupted_ns(&self, tid: u32, (start_ns, end_ns): (i64, i64), drivers: &HashSet<u32>) -> i64 {
        let all = self.interruptions.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|interruption| interruption.start_ns < start_ns);
        let later = all.iter().skip(first).take_while(|interruption| interruption.start_ns < end_ns);
        let of_drivers = later.filter(|interruption| drivers.contains(&interruption.driver));
        of_drivers.map(|interruption| interruption.ns).fold(0, i64::saturating_add)
    }

    /// True if the thread worked for one of the subjects or in one of the processes.
    pub(super) fn concerns(&self, tid: u32, subjects: &HashSet<u32>, processes: &HashSet<usize>) -> bool {
        self.threads.get(&tid).is_some_and(|thread| {
            thread.subjects.iter().any(|subject| subjects.contains(subject))
                || thread.processes.iter().any(|row| processes.contains(row))
        })
    }

    /// True if the thread waited for one of the subjects in a wait of fixed length.
    pub(super) fn waits_for(&self, tid: u32, subjects: &HashSet<u32>) -> bool {
        let thread = self.threads.get(&tid);
        thread.is_some_and(|thread| thread.waited_for.iter().any(|subject| subjects.contains(subject)))
    }
}

/// Returns the recorded end of a wait of fixed length, ns; `None` for other segments. Not used across a sleep, where
/// clocks differ.
pub(super) fn fixed_wait_end_ns(timed: &TimedSegment, externals: &[ExternalWait]) -> Option<i64> {
    let delay_ns = match timed.segment {
        Segment::Delay(delay_ns) | Segment::Timer(delay_ns) => delay_ns,
        Segment::External(index) => externals.get(index as usize).map_or(0, |wait| wait.delay_ns),
        _ => return None,
    };
    Some(timed.recorded_ns.saturating_add(delay_ns))
}

/// Adds a value that is not in the list. Most threads have one or two.
fn add<T: PartialEq>(list: &mut Vec<T>, value: T) {
    // A thread works for the same subject many times in a row.
    if list.last() != Some(&value) && !list.contains(&value) {
        list.push(value);
    }
}
