//! Builds the table of service transitions, from Services and Services-Svchost events.
//!
//! The service control manager records a service's state whenever it changes or is reported again:
//!
//! ```text
//!   start   (pending, no process)  (pending, host) …     (running, host)
//!              requested             first = host is running   done
//!   stop    (running, host)  (stop pending, host) …      (stopped, no process)
//!              control sent         first report             done
//! ```
//!
//! Between the host's first report and the end, svchost records when it enters the service's main function: the
//! service's code is loaded then. Services with their own host process do not record that.

use hashbrown::{HashMap, HashSet};
use onoff_trace::system::InstalledService;
use onoff_trace::{Losses, ServiceChange, ServiceOutcome, ServiceTransition, ServiceTransitions, StringId};

use super::counters;
use super::phase_events::{Event, PhaseEvent, SERVICES, SVCHOST};
use super::processes::ProcessTracker;
use super::texts::Texts;

const STOPPED: u32 = 1;
const START_PENDING: u32 = 2;
const STOP_PENDING: u32 = 3;
const RUNNING: u32 = 4;

/// The auto-start phase.
const AUTO_START_PHASE: u32 = 1;

/// The system shutdown phase.
const SHUTDOWN_PHASE: u32 = 3;

/// Groups are started one after another; more open groups than this are starts with lost ends.
const MAX_OPEN_GROUPS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct ServiceTracker {
    rows: Vec<ServiceTransition>,
    services: HashMap<StringId, Service>,
    /// Load-order groups being started.
    open_groups: Vec<StringId>,
    /// Load-order groups recorded by the manager, by service.
    groups: HashMap<StringId, StringId>,
    in_auto_start: bool,
}

#[derive(Debug, Default)]
struct Service {
    /// The transition in progress.
    in_flight: Option<usize>,
    /// True if the service was recorded before.
    known: bool,
    running: bool,
    /// True if it was stopped because of a system shutdown.
    in_shutdown: bool,
}

/// Meaning of an event.
#[derive(Clone, Copy)]
enum Meaning {
    AutoStartBegins,
    AutoStartEnds,
    GroupBegins,
    GroupEnds,
    /// A service's state.
    Status,
    /// The load-order group of a service.
    GroupOfService,
    /// The host process enters the service's main function.
    MainFunction,
}

const EVENTS: &[(Event, Meaning)] = &[
    ((SERVICES, 101), Meaning::AutoStartBegins),
    ((SERVICES, 102), Meaning::AutoStartEnds),
    ((SERVICES, 103), Meaning::GroupBegins),
    ((SERVICES, 104), Meaning::GroupEnds),
    ((SERVICES, 105), Meaning::Status),
    ((SERVICES, 205), Meaning::GroupOfService),
    ((SVCHOST, 101), Meaning::MainFunction),
];

/// The events this table is built from.
pub(super) fn events() -> impl Iterator<Item = Event> {
    EVENTS.iter().map(|&(event, _)| event)
}

