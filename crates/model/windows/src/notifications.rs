//! Builds the notifications table: what was notified of a transition, and when it responded.
//!
//! A start event contains its recipient. Older versions of end events do not, but they are recorded by the thread that
//! recorded the start and waits for the response.

use hashbrown::HashMap;
use onoff_trace::{Losses, Notification, NotificationKind, Notifications, StringId};

use super::counters;
use super::phase_events::{CSR, Event, KERNEL_POWER, PhaseEvent, Provider, WINSRV};
use super::processes::ProcessTracker;
use super::texts::Texts;

use NotificationKind as Kind;

/// Recipient of a notification, and the field that contains it.
#[derive(Clone, Copy)]
enum Recipient {
    Process(&'static str),
    Thread(&'static str),
    Service(&'static str),
    /// All recipients; the field has the number of the broadcast.
    Broadcast(&'static str),
}

use Recipient::{Broadcast, Process, Service, Thread};

/// Provider, start, end (`None` if not recorded), kind, recipient.
type Rule = (Provider, u16, Option<u16>, NotificationKind, Recipient);

const RULES: &[Rule] = &[
    (CSR, 3, Some(4), Kind::ApplicationShutdown, Process("ProcessId")),
    (WINSRV, 12009, Some(12010), Kind::WindowsShutdown, Process("ProcessId")),
    (WINSRV, 12001, Some(12002), Kind::ThreadShutdown, Thread("ThreadId")),
    (WINSRV, 12005, Some(12006), Kind::Termination, Process("ProcessId")),
    (WINSRV, 12007, Some(12008), Kind::ProcessWait, Process("ProcessId")),
    (WINSRV, 12011, Some(12012), Kind::Broadcast, Broadcast("EventType")),
    (KERNEL_POWER, 12, Some(13), Kind::ApplicationQuerySuspend, Process("Pid")),
    (KERNEL_POWER, 14, Some(15), Kind::ServiceQuerySuspend, Service("Name")),
    (KERNEL_POWER, 16, Some(17), Kind::ApplicationSuspend, Process("Pid")),
    (KERNEL_POWER, 18, Some(19), Kind::ServiceSuspend, Service("Name")),
    (KERNEL_POWER, 28, None, Kind::ApplicationResume, Process("Pid")),
    (KERNEL_POWER, 29, None, Kind::ServiceResume, Service("Name")),
];

/// Bounds the comparisons for a damaged recording in which many ends have one time.
const MAX_EARLY_ENDS: usize = 64;

/// The key shared by a start event and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Number(u64),
    Text(StringId),
    Sender(Option<u32>),
}

/// An end that was read before its start.
#[derive(Debug)]
struct EarlyEnd {
    kind: NotificationKind,
    keys: [Option<Key>; 2],
    time_ns: i64,
    status: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct NotificationTracker {
    rows: Vec<Notification>,
    in_flight: HashMap<(NotificationKind, Key), Vec<usize>>,
    /// Ends without a start, all with the time of the latest event: events with the same time may be out of order.
    early_ends: Vec<EarlyEnd>,
    unmatched: u64,
}

/// Returns the events that start and end notifications.
pub(super) fn events() -> impl Iterator<Item = Event> {
    RULES
        .iter()
        .flat_map(|&(provider, begin, end, ..)| [Some(begin), end].into_iter().flatten().map(move |id| (provider, id)))
}

impl NotificationTracker {
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) {
        let Some(&(.., kind, recipient)) = RULES.iter().find(|&&(provider, begin, end, ..)| {
            provider == event.provider && (begin == event.id || end == Some(event.id))
        }) else {
            return;
        };
        let key = match recipient {
            Process(field) | Thread(field) | Broadcast(field) => event.number(field).map(Key::Number),
            Service(field) => event.text(field, texts).map(Key::Text),
        };
        let sender = Key::Sender(event.thread_id());
        let keys = [Some(sender), key];
        self.early_ends.retain(|end| end.time_ns == event.time_ns());
        if RULES.iter().any(|&(provider, begin, ..)| event.is((provider, begin))) {
            self.begin(event, kind, recipient, keys, texts);
        } else {
            let status = STATUSES.iter().find_map(|field| event.number32(field));
            let index = key.and_then(|key| self.take_open(kind, key)).or_else(|| self.take_open(kind, sender));
            match index.and_then(|index| self.rows.get_mut(index)) {
                Some(row) => {
                    row.end_ns = Some(event.time_ns());
                    row.status = status;
                }
                None => {
                    self.unmatched += 1;
                    if self.early_ends.len() < MAX_EARLY_ENDS {
                        self.early_ends.push(EarlyEnd { kind, keys, time_ns: event.time_ns(), status });
                    }
                }
            }
        }
    }

    /// Removes and returns the end of a notification that starts now, if it was read before its start.
    fn take_early_end(&mut self, kind: NotificationKind, keys: [Option<Key>; 2]) -> Option<EarlyEnd> {
        let [sender, key] = keys;
        let index = self.early_ends.iter().position(|end| {
            let [end_sender, end_key] = end.keys;
            end.kind == kind && if key.is_some() && end_key.is_some() { end_key == key } else { end_sender == sender }
        })?;
        self.unmatched = self.unmatched.saturating_sub(1);
        Some(self.early_ends.swap_remove(index))
    }

    fn begin(
        &mut self,
        event: &PhaseEvent<'_>,
        kind: NotificationKind,
        recipient: Recipient,
        keys: [Option<Key>; 2],
        texts: &mut Texts,
    ) {
        let pid = match recipient {
            Process(field) => event.number32(field),
            Thread(_) => event.number32("ProcessId"),
            _ => None,
        };
        let early_end = self.take_early_end(kind, keys);
        for key in keys.into_iter().flatten() {
            self.in_flight.entry((kind, key)).or_default().push(self.rows.len());
        }
        self.rows.push(Notification {
            kind,
            start_ns: event.time_ns(),
            name: event.text("Name", texts).unwrap_or_default(),
            pid,
            tid: event.number32("ThreadId"),
            level: event.number32("Level"),
            flags: match recipient {
                Broadcast(field) => event.number32(field),
                _ => event.number32("Flags"),
            },
            sender_pid: event.process_id(),
            sender_tid: event.thread_id(),
            end_ns: early_end.as_ref().map(|end| end.time_ns),
            status: early_end.and_then(|end| end.status),
            event: event.label(texts),
            ..Notification::UNKNOWN
        });
    }

    /// Removes and returns the index of the latest row under `key` that has not ended.
    fn take_open(&mut self, kind: NotificationKind, key: Key) -> Option<usize> {
        let indexes = self.in_flight.get_mut(&(kind, key))?;
        while let Some(index) = indexes.pop() {
            // Each row is listed under two keys and may have ended through the other key.
            if self.rows.get(index).is_some_and(|row| row.end_ns.is_none()) {
                return Some(index);
            }
        }
        None
    }

    /// Builds the table, sorted by start, with the session of each sender.
    pub(super) fn finish(self, processes: &ProcessTracker, losses: &mut Losses) -> Notifications {
        losses.add(&counters::ACTIVITY_END_WITHOUT_BEGIN, self.unmatched);
        self.rows
            .into_iter()
            .map(|mut row| {
                row.session = row
                    .sender_pid
                    .and_then(|pid| processes.find(pid, row.start_ns))
                    .and_then(|process| process.session);
                row
            })
            .collect()
    }
}

/// Result fields of end events; an event has at most one of them.
const STATUSES: [&str; 4] = ["Status", "TerminateStatus", "WaitStatus", "Command"];
