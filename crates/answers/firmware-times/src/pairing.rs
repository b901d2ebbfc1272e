//! Pairs starts with ends.

use hashbrown::HashMap;
use onoff_trace::firmware::{FirmwareEdge, FirmwareEvent, FirmwareGuid, FirmwareWork};

/// Work with a measured start and end, or a phase with one measured and one inferred end.
#[derive(Clone, Debug)]
pub(super) struct WorkInterval<'a> {
    /// The measurement that names the work: for an image load or a driver start, the end, because only the end has the
    /// name.
    pub(super) event: &'a FirmwareEvent,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    /// Name of the phase, if the interval is a phase.
    pub(super) phase: Option<&'static str>,
    /// True if the start or the end was not measured.
    pub(super) inferred: bool,
}

/// The result of pairing.
#[derive(Debug, Default)]
pub(super) struct PairedEvents<'a> {
    /// Pairs, in the order in which the firmware recorded the ends.
    pub(super) intervals: Vec<WorkInterval<'a>>,
    pub(super) unmatched_begins: Vec<&'a FirmwareEvent>,
    pub(super) unmatched_ends: Vec<&'a FirmwareEvent>,
    pub(super) points: Vec<&'a FirmwareEvent>,
    /// Pairs whose end precedes their start.
    pub(super) backwards: u64,
}

/// The fields that a start and its end have in common. They depend on the kind of work: EDK II takes the module from
/// the caller that writes the record, and only the end of an image load knows the image.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    class: u16,
    module: Option<(FirmwareGuid, &'a str)>,
    caller: Option<FirmwareGuid>,
    handle: Option<u64>,
    text: &'a str,
}

impl<'a> Key<'a> {
    fn from_event(event: &'a FirmwareEvent) -> Self {
        let full_key = Self {
            class: event.class,
            module: Some((event.module, &event.module_name)),
            caller: event.caller,
            handle: event.handle,
            text: &event.text,
        };
        match event.work {
            FirmwareWork::CrossModule => Self { module: None, caller: None, handle: None, ..full_key },
            FirmwareWork::LoadImage => Self { module: None, caller: None, text: "", ..full_key },
            FirmwareWork::EntryPoint => Self { caller: None, handle: None, text: "", ..full_key },
            // The end of a driver start also has the device path.
            FirmwareWork::DriverStart | FirmwareWork::DriverSupport | FirmwareWork::DriverStop => {
                Self { caller: None, text: "", ..full_key }
            }
            _ => full_key,
        }
    }
}

/// Pairs every end with the latest open start: recursive work is nested.
pub(super) fn pair(events: &[FirmwareEvent]) -> PairedEvents<'_> {
    let mut paired = PairedEvents::default();
    let mut open: HashMap<Key<'_>, Vec<usize>> = HashMap::new();
    for (index, event) in events.iter().enumerate() {
        match event.edge {
            FirmwareEdge::Point => paired.points.push(event),
            FirmwareEdge::Begin => open.entry(Key::from_event(event)).or_default().push(index),
            FirmwareEdge::End => match open.get_mut(&Key::from_event(event)).and_then(Vec::pop) {
                Some(begin_index) => {
                    let begin = &events[begin_index];
                    if event.time_ns < begin.time_ns {
                        paired.backwards += 1;
                        continue;
                    }
                    paired.intervals.push(WorkInterval {
                        event,
                        start_ns: begin.time_ns,
                        end_ns: event.time_ns,
                        phase: None,
                        inferred: false,
                    });
                }
                None => paired.unmatched_ends.push(event),
            },
        }
    }
    let mut unmatched: Vec<usize> = open.into_values().flatten().collect();
    unmatched.sort();
    paired.unmatched_begins = unmatched.into_iter().map(|index| &events[index]).collect();
    paired
}
