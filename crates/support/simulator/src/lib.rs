//! Simulates a machine that runs a scenario (a text file) and writes a whole recording whose truth is known.
//!
//! ```text
//! scenario.toml ─► Scenario ─► Plan (processes, threads, steps) ─► Machine (executes them)
//!                                                                    ├─► Recorder ─► .etl
//!                                                                    ├─► Accounting ┐
//!                                                                    └─► notes ─────┴─► Truth ─► event logs (.evtx)
//! ```

#![forbid(unsafe_code)]

mod accounting;
mod boot;
mod devices;
mod disk;
mod event_logs;
pub mod file_operations;
mod machine;
mod plan;
mod program;
pub(crate) mod random;
mod recorder;
pub mod sample_image;
mod scenario;
mod services;
mod stack_keys;
mod timeline;
mod transition;
mod transition_truth;
mod truth;
mod units;
mod usage;
mod work;

use std::io::{Cursor, Seek, Write};

pub use event_logs::ComputerLogs;
pub use scenario::{PublishedDevice, PublishedNumbers, PublishedService, Scenario, ScenarioError};
pub use timeline::UsageTimeline;
pub use transition_truth::{Activity, Milestone, Notification, PowerRequest, ServiceStop, Transitions};
pub use truth::{Device, Phase, Process, Service, Stack, Truth};
pub use units::{Size, TICKS_PER_SECOND, TickDuration};
pub use usage::{PostBoot, Slice, Usage};
pub use work::{Transfer, WorkStep};

use machine::{Machine, Settings};
use onoff_testkit::assemble::{EtlWriter, Session};
use onoff_testkit::events::{configuration, kernel};
use plan::Plan;
use program::{Edge, SYSTEM, TruthNote};
use recorder::Recorder;

#[derive(Debug)]
pub struct SimulatedRecording {
    /// One file, or a kernel and a user file.
    pub files: Vec<Vec<u8>>,
    pub truth: Truth,
}

fn build_plan(scenario: &Scenario) -> Result<Plan, ScenarioError> {
    let mut plan = Plan::new(scenario);
    let actors = if scenario.is_boot() {
        boot::plan(&mut plan, scenario)?
    } else {
        transition::running::plan(&mut plan, scenario)
    };
    transition::plan(&mut plan, scenario, actors)?;
    plan.housekeeping(scenario);
    Ok(plan)
}

impl Scenario {
    /// Simulates the scenario in memory.
    ///
    /// # Errors
    /// The scenario is impossible.
    pub fn simulate(&self) -> Result<SimulatedRecording, ScenarioError> {
        let user = self.recording.split.then(|| Cursor::new(Vec::new()));
        let (kernel, user, truth) = self.simulate_into(Cursor::new(Vec::new()), user, None)?;
        let mut files = vec![kernel.into_inner()];
        files.extend(user.map(Cursor::into_inner));
        Ok(SimulatedRecording { files, truth })
    }

    /// Simulates the scenario and streams the recording to its files, in bounded memory. With `min_records` the
    /// recording continues until it has that many records.
    ///
    /// # Errors
    /// The scenario is impossible, or a file cannot be written.
    pub fn simulate_into<W: Write + Seek>(
        &self,
        kernel: W,
        user: Option<W>,
        min_records: Option<u64>,
    ) -> Result<(W, Option<W>, Truth), ScenarioError> {
        let plan = build_plan(self)?;
        let session = self.logger();
        let (start_ticks, start_time) = (session.start_ticks, session.start_time);
        let mut kernel = EtlWriter::new(session.clone(), kernel)?;
        let mut user = user
            .map(|user| {
                let mut session = session;
                session.logger_name = "onoff user session".to_owned();
                session.file_name = "C:\\boot_user.etl".to_owned();
                EtlWriter::new(session, user)
            })
            .transpose()?;
        let recorder = Recorder::new(
            &mut kernel,
            user.as_mut().map(|user| user as &mut dyn onoff_testkit::assemble::RecordSink),
            start_ticks,
            start_time,
        );
        let recorder = match self.recording.lost_from {
            Some(start) => recorder.with_lost_interval(start.0, self.recording.lost_to.0),
            None => recorder,
        };
        let recorder = match self.recording.clock_step {
            Some(step) => recorder.with_clock_step(step.0),
            None => recorder,
        };
        let truth = self.run(plan, recorder, min_records)?;
        let mut truth = truth;
        let files = 1 + u64::from(user.is_some());
        truth.records += files;
        truth.kinds.insert("0000".to_owned(), files);
        let end = u64::try_from(truth.end_ns / 100).unwrap_or(0);
        let finish = |mut writer: EtlWriter<W>| {
            let session = writer.session_mut();
            session.end_time = session.start_time + end;
            session.events_lost = u32::try_from(truth.events_lost).unwrap_or(u32::MAX);
            writer.finish()
        };
        Ok((finish(kernel)?, user.map(finish).transpose()?, truth))
    }

