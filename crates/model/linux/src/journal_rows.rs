//! Converts journal messages into rows: starts and stops of units, the end of the startup, processes, and processes
//! that were killed.

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};
use onoff_trace::{
    Activity, ActivityKind, Notification, NotificationKind, ServiceChange, ServiceOutcome, ServiceTransition, StringId,
    counters, milestone,
};

use super::assembly::Assembly;
use super::boot_failures;
use super::clocks::{Clocks, SourceClock};
use super::journal::{Entry, JournalFaults, STARTUP_FINISHED};
use super::journal_files::Journal;
use super::kernel_log::Messages;
use super::password_prompts;
use super::shutdown_request;
use super::startup_times::{StartupTimes, add_unless_known};
use super::unit_messages::{Step, UserUnit, step, user_step};

/// Adds the rows of one boot of a journal.
pub(super) fn read(journal: &Journal<'_>, boot: Option<u128>, clocks: &Clocks, assembly: &mut Assembly) {
    let mut reader = Reader::new(assembly, "journal");
    // The survey has already counted the faults.
    let mut faults = JournalFaults::default();
    journal.entries(boot, &mut faults, |entry| reader.on_entry(entry, clocks));
    reader.finish();
}

/// Adds the rows of the service manager's messages in the kernel log (`systemd[1]: Started …`), for recordings without
/// a journal.
pub(super) fn read_kernel_log(messages: &Messages, clocks: &Clocks, assembly: &mut Assembly) {
    let mut reader = Reader::new(assembly, KERNEL_LOG_SOURCE);
    let mut journald_start_ns = None;
    let mut keeps_logging = false;
    for message in messages.iter() {
        if message.text.starts_with("systemd-journald[") {
            journald_start_ns.get_or_insert(message.time_ns);
        }
        if let Some(unit) = boot_failures::console_started(&message.text) {
            reader.drop_start(&unit);
        }
        let Some(text) = message.text.strip_prefix("systemd[1]: ") else { continue };
        reader.source = if message.is_untimed { milestone::NO_TIME_EVENT } else { KERNEL_LOG_SOURCE };
        let mut entry = Entry { is_text: true, ..Entry::default() };
        entry.set(b"MESSAGE", Cow::Borrowed(text));
        entry.set(b"SYSLOG_IDENTIFIER", Cow::Borrowed("systemd"));
        entry.set(b"_TRANSPORT", Cow::Borrowed("kernel"));
        entry.source_monotonic_us = Some(message.time_ns / 1000);
        if StartupTimes::read(text).is_some() {
            entry.message_id = STARTUP_FINISHED;
        }
        let is_after_handover =
            journald_start_ns.is_some_and(|start_ns: i64| message.time_ns > start_ns.saturating_add(MAX_HANDOVER_NS));
        if is_after_handover {
            keeps_logging |= matches!(
                step(&entry),
                Some((_, Step::Begin(ServiceChange::Start) | Step::End(ServiceChange::Start, _)))
            );
        }
        reader.on_entry(&entry, clocks);
    }
    // Once journald runs, the service manager logs to it and unit ends no longer appear in this log, unless the service
    // manager is configured to keep using the kernel log.
    if journald_start_ns.is_some() && !keeps_logging {
        reader.drop_open();
    }
    reader.finish();
}

const KERNEL_LOG_SOURCE: &str = "systemd's messages in the kernel log";

pub(super) use onoff_trace::milestone::WALL_CLOCK_EVENT;

/// If the manager still reports starts in the kernel log this long after journald started, it keeps logging there.
/// Messages in flight at the handover arrive sooner.
const MAX_HANDOVER_NS: i64 = 1_000_000_000;

/// Maximum number of entered passwords to keep.
const MAX_PASSWORDS: usize = 256;

counters! {
    ENDS_IN_JOURNAL = "units_end_in_the_journal", Notice, [ServiceTransitions],
        "Units started in the kernel log but finished after journald took over. Add the output of 'journalctl -b -o export'.";
    END_NOT_RECORDED = "unit_ends_not_recorded", Notice, [ServiceTransitions],
        "Unit starts whose end has no time were skipped: the service manager reported later that all startup jobs were done, or the console shows their end without a time.";
}

