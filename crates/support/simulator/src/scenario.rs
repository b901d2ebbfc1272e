//! Scenario files: what a machine does while it turns on and off. Unknown keys are errors.
//!
//! Times are [`Span`]s. A `…_at` time is absolute (since the recording began) and pads: the step
//! happens at that time, or later when the work before it is not done by then.

pub(super) mod power;
pub(super) mod transition;

use serde::Deserialize;
use uuid::Uuid;

use super::span::{Size, Span};
use super::work::Work;
use onoff_testkit::compress::Compression;
use onoff_testkit::events::storage::IoPriority;
use power::{Answer, Power, PoweredDevice, Standby};
use transition::{Application, Running, ServiceStop, Shutdown};

/// A whole scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it shows, in a sentence.
    pub name: String,
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// The computer.
    #[serde(default)]
    pub machine: Machine,
    /// How it is recorded.
    #[serde(default)]
    pub recording: Recording,
    /// Firmware and boot manager.
    pub firmware: Option<Firmware>,
    /// The machine has been running; none = it boots.
    pub running: Option<Running>,
    /// Loader and kernel, up to the session manager's start (PreSMSS).
    #[serde(default)]
    pub kernel: Kernel,
    /// The session manager (SMSSInit).
    #[serde(default)]
    pub session: Session,
    /// The service control manager.
    #[serde(default)]
    pub services: Services,
    /// Winlogon, up to Explorer's start (WinLogonInit).
    #[serde(default)]
    pub logon: Logon,
    /// Explorer, up to a ready desktop (ExplorerInit), and what it starts.
    #[serde(default)]
    pub shell: Shell,
    /// Processes and threads beside the boot's own.
    #[serde(default, rename = "process")]
    pub processes: Vec<Process>,
    /// Programs that are told of transitions.
    #[serde(default, rename = "application")]
    pub applications: Vec<Application>,
    /// Devices that are told of sleep.
    #[serde(default, rename = "device")]
    pub devices: Vec<PoweredDevice>,
    /// Sleep, hibernation, fast startup: in order of time.
    #[serde(default)]
    pub power: Vec<Power>,
    /// Modern standby.
    #[serde(default)]
    pub standby: Vec<Standby>,
    /// A shutdown.
    pub shutdown: Option<Shutdown>,
    /// Numbers a published document gives for this boot.
    #[serde(default)]
    pub expect: Expect,
}

/// The computer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Machine {
    /// Logical processors.
    pub processors: u32,
    /// Processor speed.
    pub mhz: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// Computer name.
    pub computer: String,
    /// Windows build number.
    pub build: u32,
    /// Disk model.
    pub disk: String,
    /// Disk capacity.
    pub disk_size: Size,
    /// Time before a request's first byte.
    pub disk_access: Span,
    /// Time for each MiB.
    pub disk_per_mib: Span,
    /// Further disks: their volumes are `D:`, `E:` and so on, and a path that begins so is on them.
    pub more_disks: Vec<MoreDisk>,
}

/// A disk beside the one that boots.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoreDisk {
    /// Model.
    pub model: String,
    /// Time before a request's first byte.
    pub access: Span,
    /// Time for each MiB.
    pub per_mib: Span,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            processors: 2,
            mhz: 2400,
            memory_mib: 3072,
            computer: "TESTBENCH".to_owned(),
            build: 19045,
            disk: "SIMULATED HDD 7200".to_owned(),
            disk_size: Size(250 << 30),
            disk_access: Span(40_000),
            disk_per_mib: Span(100_000),
            more_disks: Vec::new(),
        }
    }
}

/// Compression of the recording, by name.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompressionName {
    /// LZNT1.
    Lznt1,
    /// Plain XPRESS.
    Xpress,
    /// XPRESS Huffman.
    XpressHuffman,
}

impl std::str::FromStr for CompressionName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "lznt1" => Ok(Self::Lznt1),
            "xpress" => Ok(Self::Xpress),
            "xpress_huffman" => Ok(Self::XpressHuffman),
            _ => Err(format!("`{name}`: expected lznt1, xpress or xpress_huffman")),
        }
    }
}

impl From<CompressionName> for Compression {
    fn from(name: CompressionName) -> Self {
        match name {
            CompressionName::Lznt1 => Self::Lznt1,
            CompressionName::Xpress => Self::Xpress,
            CompressionName::XpressHuffman => Self::XpressHuffman,
        }
    }
}

