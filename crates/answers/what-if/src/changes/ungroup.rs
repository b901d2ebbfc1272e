//! Takes a service out of its load-order group.

use std::sync::Arc;

use hashbrown::HashSet;
use onoff_trace::{DependencyKind, ServiceChange, StringId};

use super::names::{candidates, has_name};
use super::{ChangeError, Changes};
use crate::edit::{Place, places_of};
use crate::graph::{Action, Graph, Segment, SignalId};

impl Changes<'_, '_, '_> {
    /// Removes the service manager's waits for a service in a load-order group. Services that depend on it still wait.
    pub(super) fn ungroup(&mut self, graph: &mut Graph, name: &str) -> Result<(), ChangeError> {
        let trace = self.model.trace;
        let rows = || trace.service_transitions.iter().enumerate().filter(|(_, row)| row.kind == ServiceChange::Start);
        let found: Vec<_> = rows().filter(|(_, row)| has_name(trace.text(row.service), name)).collect();
        if found.is_empty() {
            let names = rows().filter(|(_, row)| row.group != StringId::EMPTY).map(|(_, row)| {
                let length_ns = row.end_ns.map_or(0, |end_ns| end_ns.saturating_sub(row.start_ns));
                (length_ns, trace.text(row.service).to_owned())
            });
            let candidates = candidates(name, names.collect());
            return Err(ChangeError::Unknown { kind: "service", name: name.to_owned(), candidates });
        }
        let not_possible = |reason| Err(ChangeError::NotPossible { name: name.to_owned(), reason });
        if found.iter().all(|(_, row)| row.group == StringId::EMPTY) {
            return not_possible("it is in no load-order group");
        }
        let mut dropped: HashSet<(usize, SignalId)> = HashSet::new();
        for (row, service) in &found {
            let Some(span) = self.model.services.get(*row) else { continue };
            let (Some(start), Some(end)) = (span.start, span.end) else {
                return not_possible("the recording does not show which thread reported that it runs");
            };
            let group_ends = self
                .model
                .groups
                .iter()
                .filter(|group| trace.activities.get(group.row).is_some_and(|row| row.name == service.group));
            let group_ends: Vec<SignalId> = group_ends.filter_map(|group| group.end).collect();
            let wanted: HashSet<SignalId> = [start, end].into_iter().chain(group_ends.iter().copied()).collect();
            let places = places_of(graph, &wanted);
            let (Some(manager), Some(reporter)) = (places.get(&start), places.get(&end)) else { continue };
            let before_group_end =
                group_ends.iter().filter_map(|signal| places.get(signal)).filter(|place| place.task == manager.task);
            let group_end = before_group_end.map(|place| place.segment).filter(|&end| end > manager.segment).min();
            let signals = signals_after(graph, *reporter);
            let dependents = self.starts_of_dependents(service.service);
            let Some(task) = graph.tasks.get_mut(manager.task).map(Arc::make_mut) else { continue };
            let last = group_end.unwrap_or(task.segments.len());
            let mut is_needed = false;
            for timed in task.segments.get_mut(manager.segment..last).unwrap_or_default().iter_mut().rev() {
                match timed.segment {
                    Segment::Await(signal) if signal == end || signals.contains(&signal) => {
                        if !(is_needed && signal == end) {
                            timed.segment = Segment::Delay(0);
                            dropped.insert((manager.task, signal));
                        }
                    }
                    Segment::Await(_) => {}
                    // The waits right before the start of a service are for what it depends on.
                    Segment::Act(Action::Signal(signal)) => is_needed = dependents.contains(&signal),
                    _ => is_needed = false,
                }
            }
        }
        if dropped.is_empty() {
            return not_possible("the service manager did not wait for it");
        }
        Ok(())
    }

    /// Returns the signals of the starts of services that depend on a service.
    fn starts_of_dependents(&self, on: StringId) -> HashSet<SignalId> {
        let trace = self.model.trace;
        let dependencies = trace.service_dependencies.iter().filter(|row| row.kind != DependencyKind::Wants);
        let dependents: HashSet<StringId> = dependencies.filter(|row| row.on == on).map(|row| row.service).collect();
        let is_dependent =
            |row: usize| trace.service_transitions.get(row).is_some_and(|row| dependents.contains(&row.service));
        self.model.services.iter().filter(|span| is_dependent(span.row)).filter_map(|span| span.start).collect()
    }
}

/// Returns the signals that a task sets from a place on, before it waits again.
pub(super) fn signals_after(graph: &Graph, place: Place) -> HashSet<SignalId> {
    let segments = graph.tasks.get(place.task).and_then(|task| task.segments.get(place.segment..)).unwrap_or_default();
    let mut signals = HashSet::new();
    for timed in segments {
        match timed.segment {
            Segment::Act(Action::Signal(signal)) => {
                signals.insert(signal);
            }
            Segment::Act(Action::Issue(_)) | Segment::ActLater(_) | Segment::Run { .. } => {}
            _ => break,
        }
    }
    signals
}