    fn logger(&self) -> Session {
        let session = Session {
            build: self.machine.build,
            cpu_mhz: self.machine.mhz,
            buffer_size: self.recording.buffer_size.0 as u32,
            header_buffer_size: self.recording.buffer_size.0.min(0x1000) as u32,
            file_name: "C:\\boot.etl".to_owned(),
            ..Session::windows_10(self.machine.processors)
        };
        match self.recording.compression {
            Some(compression) => session.with_compression(compression.into()),
            None => session,
        }
    }

    fn run(&self, plan: Plan, recorder: Recorder<'_>, min_records: Option<u64>) -> Result<Truth, ScenarioError> {
        let settings = Settings {
            processors: self.machine.processors,
            disks: std::iter::once((self.machine.disk_access.0, self.machine.disk_per_mib.0))
                .chain(self.machine.more_disks.iter().map(|disk| (disk.access.0, disk.per_mib.0)))
                .collect(),
            bad_file: self.machine.bad_file.as_ref().map(|file| (file.path.clone(), file.access.0)),
            seed: self.seed,
            sample_interval: self.recording.sample_interval.map(|interval| interval.0.max(1_000)),
            switch_stacks_percent: self.recording.switch_stacks_percent,
            keyed_stacks: self.recording.keyed_stacks,
            disk_issue: self.recording.disk_issue,
            context_switches: self.recording.context_switches,
            tail: self.recording.tail.0,
            max_length: self.recording.max_length.0,
            transitions: self.has_transitions(),
            readied_by_dpc: self.recording.readied_by_dpc,
            ready_threads: self.recording.ready_threads,
        };
        let mut truth = Truth {
            os_loader_ns: self.kernel.loader.map(TickDuration::as_ns),
            training_count: self.logon.training_count,
            subscribers: self.logon.subscriber.iter().map(|subscriber| (subscriber.name.clone(), 0, 0)).collect(),
            services: plan.services.clone(),
            transitions: plan.transitions.clone(),
            devices: plan.devices.clone(),
            service_groups: plan.groups.iter().map(|group| (group.clone(), 0, 0)).collect(),
            startup_applications: plan
                .startup
                .iter()
                .map(|(command, process)| (command.clone(), *process, 0))
                .collect(),
            ..Truth::default()
        };
        let signals = plan.signal_count();
        let mut services = plan.services.clone();
        services.extend(plan.running_services);
        let mut machine = Machine::new(settings, recorder, plan.processes, plan.threads, signals);
        machine.min_records = min_records;
        if self.has_transitions() {
            machine.accounting.timeline = Some(UsageTimeline::new(self.machine.processors));
        }
        self.record_start_state(&mut machine);
        machine.run();
        machine.end_rundown();
        self.record_end_state(&mut machine, &services);
        machine.account_all();

        apply_notes(&mut truth, &machine.notes);
        for &(row, wall_clock) in &machine.wall_clocks {
            truth.transitions.milestones[row].value = Some(unix_ns(wall_clock));
        }
        truth.transitions.sort_and_prune();
        truth.timeline = machine.accounting.timeline.take().unwrap_or_default();
        truth.stacks = std::mem::take(&mut machine.stacks);
        if self.is_boot() {
            add_phases(&mut truth, &mut machine);
        } else {
            truth.post_boot = machine.accounting.post_boot();
        }
        truth.processes = machine
            .processes
            .iter()
            .filter(|process| process.plan.existing || process.start.is_some())
            .map(|process| Process {
                pid: process.plan.id,
                image: process.plan.image.clone(),
                session: process.plan.session,
                start_ns: process.start.map(nanoseconds),
                end_ns: process.end.map(nanoseconds),
            })
            .collect();
        truth.threads = machine.identities().collect();
        truth.end_ns = nanoseconds(machine.now());
        truth.events_lost = machine.recorder.lost_events();
        let (records, kinds) = machine.recorder.finish()?;
        truth.records = records;
        truth.kinds = kinds;
        Ok(truth)
    }

    /// Records the state a session logs when it starts.
    fn record_start_state(&self, machine: &mut Machine<'_>) {
        let masks = [0x0200_0F1F, 0x0000_0004, 0, 0, 0, 0, 0x35, 0];
        machine.record_state(|clock| configuration::extension(false, clock, masks));
        machine.record_state(|clock| {
            let build = format!("{}.1.amd64fre.vb_release.191206-1406", self.machine.build);
            configuration::build_info(clock, &build)
        });
        machine.record_state(|clock| {
            kernel::Process {
                id: 0,
                parent: 0,
                session: 0,
                exit_status: 0,
                image: "Idle",
                command_line: "",
                user: &[18],
            }
            .record(kernel::LifetimeEvent::RundownStart, clock, 4, 4)
        });
        for image in ["ntoskrnl.exe", "hal.dll", "ci.dll"] {
            machine.rundown_image(SYSTEM, format!("\\SystemRoot\\system32\\{image}"));
        }
        for driver in &self.kernel.boot_start {
            machine.rundown_image(SYSTEM, format!("\\SystemRoot\\System32\\drivers\\{}.sys", driver.name));
        }
    }

