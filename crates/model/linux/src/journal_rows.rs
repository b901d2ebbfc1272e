//! Turns messages of the journal into rows: which units started and stopped, when the start was finished, which processes
//! there were and which were killed.

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};
use onoff_trace::{
    Activity, ActivityKind, Notification, NotificationKind, ServiceChange, ServiceOutcome, ServiceTransition, StringId,
    counters, milestone,
};

use super::assembly::Assembly;
use super::clocks::{Clocks, SourceClock};
use super::journal::{Entry, JournalFaults, STARTUP_FINISHED};
use super::journal_files::Journal;
use super::kernel_log::Messages;
use super::shutdown_request;
use super::startup_lengths::{StartupLengths, unless_known};
use super::unit_messages::{Step, UserUnit, step, user_step};

/// Adds the rows of one boot of a journal.
pub(super) fn read(journal: &Journal<'_>, boot: Option<u128>, clocks: &Clocks, assembly: &mut Assembly) {
    let mut reader = Reader::new(assembly, "journal");
    // What was wrong with it the survey has counted.
    let mut faults = JournalFaults::default();
    journal.entries(boot, &mut faults, |entry| reader.entry(entry, clocks));
    reader.finish();
}

/// Adds what the service manager says in the kernel's log, for a recording without a journal: `systemd[1]: Started …`.
pub(super) fn read_kernel_log(messages: &Messages, clocks: &Clocks, assembly: &mut Assembly) {
    let mut reader = Reader::new(assembly, "systemd's messages in the kernel log");
    let mut journal_runs_ns = None;
    let mut speaks_on = false;
    for message in messages.iter() {
        if message.text.starts_with("systemd-journald[") {
            journal_runs_ns.get_or_insert(message.time_ns);
        }
        let Some(text) = message.text.strip_prefix("systemd[1]: ") else { continue };
        let mut entry = Entry { is_text: true, ..Entry::default() };
        entry.set(b"MESSAGE", Cow::Borrowed(text));
        entry.set(b"SYSLOG_IDENTIFIER", Cow::Borrowed("systemd"));
        entry.set(b"_TRANSPORT", Cow::Borrowed("kernel"));
        entry.source_monotonic_us = Some(message.time_ns / 1000);
        if StartupLengths::read(text).is_some() {
            entry.message_id = STARTUP_FINISHED;
        }
        let is_later = journal_runs_ns.is_some_and(|from: i64| message.time_ns > from.saturating_add(SPEAKS_ON_NS));
        if is_later {
            speaks_on |= matches!(
                step(&entry),
                Some((_, Step::Begins(ServiceChange::Start) | Step::Ends(ServiceChange::Start, _)))
            );
        }
        reader.entry(&entry, clocks);
    }
    // Once journald runs, the service manager speaks to it, unless it is told to go on with the kernel's log: what ended since then
    // this log does not say.
    if journal_runs_ns.is_some() && !speaks_on {
        reader.forget_open();
    }
    reader.finish();
}

/// What rows name as their record that rest on a line with a wall-clock time.
pub(super) const WALL_CLOCK_EVENT: &str = "log by wall clock";

/// The manager says more of starts in the kernel's log so long after journald began to run: it goes on there. Messages under way
/// need less.
const SPEAKS_ON_NS: i64 = 1_000_000_000;

counters! {
    ENDS_IN_JOURNAL = "units_end_in_the_journal", Notice, [ServiceTransitions],
        "the kernel's log says that these units began to start, and only the journal when they were done: journald had begun to run; take `journalctl -b -o export` too";
    END_NOT_SAID = "unit_ends_not_said", Notice, [ServiceTransitions],
        "starts of units that a message announced and none ended, though the service manager said later that every job of the start was done; they are left out";
}

/// The last unit of an initial file system: it gives the machine to the service manager of the root file system, which says nothing
/// of its end. By name, and by description in journals without fields.
const SWITCH_ROOT: [&str; 2] = ["initrd-switch-root.service", "Switch Root"];

struct Reader<'a> {
    assembly: &'a mut Assembly,
    /// Changes that began and did not end yet: their place among the rows.
    open: HashMap<(StringId, ServiceChange), usize>,
    /// Places of the starts that were over by the service manager's own account, with no message of their end.
    over: HashSet<usize>,
    /// Places of the starts that gave the machine to the next service manager.
    switched: Vec<usize>,
    /// The last change of each unit.
    last: HashMap<StringId, usize>,
    processes: HashSet<u32>,
    /// The manager said that it runs, and not yet where.
    manager_started: Option<(i64, String)>,
    /// When it said so, of each part of the start.
    said_to_start: Vec<(&'static str, i64, String)>,
    /// What rows name as their record where the message has no id.
    source: &'static str,
    /// Starts of units of users' service managers that did not end yet.
    user_starts: HashMap<UserUnit, i64>,
}

