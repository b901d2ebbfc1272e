//! Builds the table of service transitions, from Services and Services-Svchost events.
//!
//! The service control manager records the state of a service whenever the state changes or is reported again:
//!
//! ```text
//!   start   (pending, no process)  (pending, host) …     (running, host)
//!              requested             first = host is running   done
//!   stop    (running, host)  (stop pending, host) …      (stopped, no process)
//!              control sent         first report             done
//! ```
//!
//! Between the host's first report and the end, svchost records when it enters the service's main function, at which
//! point the service's code is loaded. Services with a dedicated host process do not record this.

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

/// `ExecutionPhase` during auto-start.
const AUTO_START_PHASE: u32 = 1;

/// `ExecutionPhase` during a system shutdown.
const SHUTDOWN_PHASE: u32 = 3;

/// Maximum number of open groups. Groups are started one after another, so more open groups are starts with lost ends.
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
    /// True if an earlier event recorded the service.
    is_known: bool,
    is_running: bool,
    /// True if the service was stopped because of a system shutdown.
    in_shutdown: bool,
}

/// Meaning of an event.
#[derive(Clone, Copy)]
enum Meaning {
    AutoStartBegins,
    AutoStartEnds,
    GroupBegins,
    GroupEnds,
    /// The state of a service.
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

/// Returns the events from which the table is built.
pub(super) fn events() -> impl Iterator<Item = Event> {
    EVENTS.iter().map(|&(event, _)| event)
}

impl ServiceTracker {
    /// Processes a phase event; `None` if a required field is missing.
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) -> Option<()> {
        let Some(&(_, meaning)) = EVENTS.iter().find(|&&(declared_event, _)| event.is(declared_event)) else {
            return Some(());
        };
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
                self.open_groups.retain(|&open_group| open_group != group);
            }
            Meaning::Status => self.on_status(event, texts)?,
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
                    row.main_tid = event.thread_id();
                }
            }
        }
        Some(())
    }

    fn on_status(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) -> Option<()> {
        let name = event.text("ServiceName", texts)?;
        let state = event.number32("CurrentState")?;
        let pid = event.number32("PID").filter(|&pid| pid != 0);
        let image = event.text("ImageName", texts).unwrap_or_default();
        let is_automatic = event.number32("ExecutionPhase") == Some(AUTO_START_PHASE) || self.in_auto_start;
        let start_type = event.number32("StartType");
        let in_shutdown = event.number32("ExecutionPhase") == Some(SHUTDOWN_PHASE);
        let time_ns = event.time_ns();
        let service = self.services.entry(name).or_default();
        let in_flight_kind = service.in_flight.and_then(|row| self.rows.get(row)).map(|row| row.kind);

        use ServiceChange::{Start, Stop};
        let (new_change, ended_outcome) = match (state, in_flight_kind) {
            (START_PENDING, None) => (Some(Start), None),
            // The service stopped, or aborted stopping, without a record.
            (START_PENDING, Some(Stop)) => (Some(Start), Some(ServiceOutcome::Failed)),
            (RUNNING, Some(Start)) => (None, Some(ServiceOutcome::Completed)),
            // A running service that reports "running" again was sent a control, and is stopping if a stop report
            // follows. This can be the first report of a service that was already running before the recording.
            (RUNNING, None) if service.is_running || in_shutdown || !service.is_known => (Some(Stop), None),
            (STOP_PENDING, None) => (Some(Stop), None),
            (STOP_PENDING, Some(Start)) => (Some(Stop), Some(ServiceOutcome::Failed)),
            (STOPPED, Some(Stop)) => (None, Some(ServiceOutcome::Completed)),
            (STOPPED, Some(Start)) => (None, Some(ServiceOutcome::Failed)),
            _ => (None, None),
        };
        if let Some(outcome) = ended_outcome
            && let Some(row) = service.in_flight.take().and_then(|row| self.rows.get_mut(row))
        {
            row.end_ns = Some(time_ns);
            row.end_tid = event.thread_id();
            row.outcome = outcome;
        }
        if state == RUNNING
            && let Some(row) = service.in_flight.and_then(|row| self.rows.get_mut(row))
            && row.kind == Stop
            && row.checkpoint_ns.is_none()
        {
            // Of several controls, only the last was the stop.
            row.start_ns = time_ns;
        }
        if let Some(kind) = new_change {
            service.in_flight = Some(self.rows.len());
            self.rows.push(ServiceTransition {
                service: name,
                group: if kind == Start && is_automatic {
                    self.open_groups.last().copied().unwrap_or_default()
                } else {
                    StringId::EMPTY
                },
                kind,
                start_ns: time_ns,
                container: image,
                container_pid: pid,
                outcome: ServiceOutcome::Unfinished,
                automatic: kind == Start && is_automatic,
                start_type,
                tid: event.thread_id(),
                event: event.label(texts),
                ..ServiceTransition::UNKNOWN
            });
        }
        if let Some(row) = service.in_flight.and_then(|row| self.rows.get_mut(row)) {
            row.container_pid = row.container_pid.or(pid);
            if row.container.is_empty() {
                row.container = image;
            }
            let is_checkpoint = match row.kind {
                Start => state == START_PENDING && pid.is_some(),
                Stop => state == STOP_PENDING,
            };
            if is_checkpoint {
                row.checkpoint_ns.get_or_insert(time_ns);
            }
        } else if let Some(row) = self.rows.last_mut().filter(|row| row.service == name) {
            row.container_pid = row.container_pid.or(pid);
        }
        service.is_known = true;
        service.is_running = state == RUNNING;
        service.in_shutdown = in_shutdown;
        Some(())
    }

    /// Builds the table, sorted by start, with groups and host processes resolved.
    ///
    /// The group of a service comes from the configuration if there is one, otherwise from the group being started when
    /// the service started.
    pub(super) fn finish(
        self,
        installed: &[InstalledService],
        processes: &ProcessTracker,
        texts: &mut Texts,
        losses: &mut Losses,
    ) -> ServiceTransitions {
        let Self { rows, groups, services, .. } = self;
        let mut configured_services: HashMap<String, &InstalledService> = HashMap::new();
        for service in installed {
            configured_services.insert(service.name.to_ascii_lowercase(), service);
        }
        let has_groups = installed.iter().any(|service| !service.load_order_group.is_empty());
        // A running service that only reported "running" again did not stop. During a system shutdown, this means that
        // it did not respond.
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
                let configured_service = configured_services.get(&texts.get(row.service).to_ascii_lowercase());
                match (groups.get(&row.service), configured_service) {
                    (Some(&group), _) => row.group = group,
                    (None, Some(service)) if has_groups => {
                        row.group = texts.str(&service.load_order_group);
                    }
                    _ => {}
                }
                let running_ns = row.checkpoint_ns.unwrap_or(row.start_ns);
                if let Some(command_line) = row
                    .container_pid
                    .and_then(|pid| processes.find(pid, running_ns))
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