    /// Records the system configuration that a session logs when it stops.
    fn record_end_state(&self, machine: &mut Machine<'_>, services: &[Service]) {
        let settings = &self.machine;
        machine.record_state(|clock| {
            configuration::cpu(clock, settings.mhz, settings.processors, settings.memory_mib, &settings.computer)
        });
        let size = settings.disk_size.0;
        machine.record_state(|clock| configuration::physical_disk(clock, 0, size, &settings.disk, "C"));
        machine.record_state(|clock| configuration::logical_disk(clock, 0, 1 << 20, size - (1 << 20), "C:"));
        for (number, disk) in (1_u32..).zip(&settings.more_disks) {
            let letter = char::from_u32(u32::from(b'C') + number).map(String::from).unwrap_or_default();
            machine.record_state(|clock| configuration::physical_disk(clock, number, size, &disk.model, &letter));
            let drive = format!("{letter}:");
            machine.record_state(|clock| configuration::logical_disk(clock, number, 1 << 20, size - (1 << 20), &drive));
        }
        for &address in &settings.network_adapters {
            machine.record_state(|clock| configuration::network_adapter(clock, "Simulated Ethernet", address));
        }
        machine.record_state(configuration::power);
        machine.record_state(|clock| {
            configuration::platform(clock, "onoff testkit", "Simulated machine", "01/09/2024", "1.0")
        });
        for (index, service) in services.iter().enumerate() {
            let scenario = self.services.service.iter().find(|candidate| candidate.name == service.name);
            machine.record_state(|clock| {
                configuration::RunningService {
                    process: service.container_pid,
                    tag: index as u32 + 1,
                    name: &service.name,
                    display_name: scenario.map_or("", |scenario| &scenario.display_name),
                    image: service.container.split(' ').next().and_then(|path| path.rsplit('\\').next()).unwrap_or(""),
                    load_order_group: &service.group,
                    svchost_group: scenario.and_then(|scenario| scenario.host.as_deref()).unwrap_or(""),
                }
                .record(clock)
            });
        }
        let kernel = &self.kernel;
        for driver in kernel.boot_start.iter().chain(&kernel.system_start).chain(&kernel.later) {
            if let Some(instance) = &driver.device {
                machine.record_state(|clock| {
                    configuration::device(clock, instance, &driver.description, "", &driver.name)
                });
            }
        }
        for device in &self.devices {
            let (instance, description) = (&device.instance, &device.description);
            machine.record_state(|clock| configuration::device(clock, instance, description, "", &device.driver));
        }
        machine.record_state(|clock| configuration::volume_mapping(clock, "\\Device\\HarddiskVolume2\\", "C:\\"));
        for number in 1..=settings.more_disks.len() {
            let letter = char::from(b'C' + number as u8);
            let volume = format!("\\Device\\HarddiskVolume{}\\", number + 2);
            machine.record_state(|clock| configuration::volume_mapping(clock, &volume, &format!("{letter}:\\")));
        }
        machine.record_state(configuration::rundown_complete);
    }
}

fn nanoseconds(ticks: u64) -> i64 {
    TickDuration(ticks).as_ns()
}

fn set_edge(slot: &mut Option<(i64, i64)>, edge: Edge, time: i64) {
    let (start, end) = slot.get_or_insert((0, 0));
    match edge {
        Edge::Begin => *start = time,
        Edge::End => *end = time,
    }
}

/// Converts a `FILETIME` to nanoseconds since 1970-01-01 UTC.
fn unix_ns(wall_clock: u64) -> i64 {
    const EPOCH: u64 = 116_444_736_000_000_000;
    ((wall_clock - EPOCH) * 100) as i64
}

fn set_begin_or_end(edge: Edge, time: i64, begin: &mut i64, end: &mut Option<i64>) {
    match edge {
        Edge::Begin => *begin = time,
        Edge::End => *end = Some(time),
    }
}

