//! Builds the activities table: work with a start and an end that belongs to neither a service nor a device.

use hashbrown::HashMap;
use onoff_etl::Guid;
use onoff_trace::{Activities, Activity, ActivityKind, Losses, StringId, power_phase};

use super::activity_rules::{Name, Pairing, RULES};
use super::counters;
use super::phase_events::{Event, PhaseEvent};
use super::processes::ProcessTracker;
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct ActivityTracker {
    rows: Vec<Activity>,
    in_flight: HashMap<(ActivityKind, Key), Vec<usize>>,
    unmatched: u64,
}

/// Result fields of end events; an event has at most one of them.
const STATUSES: [&str; 2] = ["Status", "Win32Status"];

/// The key shared by a begin event and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Thread(Option<u32>),
    Process(Option<u32>),
    Text(StringId),
    ProcessText(Option<u32>, StringId),
    Activity(Option<Guid>, StringId),
    Single(&'static str),
}

/// Returns the events that start and end activities.
pub(super) fn events() -> impl Iterator<Item = Event> {
    RULES.iter().flat_map(|rule| rule.begin.iter().chain(rule.end).map(|&id| (rule.provider, id)))
}

impl ActivityTracker {
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) {
        let Some(rule) = RULES.iter().find(|rule| {
            rule.provider == event.provider && (rule.begin.contains(&event.id) || rule.end.contains(&event.id))
        }) else {
            return;
        };
        let key = (rule.kind, key(rule.pairing, event, texts));
        if rule.begin.contains(&event.id) {
            let row = Activity {
                kind: rule.kind,
                name: name(rule.name, event, texts),
                detail: event.text(rule.detail, texts).unwrap_or_default(),
                start_ns: event.time_ns(),
                pid: event.process_id(),
                tid: event.thread_id(),
                session: event.number32(rule.session),
                event: event.label(texts),
                ..Activity::UNKNOWN
            };
            self.in_flight.entry(key).or_default().push(self.rows.len());
            self.rows.push(row);
            return;
        }
        let Some(row) = self.in_flight.get_mut(&key).and_then(Vec::pop).and_then(|row| self.rows.get_mut(row)) else {
            self.unmatched += 1;
            return;
        };
        row.end_ns = Some(event.time_ns());
        row.end_tid = event.thread_id();
        row.status = STATUSES.iter().find_map(|field| event.number32(field));
    }

    /// Adds an activity recorded by the kernel logger; see [`super::kernel_power`].
    pub(super) fn push(&mut self, row: Activity) {
        self.rows.push(row);
    }

    pub(super) fn has(&self, kind: ActivityKind) -> bool {
        self.rows.iter().any(|row| row.kind == kind)
    }

    /// Builds the table, sorted by start.
    pub(super) fn finish(self, processes: &ProcessTracker, losses: &mut Losses) -> Activities {
        let Self { mut rows, unmatched, .. } = self;
        // Each session has a separate process that ends its applications.
        for row in &mut rows {
            if row.kind == ActivityKind::SessionShutdown {
                row.session =
                    row.pid.and_then(|pid| processes.find(pid, row.start_ns)).and_then(|process| process.session);
            }
        }
        rows.sort_by_key(|row| row.start_ns);
        let unfinished = rows.iter().filter(|row| row.end_ns.is_none()).count();
        losses.add(&counters::ACTIVITY_UNFINISHED, unfinished as u64);
        losses.add(&counters::ACTIVITY_END_WITHOUT_BEGIN, unmatched);
        // A subscriber's call is nested in its notification, so the inner row would count the same time twice.
        let mut outer: HashMap<(StringId, Option<u32>), i64> = HashMap::new();
        rows.into_iter()
            .filter(|row| {
                if row.kind != ActivityKind::NotificationSubscriber {
                    return true;
                }
                let until_ns = outer.entry((row.name, row.pid)).or_insert(i64::MIN);
                let is_nested = row.start_ns < *until_ns;
                *until_ns = (*until_ns).max(row.end_ns.unwrap_or(i64::MAX));
                !is_nested
            })
            .collect()
    }
}

fn key(pairing: Pairing, event: &PhaseEvent<'_>, texts: &mut Texts) -> Key {
    let pid = event.process_id();
    match pairing {
        Pairing::Thread => Key::Thread(event.thread_id()),
        Pairing::Process => Key::Process(pid),
        Pairing::Field(field) => Key::Text(event.text(field, texts).unwrap_or_default()),
        Pairing::ProcessField(field) => Key::ProcessText(pid, event.text(field, texts).unwrap_or_default()),
        Pairing::ActivityField(field) => {
            Key::Activity(event.activity_id(), event.text(field, texts).unwrap_or_default())
        }
        Pairing::Single(name) => Key::Single(name),
    }
}

fn name(name: Name, event: &PhaseEvent<'_>, texts: &mut Texts) -> StringId {
    match name {
        Name::Field(field) => event.text(field, texts).unwrap_or_default(),
        Name::Literal(literal) => texts.str(literal),
        Name::ScriptType => {
            let script = match event.number("ScriptType") {
                Some(1) => "logon",
                Some(2) => "logoff",
                Some(3) => "startup",
                Some(4) => "shutdown",
                _ => return event.text("ScriptType", texts).unwrap_or_default(),
            };
            texts.str(script)
        }
        Name::DevicesPhase => texts.str(match event.number("Query") {
            Some(1) => power_phase::QUERY_DEVICES,
            _ => power_phase::SUSPEND_DEVICES,
        }),
    }
}
