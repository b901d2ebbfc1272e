//! Reads the recording once for several listeners.

use std::io;
use std::ops::ControlFlow;

use onoff_sources::{BATCH_EVENTS, EventFilter, EventWriter, parallel_writers};
use onoff_trace::{DescribedEvent, Losses, StreamHeader, TableSet, Trace};

use super::action::Listener;
use super::output::Outputs;
use super::reading::{PendingCall, Reader, State};
use crate::failure::Failure;

/// A listener that takes part in a pass.
struct ActiveListener<'a> {
    call_index: usize,
    filter: &'a EventFilter,
    from_ns: Option<i64>,
    until_ns: Option<i64>,
    output: usize,
    listener: &'a mut Box<dyn Listener>,
    error: Option<io::Error>,
}

impl ActiveListener<'_> {
    fn accepts(&self, event: &DescribedEvent<'_>) -> bool {
        self.error.is_none()
            && self.from_ns.is_none_or(|from_ns| event.time_ns >= from_ns)
            && self.until_ns.is_none_or(|until_ns| event.time_ns < until_ns)
    }
}

/// Sends the events to every listener among `calls` until it fails, and fills `wanted_tables` in the same pass.
/// Returns the losses and the tables.
pub(super) fn listen(
    reader: &mut Reader<'_>,
    calls: &mut [PendingCall],
    outputs: &mut Outputs,
    wanted_tables: Option<TableSet>,
) -> Result<(Losses, Option<Trace>), Failure> {
    let mut stream = reader.stream()?;
    let header = stream.header().clone();
    resolve_ranges(calls, &header);
    let mut listeners: Vec<ActiveListener<'_>> = calls
        .iter_mut()
        .enumerate()
        .filter_map(|(call_index, call)| match &mut call.state {
            State::Events { filter, range: _, listener } => Some(ActiveListener {
                call_index,
                from_ns: filter.from_ns,
                until_ns: filter.until_ns,
                filter,
                output: call.output,
                listener,
                error: None,
            }),
            _ => None,
        })
        .collect();
    let filter = union(listeners.iter().map(|active| active.filter));
    let is_only_listener = listeners.len() == 1;
    if listeners.iter().any(|active| active.listener.wants_schemas()) {
        let schemas = stream.survey(&filter);
        for active in &mut listeners {
            active.listener.schemas(&schemas);
        }
    }
    if !listeners.iter().any(|active| active.listener.wants_stack_fields()) {
        stream = stream.without_stack_fields();
    }
    for active in &mut listeners {
        active.error = active.listener.begin(&header, outputs.get(active.output)).err();
    }
    let writers = match (&mut listeners[..], wanted_tables) {
        ([active], None) if active.error.is_none() && stream.has_many_events() => writers(&**active.listener),
        _ => Vec::new(),
    };
    let (end, trace) = if let ([active], false) = (&mut listeners[..], writers.is_empty()) {
        let write_text = |text: &[u8]| match active.listener.write_text(text, outputs.get(active.output)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                active.error = Some(error);
                ControlFlow::Break(())
            }
        };
        let end = reader
            .with_progress(|options| stream.for_each_parallel(&filter, options, writers, BATCH_EVENTS, write_text));
        (end, None)
    } else {
        let visit = |event: &DescribedEvent<'_>| {
            let mut any_active = false;
            for active in &mut listeners {
                if is_only_listener || active.accepts(event) {
                    active.error = active.listener.event(event, outputs.get(active.output)).err();
                }
                any_active |= active.error.is_none();
            }
            match any_active {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        reader.with_progress(|options| match wanted_tables {
            None => Ok((stream.for_each(&filter, options, visit), None)),
            Some(wanted_tables) => {
                let (end, trace) = stream.for_each_with_tables(wanted_tables, &filter, options, visit)?;
                Ok::<_, Failure>((end, Some(trace)))
            }
        })?
    };
    let failures: Vec<(usize, io::Error)> =
        listeners.into_iter().filter_map(|active| Some((active.call_index, active.error?))).collect();
    for (call_index, error) in failures {
        if let Some(call) = calls.get_mut(call_index) {
            call.state = State::Done(Err(error.into()));
        }
    }
    Ok((end.losses, trace))
}

/// Returns writers for parallel formatting; empty if the listener has none or there is only one processor.
fn writers(listener: &dyn Listener) -> Vec<Box<dyn EventWriter>> {
    match parallel_writers() {
        1 => Vec::new(),
        count => std::iter::repeat_with(|| listener.writer()).map_while(|writer| writer).take(count).collect(),
    }
}

/// Resolves the range of each listener on the recording's clock, and stores it in the listener's filter.
fn resolve_ranges(calls: &mut [PendingCall], header: &StreamHeader) {
    for call in calls {
        let State::Events { filter, range: Some(range), .. } = &mut call.state else { continue };
        match range.resolve_in(header) {
            Ok((from_ns, until_ns)) => {
                filter.from_ns = Some(from_ns);
                filter.until_ns = Some(until_ns);
            }
            Err(failure) => call.state = State::Done(Err(failure)),
        }
    }
}

/// Returns the narrowest filter that accepts every event that any of `filters` accepts.
fn union<'a>(filters: impl Iterator<Item = &'a EventFilter> + Clone) -> EventFilter {
    let mut remaining = filters.clone();
    if let (Some(only_filter), None) = (remaining.next(), remaining.next()) {
        return only_filter.clone();
    }
    let select_only_events = filters
        .clone()
        .all(|filter| filter.providers.is_empty() && filter.processes.is_empty() && !filter.events.is_empty());
    let events = match select_only_events {
        true => filters.clone().flat_map(|filter| filter.events.iter().cloned()).collect(),
        false => Vec::new(),
    };
    // `None` if a filter is unbounded on this side.
    let bounds = |bound: fn(&EventFilter) -> Option<i64>| -> Option<Vec<i64>> { filters.clone().map(bound).collect() };
    EventFilter {
        events,
        from_ns: bounds(|filter| filter.from_ns).and_then(|bounds| bounds.into_iter().min()),
        until_ns: bounds(|filter| filter.until_ns).and_then(|bounds| bounds.into_iter().max()),
        ..EventFilter::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn union_accepts_what_any_filter_accepts() {
        let filter = |event: &str, range: Option<(i64, i64)>| EventFilter {
            events: vec![onoff_sources::Pattern::new(event)],
            from_ns: range.map(|(from_ns, _)| from_ns),
            until_ns: range.map(|(_, until_ns)| until_ns),
            ..EventFilter::default()
        };
        let (a, b) = (filter("a", Some((1, 5))), filter("b", Some((3, 9))));
        let bounded = union([&a, &b].into_iter());
        assert_eq!((bounded.events.len(), bounded.from_ns, bounded.until_ns), (2, Some(1), Some(9)));
        let unbounded = union([&a, &EventFilter::default()].into_iter());
        assert_eq!((unbounded.events.len(), unbounded.from_ns, unbounded.until_ns), (0, None, None));
    }
}
