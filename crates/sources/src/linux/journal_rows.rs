//! Turns messages of the journal into rows: which units started and stopped, when the start was finished, which processes
//! there were and which were killed.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{
    Notification, NotificationKind, ServiceChange, ServiceOutcome, ServiceTransition, StringId, milestone,
};

use super::assembly::Assembly;
use super::clocks::{Clocks, SourceClock};
use super::journal::{Entry, JournalFaults, STARTUP_FINISHED};
use super::journal_files::Journal;
use super::shutdown_request;
use super::time_span::time_span_ns;
use super::unit_messages::{Step, step};

/// Adds the rows of one boot of a journal.
pub(super) fn read(journal: &Journal<'_>, boot: Option<u128>, clocks: &Clocks, assembly: &mut Assembly) {
    let mut reader = Reader { assembly, open: HashMap::new(), last: HashMap::new(), processes: HashSet::new() };
    // What was wrong with it the survey has counted.
    let mut faults = JournalFaults::default();
    journal.entries(boot, &mut faults, |entry| reader.entry(entry, clocks));
}

struct Reader<'a> {
    assembly: &'a mut Assembly,
    /// Changes that began and did not end yet: their place among the rows.
    open: HashMap<(StringId, ServiceChange), usize>,
    /// The last change of each unit.
    last: HashMap<StringId, usize>,
    processes: HashSet<u32>,
}

