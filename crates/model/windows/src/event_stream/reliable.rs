//! From when on a recording can be relied on: a ring has lost its oldest buffers, of each processor others, and what a
//! processor runs is known only from its first context switch on.

use std::ops::ControlFlow;

use onoff_etl::{Recording, log_file_mode};
use onoff_etw::kernel::ContextSwitch;

/// Bytes of records that are searched for each processor's first events.
const SEARCHED_BYTES: usize = 16 << 20;

/// Most processors that are followed.
const MAX_PROCESSORS: usize = 1 << 12;

/// Since when, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reliable {
    /// Every processor's events are there.
    pub(super) events_ns: i64,
    /// What every processor runs is known; `None` when no context switch is among the first events.
    pub(super) switches_ns: Option<i64>,
}

impl Reliable {
    pub(super) fn of(recording: &Recording<'_>) -> Self {
        let header = recording.header();
        let is_ring = header.log_file_mode & log_file_mode::CIRCULAR != 0;
        let processors = (header.processors as usize).min(MAX_PROCESSORS);
        let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
        let windows = recording.windows((bytes / SEARCHED_BYTES).max(1));
        let mut reliable = Self::default();
        // For each processor: whether an event was met, and a context switch.
        let mut met = vec![(false, false); processors];
        let mut waited_for = processors;
        let Some(first) = windows.first() else { return reliable };
        // What is lost here is counted when the events themselves are read.
        let _ = first.for_each(|record| {
            let Some((event, switch)) = met.get_mut(usize::from(record.cpu())) else {
                return ControlFlow::Continue(());
            };
            if is_ring && !*event {
                reliable.events_ns = record.time_ns();
            }
            *event = true;
            if !*switch && record.hook() == Some(ContextSwitch::HOOK) {
                *switch = true;
                reliable.switches_ns = Some(record.time_ns());
                waited_for -= 1;
            }
            match waited_for {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        reliable
    }
}
