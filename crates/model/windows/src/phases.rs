//! Processes transition events in time order, after all information about them is known.

use onoff_etl::Guid;
use onoff_etw::{Fields, Schemas};
use onoff_trace::{Image, Losses, Process, TableName, TableSet, Thread};

use super::activities::ActivityTracker;
use super::counters;
use super::deferred_records::DeferredRecords;
use super::devices::DeviceTracker;
use super::file_events::FileEventTracker;
use super::images::ImageTracker;
use super::methods::MethodTracker;
use super::milestones::MilestoneTracker;
use super::notifications::NotificationTracker;
use super::phase_events::{Event, KERNEL_PROCESS, PhaseEvent};
use super::power_requests::PowerRequestTracker;
use super::processes::ProcessTracker;
use super::services::ServiceTracker;
use super::texts::Texts;
use super::threads::ThreadTracker;
use super::{activities, devices, file_events, methods, milestones, notifications, power_requests, services};

/// The trackers of transition events.
#[derive(Debug, Default)]
pub(super) struct Phases {
    pub(super) milestones: MilestoneTracker,
    pub(super) services: ServiceTracker,
    pub(super) devices: DeviceTracker,
    pub(super) activities: ActivityTracker,
    pub(super) notifications: NotificationTracker,
    pub(super) power_requests: PowerRequestTracker,
    pub(super) file_events: FileEventTracker,
    pub(super) processes: ProcessTracker,
    pub(super) threads: ThreadTracker,
    pub(super) images: ImageTracker,
    pub(super) methods: MethodTracker,
    /// Nominal processor speed, MHz; 0 when not known.
    pub(super) processor_mhz: u32,
    /// True if the kernel logger recorded processes, which makes the Kernel-Process events of processes duplicates.
    /// The same applies to threads and modules.
    pub(super) kernel_processes: bool,
    pub(super) kernel_threads: bool,
    pub(super) kernel_images: bool,
}

/// Meaning of a Kernel-Process event.
#[derive(Clone, Copy)]
enum Edge {
    Start,
    End,
    /// The object existed before the recording.
    Present,
}

/// Kernel-Process events for processes, threads and modules, by id.
const PROCESS: &[(u16, Edge)] = &[(1, Edge::Start), (2, Edge::End), (15, Edge::Present)];
const THREAD: &[(u16, Edge)] = &[(3, Edge::Start), (4, Edge::End)];
const IMAGE: &[(u16, Edge)] = &[(5, Edge::Start), (6, Edge::End)];

fn events(edges: &'static [(u16, Edge)]) -> impl Iterator<Item = Event> {
    edges.iter().map(|&(id, _)| (KERNEL_PROCESS, id))
}

/// Returns the tables that are built from transition events, with the events that each tracker reads. The rules of the
/// trackers declare the events, so there is no second list to keep in sync.
fn events_by_table() -> [(TableName, Vec<Event>); 11] {
    [
        (TableName::Milestones, milestones::events().collect()),
        (TableName::DeviceOperations, devices::events().collect()),
        (TableName::ServiceTransitions, services::events().collect()),
        (TableName::Activities, activities::events().collect()),
        (TableName::Notifications, notifications::events().collect()),
        (TableName::PowerRequests, power_requests::events().collect()),
        (TableName::FileIos, file_events::events().collect()),
        (TableName::Processes, events(PROCESS).collect()),
        (TableName::Threads, events(THREAD).collect()),
        (TableName::Images, events(IMAGE).collect()),
        (TableName::Methods, methods::events().collect()),
    ]
}

/// Returns the events needed for the `wanted` tables.
pub(super) fn wanted_events(wanted: TableSet) -> impl Iterator<Item = (Guid, u16)> {
    events_by_table()
        .into_iter()
        .filter(move |&(table, _)| wanted.contains(table))
        .flat_map(|(_, events)| events)
        .map(|(provider, id)| (provider.guid, id))
}

/// As [`wanted_events`], with provider names instead of GUIDs.
pub(super) fn wanted_names(wanted: TableSet) -> impl Iterator<Item = (&'static str, u16)> {
    events_by_table()
        .into_iter()
        .filter(move |&(table, _)| wanted.contains(table))
        .flat_map(|(_, events)| events)
        .map(|(provider, id)| (provider.name, id))
}

fn edge(edges: &[(u16, Edge)], event: &PhaseEvent<'_>) -> Option<Edge> {
    edges.iter().find(|&&(id, _)| id == event.id).map(|&(_, edge)| edge)
}

impl Phases {
    pub(super) fn replay(
        &mut self,
        records: &DeferredRecords,
        schemas: &Schemas,
        texts: &mut Texts,
        losses: &mut Losses,
    ) {
        let mut scratch: Fields<'static> = Fields::new();
        for record in records.iter() {
            let mut fields = scratch.reuse();
            schemas.decode(&record, &mut fields);
            if let Some(event) = PhaseEvent::new(&record, &fields)
                && self.on_event(&event, texts, losses).is_none()
            {
                losses.add_at(&counters::PHASE_EVENT_UNREADABLE, || format!("{}/{}", event.provider.name, event.id));
            }
            scratch = fields.reuse();
        }
    }

