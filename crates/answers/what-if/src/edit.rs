//! Finds and edits places in a graph by the signals of its anchors.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::graph::{Action, Graph, Segment, SignalId, TimedSegment};

/// Place of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) task: usize,
    pub(crate) segment: usize,
}

/// Returns the places at which tasks set the signals, without waiting.
pub(crate) fn places_of(graph: &Graph, signals: &HashSet<SignalId>) -> HashMap<SignalId, Place> {
    let mut places = HashMap::new();
    for (task, row) in graph.tasks.iter().enumerate() {
        for (segment, timed) in row.segments.iter().enumerate() {
            if let Segment::Act(Action::Signal(signal)) = timed.segment
                && signals.contains(&signal)
            {
                places.insert(signal, Place { task, segment });
            }
        }
    }
    places
}

/// Inserts segments before the places. Segments for one place keep their order.
pub(crate) fn insert(graph: &mut Graph, mut insertions: Vec<(Place, Segment)>) {
    insertions.sort_by_key(|&(place, _)| place);
    let mut insertions = insertions.into_iter().peekable();
    while let Some(&(Place { task, .. }, _)) = insertions.peek() {
        let Some(row) = graph.tasks.get_mut(task).map(Arc::make_mut) else { return };
        let mut segments = Vec::with_capacity(row.segments.len() + 1);
        for (index, &timed) in row.segments.iter().enumerate() {
            while let Some((_, segment)) = insertions.next_if(|(place, _)| place.task == task && place.segment <= index)
            {
                segments.push(TimedSegment { recorded_ns: timed.recorded_ns, segment });
            }
            segments.push(timed);
        }
        let recorded_ns = segments.last().map_or(0, |timed| timed.recorded_ns);
        while let Some((_, segment)) = insertions.next_if(|(place, _)| place.task == task) {
            segments.push(TimedSegment { recorded_ns, segment });
        }
        row.segments = segments;
    }
}
