//! The parts of firmware and loader that a serial console shows.

use onoff_transitions::linux::boot::{BringUpClock, BringUpStage, LinuxBootReport};

use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Lists the parts before the kernel; `None` if the recording is no serial console.
pub(super) fn section(report: &LinuxBootReport) -> Option<Section<'_>> {
    let stages: Vec<&BringUpStage> = report.details.bring_up.iter().collect();
    let has = |clock| stages.iter().any(|stage| stage.clock == clock);
    let notes = [
        (
            BringUpClock::Host,
            "Host times are when each line arrived; the kernel's line with the least delay joins them to its clock.",
        ),
        (
            BringUpClock::Bootstage,
            "U-Boot's times count from the start of its timer; the hand-over to the kernel joins them to its clock.",
        ),
        (
            BringUpClock::CorebootStates,
            "coreboot's times are the sum of its boot states, without the console; their start is not known.",
        ),
        (
            BringUpClock::None,
            "A part without times printed none: put the times of a host in front of the lines (grabserial -t, or ts).",
        ),
    ];
    let notes: Vec<String> =
        notes.into_iter().filter(|&(clock, _)| has(clock)).map(|(_, note)| note.to_owned()).collect();
    let section = Section::builder("bring_up", "Firmware and loader on the console", stages)
        .name("name", "part", 44, |stage| Value::text(&stage.name))
        .time("start_ns", "start", |stage| Cell::since_or_dash(stage.start_ns, 0))
        .quantity("duration_ns", "duration", |stage| match stage.duration_ns {
            Some(ns) => Value::Duration(ns).into(),
            None => Cell::text_only(DOUBT, "time not known"),
        })
        .name("clock", "clock", 24, |stage| Value::text(clock(stage.clock)))
        .build_if_any()?;
    Some(notes.into_iter().fold(section, |section, note| section.line_if(QUIET, Some(note))))
}

fn clock(clock: BringUpClock) -> &'static str {
    match clock {
        BringUpClock::Host => "host",
        BringUpClock::Bootstage => "bootstage",
        BringUpClock::CorebootStates => "coreboot states",
        BringUpClock::None => "",
    }
}
