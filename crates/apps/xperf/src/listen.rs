//! One reading for several listeners.

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
    failed: Option<io::Error>,
}

impl ActiveListener<'_> {
    fn accepts(&self, event: &DescribedEvent<'_>) -> bool {
        self.failed.is_none()
            && self.from_ns.is_none_or(|from| event.time_ns >= from)
            && self.until_ns.is_none_or(|until| event.time_ns < until)
    }
}

/// Sends the events to every listener among `calls` until it fails, and fills the wanted tables in the same pass.
/// Returns the losses and the tables.
pub(super) fn listen(
    reader: &mut Reader<'_>,
    calls: &mut [PendingCall],
    outputs: &mut Outputs,
    wanted: Option<TableSet>,
) -> Result<(Losses, Option<Trace>), Failure> {
    let mut stream = reader.stream()?;
    let header = stream.header().clone();
    resolve_ranges(calls, &header);
    let mut listening: Vec<ActiveListener<'_>> = calls
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
                failed: None,
            }),
            _ => None,
        })
        .collect();
    let filter = union(listening.iter().map(|listening| listening.filter));
    let alone = listening.len() == 1;
    if listening.iter().any(|one| one.listener.wants_schemas()) {
        let columns = stream.survey(&filter);
        for one in &mut listening {
            one.listener.schemas(&columns);
        }
    }
    if !listening.iter().any(|one| one.listener.wants_stack_fields()) {
        stream = stream.without_stack_fields();
    }
    for one in &mut listening {
        one.failed = one.listener.begin(&header, outputs.get(one.output)).err();
    }
    let writers = match (&mut listening[..], wanted) {
        ([one], None) if one.failed.is_none() => writers(&**one.listener),
        _ => Vec::new(),
    };
    let (end, trace) = if let ([one], false) = (&mut listening[..], writers.is_empty()) {
        let take = |text: &[u8]| match one.listener.write_text(text, outputs.get(one.output)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                one.failed = Some(error);
                ControlFlow::Break(())
            }
        };
        let end =
            reader.with_progress(|options| stream.for_each_parallel(&filter, options, writers, BATCH_EVENTS, take));
        (end, None)
    } else {
        let visit = |event: &DescribedEvent<'_>| {
            let mut any_active = false;
            for one in &mut listening {
                if alone || one.accepts(event) {
                    one.failed = one.listener.event(event, outputs.get(one.output)).err();
                }
                any_active |= one.failed.is_none();
            }
            match any_active {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        reader.with_progress(|options| match wanted {
            None => Ok((stream.for_each(&filter, options, visit), None)),
            Some(wanted) => {
                let (end, trace) = stream.for_each_with_tables(wanted, &filter, options, visit)?;
                Ok::<_, Failure>((end, Some(trace)))
            }
        })?
    };
    let failures: Vec<(usize, io::Error)> =
        listening.into_iter().filter_map(|one| Some((one.call_index, one.failed?))).collect();
    for (call_index, error) in failures {
        if let Some(call) = calls.get_mut(call_index) {
            call.state = State::Done(Err(error.into()));
        }
    }
    Ok((end.losses, trace))
}

/// Writers for parallel formatting; empty if the listener has none or there is one processor.
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
            Ok((from, until)) => {
                filter.from_ns = Some(from);
                filter.until_ns = Some(until);
            }
            Err(failure) => call.state = State::Done(Err(failure)),
        }
    }
}

/// The narrowest single filter that accepts every event that any of `filters` accepts.
fn union<'a>(filters: impl Iterator<Item = &'a EventFilter> + Clone) -> EventFilter {
    let mut all = filters.clone();
    if let (Some(only), None) = (all.next(), all.next()) {
        return only.clone();
    }
    let by_event_alone = filters
        .clone()
        .all(|filter| filter.providers.is_empty() && filter.processes.is_empty() && !filter.events.is_empty());
    let events = match by_event_alone {
        true => filters.clone().flat_map(|filter| filter.events.iter().cloned()).collect(),
        false => Vec::new(),
    };
    let all_ends = |end: fn(&EventFilter) -> Option<i64>| -> Option<Vec<i64>> { filters.clone().map(end).collect() };
    EventFilter {
        events,
        from_ns: all_ends(|filter| filter.from_ns).and_then(|ends| ends.into_iter().min()),
        until_ns: all_ends(|filter| filter.until_ns).and_then(|ends| ends.into_iter().max()),
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
            from_ns: range.map(|(from, _)| from),
            until_ns: range.map(|(_, until)| until),
            ..EventFilter::default()
        };
        let (a, b) = (filter("a", Some((1, 5))), filter("b", Some((3, 9))));
        let both = union([&a, &b].into_iter());
        assert_eq!((both.events.len(), both.from_ns, both.until_ns), (2, Some(1), Some(9)));
        let all = union([&a, &EventFilter::default()].into_iter());
        assert_eq!((all.events.len(), all.from_ns, all.until_ns), (0, None, None));
    }
}
