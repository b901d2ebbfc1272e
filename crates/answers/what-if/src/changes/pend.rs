//! Lets a driver return "pending" from its requests.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use onoff_blame::waits::driver_name;
use onoff_trace::{DeviceOperation, DeviceOperationKind, DevicePhase, StringId, Trace};
use onoff_usage::devices;

use super::names::{candidates, has_name};
use super::{ChangeError, Changes};
use crate::edit::{Place, insert, places_of};
use crate::graph::{Action, Graph, Segment, SignalId, Task, TimedSegment};

impl Changes<'_, '_, '_> {
    /// Moves the start and enumeration requests of a driver to threads of their own. Later requests to the same device
    /// wait for them, and so does the end of the phase of device initialization.
    pub(super) fn pend(&mut self, graph: &mut Graph, name: &str) -> Result<(), ChangeError> {
        let trace = self.model.trace;
        let is_request = |row: &DeviceOperation| {
            matches!(row.kind, DeviceOperationKind::DeviceStart | DeviceOperationKind::DeviceEnum)
        };
        let requests: Vec<(usize, DeviceOperation)> = trace
            .device_operations
            .iter()
            .enumerate()
            .filter(|(_, row)| is_request(row) && has_name(driver_of(trace, row), name))
            .collect();
        if requests.is_empty() {
            let names = trace.device_operations.iter().filter(is_request).map(|row| {
                let length_ns = row.end_ns.map_or(0, |end_ns| end_ns.saturating_sub(row.start_ns));
                (length_ns, driver_of(trace, &row).to_owned())
            });
            let candidates = candidates(name, names.filter(|(_, name)| !name.is_empty()).collect());
            return Err(ChangeError::Unknown { kind: "driver", name: name.to_owned(), candidates });
        }
        let mut moved: Vec<(Place, Place, DeviceOperation)> = Vec::new();
        let wanted: HashSet<SignalId> =
            self.model.devices.iter().flat_map(|span| span.start.into_iter().chain(span.end)).collect();
        let places = places_of(graph, &wanted);
        for (row, operation) in requests.iter().filter(|(_, row)| row.pend_ns.is_none() && row.end_ns.is_some()) {
            let Some(span) = self.model.devices.get(*row) else { continue };
            let place = |signal: Option<SignalId>| signal.and_then(|signal| places.get(&signal)).copied();
            if let (Some(start), Some(end)) = (place(span.start), place(span.end))
                && start.task == end.task
                && start.segment < end.segment
            {
                moved.push((start, end, *operation));
            }
        }
        if moved.is_empty() {
            let reason = "its requests are already pended, or the thread that sent them is not recorded";
            return Err(ChangeError::NotPossible { name: name.to_owned(), reason });
        }
        moved.sort_by_key(|&(start, ..)| start);
        let mut joins: Vec<(DevicePhase, usize, SignalId)> = Vec::new();
        let mut last_of_device: HashMap<StringId, SignalId> = HashMap::new();
        let mut new_tasks = Vec::new();
        let mut forks: Vec<(Place, Segment)> = Vec::new();
        let mut removed: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
        for &(start, end, operation) in &moved {
            let (fork, done) = (graph.add_signal(i64::MAX), graph.add_signal(i64::MAX));
            let Some(task) = graph.tasks.get(start.task) else { continue };
            let timed = |segment| TimedSegment { recorded_ns: operation.start_ns, segment };
            let mut segments = vec![timed(Segment::Await(fork))];
            segments.extend(last_of_device.insert(operation.device, done).map(|before| timed(Segment::Await(before))));
            segments.extend(task.segments.get(start.segment + 1..end.segment).unwrap_or_default());
            segments.push(timed(Segment::Act(Action::Signal(done))));
            new_tasks.push(Arc::new(Task { tid: task.tid, segments }));
            forks.push((start, Segment::Act(Action::Signal(fork))));
            removed.entry(start.task).or_default().push((start.segment + 1, end.segment));
            joins.push((operation.phase, start.task, done));
        }
        for (task, ranges) in removed {
            let Some(row) = graph.tasks.get_mut(task).map(Arc::make_mut) else { continue };
            for &(from, to) in &ranges {
                for timed in row.segments.get_mut(from..to).unwrap_or_default() {
                    timed.segment = Segment::Delay(0);
                }
            }
        }
        let mut insertions = forks;
        let ends: HashSet<SignalId> = self.model.device_phase_ends.iter().map(|&(_, signal)| signal).collect();
        let end_places = places_of(graph, &ends);
        for (phase, task, done) in joins {
            let ends = self.model.device_phase_ends.iter().filter(|&&(end_phase, _)| end_phase == phase);
            let end = ends.filter_map(|(_, signal)| end_places.get(signal)).find(|place| place.task == task);
            insertions.extend(end.map(|&place| (place, Segment::Await(done))));
        }
        insert(graph, insertions);
        graph.tasks.extend(new_tasks);
        Ok(())
    }
}

fn driver_of<'t>(trace: &'t Trace, row: &DeviceOperation) -> &'t str {
    driver_name(trace.text(devices::owner(row)))
}
