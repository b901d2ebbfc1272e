//! The phases of a sleep of Linux on one axis, with what their ends waited for.

use onoff_trace::duration::ExactTime;
use onoff_trace::power_phase;
use onoff_transitions::Half;
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
    let away = measured.start_ns.zip(measured.end_ns).filter(|(from, to)| from < to);
    let slept = away.map_or(0, |(from, to)| to.saturating_sub(from));
    // The messages were read after the sleep: where between the phases it lies is not known, nor what share of the way each phase is.
    let is_received = sleep.details.event == power_phase::RECEIVED_EVENT && sleep.details.suspend.end_ns.is_none();
    let clock = if is_received {
        "; phases have the times at which the log got their messages"
    } else if measured.duration_ns == Some(0) {
        "; the clock stands still while the machine sleeps"
    } else if away.is_some() {
        "; shares leave out the sleep"
    } else {
        ""
    };
    let start = ExactTime(sleep.start_or_zero_ns());
    let note = format!("times count from the decision to sleep, {start} of the recording{clock}");
    let asleep = sleep.phases.iter().map(|phase| phase.half == Some(Half::Asleep));
    let mut rows = PhaseTable::with_gaps(&sleep.phases, sleep.start_or_zero_ns(), Some(end), |_, _| String::new());
    if is_received {
        rows.retain(|row| !row.between);
    }
    for (row, _) in rows.iter_mut().filter(|row| !row.between).zip(asleep).filter(|(_, asleep)| *asleep) {
        row.note = match sleep.details.asleep.slept_ns {
            Some(ns) => (QUIET, format!("asleep for {}", duration(ns))),
            None => (MISSING, "how long is not recorded".to_owned()),
        };
    }
    let whole_ns = (!is_received).then(|| end.saturating_sub(sleep.start_or_zero_ns()).saturating_sub(slept));
    let section = PhaseTable { origin_ns: sleep.start_or_zero_ns(), whole_ns, away, rows }.section(note);
    Some(section.lines(phases::settling("After the resume", sleep.settling.as_ref())))
}
