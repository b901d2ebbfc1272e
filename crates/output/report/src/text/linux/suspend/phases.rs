//! The phases of a Linux sleep on one axis.

use onoff_trace::duration::ExactTime;
use onoff_trace::power_phase;
use onoff_transitions::SuspendStage;
use onoff_transitions::linux::suspend::LinuxSleep;

use crate::text::phases::{self, PhaseTable};
use crate::text::quantity::duration;
use crate::text::style::{MISSING, QUIET};
use onoff_sections::section::Section;

pub(super) fn section(sleep: &LinuxSleep) -> Option<Section<'_>> {
    if sleep.phases.is_empty() {
        return None;
    }
    let end = sleep
        .phases
        .iter()
        .filter_map(|phase| phase.end_ns)
        .chain(sleep.end_ns)
        .fold(sleep.start_or_zero_ns(), i64::max);
    let measured = &sleep.details.asleep.measured;
    let interval = measured.start_ns.zip(measured.end_ns).filter(|(start, end)| start < end);
    let slept_ns = interval.map_or(0, |(start, end)| end.saturating_sub(start));
    // The log received the messages after the sleep, so its position between the phases and their shares are unknown.
    let is_received = sleep.details.event == power_phase::RECEIVED_EVENT && sleep.details.suspend.end_ns.is_none();
    let clock_note = if is_received {
        "; phase times are when the log received the messages"
    } else if measured.duration_ns == Some(0) {
        "; the clock stops during sleep"
    } else if interval.is_some() {
        "; shares exclude the sleep"
    } else {
        ""
    };
    let start = ExactTime(sleep.start_or_zero_ns());
    let note = format!("times are relative to the decision to sleep, {start} into the recording{clock_note}");
    let asleep = sleep.phases.iter().map(|phase| phase.half == Some(SuspendStage::Asleep));
    let mut rows = PhaseTable::with_gaps(&sleep.phases, sleep.start_or_zero_ns(), Some(end), |_, _| String::new());
    if is_received {
        rows.retain(|row| !row.is_gap);
    }
    for (row, _) in rows.iter_mut().filter(|row| !row.is_gap).zip(asleep).filter(|(_, asleep)| *asleep) {
        row.note = match sleep.details.asleep.slept_ns {
            Some(ns) => (QUIET, format!("asleep for {}", duration(ns))),
            None => (MISSING, "duration not recorded".to_owned()),
        };
    }
    let total_ns = (!is_received).then(|| end.saturating_sub(sleep.start_or_zero_ns()).saturating_sub(slept_ns));
    let origin_ns = sleep.start_or_zero_ns();
    let section = PhaseTable { origin_ns, total_ns, asleep: interval, is_sleep: true, rows }.section(note);
    Some(section.lines(phases::settling("After the resume", sleep.settling.as_ref())))
}