impl Reader<'_> {
    fn entry(&mut self, entry: &Entry<'_>, clocks: &Clocks) {
        let Some(time_ns) = time_ns(entry, clocks) else {
            return;
        };
        self.assembly.reaches(time_ns);
        self.process(entry);
        if let Some(kind) = shutdown_request::asked(entry) {
            let event = event_name(entry);
            let name = milestone::SHUTDOWN_REQUEST;
            self.assembly.milestone(time_ns, name, kind, None, &event);
        }
        if !entry.is_service_manager() {
            return;
        }
        if entry.message_id == STARTUP_FINISHED {
            self.started(entry);
            return;
        }
        let Some((unit, step)) = step(entry) else {
            return;
        };
        let unit = self.assembly.text(&unit);
        match step {
            Step::Begins(change) => self.begins(unit, change, time_ns, entry),
            Step::Ends(change, outcome) => self.ends(unit, change, outcome, time_ns, entry),
            Step::Skipped => {
                // It may have been announced; nothing was started.
                if let Some(at) = self.open.remove(&(unit, ServiceChange::Start))
                    && let Some(row) = self.assembly.service_transitions.get_mut(at)
                {
                    row.end_ns = Some(time_ns);
                    row.outcome = ServiceOutcome::Completed;
                }
            }
            Step::Result(result) => {
                let result = self.assembly.text(&result);
                if let Some(row) = self.last.get(&unit).and_then(|&at| self.assembly.service_transitions.get_mut(at)) {
                    row.result = result;
                }
            }
            Step::Kills(pid) => {
                let event = event(entry, self.assembly);
                self.assembly.notifications.push(Notification {
                    kind: NotificationKind::Termination,
                    start_ns: time_ns,
                    end_ns: None,
                    name: unit,
                    pid: Some(pid),
                    tid: None,
                    session: None,
                    level: None,
                    flags: None,
                    status: None,
                    teller_pid: Some(1),
                    teller_tid: None,
                    event,
                });
            }
        }
    }

    fn process(&mut self, entry: &Entry<'_>) {
        if let Some(pid) = entry.pid
            && !entry.is_kernel()
            && self.processes.insert(pid)
        {
            let name = self.assembly.text(&entry.comm);
            let command_line = if entry.command_line.is_empty() { &entry.executable } else { &entry.command_line };
            let command_line = self.assembly.text(command_line);
            let user = match entry.uid {
                Some(uid) => self.assembly.text(&uid.to_string()),
                None => StringId::EMPTY,
            };
            self.assembly.processes.identify(pid, name, command_line, user);
        }
    }

    fn begins(&mut self, unit: StringId, change: ServiceChange, time_ns: i64, entry: &Entry<'_>) {
        let at = self.assembly.service_transitions.len();
        let row = row(unit, change, time_ns, entry, self.assembly);
        self.assembly.service_transitions.push(row);
        self.open.insert((unit, change), at);
        self.last.insert(unit, at);
        self.target_stops(unit, change, time_ns, entry);
    }

    fn ends(
        &mut self,
        unit: StringId,
        change: ServiceChange,
        outcome: ServiceOutcome,
        time_ns: i64,
        entry: &Entry<'_>,
    ) {
        let at = match self.open.remove(&(unit, change)) {
            Some(at) => at,
            // What takes no time is only told when it is done.
            None => {
                let row = row(unit, change, time_ns, entry, self.assembly);
                self.assembly.service_transitions.push(row);
                self.target_stops(unit, change, time_ns, entry);
                self.assembly.service_transitions.len() - 1
            }
        };
        self.last.insert(unit, at);
        let result = self.assembly.text(&entry.job_result);
        if let Some(row) = self.assembly.service_transitions.get_mut(at) {
            row.end_ns = Some(time_ns.max(row.start_ns));
            row.outcome = outcome;
            if row.result.is_empty() && outcome == ServiceOutcome::Failed {
                row.result = result;
            }
        }
        let completed = outcome == ServiceOutcome::Completed;
        if change == ServiceChange::Start && completed && self.is_target(unit) {
            self.target(milestone::TARGET_REACHED, unit, time_ns, entry);
        }
    }

    fn is_target(&self, unit: StringId) -> bool {
        self.assembly.texts.get(unit).ends_with(".target")
    }

    fn target_stops(&mut self, unit: StringId, change: ServiceChange, time_ns: i64, entry: &Entry<'_>) {
        if change == ServiceChange::Stop && self.is_target(unit) {
            self.target(milestone::TARGET_STOPPED, unit, time_ns, entry);
        }
    }

    fn target(&mut self, name: &str, unit: StringId, time_ns: i64, entry: &Entry<'_>) {
        let unit = self.assembly.texts.get(unit).to_owned();
        let event = event_name(entry);
        self.assembly.milestone(time_ns, name, &unit, None, &event);
    }

    /// The manager's own account of the start, which it gives once all jobs are done.
    fn started(&mut self, entry: &Entry<'_>) {
        let event = event_name(entry);
        let ns = |us: Option<i64>| us.and_then(|us| us.checked_mul(1_000));
        let (Some(kernel), Some(user_space)) = (ns(entry.kernel_us), ns(entry.user_space_us)) else {
            return;
        };
        let initrd = ns(entry.initrd_us).unwrap_or(0);
        let begin = kernel.saturating_add(initrd);
        if initrd > 0 {
            self.unless_known(kernel, milestone::INITRD_BEGIN, None, &event);
        }
        self.unless_known(begin, milestone::USER_SPACE_BEGIN, None, &event);
        let end = begin.saturating_add(user_space);
        self.unless_known(end, milestone::STARTUP_FINISHED, None, &event);
        // Firmware and loader are in the text only, to the millisecond.
        let length = |part: &str| {
            let (before, _) = entry.message.split_once(&format!(" ({part})"))?;
            let text = before.rsplit([')', '+']).next()?.trim();
            time_span_ns(text.strip_prefix("Startup finished in ").unwrap_or(text))
        };
        let loader = length("loader");
        if let Some(ns) = loader {
            self.unless_known(-ns, milestone::BOOT_MANAGER, Some(ns), &event);
        }
        if let Some(ns) = length("firmware") {
            let begin = loader.unwrap_or(0).saturating_add(ns);
            self.unless_known(-begin, milestone::FIRMWARE, Some(ns), &event);
        }
    }

    fn unless_known(&mut self, time_ns: i64, name: &str, value: Option<i64>, event: &str) {
        let id = self.assembly.text(name);
        if !self.assembly.milestones.iter().any(|row| row.name == id) {
            self.assembly.milestone(time_ns, name, "", value, event);
        }
    }
}

/// When the message was sent, on the axis.
pub(super) fn time_ns(entry: &Entry<'_>, clocks: &Clocks) -> Option<i64> {
    match entry.source_monotonic_us {
        Some(us) if entry.is_kernel() => Some(clocks.axis_or_same_ns(SourceClock::KernelLog, us.checked_mul(1_000)?)),
        _ => entry.time_ns(),
    }
}

/// What a row of this message names as its record.
fn event_name(entry: &Entry<'_>) -> String {
    if entry.message_id == 0 { "journal".to_owned() } else { format!("journal {:032x}", entry.message_id) }
}

fn event(entry: &Entry<'_>, assembly: &mut Assembly) -> StringId {
    assembly.text(&event_name(entry))
}

fn row(
    unit: StringId,
    change: ServiceChange,
    time_ns: i64,
    entry: &Entry<'_>,
    assembly: &mut Assembly,
) -> ServiceTransition {
    ServiceTransition {
        service: unit,
        group: StringId::EMPTY,
        kind: change,
        start_ns: time_ns,
        checkpoint_ns: None,
        load_ns: None,
        end_ns: None,
        container: StringId::EMPTY,
        container_pid: None,
        outcome: ServiceOutcome::Unfinished,
        automatic: false,
        result: StringId::EMPTY,
        timeout_ns: None,
        event: event(entry, assembly),
    }
}