/// How the boot is recorded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recording {
    /// How long it goes on after PostBoot.
    pub tail: Span,
    /// When it stops although PostBoot is not over.
    pub at_most: Span,
    /// Kernel events and manifest events in two files, as before merging.
    pub split: bool,
    /// Compression of the buffers.
    pub compression: Option<CompressionName>,
    /// Bytes of a buffer.
    pub buffer_size: Size,
    /// Interval of profile samples; none = no samples.
    pub sample_interval: Option<Span>,
    /// Of 100 context switches, how many carry a stack.
    pub switch_stacks_percent: u32,
    /// Whether stacks are logged by keys, which are given again when they are all in use.
    pub keyed_stacks: bool,
    /// Whether disk requests are also recorded when they are issued.
    pub disk_issue: bool,
    /// Whether the desktop-ready event (Shell-Core 27231) is recorded: WPR profiles leave it out.
    pub desktop_ready: bool,
    /// Whether context switches are recorded.
    pub context_switches: bool,
    /// Records of threads made ready say when a deferred procedure call did it: a timer, a disk.
    pub readied_by_dpc: bool,
    /// Power transitions are recorded by the kernel's logger instead of its provider.
    pub power_by_logger: bool,
    /// Whether threads made ready are recorded.
    pub ready_threads: bool,
    /// From when on the recorder loses every event, as when its buffers are full.
    pub lost_from: Option<Span>,
    /// Until when.
    pub lost_to: Span,
    /// Steps in which the recording's clock goes on, as the system's time does: 1 ms, 15.6 ms; none = every tick.
    pub clock_step: Option<Span>,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            tail: Span(20_000_000),
            at_most: Span(3_000_000_000),
            split: false,
            compression: None,
            buffer_size: Size(0x1_0000),
            sample_interval: None,
            switch_stacks_percent: 0,
            keyed_stacks: false,
            disk_issue: false,
            desktop_ready: true,
            context_switches: true,
            readied_by_dpc: false,
            power_by_logger: false,
            ready_threads: true,
            lost_from: None,
            lost_to: Span(0),
            clock_step: None,
        }
    }
}

/// Firmware and boot manager, before the recording's axis begins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Firmware {
    /// Time before the boot manager.
    pub pre_boot: Span,
    /// Time in the boot manager.
    pub boot_manager: Span,
    /// Kind of boot: 0 cold, 1 fast startup, 2 resume.
    #[serde(default)]
    pub boot_type: u32,
    /// Times of Kernel-Boot 30 as they are, ms; neither Kernel-Boot 7 nor 11 is written then, which logs of real machines lack.
    #[serde(default)]
    pub table: Option<[u64; 5]>,
}

/// Loader and kernel.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Time in the operating system's loader, before the axis.
    pub loader: Option<Span>,
    /// When boot-start initialization begins.
    #[serde(default)]
    pub boot_start_at: Span,
    /// Boot-start drivers and their devices, in order.
    #[serde(default)]
    pub boot_start: Vec<Driver>,
    /// When boot-start initialization ends.
    pub boot_start_end_at: Option<Span>,
    /// When system-start initialization begins.
    pub system_start_at: Option<Span>,
    /// System-start drivers and their devices, in order.
    #[serde(default)]
    pub system_start: Vec<Driver>,
    /// When system-start initialization ends.
    pub system_start_end_at: Option<Span>,
    /// Drivers and devices that come up while the session manager already runs.
    #[serde(default)]
    pub later: Vec<Driver>,
    /// Further work before the session manager starts.
    #[serde(default)]
    pub work: Vec<Work>,
    /// When the session manager's process starts: the end of PreSMSS.
    pub session_manager_at: Option<Span>,
}

/// A driver and its device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Driver name without `\Driver\`.
    pub name: String,
    /// Image path below the system root; made from the name when absent.
    pub image: Option<String>,
    /// How long loading and `DriverEntry` take.
    #[serde(default)]
    pub load: Span,
    /// Device instance path; a driver without one has no device.
    pub device: Option<String>,
    /// Device description.
    #[serde(default)]
    pub description: String,
    /// How long the device takes to start.
    #[serde(default)]
    pub start: Span,
    /// How long the device takes to name its children.
    pub enumerate: Option<Span>,
    /// Whether the driver pends its start request, and after how long it returns.
    pub pend_start: Option<Span>,
    /// Whether the driver pends the question for its children, and after how long it returns.
    pub pend_enumerate: Option<Span>,
    /// Driver after which the children of this device are asked for, when its start is pended;
    /// after all drivers when absent.
    pub enumerate_after: Option<String>,
    /// CPU time within `load`, `start` and `enumerate` each; the rest of their time is waiting.
    #[serde(default)]
    pub cpu: Span,
    /// Work within the load, before its time is padded.
    #[serde(default)]
    pub work: Vec<Work>,
}

