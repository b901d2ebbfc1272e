//! Scenario files: what a machine does while it turns on and off. Unknown keys are errors.
//!
//! Times are [`TickDuration`]s. A key that ends in `_at` is an absolute time since the recording began: the step
//! happens then, or later if the work before it takes longer.

pub(super) mod power;
pub(super) mod transition;

use serde::Deserialize;
use uuid::Uuid;

use super::units::{Size, TickDuration};
use super::work::WorkStep;
use onoff_testkit::compress::Compression;
use onoff_testkit::events::storage::IoPriority;
use power::{NotificationResponse, Power, PoweredDevice, Standby};
use transition::{Application, RunningMachine, ServiceStop, Shutdown};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the scenario shows, in one sentence.
    pub name: String,
    /// Seed of all random values.
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub machine: Machine,
    #[serde(default)]
    pub recording: Recording,
    /// Firmware and boot manager.
    pub firmware: Option<Firmware>,
    /// The machine is already running; `None` if it boots.
    pub running: Option<RunningMachine>,
    /// Loader and kernel, until the session manager starts (PreSMSS).
    #[serde(default)]
    pub kernel: Kernel,
    /// The session manager (SMSSInit).
    #[serde(default)]
    pub session: Session,
    #[serde(default)]
    pub services: Services,
    /// Winlogon, until Explorer starts (WinLogonInit).
    #[serde(default)]
    pub logon: Logon,
    /// Explorer, until the desktop is ready (ExplorerInit), and the programs it starts.
    #[serde(default)]
    pub shell: Shell,
    /// Processes and threads in addition to those that every boot has.
    #[serde(default, rename = "process")]
    pub processes: Vec<Process>,
    /// Programs that are notified of transitions.
    #[serde(default, rename = "application")]
    pub applications: Vec<Application>,
    /// Devices that receive power requests.
    #[serde(default, rename = "device")]
    pub devices: Vec<PoweredDevice>,
    /// Sleep, hibernation and fast startup, in chronological order.
    #[serde(default)]
    pub power: Vec<Power>,
    #[serde(default)]
    pub standby: Vec<Standby>,
    pub shutdown: Option<Shutdown>,
    /// Numbers that a published document gives for this boot.
    #[serde(default)]
    pub expect: PublishedNumbers,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Machine {
    pub processors: u32,
    pub mhz: u32,
    pub memory_mib: u32,
    pub computer: String,
    pub build: u32,
    pub disk: String,
    pub disk_size: Size,
    /// Access time of each request.
    pub disk_access: TickDuration,
    /// Transfer time per MiB.
    pub disk_per_mib: TickDuration,
    /// A file on the boot disk whose sectors the disk reads with difficulty.
    pub bad_file: Option<BadFile>,
    /// Additional disks. Their volumes are `D:`, `E:` and so on; paths that start with that letter are on them.
    pub more_disks: Vec<AdditionalDisk>,
    /// Addresses of the network adapters.
    pub network_adapters: Vec<[u8; 6]>,
}

/// A file whose every request takes the same long access time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadFile {
    pub path: String,
    pub access: TickDuration,
}

/// A disk in addition to the boot disk.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdditionalDisk {
    pub model: String,
    /// Access time of each request.
    pub access: TickDuration,
    /// Transfer time per MiB.
    pub per_mib: TickDuration,
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
            disk_access: TickDuration(40_000),
            disk_per_mib: TickDuration(100_000),
            bad_file: None,
            more_disks: Vec::new(),
            network_adapters: Vec::new(),
        }
    }
}

/// Compression of the recording.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompressionFormat {
    Lznt1,
    Xpress,
    XpressHuffman,
}