/// The last unit of an initramfs. It hands the machine to the service manager of the root file system, and its end is
/// not logged.
const SWITCH_ROOT: &str = "initrd-switch-root.service";

/// Result of a start that the service manager refused because the unit had failed too often.
const START_LIMIT: &str = "start-limit-hit";

struct Reader<'a> {
    assembly: &'a mut Assembly,
    /// Open changes, with the index of their row.
    open: HashMap<(StringId, ServiceChange), usize>,
    /// Indexes of starts that ended without a message, according to the service manager.
    ended_silently: HashSet<usize>,
    /// Indexes of starts that handed over to the next service manager.
    switch_root_rows: Vec<usize>,
    /// Index of the last change of each unit.
    last_changes: HashMap<StringId, usize>,
    processes: HashSet<u32>,
    /// How a process of each unit exited last.
    exits: HashMap<StringId, String>,
    /// Units that failed too often.
    start_limits: HashSet<StringId>,
    /// Time and event of the manager's first message, until it is known whether the manager runs in an initramfs.
    manager_started: Option<(i64, String)>,
    /// Milestones from first messages of a manager: name, time and event.
    announced_starts: Vec<(&'static str, i64, String)>,
    /// Event name of rows whose message has no id.
    source: &'static str,
    /// Open starts of units of users' service managers.
    user_starts: HashMap<UserUnit, i64>,
}

impl<'a> Reader<'a> {
    fn new(assembly: &'a mut Assembly, source: &'static str) -> Self {
        Self {
            assembly,
            open: HashMap::new(),
            user_starts: HashMap::new(),
            ended_silently: HashSet::new(),
            switch_root_rows: Vec::new(),
            last_changes: HashMap::new(),
            processes: HashSet::new(),
            exits: HashMap::new(),
            start_limits: HashSet::new(),
            manager_started: None,
            announced_starts: Vec::new(),
            source,
        }
    }

    fn on_entry(&mut self, entry: &Entry<'_>, clocks: &Clocks) {
        let Some(time_ns) = time_ns(entry, clocks) else { return };
        self.assembly.extend_to(time_ns);
        self.add_process(entry);
        if !entry.is_kernel() {
            self.assembly.add_network_change(time_ns, &entry.identifier, &entry.message, self.source);
            self.assembly.log_gaps.add_line(time_ns, &entry.identifier, &entry.message);
            if password_prompts::is_password_entered(&entry.identifier, &entry.message)
                && self.assembly.passwords_entered_ns.len() < MAX_PASSWORDS
            {
                self.assembly.passwords_entered_ns.push(time_ns);
            }
            if entry.identifier.starts_with("dracut")
                && let Some(name) = boot_failures::milestone_of(&entry.message)
            {
                self.assembly.add_milestone(time_ns, name, &entry.message, None, self.source);
            }
        }
        if let Some(kind) = shutdown_request::requested_action(entry) {
            let event = self.event_name(entry);
            let name = milestone::SHUTDOWN_REQUEST;
            self.assembly.add_milestone(time_ns, name, kind, None, &event);
        }
        if !entry.is_service_manager() {
            // The targets of a user's service manager are not targets of the system.
            if let Some((unit, step)) = user_step(entry) {
                self.on_user_unit(unit, &step, time_ns, entry);
            }
            return;
        }
        if entry.message_id == STARTUP_FINISHED {
            self.on_startup_finished(entry);
            return;
        }
        self.on_manager_message(entry, time_ns);
        let Some((unit, step)) = step(entry) else { return };
        let unit = self.assembly.intern(&unit);
        match step {
            Step::Begin(change) => self.on_begin(unit, change, time_ns, entry),
            Step::End(change, outcome) => self.on_end(unit, change, outcome, time_ns, entry),
            Step::Skipped => {
                // The start may have been announced although nothing was started.
                if let Some(index) = self.open.remove(&(unit, ServiceChange::Start))
                    && let Some(row) = self.assembly.service_transitions.get_mut(index)
                {
                    row.end_ns = Some(time_ns);
                    row.outcome = ServiceOutcome::Completed;
                }
            }
            Step::Result(result) => self.set_result(unit, &result),
            Step::Exit(status) => {
                self.exits.insert(unit, status.into_owned());
            }
            Step::StartLimit => {
                self.start_limits.insert(unit);
            }
            Step::Kill(pid) => {
                let event = self.intern_event_name(entry);
                self.assembly.notifications.push(Notification {
                    kind: NotificationKind::Termination,
                    start_ns: time_ns,
                    name: unit,
                    pid: Some(pid),
                    sender_pid: Some(1),
                    event,
                    ..Notification::UNKNOWN
                });
            }
        }
    }

