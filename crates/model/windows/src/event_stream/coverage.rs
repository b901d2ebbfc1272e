//! Finds the time from which a recording is complete: a circular log has overwritten its oldest buffers, at a different
//! time for each processor, and the thread running on a processor is unknown before its first context switch.

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
    pub(super) fn from_recording(recording: &Recording<'_>) -> Self {
        let header = recording.header();
        let is_ring = header.log_file_mode & log_file_mode::CIRCULAR != 0;
        let processors = (header.processors as usize).min(MAX_PROCESSORS);
        let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
        let windows = recording.windows((bytes / SEARCHED_BYTES).max(1));
        let mut coverage = Self::default();
        // For each processor, whether an event and a context switch were seen.
        let mut seen = vec![(false, false); processors];
        let mut pending = processors;
        let Some(first_window) = windows.first() else { return coverage };
        // Losses are counted when the events themselves are read.
        let _ = first_window.for_each(|record| {
            let Some((has_event, has_switch)) = seen.get_mut(usize::from(record.cpu())) else {
                return ControlFlow::Continue(());
            };
            if is_ring && !*has_event {
                coverage.events_ns = record.time_ns();
            }
            *has_event = true;
            if !*has_switch && record.hook() == Some(ContextSwitch::HOOK) {
                *has_switch = true;
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