impl std::str::FromStr for CompressionFormat {
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

impl From<CompressionFormat> for Compression {
    fn from(name: CompressionFormat) -> Self {
        match name {
            CompressionFormat::Lznt1 => Self::Lznt1,
            CompressionFormat::Xpress => Self::Xpress,
            CompressionFormat::XpressHuffman => Self::XpressHuffman,
        }
    }
}

/// How the machine is recorded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recording {
    /// Length of the recording after PostBoot.
    pub tail: TickDuration,
    /// Maximum length, even if PostBoot has not ended.
    #[serde(rename = "at_most")]
    pub max_length: TickDuration,
    /// Write kernel events and manifest events to two files, as before merging.
    pub split: bool,
    pub compression: Option<CompressionFormat>,
    pub buffer_size: Size,
    /// Interval of profile samples; `None` for no samples.
    pub sample_interval: Option<TickDuration>,
    /// Percentage of context switches with a stack.
    pub switch_stacks_percent: u32,
    /// Log stacks by key. Keys are reused when all are taken.
    pub keyed_stacks: bool,
    /// Record disk requests also when they are issued.
    pub disk_issue: bool,
    /// Record the desktop-ready event (Shell-Core 27231), which WPR profiles omit.
    pub desktop_ready: bool,
    pub context_switches: bool,
    /// Ready-thread records have a flag for threads readied by a DPC (a timer or a disk).
    pub readied_by_dpc: bool,
    /// Record power transitions with the kernel logger instead of the Kernel-Power provider.
    pub power_by_logger: bool,
    pub ready_threads: bool,
    /// Start of an interval in which the recorder loses every event, as when its buffers are full.
    pub lost_from: Option<TickDuration>,
    /// End of the interval in which the recorder loses events.
    pub lost_to: TickDuration,
    /// Resolution of the recording's clock, e.g. 1 ms or 15.6 ms for the system time; `None` for one tick.
    pub clock_step: Option<TickDuration>,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            tail: TickDuration(20_000_000),
            max_length: TickDuration(3_000_000_000),
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
            lost_to: TickDuration(0),
            clock_step: None,
        }
    }
}