    /// Tracks the start of a unit of a user's service manager. The system does not wait for it, so it becomes an
    /// activity and not a service transition.
    fn on_user_unit(&mut self, unit: UserUnit, step: &Step<'_>, time_ns: i64, entry: &Entry<'_>) {
        match step {
            Step::Begin(ServiceChange::Start) => {
                self.user_starts.entry(unit).or_insert(time_ns);
            }
            Step::End(ServiceChange::Start, outcome) => {
                let start_ns = self.user_starts.remove(&unit).unwrap_or(time_ns);
                let event = self.intern_event_name(entry);
                self.add_user_start(&unit, (start_ns, Some(time_ns)), *outcome == ServiceOutcome::Failed, event);
            }
            Step::Skipped => {
                self.user_starts.remove(&unit);
            }
            _ => {}
        }
    }

    fn add_user_start(
        &mut self,
        unit: &UserUnit,
        (start_ns, end_ns): (i64, Option<i64>),
        failed: bool,
        event: StringId,
    ) {
        let row = Activity {
            kind: ActivityKind::UserUnit,
            name: self.assembly.intern(&unit.name),
            detail: self.assembly.intern(&unit.manager),
            start_ns,
            end_ns,
            status: Some(failed.into()),
            event,
            ..Activity::UNKNOWN
        };
        self.assembly.activities.push(row);
    }

    /// Sets the reason why the last change of a unit failed.
    fn set_result(&mut self, unit: StringId, result: &str) {
        let result = match self.exits.remove(&unit) {
            Some(status) if ["exit-code", "signal", "core-dump"].contains(&result) => {
                self.assembly.intern(&format!("{result}, {status}"))
            }
            _ => self.assembly.intern(result),
        };
        if self.start_limits.contains(&unit) {
            return;
        }
        if let Some(row) =
            self.last_changes.get(&unit).and_then(|&index| self.assembly.service_transitions.get_mut(index))
        {
            row.result = result;
        }
    }

    fn add_process(&mut self, entry: &Entry<'_>) {
        if let Some(pid) = entry.pid
            && !entry.is_kernel()
            && self.processes.insert(pid)
        {
            let name = self.assembly.intern(&entry.comm);
            let command_line = if entry.command_line.is_empty() { &entry.executable } else { &entry.command_line };
            let command_line = self.assembly.intern(command_line);
            let user = match entry.uid {
                Some(uid) => self.assembly.intern(&uid.to_string()),
                None => StringId::EMPTY,
            };
            self.assembly.processes.identify(pid, name, command_line, user);
        }
    }

    fn on_begin(&mut self, unit: StringId, change: ServiceChange, time_ns: i64, entry: &Entry<'_>) {
        let index = self.assembly.service_transitions.len();
        let event = self.intern_event_name(entry);
        let row = transition(unit, change, time_ns, event);
        self.assembly.service_transitions.push(row);
        self.open.insert((unit, change), index);
        self.last_changes.insert(unit, index);
        self.add_target_stop(unit, change, time_ns, entry);
    }

