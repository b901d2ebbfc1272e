//! Begins and ends brought together.

use hashbrown::HashMap;
use onoff_trace::firmware::{FirmwareEdge, FirmwareEvent, FirmwareGuid, FirmwareWork};

/// A piece of work with a begin and an end, or a phase whose other end was inferred.
#[derive(Clone, Debug)]
pub(super) struct Piece<'a> {
    /// The measurement that names it: the end of an image's load or a driver's start, which alone tells what it was.
    pub(super) event: &'a FirmwareEvent,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    /// Set when it is one of the phases.
    pub(super) phase: Option<&'static str>,
    /// Whether one of its ends was not measured.
    pub(super) inferred: bool,
}

/// What pairing found.
#[derive(Debug, Default)]
pub(super) struct Paired<'a> {
    /// By end, in the order in which the firmware wrote the ends.
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) begins_left: Vec<&'a FirmwareEvent>,
    pub(super) ends_left: Vec<&'a FirmwareEvent>,
    pub(super) points: Vec<&'a FirmwareEvent>,
    /// Pairs whose end lies before their begin.
    pub(super) backwards: u64,
}

/// What a begin and its end have in common. Which fields that is depends on the kind of work: EDK II takes the module from
/// whoever writes the record, and only the end of an image's load knows which image it was.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    class: u16,
    module: Option<(FirmwareGuid, &'a str)>,
    caller: Option<FirmwareGuid>,
    handle: Option<u64>,
    text: &'a str,
}

impl<'a> Key<'a> {
    fn of(event: &'a FirmwareEvent) -> Self {
        let whole = Self {
            class: event.class,
            module: Some((event.module, &event.module_name)),
            caller: event.caller,
            handle: event.handle,
            text: &event.text,
        };
        match event.work {
            FirmwareWork::CrossModule => Self { module: None, caller: None, handle: None, ..whole },
            FirmwareWork::LoadImage => Self { module: None, caller: None, text: "", ..whole },
            FirmwareWork::EntryPoint => Self { caller: None, handle: None, text: "", ..whole },
            // The end of a start carries the device's path besides.
            FirmwareWork::DriverStart | FirmwareWork::DriverSupport | FirmwareWork::DriverStop => {
                Self { caller: None, text: "", ..whole }
            }
            _ => whole,
        }
    }
}

/// Pairs every end with the last begin that is still open: work that runs inside itself is nested.
pub(super) fn pair(events: &[FirmwareEvent]) -> Paired<'_> {
    let mut paired = Paired::default();
    let mut open: HashMap<Key<'_>, Vec<usize>> = HashMap::new();
    for (at, event) in events.iter().enumerate() {
        match event.edge {
            FirmwareEdge::Point => paired.points.push(event),
            FirmwareEdge::Begin => open.entry(Key::of(event)).or_default().push(at),
            FirmwareEdge::End => match open.get_mut(&Key::of(event)).and_then(Vec::pop) {
                Some(begin) => {
                    let begin = &events[begin];
                    if event.time_ns < begin.time_ns {
                        paired.backwards += 1;
                        continue;
                    }
                    paired.pieces.push(Piece {
                        event,
                        start_ns: begin.time_ns,
                        end_ns: event.time_ns,
                        phase: None,
                        inferred: false,
                    });
                }
                None => paired.ends_left.push(event),
            },
        }
    }
    let mut left: Vec<usize> = open.into_values().flatten().collect();
    left.sort();
    paired.begins_left = left.into_iter().map(|at| &events[at]).collect();
    paired
}