impl ServiceTracker {
    /// Processes a phase event; `None` if a required field is missing.
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) -> Option<()> {
        let Some(&(_, meaning)) = EVENTS.iter().find(|&&(declared, _)| event.is(declared)) else { return Some(()) };
        match meaning {
            Meaning::AutoStartBegins => self.in_auto_start = true,
            Meaning::AutoStartEnds => self.in_auto_start = false,
            Meaning::GroupBegins => {
                if self.open_groups.len() == MAX_OPEN_GROUPS {
                    self.open_groups.remove(0);
                }
                self.open_groups.push(event.text("GroupName", texts)?);
            }
            Meaning::GroupEnds => {
                let group = event.text("GroupName", texts)?;
                self.open_groups.retain(|&open| open != group);
            }
            Meaning::Status => self.status(event, texts)?,
            Meaning::GroupOfService => {
                let service = event.text("ServiceName", texts)?;
                let group = event.text("LoadOrderGroup", texts)?;
                self.groups.insert(service, group);
            }
            Meaning::MainFunction => {
                let service = event.text("ServiceName", texts)?;
                if let Some(row) = self
                    .services
                    .get(&service)
                    .and_then(|service| service.in_flight)
                    .and_then(|row| self.rows.get_mut(row))
                    && row.kind == ServiceChange::Start
                    && row.load_ns.is_none()
                {
                    row.load_ns = Some(event.time_ns());
                    row.main_tid = event.record.thread_id();
                }
            }
        }
        Some(())
    }

    fn status(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) -> Option<()> {
        let name = event.text("ServiceName", texts)?;
        let state = event.number32("CurrentState")?;
        let pid = event.number32("PID").filter(|&pid| pid != 0);
        let image = event.text("ImageName", texts).unwrap_or_default();
        let automatic = event.number32("ExecutionPhase") == Some(AUTO_START_PHASE) || self.in_auto_start;
        let start_type = event.number32("StartType");
        let in_shutdown = event.number32("ExecutionPhase") == Some(SHUTDOWN_PHASE);
        let time_ns = event.time_ns();
        let service = self.services.entry(name).or_default();
        let in_flight = service.in_flight.and_then(|row| self.rows.get(row)).map(|row| row.kind);

        use ServiceChange::{Start, Stop};
        let (begins, ends) = match (state, in_flight) {
            (START_PENDING, None) => (Some(Start), None),
            // It stopped, or aborted stopping, without a record.
            (START_PENDING, Some(Stop)) => (Some(Start), Some(ServiceOutcome::Failed)),
            (RUNNING, Some(Start)) => (None, Some(ServiceOutcome::Completed)),
            // A running service that reports "running" again was sent a control; it is stopping if a stop report
            // follows. For a service that was already running before the recording, this can be its first report.
            (RUNNING, None) if service.running || in_shutdown || !service.known => (Some(Stop), None),
            (STOP_PENDING, None) => (Some(Stop), None),
            (STOP_PENDING, Some(Start)) => (Some(Stop), Some(ServiceOutcome::Failed)),
            (STOPPED, Some(Stop)) => (None, Some(ServiceOutcome::Completed)),
            (STOPPED, Some(Start)) => (None, Some(ServiceOutcome::Failed)),
            _ => (None, None),
        };
        if let Some(outcome) = ends
            && let Some(row) = service.in_flight.take().and_then(|row| self.rows.get_mut(row))
        {
            row.end_ns = Some(time_ns);
            row.end_tid = event.record.thread_id();
            row.outcome = outcome;
        }
        if state == RUNNING
            && let Some(row) = service.in_flight.and_then(|row| self.rows.get_mut(row))
            && row.kind == Stop
            && row.checkpoint_ns.is_none()
        {
            // Only the last of several controls was the stop.
            row.start_ns = time_ns;
        }
        if let Some(kind) = begins {
            service.in_flight = Some(self.rows.len());
            self.rows.push(ServiceTransition {
                service: name,
                group: if kind == Start && automatic {
                    self.open_groups.last().copied().unwrap_or_default()
                } else {
                    StringId::EMPTY
                },
                kind,
                start_ns: time_ns,
                container: image,
                container_pid: pid,
                outcome: ServiceOutcome::Unfinished,
                automatic: kind == Start && automatic,
                start_type,
                tid: event.record.thread_id(),
                event: event.label(texts),
                ..ServiceTransition::UNKNOWN
            });
        }
        if let Some(row) = service.in_flight.and_then(|row| self.rows.get_mut(row)) {
            row.container_pid = row.container_pid.or(pid);
            if row.container.is_empty() {
                row.container = image;
            }
            let reports = match row.kind {
                Start => state == START_PENDING && pid.is_some(),
                Stop => state == STOP_PENDING,
            };
            if reports {
                row.checkpoint_ns.get_or_insert(time_ns);
            }
        } else if let Some(row) = self.rows.last_mut().filter(|row| row.service == name) {
            row.container_pid = row.container_pid.or(pid);
        }
        service.known = true;
        service.running = state == RUNNING;
        service.in_shutdown = in_shutdown;
        Some(())
    }

    /// The table, by start, with groups and host processes resolved.
    ///
    /// A service's group comes from the configuration; without it, from the group being started when the service
    /// started.
    pub(super) fn finish(
        self,
        installed: &[InstalledService],
        processes: &ProcessTracker,
        texts: &mut Texts,
        losses: &mut Losses,
    ) -> ServiceTransitions {
        let Self { rows, groups, services, .. } = self;
        let mut configured: HashMap<String, &InstalledService> = HashMap::new();
        for service in installed {
            configured.insert(service.name.to_ascii_lowercase(), service);
        }
        let has_groups = installed.iter().any(|service| !service.load_order_group.is_empty());
        // A running service that only reported "running" again did not stop; during a system shutdown, it did not
        // respond.
        let unresponsive: HashSet<usize> =
            services.values().filter(|service| service.in_shutdown).filter_map(|service| service.in_flight).collect();
        let mut unfinished = 0;
        let mut rows: Vec<ServiceTransition> = rows
            .into_iter()
            .enumerate()
            .filter(|(index, row)| {
                row.kind == ServiceChange::Start
                    || row.checkpoint_ns.is_some()
                    || row.outcome == ServiceOutcome::Completed
                    || unresponsive.contains(index)
            })
            .map(|(_, mut row)| {
                let configured = configured.get(&texts.get(row.service).to_ascii_lowercase());
                match (groups.get(&row.service), configured) {
                    (Some(&group), _) => row.group = group,
                    (None, Some(service)) if has_groups => {
                        row.group = texts.str(&service.load_order_group);
                    }
                    _ => {}
                }
                let at_ns = row.checkpoint_ns.unwrap_or(row.start_ns);
                if let Some(command_line) = row
                    .container_pid
                    .and_then(|pid| processes.at(pid, at_ns))
                    .map(|process| process.command_line)
                    .filter(|command_line| !command_line.is_empty())
                {
                    row.container = command_line;
                }
                unfinished += u64::from(row.end_ns.is_none());
                row
            })
            .collect();
        losses.add(&counters::SERVICE_UNFINISHED, unfinished);
        rows.sort_by_key(|row| row.start_ns);
        rows.into_iter().collect()
    }
}
