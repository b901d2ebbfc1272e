//! Processes transition events in time order, after everything that explains them is known.

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
    /// True if the kernel logger recorded processes, threads or modules. Then the events of the Kernel-Process provider
    /// are duplicates.
    pub(super) kernel_processes: bool,
    pub(super) kernel_threads: bool,
    pub(super) kernel_images: bool,
}

/// Meaning of a Kernel-Process event.
#[derive(Clone, Copy)]
enum Edge {
    Start,
    End,
    /// It existed before the recording.
    Present,
}

/// Kernel-Process events for processes, threads and modules, by id.
const PROCESS: &[(u16, Edge)] = &[(1, Edge::Start), (2, Edge::End), (15, Edge::Present)];
const THREAD: &[(u16, Edge)] = &[(3, Edge::Start), (4, Edge::End)];
const IMAGE: &[(u16, Edge)] = &[(5, Edge::Start), (6, Edge::End)];

fn events(of: &'static [(u16, Edge)]) -> impl Iterator<Item = Event> {
    of.iter().map(|&(id, _)| (KERNEL_PROCESS, id))
}

/// The tables built from these events, with the events that each tracker reads. The trackers' own rules declare the
/// events, so there is no second list to keep in sync.
fn declared() -> [(TableName, Vec<Event>); 11] {
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

/// The events needed for the `wanted` tables.
pub(super) fn wanted(wanted: TableSet) -> impl Iterator<Item = (Guid, u16)> {
    declared()
        .into_iter()
        .filter(move |&(table, _)| wanted.contains(table))
        .flat_map(|(_, events)| events)
        .map(|(provider, id)| (provider.guid, id))
}

fn edge(of: &[(u16, Edge)], event: &PhaseEvent<'_>) -> Option<Edge> {
    of.iter().find(|&&(id, _)| id == event.id).map(|&(_, edge)| edge)
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
                && self.take(&event, texts, losses).is_none()
            {
                losses.add_at(&counters::PHASE_EVENT_UNREADABLE, || format!("{}/{}", event.provider.name, event.id));
            }
            scratch = fields.reuse();
        }
    }

    fn take(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts, losses: &mut Losses) -> Option<()> {
        if event.provider == KERNEL_PROCESS {
            return self.kernel_process(event, texts, losses);
        }
        self.activities.on_event(event, texts);
        self.notifications.on_event(event, texts);
        // Each tracker handles its own events; an event with a missing field counts once.
        let read = [
            self.milestones.on_event(event, self.processor_mhz, texts),
            self.services.on_event(event, texts),
            self.devices.on_event(event, texts),
            self.power_requests.on_event(event, texts),
            self.file_events.on_event(event, texts),
            self.methods.on_event(event, texts),
        ];
        read.iter().all(Option::is_some).then_some(())
    }

    /// Kernel-Process events, for recordings without the kernel logger's own events.
    fn kernel_process(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts, losses: &mut Losses) -> Option<()> {
        if let Some(edge) = edge(PROCESS, event).filter(|_| !self.kernel_processes) {
            self.process(event, edge, texts, losses)?;
        }
        if let Some(edge) = edge(THREAD, event).filter(|_| !self.kernel_threads) {
            self.thread(event, edge, losses)?;
        }
        if let Some(edge) = edge(IMAGE, event).filter(|_| !self.kernel_images) {
            self.image(event, edge, texts, losses)?;
        }
        Some(())
    }

    fn process(&mut self, event: &PhaseEvent<'_>, edge: Edge, texts: &mut Texts, losses: &mut Losses) -> Option<()> {
        let pid = event.number32("ProcessID")?;
        let path = event.text("ImageName", texts).unwrap_or_default();
        let image = file_name(texts.get(path)).to_owned();
        let known = Process {
            parent_pid: event.number32("ParentProcessID"),
            image: texts.str(&image),
            session: event.number32("SessionID"),
            package: event.text("PackageFullName", texts).unwrap_or_default(),
            ..Process::unknown(pid)
        };
        match edge {
            Edge::Start => {
                let creator_tid = event.record.thread_id();
                self.processes.start(event.time_ns(), Process { creator_tid, ..known }, losses);
            }
            Edge::End => {
                let status = event.number32("ExitCode").map(|status| status as i32);
                self.processes.end(event.time_ns(), known, status);
            }
            Edge::Present => self.processes.present(known),
        }
        Some(())
    }

    fn thread(&mut self, event: &PhaseEvent<'_>, edge: Edge, losses: &mut Losses) -> Option<()> {
        let (pid, tid) = (event.number32("ProcessID")?, event.number32("ThreadID")?);
        let address = |name| event.number(name).unwrap_or(0);
        let known = Thread {
            start_address: match address("Win32StartAddr") {
                0 => address("StartAddr"),
                start => start,
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
                let creator_tid = event.record.thread_id();
                self.threads.start(event.time_ns(), Thread { creator_tid, ..known }, losses);
            }
            Edge::End => self.threads.end(event.time_ns(), known),
            Edge::Present => self.threads.present(known),
        }
        Some(())
    }

    fn image(&mut self, event: &PhaseEvent<'_>, edge: Edge, texts: &mut Texts, losses: &mut Losses) -> Option<()> {
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