/// The session manager.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Work of the registry's initialization.
    #[serde(default)]
    pub registry: Vec<Work>,
    /// How long autochk runs; none = not at all.
    pub autochk: Option<Span>,
    /// Video initialization of the system session.
    #[serde(default)]
    pub system_video: Span,
    /// What the session manager does before that, where the video driver usually initializes.
    #[serde(default)]
    pub system_video_work: Vec<Work>,
    /// Video initialization of the user session.
    #[serde(default)]
    pub user_video: Span,
    /// Work between the sessions.
    #[serde(default)]
    pub work: Vec<Work>,
    /// When winlogon's process starts: the end of SMSSInit.
    pub winlogon_at: Option<Span>,
}

/// The service control manager.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Services {
    /// When the automatic start begins.
    pub auto_start_at: Option<Span>,
    /// When it ends, at the earliest.
    pub auto_start_end_at: Option<Span>,
    /// The logon waits until this group has started.
    pub logon_waits_for_group: Option<String>,
    /// Services in start order; those of a group are started before the next group.
    pub service: Vec<Service>,
}

/// A service that starts by itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Name.
    pub name: String,
    /// Name for people.
    #[serde(default)]
    pub display_name: String,
    /// Load-order group; empty = none, started after all groups.
    #[serde(default)]
    pub group: String,
    /// Group of the shared host (`svchost -k`); none = a host of its own.
    pub host: Option<String>,
    /// Process id of the host, when a document gives it.
    pub host_id: Option<u32>,
    /// Image of an own host.
    pub image: Option<String>,
    /// When it is started, at the earliest.
    pub at: Option<Span>,
    /// From the start to the host's first report.
    #[serde(default)]
    pub container: Span,
    /// From there to the service's own code.
    #[serde(default)]
    pub load: Span,
    /// From there to "running".
    #[serde(default)]
    pub init: Span,
    /// Work within `init`, before its time is padded.
    #[serde(default)]
    pub work: Vec<Work>,
    /// Work after it runs.
    #[serde(default)]
    pub after: Vec<Work>,
    /// Somebody asks for it while the manager is at its place: its start type is "on demand", and its group does not wait for it.
    #[serde(default)]
    pub on_demand: bool,
    /// Services that must run first.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Id of the thread of its main function; several threads may have the same one, one after the other.
    pub main_thread_id: Option<u32>,
    /// Its main function returns, and the thread ends, once it runs; the host stays for its other services.
    #[serde(default)]
    pub main_returns: bool,
    /// Priority of its threads.
    #[serde(default = "normal")]
    pub priority: u8,
    /// I/O priority of its threads.
    #[serde(default)]
    pub io_priority: IoPriority,
    /// How it stops when the machine shuts down; none = nobody tells it.
    pub stop: Option<ServiceStop>,
    /// How it answers whether the system may suspend; none = it is not asked.
    pub query: Option<Answer>,
    /// How it answers that the system suspends.
    pub suspend: Option<Answer>,
    /// What it does when the system resumed.
    pub resume: Option<Answer>,
}

const fn normal() -> u8 {
    8
}

/// Winlogon.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logon {
    /// Work before the user's logon.
    #[serde(default)]
    pub work: Vec<Work>,
    /// Computer policy: how long it is applied; none = not at all.
    pub computer_policy: Option<Span>,
    /// User policy.
    pub user_policy: Option<Span>,
    /// Policy extensions of the computer policy.
    #[serde(default)]
    pub policy_extension: Vec<Timed>,
    /// Logon script: how long it runs.
    pub script: Option<Span>,
    /// Subscribers of the logon notification.
    #[serde(default)]
    pub subscriber: Vec<Timed>,
    /// How long a person takes to give a password; none = nobody is asked.
    pub credentials: Option<Span>,
    /// When Explorer's process starts: the end of WinLogonInit.
    pub explorer_at: Option<Span>,
    /// Read-ahead training count that Winlogon reports.
    pub training_count: Option<u32>,
}

/// Something with a name and a duration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// Name.
    pub name: String,
    /// How long it takes.
    pub time: Span,
}