    fn on_end(
        &mut self,
        unit: StringId,
        change: ServiceChange,
        outcome: ServiceOutcome,
        time_ns: i64,
        entry: &Entry<'_>,
    ) {
        let index = match self.open.remove(&(unit, change)) {
            Some(index) => index,
            // A change that takes no time is only reported when it is done.
            None => {
                let event = self.intern_event_name(entry);
                let row = transition(unit, change, time_ns, event);
                self.assembly.service_transitions.push(row);
                self.add_target_stop(unit, change, time_ns, entry);
                self.assembly.service_transitions.len() - 1
            }
        };
        self.last_changes.insert(unit, index);
        let is_start = change == ServiceChange::Start;
        let result = match is_start && outcome == ServiceOutcome::Failed && self.start_limits.remove(&unit) {
            true => self.assembly.intern(START_LIMIT),
            // Messages as text do not have the result as a field.
            false if entry.message.starts_with("Dependency failed for ") => self.assembly.intern("dependency"),
            false if entry.message.starts_with("Timed out ") => self.assembly.intern("timeout"),
            false => self.assembly.intern(&entry.job_result),
        };
        if let Some(row) = self.assembly.service_transitions.get_mut(index) {
            row.end_ns = Some(time_ns.max(row.start_ns));
            row.outcome = outcome;
            if row.result.is_empty() && outcome == ServiceOutcome::Failed {
                row.result = result;
            }
        }
        let is_completed = outcome == ServiceOutcome::Completed;
        if change == ServiceChange::Start && is_completed && self.is_target(unit) {
            self.add_target(milestone::TARGET_REACHED, unit, time_ns, entry);
        }
    }

    fn is_target(&self, unit: StringId) -> bool {
        self.assembly.texts.get(unit).ends_with(".target")
    }

    fn add_target_stop(&mut self, unit: StringId, change: ServiceChange, time_ns: i64, entry: &Entry<'_>) {
        if change == ServiceChange::Stop && self.is_target(unit) {
            self.add_target(milestone::TARGET_STOPPED, unit, time_ns, entry);
        }
    }

    fn add_target(&mut self, name: &str, unit: StringId, time_ns: i64, entry: &Entry<'_>) {
        let unit = self.assembly.texts.get(unit).to_owned();
        let event = self.event_name(entry);
        self.assembly.add_milestone(time_ns, name, &unit, None, &event);
    }

    /// Adds the durations that the manager reports once all startup jobs are done.
    fn on_startup_finished(&mut self, entry: &Entry<'_>) {
        let reported = StartupTimes::read(&entry.message);
        let ns = |us: Option<i64>| us.and_then(|us| us.checked_mul(1_000));
        // Fields are in µs and the text in ms; only the text has firmware and loader times.
        let kernel_ns = ns(entry.kernel_us).or(reported.map(|reported| reported.kernel_ns));
        let user_space_ns = ns(entry.user_space_us).or(reported.map(|reported| reported.user_space_ns));
        let (Some(kernel_ns), Some(user_space_ns)) = (kernel_ns, user_space_ns) else { return };
        let reported = reported.unwrap_or_default();
        let times = StartupTimes {
            kernel_ns,
            user_space_ns,
            initrd_ns: ns(entry.initrd_us).or(reported.initrd_ns),
            ..reported
        };
        let event = self.event_name(entry);
        times.add(&event, self.assembly);
        // The manager reports this when no job is left (source: `manager_check_finished`).
        let ended_silently: Vec<usize> =
            self.open.extract_if(|&(_, change), _| change == ServiceChange::Start).map(|(_, index)| index).collect();
        self.assembly.losses.add(&END_NOT_RECORDED, ended_silently.len() as u64);
        self.ended_silently.extend(ended_silently);
    }

    /// Handles the manager's start message. Whether it runs in an initramfs shows in the next message that is not about
    /// detected hardware.
    fn on_manager_message(&mut self, entry: &Entry<'_>, time_ns: i64) {
        let message = &*entry.message;
        if message.starts_with("systemd ") && message.contains(" running in system mode") {
            self.resolve_manager_start();
            self.manager_started = Some((time_ns, self.event_name(entry)));
        } else if message.starts_with("Running in init") {
            if let Some((time_ns, event)) = self.manager_started.take() {
                self.announced_starts.push((milestone::INITRD_BEGIN, time_ns, event));
            }
        } else if !message.starts_with("Detected ") {
            self.resolve_manager_start();
        }
    }

