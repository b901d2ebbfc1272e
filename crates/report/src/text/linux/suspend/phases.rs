//! The phases on one axis, with what their ends waited for.

use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::transition::linux::suspend::{LinuxSleep, SleepPhase};
use onoff_analysis::transition::suspend::PowerHalf;

use super::headline::{device, words};
use crate::text::bar::Axis;
use crate::text::quantity::{count, duration, duration_or_dash, percent, share};
use crate::text::section::title;
use crate::text::style::{BAR, DOUBT, MISSING, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

/// Characters of the axis.
const AXIS_CELLS: usize = 28;

/// Time between phases that is worth a row, ns.
const NOTABLE_GAP_NS: i64 = 1_000_000;

pub(super) fn write(sleep: &LinuxSleep, out: &mut dyn Write) -> io::Result<()> {
    if sleep.phases.is_empty() {
        return Ok(());
    }
    let end = sleep.phases.iter().filter_map(|phase| phase.end_ns).chain(sleep.end_ns).fold(sleep.start_ns, i64::max);
    let awake = Awake::of(sleep);
    let whole = awake.until(end).saturating_sub(sleep.start_ns);
    let axis = Axis::new(sleep.start_ns, awake.until(end), AXIS_CELLS);
    let bar = |from, to| axis.bar(awake.until(from), awake.until(to));
    let clock = if sleep.asleep.measured.duration_ns == Some(0) {
        "; the clock stands still while the machine sleeps"
    } else if awake.is_shorter() {
        "; shares leave out the sleep"
    } else {
        ""
    };
    let note = format!("times count from the decision to sleep, {} of the recording{clock}", exact(sleep.start_ns));
    title("Phases", &note, out)?;
    let mut table = Table::new()
        .left("phase", 34)
        .right("begins")
        .right("took")
        .right("share")
        .left("", AXIS_CELLS)
        .right("callbacks")
        .left("its end waited longest for", 70)
        .left("", 60);
    let longest =
        sleep.phases.iter().filter(|phase| phase.half != PowerHalf::Asleep).filter_map(|phase| phase.duration_ns).max();
    let mut known_until = sleep.start_ns;
    for phase in &sleep.phases {
        let gap = phase.start_ns.saturating_sub(known_until);
        if gap >= NOTABLE_GAP_NS {
            table.row([
                styled_cell(QUIET, "  between"),
                styled_cell(QUIET, since(sleep, known_until)),
                styled_cell(QUIET, duration(gap)),
                styled_cell(QUIET, percent(share(gap, whole))),
                styled_cell(QUIET, bar(known_until, phase.start_ns)),
                cell(""),
                cell(""),
                cell(""),
            ]);
        }
        known_until = known_until.max(phase.end_ns.unwrap_or(phase.start_ns));
        let is_longest = phase.duration_ns.is_some_and(|ns| ns > 0) && phase.duration_ns == longest;
        let style = if is_longest { WORST } else { anstyle::Style::new() };
        let (note_style, note) = note_of(sleep, phase);
        table.row([
            styled_cell(style, words(phase.name)),
            cell(since(sleep, phase.start_ns)),
            styled_cell(style, duration_or_dash(phase.duration_ns)),
            cell(
                phase
                    .duration_ns
                    .filter(|_| phase.half != PowerHalf::Asleep || !awake.is_shorter())
                    .map_or_else(String::new, |ns| percent(share(ns, whole))),
            ),
            styled_cell(BAR, bar(phase.start_ns, phase.end_ns.unwrap_or(phase.start_ns))),
            cell(if phase.callbacks > 0 { count(phase.callbacks) } else { String::new() }),
            cell(waited(phase)),
            styled_cell(note_style, note),
        ]);
    }
    let gap = end.saturating_sub(known_until);
    if gap >= NOTABLE_GAP_NS {
        table.row([
            styled_cell(QUIET, "  after"),
            styled_cell(QUIET, since(sleep, known_until)),
            styled_cell(QUIET, duration(gap)),
            styled_cell(QUIET, percent(share(gap, whole))),
            styled_cell(QUIET, bar(known_until, end)),
            cell(""),
            cell(""),
            cell(""),
        ]);
    }
    table.write(out)?;
    write_settling(sleep, out)
}

/// Times without the sleep in the middle, which in a suspend to idle the clock counts: it is no part of what was slow.
#[derive(Clone, Copy)]
struct Awake {
    from_ns: i64,
    to_ns: i64,
}

impl Awake {
    fn of(sleep: &LinuxSleep) -> Self {
        let measured = &sleep.asleep.measured;
        match (measured.start_ns, measured.end_ns) {
            (Some(from_ns), Some(to_ns)) if from_ns < to_ns => Self { from_ns, to_ns },
            _ => Self { from_ns: sleep.start_ns, to_ns: sleep.start_ns },
        }
    }

    const fn is_shorter(self) -> bool {
        self.from_ns < self.to_ns
    }

    fn until(self, time_ns: i64) -> i64 {
        let slept = time_ns.clamp(self.from_ns, self.to_ns).saturating_sub(self.from_ns);
        time_ns.saturating_sub(slept)
    }
}

/// What the phase's end waited longest for.
fn waited(phase: &SleepPhase) -> String {
    phase
        .path
        .iter()
        .max_by_key(|step| step.duration_ns)
        .filter(|step| step.duration_ns > 0)
        .map_or_else(String::new, |step| {
            format!("{} {}", device(&step.device, &step.driver), duration(step.duration_ns))
        })
}

fn note_of(sleep: &LinuxSleep, phase: &SleepPhase) -> (anstyle::Style, String) {
    if phase.half == PowerHalf::Asleep {
        return match sleep.asleep.slept_ns {
            Some(ns) => (QUIET, format!("asleep for {}", duration(ns))),
            None => (MISSING, "how long is not recorded".to_owned()),
        };
    }
    match phase.certainty {
        Certainty::Measured => (QUIET, String::new()),
        Certainty::Inferred => (DOUBT, format!("inferred: {}", phase.rule)),
        Certainty::Missing => (MISSING, phase.rule.clone()),
    }
}

fn write_settling(sleep: &LinuxSleep, out: &mut dyn Write) -> io::Result<()> {
    let settling = &sleep.post_resume;
    if settling.start_ns.is_none() {
        return Ok(());
    }
    let text = match settling.end_ns {
        Some(end) => format!(
            "settled {} after the resume, {} of it work; {}",
            duration(end.saturating_sub(settling.start_ns.unwrap_or(end))),
            duration(settling.busy_ns),
            settling.rule
        ),
        None => format!("not told: {}", settling.rule),
    };
    writeln!(out, "  {QUIET}After the resume: {text}.{QUIET:#}")
}

fn since(sleep: &LinuxSleep, time_ns: i64) -> String {
    duration(time_ns.saturating_sub(sleep.start_ns))
}

/// A time of the recording to the microsecond, so that other reports can be asked about it.
pub(super) fn exact(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let us = ns.unsigned_abs() / 1_000;
    format!("{sign}{}.{:06} s", us / 1_000_000, us % 1_000_000)
}