impl<'a> Reader<'a> {
    fn new(assembly: &'a mut Assembly, source: &'static str) -> Self {
        Self {
            assembly,
            open: HashMap::new(),
            user_starts: HashMap::new(),
            over: HashSet::new(),
            switched: Vec::new(),
            last: HashMap::new(),
            processes: HashSet::new(),
            manager_started: None,
            said_to_start: Vec::new(),
            source,
        }
    }

    fn entry(&mut self, entry: &Entry<'_>, clocks: &Clocks) {
        let Some(time_ns) = time_ns(entry, clocks) else { return };
        self.assembly.reaches(time_ns);
        self.process(entry);
        if !entry.is_kernel() {
            self.assembly.network_line(time_ns, &entry.identifier, &entry.message, self.source);
        }
        if let Some(kind) = shutdown_request::asked(entry) {
            let event = self.event_name(entry);
            let name = milestone::SHUTDOWN_REQUEST;
            self.assembly.milestone(time_ns, name, kind, None, &event);
        }
        if !entry.is_service_manager() {
            // A user's own manager; its targets are not the system's.
            if let Some((unit, step)) = user_step(entry) {
                self.user_unit(unit, &step, time_ns, entry);
            }
            return;
        }
        if entry.message_id == STARTUP_FINISHED {
            self.started(entry);
            return;
        }
        self.manager_starts(entry, time_ns);
        let Some((unit, step)) = step(entry) else { return };
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
            Step::Result(result) => self.result(unit, &result),
            Step::Kills(pid) => {
                let event = self.event(entry);
                self.assembly.notifications.push(Notification {
                    kind: NotificationKind::Termination,
                    start_ns: time_ns,
                    name: unit,
                    pid: Some(pid),
                    teller_pid: Some(1),
                    event,
                    ..Notification::UNKNOWN
                });
            }
        }
    }

    /// What a user's service manager says of the start of a unit. The system does not wait for it, so it is no row among the system's.
    fn user_unit(&mut self, unit: UserUnit, step: &Step<'_>, time_ns: i64, entry: &Entry<'_>) {
        match step {
            Step::Begins(ServiceChange::Start) => {
                self.user_starts.entry(unit).or_insert(time_ns);
            }
            Step::Ends(ServiceChange::Start, outcome) => {
                let start_ns = self.user_starts.remove(&unit).unwrap_or(time_ns);
                let event = self.event(entry);
                self.user_start(&unit, (start_ns, Some(time_ns)), *outcome == ServiceOutcome::Failed, event);
            }
            Step::Skipped => {
                self.user_starts.remove(&unit);
            }
            _ => {}
        }
    }

    fn user_start(&mut self, unit: &UserUnit, (start_ns, end_ns): (i64, Option<i64>), failed: bool, event: StringId) {
        let row = Activity {
            kind: ActivityKind::UserUnit,
            name: self.assembly.text(&unit.name),
            detail: self.assembly.text(&unit.manager),
            start_ns,
            end_ns,
            status: Some(failed.into()),
            event,
            ..Activity::UNKNOWN
        };
        self.assembly.activities.push(row);
    }

    /// Why the last change of a unit failed.
    fn result(&mut self, unit: StringId, result: &str) {
        let result = self.assembly.text(result);
        if let Some(row) = self.last.get(&unit).and_then(|&at| self.assembly.service_transitions.get_mut(at)) {
            row.result = result;
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
        let event = self.event(entry);
        let row = row(unit, change, time_ns, event);
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
                let event = self.event(entry);
                let row = row(unit, change, time_ns, event);
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
        let event = self.event_name(entry);
        self.assembly.milestone(time_ns, name, &unit, None, &event);
    }

    /// The manager's own account of the start, which it gives once all jobs are done.
    fn started(&mut self, entry: &Entry<'_>) {
        let said = StartupLengths::read(&entry.message);
        let ns = |us: Option<i64>| us.and_then(|us| us.checked_mul(1_000));
        // The fields have µs, the text ms; firmware and loader are in the text only.
        let kernel_ns = ns(entry.kernel_us).or(said.map(|said| said.kernel_ns));
        let user_space_ns = ns(entry.user_space_us).or(said.map(|said| said.user_space_ns));
        let (Some(kernel_ns), Some(user_space_ns)) = (kernel_ns, user_space_ns) else { return };
        let said = said.unwrap_or_default();
        let lengths =
            StartupLengths { kernel_ns, user_space_ns, initrd_ns: ns(entry.initrd_us).or(said.initrd_ns), ..said };
        let event = self.event_name(entry);
        lengths.add(&event, self.assembly);
        // It says so once no job is left (source: `manager_check_finished`).
        let over: Vec<usize> =
            self.open.extract_if(|&(_, change), _| change == ServiceChange::Start).map(|(_, at)| at).collect();
        self.assembly.losses.add(&END_NOT_SAID, over.len() as u64);
        self.over.extend(over);
    }

    /// The manager says that it starts, and then, if so, that it does in an initial file system: which of the two it is shows by the
    /// next message that is no remark on the machine.
    fn manager_starts(&mut self, entry: &Entry<'_>, time_ns: i64) {
        let message = &*entry.message;
        if message.starts_with("systemd ") && message.contains(" running in system mode") {
            self.settle_manager();
            self.manager_started = Some((time_ns, self.event_name(entry)));
        } else if message.starts_with("Running in init") {
            if let Some((time_ns, event)) = self.manager_started.take() {
                self.said_to_start.push((milestone::INITRD_BEGIN, time_ns, event));
            }
        } else if !message.starts_with("Detected ") {
            self.settle_manager();
        }
    }

    /// Leaves out what has begun and not ended, and counts it.
    fn forget_open(&mut self) {
        self.assembly.losses.add(&ENDS_IN_JOURNAL, self.open.len() as u64);
        self.over.extend(self.open.drain().map(|(_, at)| at));
    }

    fn settle_manager(&mut self) {
        if let Some((time_ns, event)) = self.manager_started.take() {
            for name in SWITCH_ROOT {
                if let Some(unit) = self.assembly.texts.find(name)
                    && let Some(at) = self.open.remove(&(unit, ServiceChange::Start))
                    && let Some(row) = self.assembly.service_transitions.get_mut(at)
                {
                    row.end_ns = Some(time_ns);
                    row.outcome = ServiceOutcome::Completed;
                    self.switched.push(at);
                }
            }
            self.said_to_start.push((milestone::USER_SPACE_BEGIN, time_ns, event));
        }
    }

    /// What the manager said when it started counts where it gave no account once it was done: it speaks late.
    fn finish(mut self) {
        self.settle_manager();
        let mut open: Vec<(UserUnit, i64)> = self.user_starts.drain().collect();
        open.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        for (unit, start_ns) in open {
            let event = self.assembly.text(self.source);
            self.user_start(&unit, (start_ns, None), false, event);
        }
        // The next service manager speaks late; by its own account, which has the better time, it began earlier.
        if let Some(begin_ns) = self.assembly.last_time_of(milestone::USER_SPACE_BEGIN) {
            for at in std::mem::take(&mut self.switched) {
                if let Some(row) = self.assembly.service_transitions.get_mut(at) {
                    row.end_ns = row.end_ns.map(|end_ns| end_ns.min(begin_ns).max(row.start_ns));
                }
            }
        }
        let mut at = 0;
        self.assembly.service_transitions.retain(|_| {
            at += 1;
            !self.over.contains(&(at - 1))
        });
        for (name, time_ns, event) in std::mem::take(&mut self.said_to_start) {
            unless_known(time_ns, name, None, &event, self.assembly);
        }
    }

    fn event(&mut self, entry: &Entry<'_>) -> StringId {
        let name = self.event_name(entry);
        self.assembly.text(&name)
    }

    /// What a row of this message names as its record.
    fn event_name(&self, entry: &Entry<'_>) -> String {
        match entry.message_id {
            0 if entry.by_wall_clock => WALL_CLOCK_EVENT.to_owned(),
            0 => self.source.to_owned(),
            id => format!("journal {id:032x}"),
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

fn row(unit: StringId, change: ServiceChange, time_ns: i64, event: StringId) -> ServiceTransition {
    ServiceTransition {
        service: unit,
        kind: change,
        start_ns: time_ns,
        outcome: ServiceOutcome::Unfinished,
        event,
        ..ServiceTransition::UNKNOWN
    }
}
