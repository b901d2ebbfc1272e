//! Builds the milestones table: points in time with a meaning for a transition.

use onoff_etl::Record;
use onoff_etw::kernel::Mark;
use onoff_trace::milestone as name;
use onoff_trace::{Milestone, Milestones, StringId};

use super::milestone_rules::{Detail, RULES, VALUE_OPTIONAL, VALUE_REQUIRED, value};
use super::phase_events::{Event, KERNEL_PNP, POWER_TROUBLESHOOTER, PhaseEvent, WINLOGON};
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct MilestoneTracker {
    rows: Vec<Milestone>,
    shell_command: StringId,
}

/// Start and end of the OS loader.
const LOADER_TIMES: Event = (KERNEL_PNP, 204);

/// The command of the following shell launch.
const SHELL_COMMANDS: Event = (WINLOGON, 9);

const SHELL_LAUNCH: Event = (WINLOGON, 5005);

/// A resume. Without any duration, the sleeping computer only woke in order to hibernate.
const RESUME: Event = (POWER_TROUBLESHOOTER, 1);

/// Returns the events that are milestones or complement one.
pub(super) fn events() -> impl Iterator<Item = Event> {
    let rule_events = RULES.iter().map(|&(provider, id, ..)| (provider, id));
    rule_events.chain([LOADER_TIMES, SHELL_COMMANDS, SHELL_LAUNCH])
}

impl MilestoneTracker {
    /// Adds a mark that was set while recording.
    pub(super) fn on_mark(&mut self, record: &Record<'_>, mark: &Mark<'_>, texts: &mut Texts) {
        self.rows.push(Milestone {
            time_ns: record.time_ns(),
            name: texts.str(name::MARK),
            detail: texts.ansi(mark.message),
            value: None,
            pid: record.process_id(),
            tid: record.thread_id(),
            event: texts.str("PerfInfo/Mark"),
        });
    }

    /// Processes a phase event; `None` if a required field is missing.
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, processor_mhz: u32, texts: &mut Texts) -> Option<()> {
        if event.is(LOADER_TIMES) {
            let value = os_loader_ns(event, processor_mhz)?;
            self.push(event, name::OS_LOADER, StringId::EMPTY, Some(value), texts);
            return Some(());
        }
        if event.is(SHELL_COMMANDS) {
            self.shell_command = event.text("CommandList", texts).unwrap_or_default();
            return Some(());
        }
        if event.is(SHELL_LAUNCH) {
            let command = self.shell_command;
            self.push(event, name::SHELL_LAUNCH, command, None, texts);
            return Some(());
        }
        if event.is(RESUME) && ["SleepDuration", "WakeDuration"].iter().all(|name| event.number(name) == Some(0)) {
            return Some(());
        }
        let mut outcome = Some(());
        for &(provider, id, milestone, quantity, detail) in RULES {
            if !event.is((provider, id)) {
                continue;
            }
            let value = value(quantity, event);
            if value.is_none() && VALUE_REQUIRED.contains(&milestone) {
                if !VALUE_OPTIONAL.iter().any(|&optional| event.is(optional)) {
                    outcome = None;
                }
                continue;
            }
            let detail = match detail {
                Detail::None => StringId::EMPTY,
                Detail::Field(field) => event.text(field, texts).unwrap_or_default(),
                Detail::Literal(literal) => texts.str(literal),
            };
            if milestone == name::WAKE_SOURCE && detail.is_empty() {
                continue;
            }
            self.push(event, milestone, detail, value, texts);
        }
        outcome
    }

    /// Adds a row that no single event declares.
    pub(super) fn push_row(&mut self, row: Milestone) {
        self.rows.push(row);
    }

    fn push(
        &mut self,
        event: &PhaseEvent<'_>,
        milestone: &str,
        detail: StringId,
        value: Option<i64>,
        texts: &mut Texts,
    ) {
        self.rows.push(Milestone {
            time_ns: event.time_ns(),
            name: texts.str(milestone),
            detail,
            value,
            pid: event.process_id(),
            tid: event.thread_id(),
            event: event.label(texts),
        });
    }

    /// Builds the table, sorted by time.
    pub(super) fn finish(mut self) -> Milestones {
        self.rows.sort_by_key(|row| row.time_ns);
        self.rows.into_iter().collect()
    }
}

/// Returns the duration of the OS loader. Its start and end are readings of the time-stamp counter, whose frequency is
/// in the newest version of the event; otherwise the nominal speed of the processor is used.
fn os_loader_ns(event: &PhaseEvent<'_>, processor_mhz: u32) -> Option<i64> {
    let start = event.number("OSLoaderStart")?;
    let end = event.number("OSLoaderEnd")?;
    let ticks = u128::from(end.checked_sub(start)?);
    let ticks_per_second = match event.number("PerformanceDataFrequency") {
        Some(frequency) if frequency > 0 => u128::from(frequency),
        _ => u128::from(processor_mhz) * 1_000_000,
    };
    let ns = (ticks * 1_000_000_000).checked_div(ticks_per_second)?;
    i64::try_from(ns).ok()
}