    /// Processes an event of a log. Activities are kept only if `in_transition`.
    pub(super) fn on_log_event(
        &mut self,
        event: &PhaseEvent<'_>,
        in_transition: bool,
        texts: &mut Texts,
        losses: &mut Losses,
    ) {
        if in_transition {
            self.activities.on_event(event, texts);
        }
        if self.milestones.on_event(event, self.processor_mhz, texts).is_none() {
            losses.add_at(&counters::PHASE_EVENT_UNREADABLE, || format!("{}/{}", event.provider.name, event.id));
        }
    }

    fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts, losses: &mut Losses) -> Option<()> {
        if event.provider == KERNEL_PROCESS {
            return self.on_kernel_process(event, texts, losses);
        }
        self.activities.on_event(event, texts);
        self.notifications.on_event(event, texts);
        // Each tracker ignores the events of all others; an event with a missing field counts once.
        let outcomes = [
            self.milestones.on_event(event, self.processor_mhz, texts),
            self.services.on_event(event, texts),
            self.devices.on_event(event, texts),
            self.power_requests.on_event(event, texts),
            self.file_events.on_event(event, texts),
            self.methods.on_event(event, texts),
        ];
        outcomes.iter().all(Option::is_some).then_some(())
    }

    /// Processes a Kernel-Process event, for recordings without events of the kernel logger.
    fn on_kernel_process(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts, losses: &mut Losses) -> Option<()> {
        if let Some(edge) = edge(PROCESS, event).filter(|_| !self.kernel_processes) {
            self.on_process(event, edge, texts, losses)?;
        }
        if let Some(edge) = edge(THREAD, event).filter(|_| !self.kernel_threads) {
            self.on_thread(event, edge, losses)?;
        }
        if let Some(edge) = edge(IMAGE, event).filter(|_| !self.kernel_images) {
            self.on_image(event, edge, texts, losses)?;
        }
        Some(())
    }

    fn on_process(&mut self, event: &PhaseEvent<'_>, edge: Edge, texts: &mut Texts, losses: &mut Losses) -> Option<()> {
        let pid = event.number32("ProcessID")?;
        let path = event.text("ImageName", texts).unwrap_or_default();
        let image = file_name(texts.get(path)).to_owned();
        let process = Process {
            parent_pid: event.number32("ParentProcessID"),
            image: texts.str(&image),
            session: event.number32("SessionID"),
            package: event.text("PackageFullName", texts).unwrap_or_default(),
            ..Process::unknown(pid)
        };
        match edge {
            Edge::Start => {
                let creator_tid = event.thread_id();
                self.processes.start(event.time_ns(), Process { creator_tid, ..process }, losses);
            }
            Edge::End => {
                let status = event.number32("ExitCode").map(|status| status as i32);
                self.processes.end(event.time_ns(), process, status);
            }
            Edge::Present => self.processes.observe(process),
        }
        Some(())
    }

    fn on_thread(&mut self, event: &PhaseEvent<'_>, edge: Edge, losses: &mut Losses) -> Option<()> {
        let (pid, tid) = (event.number32("ProcessID")?, event.number32("ThreadID")?);
        let address = |name| event.number(name).unwrap_or(0);
        let thread = Thread {
            start_address: match address("Win32StartAddr") {
                0 => address("StartAddr"),
                address => address,
            },
            service_tag: event.number32("SubProcessTag").unwrap_or(0),
            teb: address("TebBase"),
            stack_base: address("StackBase"),
            stack_limit: address("StackLimit"),
            user_stack_base: address("UserStackBase"),
            user_stack_limit: address("UserStackLimit"),
            ..Thread::unknown(tid, pid)
        };
        match edge {
            Edge::Start => {
                let creator_tid = event.thread_id();
                self.threads.start(event.time_ns(), Thread { creator_tid, ..thread }, losses);
            }
            Edge::End => self.threads.end(event.time_ns(), thread),
            Edge::Present => self.threads.observe(thread),
        }
        Some(())
    }

    fn on_image(&mut self, event: &PhaseEvent<'_>, edge: Edge, texts: &mut Texts, losses: &mut Losses) -> Option<()> {
        let image = Image {
            pid: event.number32("ProcessID")?,
            base: event.number("ImageBase")?,
            size: event.number("ImageSize").unwrap_or(0),
            path: event.text("ImageName", texts).unwrap_or_default(),
            time_stamp: event.number32("TimeDateStamp").unwrap_or(0),
            checksum: event.number32("ImageCheckSum").unwrap_or(0),
            default_base: event.number("DefaultBase").unwrap_or(0),
            ..Image::UNKNOWN
        };
        match edge {
            Edge::Start | Edge::Present => self.images.load(event.time_ns(), image, losses),
            Edge::End => self.images.unload(event.time_ns(), image),
        }
        Some(())
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('\\').next().unwrap_or(path)
}
