//! An index of the subjects that each thread worked for, so that a change looks only at the threads it concerns.

use hashbrown::{HashMap, HashSet};
use onoff_blame::account::ThreadWork;

use crate::graph::{Action, Segment};
use crate::model::Model;

/// The subjects and processes of a thread id.
#[derive(Debug, Default)]
struct ThreadSubjects {
    subjects: Vec<u32>,
    /// Rows of processes.
    processes: Vec<usize>,
}

/// The subjects of all threads.
#[derive(Debug, Default)]
pub(super) struct WorkIndex {
    /// Work of each subject, ns.
    pub(super) work_ns: HashMap<u32, i64>,
    threads: HashMap<u32, ThreadSubjects>,
}

impl WorkIndex {
    pub(super) fn new(model: &Model<'_, '_>, work: &mut ThreadWork<'_, '_>) -> Self {
        let mut index = Self::default();
        for &driver in model.driver_waits.values() {
            let _ = index.work_ns.entry(work.driver(driver)).or_default();
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
            }
        }
        index
    }

    /// True if the thread worked for one of the subjects or in one of the processes.
    pub(super) fn concerns(&self, tid: u32, subjects: &HashSet<u32>, processes: &HashSet<usize>) -> bool {
        self.threads.get(&tid).is_some_and(|thread| {
            thread.subjects.iter().any(|subject| subjects.contains(subject))
                || thread.processes.iter().any(|row| processes.contains(row))
        })
    }
}

/// Adds a value that is not in the list. Most threads have one or two.
fn add<T: PartialEq>(list: &mut Vec<T>, value: T) {
    // A thread works for the same subject many times in a row.
    if list.last() != Some(&value) && !list.contains(&value) {
        list.push(value);
    }
}
