//! One reading for several listeners.

use std::io;
use std::ops::ControlFlow;

use onoff_sources::{EventFilter, EventWriter, STRETCH_EVENTS, writers_at_once};
use onoff_trace::{DescribedEvent, Losses, StreamHeader, Tables, Trace};

use super::action::Listener;
use super::output::Outputs;
use super::reading::{Asked, Reader, State};
use crate::failure::Failure;

/// A listener in a reading.
struct Listening<'a> {
    at: usize,
    filter: &'a EventFilter,
    from_ns: Option<i64>,
    until_ns: Option<i64>,
    output: usize,
    listener: &'a mut Box<dyn Listener>,
    failed: Option<io::Error>,
}

impl Listening<'_> {
    fn hears(&self, event: &DescribedEvent<'_>) -> bool {
        self.failed.is_none()
            && self.from_ns.is_none_or(|from| event.time_ns >= from)
            && self.until_ns.is_none_or(|until| event.time_ns < until)
    }
}

/// Gives the events to every listener among `asked` that has not failed. The wanted tables are filled by the same reading.
/// Gives what it lost, and the tables.
pub(super) fn listen(
    reader: &mut Reader<'_>,
    asked: &mut [Asked],
    outputs: &mut Outputs,
    wanted: Option<Tables>,
) -> Result<(Losses, Option<Trace>), Failure> {
    let mut stream = reader.stream()?;
    let header = stream.header().clone();
    resolve_ranges(asked, &header);
    let mut listening: Vec<Listening<'_>> = asked
        .iter_mut()
        .enumerate()
        .filter_map(|(at, asked)| match &mut asked.state {
            State::Events { filter, range: _, listener } => Some(Listening {
                at,
                from_ns: filter.from_ns,
                until_ns: filter.until_ns,
                filter,
                output: asked.output,
                listener,
                failed: None,
            }),
            _ => None,
        })
        .collect();
    let filter = union(listening.iter().map(|listening| listening.filter));
    let alone = listening.len() == 1;
    if listening.iter().any(|one| one.listener.wants_columns()) {
        let columns = stream.survey(&filter);
        for one in &mut listening {
            one.listener.columns(&columns);
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
        let take = |text: &[u8]| match one.listener.written(text, outputs.get(one.output)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                one.failed = Some(error);
                ControlFlow::Break(())
            }
        };
        let end = reader
            .with_progress(|options| stream.for_each_side_by_side(&filter, options, writers, STRETCH_EVENTS, take));
        (end, None)
    } else {
        let visit = |event: &DescribedEvent<'_>| {
            let mut hearing = false;
            for one in &mut listening {
                if alone || one.hears(event) {
                    one.failed = one.listener.event(event, outputs.get(one.output)).err();
                }
                hearing |= one.failed.is_none();
            }
            match hearing {
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
        listening.into_iter().filter_map(|one| Some((one.at, one.failed?))).collect();
    for (at, error) in failures {
        if let Some(asked) = asked.get_mut(at) {
            asked.state = State::Over(Err(error.into()));
        }
    }
    Ok((end.losses, trace))
}

/// Those who write in the listener's place, if it lets others write and they are several.
fn writers(listener: &dyn Listener) -> Vec<Box<dyn EventWriter>> {
    match writers_at_once() {
        1 => Vec::new(),
        count => std::iter::repeat_with(|| listener.writer()).map_while(|writer| writer).take(count).collect(),
    }
}

/// Puts the ranges of listeners into their filters, by the recording's clock.
fn resolve_ranges(asked: &mut [Asked], header: &StreamHeader) {
    for asked in asked {
        let State::Events { filter, range: Some(range), .. } = &mut asked.state else { continue };
        match range.resolve_in(header) {
            Ok((from, until)) => {
                filter.from_ns = Some(from);
                filter.until_ns = Some(until);
            }
            Err(failure) => asked.state = State::Over(Err(failure)),
        }
    }
}

/// A filter that lets through what any of `filters` does, and as little else as can be said in one.
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
    let everyone = |end: fn(&EventFilter) -> Option<i64>| -> Option<Vec<i64>> { filters.clone().map(end).collect() };
    EventFilter {
        events,
        from_ns: everyone(|filter| filter.from_ns).and_then(|ends| ends.into_iter().min()),
        until_ns: everyone(|filter| filter.until_ns).and_then(|ends| ends.into_iter().max()),
        ..EventFilter::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_several_lets_through_what_any_of_them_does() {
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