/// Explorer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Work before the desktop is ready.
    #[serde(default)]
    pub work: Vec<Work>,
    /// When the desktop is ready: the end of ExplorerInit.
    pub ready_at: Option<Span>,
    /// Programs of the Run key.
    #[serde(default)]
    pub startup: Vec<Startup>,
}

/// A program started with the session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Startup {
    /// Command line.
    pub command: String,
    /// Image file name.
    pub image: String,
    /// Threads that do its work.
    #[serde(default)]
    pub thread: Vec<Thread>,
}

/// A process beside the boot's own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Process id; several may have the same one, one after the other.
    pub id: Option<u32>,
    /// Image file name.
    pub image: String,
    /// Command line; the image when absent.
    pub command: Option<String>,
    /// Session.
    #[serde(default)]
    pub session: u32,
    /// When it starts.
    pub at: Option<Span>,
    /// Event it starts at: `desktop_ready`, `services_running`, or one a step of work signals.
    /// Neither this nor `at`: its threads belong to the System process from the beginning.
    pub on: Option<String>,
    /// GUID of the image's PDB; none = not recorded.
    #[serde(default, deserialize_with = "identity")]
    pub symbols: Option<Uuid>,
    /// Call stack of its threads, innermost first, as addresses within the image; empty = any addresses.
    #[serde(default)]
    pub stack: Vec<u64>,
    /// Threads.
    #[serde(default)]
    pub thread: Vec<Thread>,
}

fn identity<'de, D: serde::Deserializer<'de>>(text: D) -> Result<Option<Uuid>, D::Error> {
    let text = Option::<String>::deserialize(text)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

/// A thread of a process.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Thread id; several may have the same one, one after the other.
    pub id: Option<u32>,
    /// Priority, 1 to 31.
    #[serde(default = "normal")]
    pub priority: u8,
    /// I/O priority.
    #[serde(default)]
    pub io_priority: IoPriority,
    /// How many threads do the same.
    #[serde(default = "one")]
    pub count: u32,
    /// What it does; it ends after the last step.
    pub work: Vec<Work>,
}

const fn one() -> u32 {
    1
}

/// Published numbers, whole milliseconds, as the document prints them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Loader duration.
    pub os_loader_ms: Option<u64>,
    /// Duration of PreSMSS.
    pub pre_smss_ms: Option<u64>,
    /// Duration of SMSSInit.
    pub smss_init_ms: Option<u64>,
    /// Duration of WinLogonInit.
    pub winlogon_init_ms: Option<u64>,
    /// Duration of ExplorerInit.
    pub explorer_init_ms: Option<u64>,
    /// Duration of PostBoot, its 10 s of idle time included.
    pub post_boot_ms: Option<u64>,
    /// End of ExplorerInit.
    pub boot_done_via_explorer_ms: Option<u64>,
    /// Boot without the 10 s of idle time.
    pub total_boot_ms: Option<u64>,
    /// Duration of system-start initialization.
    pub system_start_ms: Option<u64>,
    /// Duration of the services' automatic start.
    pub auto_start_ms: Option<u64>,
    /// Begin of the automatic start.
    pub auto_start_begin_ms: Option<u64>,
    /// End of the automatic start.
    pub auto_start_end_ms: Option<u64>,
    /// Services, in start order.
    pub service: Vec<ExpectService>,
    /// Device operations.
    pub device: Vec<ExpectDevice>,
}

/// A service as a published summary prints it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectService {
    /// Name.
    pub name: String,
    /// Load-order group.
    pub group: String,
    /// Host.
    pub container: Option<String>,
    /// Time from start to "running".
    pub total_ms: u64,
    /// Time from start to the host's first report.
    pub first_checkpoint_ms: Option<u64>,
    /// Time from there to "running".
    pub processing_ms: Option<u64>,
    /// Start.
    pub started_at_ms: Option<u64>,
    /// First report.
    pub first_checkpointed_at_ms: Option<u64>,
    /// "Running".
    pub ended_at_ms: Option<u64>,
}

/// A device operation as a published summary prints it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectDevice {
    /// `BootInit`, `DriverLoad`, `DeviceStart` or `DeviceEnum`.
    pub kind: String,
    /// Driver or device instance.
    pub name: String,
    /// Duration.
    pub duration_ms: u64,
    /// Time until the request was pended; equals the duration when it was not.
    pub pre_pend_ms: u64,
}