/// Firmware and boot manager, before the start of the recording.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Firmware {
    pub pre_boot: TickDuration,
    pub boot_manager: TickDuration,
    /// Kind of boot: 0 cold, 1 fast startup, 2 resume.
    #[serde(default)]
    pub boot_type: u32,
    /// Raw times of Kernel-Boot 30, ms. If present, Kernel-Boot 7 and 11 are not written, as on some real machines.
    #[serde(default)]
    pub table: Option<[u64; 5]>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Time in the operating system loader, before the start of the recording.
    pub loader: Option<TickDuration>,
    #[serde(default)]
    pub boot_start_at: TickDuration,
    /// Boot-start drivers and their devices, in order.
    #[serde(default)]
    pub boot_start: Vec<Driver>,
    pub boot_start_end_at: Option<TickDuration>,
    pub system_start_at: Option<TickDuration>,
    /// System-start drivers and their devices, in order.
    #[serde(default)]
    pub system_start: Vec<Driver>,
    pub system_start_end_at: Option<TickDuration>,
    /// Drivers and devices initialized while the session manager already runs.
    #[serde(default)]
    pub later: Vec<Driver>,
    /// Additional work before the session manager starts.
    #[serde(default)]
    pub work: Vec<WorkStep>,
    /// Start of the session manager: the end of PreSMSS.
    pub session_manager_at: Option<TickDuration>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Driver name without `\Driver\`.
    pub name: String,
    /// Image path below the system root; derived from the name if absent.
    pub image: Option<String>,
    /// Duration of loading and `DriverEntry`.
    #[serde(default)]
    pub load: TickDuration,
    /// Device instance path, if the driver has a device.
    pub device: Option<String>,
    #[serde(default)]
    pub description: String,
    /// Duration of the device's start request.
    #[serde(default)]
    pub start: TickDuration,
    /// Duration of enumerating the device's children.
    pub enumerate: Option<TickDuration>,
    /// If the driver pends its start request: the time after which it returns.
    pub pend_start: Option<TickDuration>,
    /// If the driver pends the enumeration request: the time after which it returns.
    pub pend_enumerate: Option<TickDuration>,
    /// If the start is pended: the driver after which the children are enumerated; after all drivers if absent.
    pub enumerate_after: Option<String>,
    /// CPU time within each of `load`, `start` and `enumerate`; the rest of each is waiting.
    #[serde(default)]
    pub cpu: TickDuration,
    /// Work within `load`.
    #[serde(default)]
    pub work: Vec<WorkStep>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Work during registry initialization.
    #[serde(default)]
    pub registry: Vec<WorkStep>,
    /// Duration of autochk; `None` if it does not run.
    pub autochk: Option<TickDuration>,
    /// Duration of video initialization in the system session.
    #[serde(default)]
    pub system_video: TickDuration,
    /// Work of the session manager before video initialization, in the interval usually attributed to the video driver.
    #[serde(default)]
    pub system_video_work: Vec<WorkStep>,
    /// Duration of video initialization in the user session.
    #[serde(default)]
    pub user_video: TickDuration,
    /// Work between the sessions.
    #[serde(default)]
    pub work: Vec<WorkStep>,
    /// Start of Winlogon: the end of SMSSInit.
    pub winlogon_at: Option<TickDuration>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Services {
    pub auto_start_at: Option<TickDuration>,
    /// Earliest end of the automatic start.
    pub auto_start_end_at: Option<TickDuration>,
    /// Load-order group the logon waits for.
    pub logon_waits_for_group: Option<String>,
    /// Services in start order. A group starts before the next one.
    pub service: Vec<Service>,
}

/// An automatic service.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    pub name: String,
    #[serde(default)]
    pub display_name: String,
    /// Load-order group; empty for a service started after all groups.
    #[serde(default)]
    pub group: String,
    /// Group of the shared host (`svchost -k`); `None` for a dedicated host.
    pub host: Option<String>,
    /// Process id of the host, if a document gives it.
    pub host_id: Option<u32>,
    /// Image of a dedicated host.
    pub image: Option<String>,
    /// Earliest start.
    pub at: Option<TickDuration>,
    /// Time from the start to the host's first report.
    #[serde(default)]
    pub container: TickDuration,
    /// Time from the host's first report to the start of the service's main function.
    #[serde(default)]
    pub load: TickDuration,
    /// Time from the start of the main function to SERVICE_RUNNING.
    #[serde(default)]
    pub init: TickDuration,
    /// Work within `init`.
    #[serde(default)]
    pub work: Vec<WorkStep>,
    /// Work while the service runs.
    #[serde(default)]
    pub after: Vec<WorkStep>,
    /// The service is started on demand when the manager reaches it, and its group does not wait for it.
    #[serde(default)]
    pub on_demand: bool,
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Id of the thread that runs the service's main function. Thread ids may be reused.
    pub main_thread_id: Option<u32>,
    /// The main function returns once the service runs, and its thread ends; the host remains for its other services.
    #[serde(default)]
    pub main_returns: bool,
    #[serde(default = "normal_priority")]
    pub priority: u8,
    #[serde(default)]
    pub io_priority: IoPriority,
    /// How the service stops during a shutdown; `None` if it is not notified.
    pub stop: Option<ServiceStop>,
    /// Response to the suspend query; `None` if it is not queried.
    pub query: Option<NotificationResponse>,
    /// Response to the suspend notification.
    pub suspend: Option<NotificationResponse>,
    /// Response to the resume notification.
    pub resume: Option<NotificationResponse>,
}

const fn normal_priority() -> u8 {
    8
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logon {
    /// Work before the user's logon.
    #[serde(default)]
    pub work: Vec<WorkStep>,
    /// Duration of computer policy; `None` if none is applied.
    pub computer_policy: Option<TickDuration>,
    /// Duration of user policy.
    pub user_policy: Option<TickDuration>,
    /// Client-side extensions of computer policy.
    #[serde(default)]
    pub policy_extension: Vec<NamedDuration>,
    /// Duration of the logon script.
    pub script: Option<TickDuration>,
    /// Subscribers of the logon notification.
    #[serde(default)]
    pub subscriber: Vec<NamedDuration>,
    /// Time the user takes to enter a password; `None` for automatic logon.
    pub credentials: Option<TickDuration>,
    /// Start of Explorer: the end of WinLogonInit.
    pub explorer_at: Option<TickDuration>,
    /// ReadyBoot training count that Winlogon reports.
    pub training_count: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedDuration {
    pub name: String,
    pub time: TickDuration,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Work before the desktop is ready.
    #[serde(default)]
    pub work: Vec<WorkStep>,
    /// Time at which the desktop is ready: the end of ExplorerInit.
    pub ready_at: Option<TickDuration>,
    /// Programs of the Run key.
    #[serde(default)]
    pub startup: Vec<Startup>,
}

/// A startup program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Startup {
    pub command: String,
    pub image: String,
    #[serde(default)]
    pub thread: Vec<Thread>,
}

/// A process in addition to those that every boot has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Process id; ids may be reused.
    pub id: Option<u32>,
    pub image: String,
    /// Command line; the image if absent.
    pub command: Option<String>,
    #[serde(default)]
    pub session: u32,
    /// Start time.
    pub at: Option<TickDuration>,
    /// Event that starts the process: `desktop_ready`, `services_running`, or a signal set by a work step. Without this
    /// and `at`, its threads belong to the System process from the start.
    pub on: Option<String>,
    /// GUID of the image's PDB, if recorded.
    #[serde(default, deserialize_with = "deserialize_guid")]
    pub symbols: Option<Uuid>,
    /// Call stack of its threads, innermost first, as offsets in the image; empty for random addresses.
    #[serde(default)]
    pub stack: Vec<u64>,
    #[serde(default)]
    pub thread: Vec<Thread>,
}

fn deserialize_guid<'de, D: serde::Deserializer<'de>>(text: D) -> Result<Option<Uuid>, D::Error> {
    let text = Option::<String>::deserialize(text)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Thread id; ids may be reused.
    pub id: Option<u32>,
    /// Priority, 1 to 31.
    #[serde(default = "normal_priority")]
    pub priority: u8,
    #[serde(default)]
    pub io_priority: IoPriority,
    /// Number of identical threads.
    #[serde(default = "single_thread")]
    pub count: u32,
    /// The thread ends after the last step.
    pub work: Vec<WorkStep>,
}

const fn single_thread() -> u32 {
    1
}

/// Published numbers in whole milliseconds, as the document prints them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedNumbers {
    pub os_loader_ms: Option<u64>,
    pub pre_smss_ms: Option<u64>,
    pub smss_init_ms: Option<u64>,
    pub winlogon_init_ms: Option<u64>,
    pub explorer_init_ms: Option<u64>,
    /// Duration of PostBoot, including its 10 s of idle time.
    pub post_boot_ms: Option<u64>,
    pub boot_done_via_explorer_ms: Option<u64>,
    /// Duration of the boot without the 10 s of idle time.
    pub total_boot_ms: Option<u64>,
    pub system_start_ms: Option<u64>,
    pub auto_start_ms: Option<u64>,
    pub auto_start_begin_ms: Option<u64>,
    pub auto_start_end_ms: Option<u64>,
    pub service: Vec<PublishedService>,
    pub device: Vec<PublishedDevice>,
}

/// A service as a published summary prints it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedService {
    pub name: String,
    pub group: String,
    pub container: Option<String>,
    /// Time from the start to SERVICE_RUNNING.
    pub total_ms: u64,
    /// Time from the start to the host's first report.
    pub first_checkpoint_ms: Option<u64>,
    /// Time from the first report to SERVICE_RUNNING.
    pub processing_ms: Option<u64>,
    pub started_at_ms: Option<u64>,
    pub first_checkpointed_at_ms: Option<u64>,
    pub ended_at_ms: Option<u64>,
}

/// A device operation as a published summary prints it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedDevice {
    /// `BootInit`, `DriverLoad`, `DeviceStart` or `DeviceEnum`.
    pub kind: String,
    /// Driver or device instance.
    pub name: String,
    pub duration_ms: u64,
    /// Time until the request was pended, or the whole duration if it was not.
    pub pre_pend_ms: u64,
}

/// Scenarios that others may extend: `over = "healthy-boot"`.
const BASES: [(&str, &str); 6] = [
    ("fast-startup-cycle", include_str!("../scenarios/fast-startup-cycle.toml")),
    ("healthy-boot", include_str!("../scenarios/healthy-boot.toml")),
    ("healthy-shutdown", include_str!("../scenarios/healthy-shutdown.toml")),
    ("healthy-sleep", include_str!("../scenarios/healthy-sleep.toml")),
    ("hibernate", include_str!("../scenarios/hibernate.toml")),
    ("shutdown-windows10-sample", include_str!("../scenarios/shutdown-windows10-sample.toml")),
];

/// Merges `overrides` into `base`. Keys in both are taken from `overrides`, tables are merged recursively, and lists of
/// tables are appended; an entry with the same name (or kind, for a sleep) as an existing one is merged into it.
fn merge(base: &mut toml::Table, overrides: toml::Table) {
    use toml::Value::{Array, Table};
    for (key, value) in overrides {
        match (base.get_mut(&key), value) {
            (Some(Table(base_table)), Table(table)) => merge(base_table, table),
            (Some(Array(base_entries)), Array(entries))
                if base_entries.iter().chain(&entries).all(toml::Value::is_table) =>
            {
                for entry in entries {
                    let key_of = |entry: &toml::Value| entry.get("name").or_else(|| entry.get("kind")).cloned();
                    let entry_key = key_of(&entry);
                    let existing =
                        base_entries.iter_mut().find(|base| entry_key.is_some() && key_of(base) == entry_key);
                    match (existing, entry) {
                        (Some(Table(base_table)), Table(table)) => merge(base_table, table),
                        (_, entry) => base_entries.push(entry),
                    }
                }
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("scenario: {0}")]
    Text(#[from] Box<toml::de::Error>),
    #[error("scenario: {0}")]
    Impossible(String),
    #[error("recording: {0}")]
    Output(#[from] std::io::Error),
}

impl Scenario {
    /// Makes the loops of the scenario's own processes pause `pause_factor` times as long: the same boot with fewer
    /// events per second.
    #[must_use]
    pub fn with_rarer_loops(&self, pause_factor: f64) -> Self {
        let mut rarer = self.clone();
        let threads = rarer.processes.iter_mut().flat_map(|process| &mut process.thread);
        for work in threads.flat_map(|thread| &mut thread.work) {
            if let WorkStep::Loop { pause, .. } = work {
                pause.0 = (pause.0 as f64 * pause_factor) as u64;
            }
        }
        rarer
    }

    /// Parses a scenario.
    ///
    /// # Errors
    /// The text is not TOML, has an unknown or missing key, or requests 0 or more than 1024 processors.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let mut table: toml::Table = toml::from_str(text).map_err(Box::new)?;
        if let Some(toml::Value::String(base)) = table.remove("over") {
            let Some((_, base)) = BASES.iter().find(|(name, _)| *name == base) else {
                return Err(ScenarioError::Impossible(format!("unknown base scenario `{base}`")));
            };
            let mut merged: toml::Table = toml::from_str(base).map_err(Box::new)?;
            merge(&mut merged, table);
            table = merged;
        }
        let scenario: Self = table.try_into().map_err(Box::new)?;
        if !(1..=1024).contains(&scenario.machine.processors) {
            return Err(ScenarioError::Impossible("`processors` must be 1 to 1024".to_owned()));
        }
        if scenario.recording.buffer_size.0 < 0x1000 || scenario.recording.buffer_size.0 > 16 << 20 {
            return Err(ScenarioError::Impossible("`buffer_size` must be 4 KiB to 16 MiB".to_owned()));
        }
        Ok(scenario)
    }

    /// True if the machine boots in the recording.
    #[must_use]
    pub fn is_boot(&self) -> bool {
        self.running.is_none()
    }

    /// True if the scenario has a shutdown, sleep or standby.
    pub(super) fn has_transitions(&self) -> bool {
        self.shutdown.is_some() || !self.power.is_empty() || !self.standby.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarer_loops_keep_their_bursts() {
        let scenario = Scenario::from_toml(include_str!("../scenarios/benchmark.toml")).unwrap();
        let loops = |scenario: &Scenario| -> Vec<(u64, u64)> {
            let threads = scenario.processes.iter().flat_map(|process| &process.thread);
            let cycles = threads.flat_map(|thread| &thread.work).filter_map(|work| match work {
                WorkStep::Loop { burst, pause, .. } => Some((burst.0, pause.0)),
                _ => None,
            });
            cycles.collect()
        };
        let (original, slowed) = (loops(&scenario), loops(&scenario.with_rarer_loops(10.0)));
        assert_eq!(original, [(60, 3_900), (90, 4_100), (70, 4_200)]);
        assert_eq!(slowed, [(60, 39_000), (90, 41_000), (70, 42_000)]);
    }
}
