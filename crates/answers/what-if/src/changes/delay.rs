//! Starts a service or program when the desktop is ready.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DependencyKind, ServiceChange};
use onoff_transitions::TransitionKind;

use super::ungroup::signals_after;
use super::{ChangeError, Changes};
use crate::edit::places_of;
use crate::graph::{Action, Graph, Segment, SignalId, TimedSegment};

impl Changes<'_, '_, '_> {
    /// Makes the threads of a service or program wait for the desktop. Refuses if something waits for them before.
    pub(super) fn delay(&mut self, graph: &mut Graph, name: &str) -> Result<(), ChangeError> {
        let not_possible = |reason| ChangeError::NotPossible { name: name.to_owned(), reason };
        let desktop = self
            .model
            .phases
            .iter()
            .find(|phase| phase.end.is_none() && phase.phase.transition == TransitionKind::Boot);
        let Some((desktop, desktop_ns)) = desktop.map(|phase| (phase.start, phase.phase.range.start_ns)) else {
            return Err(not_possible("the recording does not show when the desktop was ready"));
        };
        let matched = self.matching_subjects(&[name])?;
        let processes = self.removed_processes(&matched);
        let delayed = self.tasks_before(graph, desktop_ns, |changes, tid, time_ns| {
            changes.is_removed(tid, time_ns, &matched, &processes)
        });
        if delayed.is_empty() {
            return Err(not_possible("it already starts after the desktop is ready"));
        }
        let managers = self.drop_manager_waits(graph, &matched, desktop_ns)?;
        let own_signals: HashSet<SignalId> = delayed
            .iter()
            .filter_map(|&task| graph.tasks.get(task))
            .flat_map(|task| &task.segments)
            .filter_map(|timed| signal_of(graph, timed.segment))
            .collect();
        for index in 0..graph.tasks.len() {
            if delayed.contains(&index) || managers.reporters.contains(&index) {
                continue;
            }
            let is_own = |segment: &Segment| match segment {
                Segment::Await(signal) => own_signals.contains(signal) || managers.signals.contains(signal),
                _ => false,
            };
            let Some(shared) = graph.tasks.get_mut(index) else { continue };
            if !shared.segments.iter().any(|timed| is_own(&timed.segment)) {
                continue;
            }
            let task = Arc::make_mut(shared);
            for timed in task.segments.iter_mut().filter(|timed| timed.recorded_ns < desktop_ns) {
                if !is_own(&timed.segment) {
                    continue;
                }
                if managers.tasks.contains(&index) {
                    timed.segment = Segment::Delay(0);
                    continue;
                }
                let by = self.name_at(task.tid, timed.recorded_ns);
                return Err(ChangeError::Needed { name: name.to_owned(), by });
            }
        }
        for (index, task) in graph.tasks.iter_mut().enumerate() {
            let tid = task.tid;
            if delayed.contains(&index) {
                let recorded_ns = task.segments.first().map_or(0, |timed| timed.recorded_ns);
                let segment = Segment::Await(desktop);
                let segments = &mut Arc::make_mut(task).segments;
                segments.insert(1.min(segments.len()), TimedSegment { recorded_ns, segment });
            } else if managers.tasks.contains(&index) {
                // The manager creates the process later, too.
                Arc::make_mut(task).segments.retain(|timed| {
                    let is_work = matches!(timed.segment, Segment::Run { .. } | Segment::Delay(_) | Segment::Timer(_));
                    !is_work || !self.is_removed(tid, timed.recorded_ns, &matched, &processes)
                });
            }
        }
        Ok(())
    }

    /// Returns the tasks that ran before a time, and whose first run satisfies a condition.
    fn tasks_before(
        &mut self,
        graph: &Graph,
        before_ns: i64,
        mut is_wanted: impl FnMut(&mut Self, u32, i64) -> bool,
    ) -> HashSet<usize> {
        let mut tasks = HashSet::new();
        for (index, task) in graph.tasks.iter().enumerate().filter(|(_, task)| task.tid != 0) {
            let first_run = task.segments.iter().find(|timed| matches!(timed.segment, Segment::Run { .. }));
            let first_ns = first_run.map(|timed| timed.recorded_ns).filter(|&first_ns| first_ns < before_ns);
            if first_ns.is_some_and(|first_ns| is_wanted(self, task.tid, first_ns)) {
                tasks.insert(index);
            }
        }
        tasks
    }

    /// Finds the waits of service managers for the services among the subjects. Refuses if another service that starts
    /// before the desktop depends on one of them.
    fn drop_manager_waits(
        &mut self,
        graph: &Graph,
        matched: &HashSet<u32>,
        desktop_ns: i64,
    ) -> Result<ManagerWaits, ChangeError> {
        let trace = self.model.trace;
        let mut waits = ManagerWaits::default();
        let names: HashSet<String> = matched
            .iter()
            .filter_map(|&subject| self.work.subject(subject))
            .map(|named| named.name.to_lowercase())
            .collect();
        let starts: HashMap<usize, &str> = trace
            .service_transitions
            .iter()
            .enumerate()
            .filter(|(_, row)| row.kind == ServiceChange::Start && row.start_ns < desktop_ns)
            .map(|(index, row)| (index, trace.text(row.service)))
            .collect();
        let is_delayed = |service: &str| names.contains(&service.to_lowercase());
        for row in trace.service_dependencies.iter().filter(|row| row.kind != DependencyKind::Wants) {
            let (service, on) = (trace.text(row.service), trace.text(row.on));
            if is_delayed(on)
                && !is_delayed(service)
                && starts.values().any(|start| start.eq_ignore_ascii_case(service))
            {
                return Err(ChangeError::Needed { name: on.to_owned(), by: service.to_owned() });
            }
        }
        let spans = self.model.services.iter();
        let spans: Vec<_> = spans.filter(|span| starts.get(&span.row).is_some_and(|name| is_delayed(name))).collect();
        let wanted: HashSet<SignalId> = spans.iter().flat_map(|span| span.start.into_iter().chain(span.end)).collect();
        let places = places_of(graph, &wanted);
        for span in spans {
            waits.tasks.extend(span.start.and_then(|start| places.get(&start)).map(|place| place.task));
            if let Some(&reporter) = span.end.and_then(|end| places.get(&end)) {
                waits.reporters.insert(reporter.task);
                waits.signals.extend(signals_after(graph, reporter));
            }
        }
        // A manager that reports on its own thread still waits for others.
        waits.reporters.retain(|task| !waits.tasks.contains(task));
        Ok(waits)
    }

    fn name_at(&mut self, tid: u32, time_ns: i64) -> String {
        let found = self.work.at(tid, time_ns);
        let name = found.and_then(|found| self.work.subject(found.subject)).map(|named| named.name.to_owned());
        name.unwrap_or_else(|| format!("thread {tid}"))
    }
}

/// Waits of service managers.
#[derive(Default)]
struct ManagerWaits {
    /// Tasks of the managers.
    tasks: HashSet<usize>,
    /// Tasks that report that a service runs.
    reporters: HashSet<usize>,
    /// Signals that a service runs.
    signals: HashSet<SignalId>,
}

/// Returns the signal that a segment sets.
fn signal_of(graph: &Graph, segment: Segment) -> Option<SignalId> {
    let action = match segment {
        Segment::Act(action) => action,
        Segment::ActLater(index) => graph.late_actions.get(index as usize)?.action,
        _ => return None,
    };
    match action {
        Action::Signal(signal) => Some(signal),
        Action::Issue(_) => None,
    }
}