/// Scenarios that others are put over: `over = "healthy-boot"`.
const BASES: [(&str, &str); 6] = [
    ("fast-startup-cycle", include_str!("../scenarios/fast-startup-cycle.toml")),
    ("healthy-boot", include_str!("../scenarios/healthy-boot.toml")),
    ("healthy-shutdown", include_str!("../scenarios/healthy-shutdown.toml")),
    ("healthy-sleep", include_str!("../scenarios/healthy-sleep.toml")),
    ("hibernate", include_str!("../scenarios/hibernate.toml")),
    ("shutdown-windows10-sample", include_str!("../scenarios/shutdown-windows10-sample.toml")),
];

/// Puts `over` over `base`: keys of both are taken from `over`, tables key by key, and lists of tables grow; an entry of such a
/// list that has the name (of a sleep, the kind) of one that is there is put over that one.
fn put_over(base: &mut toml::Table, over: toml::Table) {
    use toml::Value::{Array, Table};
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Table(below)), Table(above)) => put_over(below, above),
            (Some(Array(below)), Array(above)) if below.iter().chain(&above).all(toml::Value::is_table) => {
                for entry in above {
                    let named = |entry: &toml::Value| entry.get("name").or_else(|| entry.get("kind")).cloned();
                    let name = named(&entry);
                    let same = below.iter_mut().find(|known| name.is_some() && named(known) == name);
                    match (same, entry) {
                        (Some(Table(known)), Table(entry)) => put_over(known, entry),
                        (_, entry) => below.push(entry),
                    }
                }
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text is not a scenario.
    #[error("scenario: {0}")]
    Text(#[from] Box<toml::de::Error>),
    /// The scenario asks for something impossible.
    #[error("scenario: {0}")]
    Impossible(String),
    /// The recording could not be stored.
    #[error("recording: {0}")]
    Output(#[from] std::io::Error),
}

impl Scenario {
    /// The same with `times` as long between the turns of what the processes beside the boot's own do for ever: fewer events a second,
    /// and the same boot.
    #[must_use]
    pub fn with_rarer_loops(&self, times: f64) -> Self {
        let mut rarer = self.clone();
        let threads = rarer.processes.iter_mut().flat_map(|process| &mut process.thread);
        for work in threads.flat_map(|thread| &mut thread.work) {
            if let Work::Loop { pause, .. } = work {
                pause.0 = (pause.0 as f64 * times) as u64;
            }
        }
        rarer
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// When the text is not TOML, has an unknown or missing key, or asks for no or more than
    /// 1024 processors.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let mut table: toml::Table = toml::from_str(text).map_err(Box::new)?;
        if let Some(toml::Value::String(base)) = table.remove("over") {
            let Some((_, base)) = BASES.iter().find(|(name, _)| *name == base) else {
                return Err(ScenarioError::Impossible(format!("no scenario may be put over `{base}`")));
            };
            let mut whole: toml::Table = toml::from_str(base).map_err(Box::new)?;
            put_over(&mut whole, table);
            table = whole;
        }
        let scenario: Self = table.try_into().map_err(Box::new)?;
        if !(1..=1024).contains(&scenario.machine.processors) {
            return Err(ScenarioError::Impossible("processors must be 1 to 1024".to_owned()));
        }
        if scenario.recording.buffer_size.0 < 0x1000 || scenario.recording.buffer_size.0 > 16 << 20 {
            return Err(ScenarioError::Impossible("a buffer has 4 KiB to 16 MiB".to_owned()));
        }
        Ok(scenario)
    }

    /// Whether the machine boots in the recording.
    #[must_use]
    pub fn boots(&self) -> bool {
        self.running.is_none()
    }

    /// Whether anything happens after a boot, or without one.
    pub(super) fn has_transitions(&self) -> bool {
        self.shutdown.is_some() || !self.power.is_empty() || !self.standby.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarer_loops_pause_longer_and_work_as_long() {
        let scenario = Scenario::from_toml(include_str!("../scenarios/benchmark.toml")).unwrap();
        let loops = |scenario: &Scenario| -> Vec<(u64, u64)> {
            let threads = scenario.processes.iter().flat_map(|process| &process.thread);
            let of_loops = threads.flat_map(|thread| &thread.work).filter_map(|work| match work {
                Work::Loop { burst, pause, .. } => Some((burst.0, pause.0)),
                _ => None,
            });
            of_loops.collect()
        };
        let (before, after) = (loops(&scenario), loops(&scenario.with_rarer_loops(10.0)));
        assert_eq!(before, [(60, 3_900), (90, 4_100), (70, 4_200)]);
        assert_eq!(after, [(60, 39_000), (90, 41_000), (70, 42_000)]);
    }
}