fn apply_notes(truth: &mut Truth, notes: &[(TruthNote, u64)]) {
    let (mut system_video, mut user_video) = (None, None);
    for &(note, ticks) in notes {
        let time = nanoseconds(ticks);
        match note {
            TruthNote::BootStart(edge) => set_edge(&mut truth.boot_start_ns, edge, time),
            TruthNote::SystemStart(edge) => set_edge(&mut truth.system_start_ns, edge, time),
            TruthNote::AutoStart(edge) => set_edge(&mut truth.auto_start_ns, edge, time),
            TruthNote::Group(index, Edge::Begin) => truth.service_groups[index].1 = time,
            TruthNote::Group(index, Edge::End) => truth.service_groups[index].2 = time,
            TruthNote::ServiceStart(index) => truth.services[index].start_ns = time,
            TruthNote::ServiceCheckpoint(index) => truth.services[index].checkpoint_ns = time,
            TruthNote::ServiceLoad(index) => truth.services[index].load_ns = time,
            TruthNote::ServiceEnd(index) => truth.services[index].end_ns = time,
            TruthNote::DeviceStart(index) => truth.devices[index].start_ns = time,
            TruthNote::DevicePend(index) => truth.devices[index].pend_ns = Some(time),
            TruthNote::DeviceEnd(index) => truth.devices[index].end_ns = time,
            TruthNote::SystemVideo(edge) => set_edge(&mut system_video, edge, time),
            TruthNote::UserVideo(edge) => set_edge(&mut user_video, edge, time),
            TruthNote::ComputerPolicy(edge) => set_edge(&mut truth.computer_policy_ns, edge, time),
            TruthNote::UserPolicy(edge) => set_edge(&mut truth.user_policy_ns, edge, time),
            TruthNote::Script(edge) => set_edge(&mut truth.script_ns, edge, time),
            TruthNote::Credentials(edge) => set_edge(&mut truth.credentials_ns, edge, time),
            TruthNote::Authentication(edge) => set_edge(&mut truth.authentication_ns, edge, time),
            TruthNote::Subscriber(index, Edge::Begin) => truth.subscribers[index].1 = time,
            TruthNote::Subscriber(index, Edge::End) => truth.subscribers[index].2 = time,
            TruthNote::ClockSetBack(ticks) => truth.clock_steps.push((time, -nanoseconds(ticks))),
            TruthNote::StartupApplication(index) => truth.startup_applications[index].2 = time,
            TruthNote::DesktopReady => truth.desktop_ready_ns = Some(time),
            TruthNote::Notification(row, edge) => {
                let row = &mut truth.transitions.notifications[row];
                set_begin_or_end(edge, time, &mut row.start_ns, &mut row.end_ns);
            }
            TruthNote::Activity(row, edge) => {
                let row = &mut truth.transitions.activities[row];
                set_begin_or_end(edge, time, &mut row.start_ns, &mut row.end_ns);
            }
            TruthNote::Milestone(row) | TruthNote::WallClock(row) => {
                truth.transitions.milestones[row].time_ns = time;
            }
            TruthNote::PowerRequest(row, edge) => {
                let row = &mut truth.transitions.power_requests[row];
                set_begin_or_end(edge, time, &mut row.start_ns, &mut row.end_ns);
            }
            TruthNote::PowerRequestWaiting(row) => {
                truth.transitions.power_requests[row].waiting_ns = Some(time);
            }
            TruthNote::ServiceStop(row) => truth.transitions.service_stops[row].start_ns = time,
            TruthNote::ServiceStopping(row) => {
                truth.transitions.service_stops[row].pending_ns = Some(time);
            }
            TruthNote::ServiceStopped(row) => {
                truth.transitions.service_stops[row].end_ns = Some(time);
            }
            TruthNote::Phase => {}
        }
    }
    truth.system_video_ns = system_video.map(|(begin, end)| end - begin);
    truth.user_video_ns = user_video.map(|(begin, end)| end - begin);
}

/// Phases before the desktop is ready, in order.
const PHASES: [&str; 4] = ["PreSMSS", "SMSSInit", "WinLogonInit", "ExplorerInit"];

fn add_phases(truth: &mut Truth, machine: &mut Machine<'_>) {
    let end = nanoseconds(machine.now());
    let starts: Vec<i64> = machine.accounting.phase_starts().iter().map(|&start| nanoseconds(start)).collect();
    let (usages, post_boot, tail) = machine.accounting.usages();
    truth.post_boot = machine.accounting.post_boot();
    for (index, usage) in usages.into_iter().enumerate().take(PHASES.len()) {
        let next = starts.get(index + 1).copied().or(truth.desktop_ready_ns);
        truth.phases.push(Phase { name: PHASES[index], start_ns: starts[index], end_ns: next.unwrap_or(end), usage });
    }
    if let (Some(ready), Some(metric)) = (truth.desktop_ready_ns, &truth.post_boot) {
        let post_boot_end = if metric.is_satisfied { ready + metric.idle_ns + metric.busy_ns } else { end };
        truth.phases.push(Phase { name: "PostBoot", start_ns: ready, end_ns: post_boot_end, usage: post_boot });
        truth.phases.push(Phase { name: "TraceTail", start_ns: post_boot_end, end_ns: end, usage: tail });
    }
}