    /// Drops open changes and counts them.
    fn drop_open(&mut self) {
        self.assembly.losses.add(&ENDS_IN_JOURNAL, self.open.len() as u64);
        self.ended_silently.extend(self.open.drain().map(|(_, index)| index));
    }

    /// Drops the open start of a unit that ended at an unknown time.
    fn drop_start(&mut self, unit: &str) {
        let unit = self.assembly.texts.find(unit);
        if let Some(index) = unit.and_then(|unit| self.open.remove(&(unit, ServiceChange::Start))) {
            self.assembly.losses.add(&END_NOT_RECORDED, 1);
            self.ended_silently.insert(index);
        }
    }

    fn resolve_manager_start(&mut self) {
        if let Some((time_ns, event)) = self.manager_started.take() {
            if let Some(unit) = self.assembly.texts.find(SWITCH_ROOT)
                && let Some(index) = self.open.remove(&(unit, ServiceChange::Start))
                && let Some(row) = self.assembly.service_transitions.get_mut(index)
            {
                row.end_ns = Some(time_ns);
                row.outcome = ServiceOutcome::Completed;
                self.switch_root_rows.push(index);
            }
            self.announced_starts.push((milestone::USER_SPACE_BEGIN, time_ns, event));
        }
    }

    /// Adds the times of the manager's first messages, which come late, where it never reported its durations.
    fn finish(mut self) {
        self.resolve_manager_start();
        let mut open: Vec<(UserUnit, i64)> = self.user_starts.drain().collect();
        open.sort_by(|(unit_a, start_a), (unit_b, start_b)| (start_a, unit_a).cmp(&(start_b, unit_b)));
        for (unit, start_ns) in open {
            let event = self.assembly.intern(self.source);
            self.add_user_start(&unit, (start_ns, None), false, event);
        }
        // The next service manager logs late; its properties have the more accurate, earlier time.
        if let Some(begin_ns) = self.assembly.last_time_of(milestone::USER_SPACE_BEGIN) {
            for index in std::mem::take(&mut self.switch_root_rows) {
                if let Some(row) = self.assembly.service_transitions.get_mut(index) {
                    row.end_ns = row.end_ns.map(|end_ns| end_ns.min(begin_ns).max(row.start_ns));
                }
            }
        }
        let mut next_index = 0;
        self.assembly.service_transitions.retain(|_| {
            let index = next_index;
            next_index += 1;
            !self.ended_silently.contains(&index)
        });
        for (name, time_ns, event) in std::mem::take(&mut self.announced_starts) {
            add_unless_known(time_ns, name, None, &event, self.assembly);
        }
    }

    fn intern_event_name(&mut self, entry: &Entry<'_>) -> StringId {
        let name = self.event_name(entry);
        self.assembly.intern(&name)
    }

    /// Returns the event name for rows from this message.
    fn event_name(&self, entry: &Entry<'_>) -> String {
        match entry.message_id {
            0 if entry.by_wall_clock => WALL_CLOCK_EVENT.to_owned(),
            0 => self.source.to_owned(),
            id => format!("journal {id:032x}"),
        }
    }
}

/// Returns the time at which the message was sent, on the axis.
pub(super) fn time_ns(entry: &Entry<'_>, clocks: &Clocks) -> Option<i64> {
    match entry.source_monotonic_us {
        Some(us) if entry.is_kernel() => {
            Some(clocks.axis_ns_or_unchanged(SourceClock::KernelLog, us.checked_mul(1_000)?))
        }
        _ => entry.time_ns(),
    }
}

fn transition(unit: StringId, change: ServiceChange, time_ns: i64, event: StringId) -> ServiceTransition {
    ServiceTransition {
        service: unit,
        kind: change,
        start_ns: time_ns,
        outcome: ServiceOutcome::Unfinished,
        event,
        ..ServiceTransition::UNKNOWN
    }
}
