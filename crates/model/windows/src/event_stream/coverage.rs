//! Finds the time from which a recording is complete: a circular buffer has overwritten its oldest buffers, different
//! ones for each processor, and the thread running on a processor is unknown before its first context switch.

use std::ops::ControlFlow;

use onoff_etl::{Recording, log_file_mode};
use onoff_etw::kernel::ContextSwitch;

/// Bytes searched for the first events of each processor.
const SEARCHED_BYTES: usize = 16 << 20;

/// Maximum number of processors tracked.
const MAX_PROCESSORS: usize = 1 << 12;

/// Start of complete data, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Coverage {
    /// Time from which the events of every processor are complete.
    pub(super) events_ns: i64,
    /// Time from which the running thread of every processor is known; `None` if the first events contain no context
    /// switch.
    pub(super) switches_ns: Option<i64>,
}

impl Coverage {
    pub(super) fn of(recording: &Recording<'_>) -> Self {
        let header = recording.header();
        let is_ring = header.log_file_mode & log_file_mode::CIRCULAR != 0;
        let processors = (header.processors as usize).min(MAX_PROCESSORS);
        let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
        let windows = recording.windows((bytes / SEARCHED_BYTES).max(1));
        let mut coverage = Self::default();
        // Per processor: whether an event was seen, and whether a context switch was.
        let mut seen = vec![(false, false); processors];
        let mut pending = processors;
        let Some(first) = windows.first() else { return coverage };
        // Losses are counted when the events themselves are read.
        let _ = first.for_each(|record| {
            let Some((event, switch)) = seen.get_mut(usize::from(record.cpu())) else {
                return ControlFlow::Continue(());
            };
            if is_ring && !*event {
                coverage.events_ns = record.time_ns();
            }
            *event = true;
            if !*switch && record.hook() == Some(ContextSwitch::HOOK) {
                *switch = true;
                coverage.switches_ns = Some(record.time_ns());
                pending -= 1;
            }
            match pending {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        coverage
    }
}
