//! Reports as runs: one file per transition. A report of another system gets a file of its own here, which makes the
//! same keys for the same things.

mod account;
mod boot;
mod collector;
mod firmware;
mod linux;
mod netboot;
mod shutdown;
mod suspend;

pub use account::add_accounts;
pub use boot::of_fast_startup;
pub use firmware::of_firmware;
pub use netboot::of_network_boot;

use boot::of_boot;
use linux::{of_linux_boot, of_linux_shutdown, of_linux_sleep};
use shutdown::of_shutdown;
use suspend::of_suspend;

use hashbrown::HashSet;
use onoff_trace::{DeviceOperationKind, Losses, TableName, Trace};

use super::run::{Category, Machine, RecordingIdentity, Run, SetApart, SetApartReason};
use collector::Collector;
use onoff_transitions::{Transition, TypedTransition, Variant};
use onoff_usage::devices::Device;

/// Least time of an image on the processors or of a file on the disks that makes a measure, ns: 1 ms.
pub const MIN_SHARE_NS: i64 = 1_000_000;

/// Files and images of a run, at most, those with most time.
pub const MAX_SHARES: usize = 1_000;

/// The part of a service's measure that is its own initialization, without its container and the loading of its image.
pub const OWN_INITIALIZATION: &str = "initialization";

/// The part of a driver's measure up to which its requests kept others waiting: until they were pended, or else done.
pub const UNTIL_PENDED: &str = "until_pended";

/// What a run is made of besides its report.
#[derive(Clone, Debug)]
pub struct Origin {
    /// What the run is called: its file.
    pub name: String,
    /// Whether call stacks were recorded, as analysis traces do and timing traces do not.
    pub has_stacks: bool,
    /// The computer.
    pub machine: Option<Machine>,
    /// What tells the recording from others.
    pub recording: Option<RecordingIdentity>,
}

impl Origin {
    /// The origin of a run that no trace tells: of a capture, or of firmware tables.
    #[must_use]
    pub fn without_stacks(name: String) -> Self {
        Self { name, has_stacks: false, machine: None, recording: None }
    }

    /// The origin of what `trace` tells. It must have been opened with [`TableName::Inventory`] for stacks to be seen.
    #[must_use]
    pub fn of(name: String, trace: &Trace) -> Self {
        let kinds = trace.inventory.iter().flat_map(|counts| &counts.kinds);
        Self {
            name,
            machine: Some(Machine::of(trace)),
            recording: RecordingIdentity::of(trace),
            has_stacks: kinds
                .into_iter()
                .any(|kind| kind.events > 0 && STACKS.contains(&kind.id) && kind.provider == STACK_PROVIDER),
        }
    }

    fn set_apart(&self) -> Option<SetApart> {
        self.has_stacks.then(|| SetApart {
            reason: SetApartReason::AnalysisTracing,
            text: "call stacks were recorded, which makes times longer".to_owned(),
        })
    }
}

/// Kernel events that carry a call stack or refer to one.
const STACKS: [u32; 3] = [0x1820, 0x1825, 0x1826];

/// Who records them.
const STACK_PROVIDER: &str = "StackWalk";

/// What losses that touch the phases set apart: `touched_by` names them.
fn losses(losses: &Losses, touched_by: &[String]) -> Option<SetApart> {
    let mut told: Vec<String> = Vec::new();
    for name in touched_by {
        let text = format!("{} × {}", losses.count(name), name.replace('_', " "));
        if !told.contains(&text) {
            told.push(text);
        }
    }
    (!told.is_empty()).then(|| SetApart {
        reason: SetApartReason::Losses,
        text: format!("losses touch the phases: {}", told.join(", ")),
    })
}

/// Whether an operation is one of the kernel of Linux.
const fn is_of_linux(operation: &Device) -> bool {
    matches!(
        operation.details.kind,
        DeviceOperationKind::Initcall | DeviceOperationKind::ModuleLoad | DeviceOperationKind::Probe
    )
}

/// Operations on devices and drivers, added up by what was done.
fn operations(devices: &[Device], doubtful: bool, measures: &mut Collector) {
    let mut operations: Vec<&Device> = devices.iter().collect();
    operations.sort_by_key(|operation| operation.start_ns);
    // The function of a module is most of its load: one piece of work.
    let loaded: HashSet<&str> = operations
        .iter()
        .filter(|operation| operation.details.kind == DeviceOperationKind::ModuleLoad)
        .map(|operation| operation.driver.as_str())
        .collect();
    let is_within_load = |operation: &Device| {
        operation.details.kind == DeviceOperationKind::Initcall && loaded.contains(operation.owner())
    };
    operations.retain(|operation| !is_within_load(operation));
    for operation in &operations {
        let what = match operation.details.kind {
            DeviceOperationKind::BootInit | DeviceOperationKind::DriverInit => "init",
            DeviceOperationKind::DriverLoad | DeviceOperationKind::ModuleLoad => "load",
            DeviceOperationKind::DeviceStart => "start",
            DeviceOperationKind::DeviceEnum => "enumerate",
            DeviceOperationKind::Initcall => "initcall",
            DeviceOperationKind::Probe => "probe",
        };
        let both = [(Category::Driver, driver(operation.owner())), (Category::Device, operation.device.as_str())];
        // What the kernel of Linux does for a device is listed once, by the device.
        let of_device = is_of_linux(operation) && !operation.device.is_empty();
        for (category, name) in both.into_iter().skip(of_device.into()) {
            if !name.is_empty() {
                measures.thing(
                    category,
                    &format!("{name}.{what}"),
                    operation.start_ns,
                    operation.duration_ns,
                    doubtful,
                );
            }
        }
    }
    // Nothing of Linux is pended: it would be the length again.
    for operation in operations.into_iter().filter(|operation| !is_of_linux(operation)) {
        let name = driver(&operation.driver);
        if !name.is_empty() {
            measures.part(Category::Driver, &format!("{name}.{UNTIL_PENDED}"), operation.details.pre_pend_ns, doubtful);
        }
    }
}

/// A driver's name without the folder of driver objects, which only records of loading have.
fn driver(name: &str) -> &str {
    name.strip_prefix(r"\Driver\").unwrap_or(name)
}

/// The table that [`Origin::of`] needs besides those of the report.
pub const TABLE: TableName = TableName::Inventory;

/// The measures of a transition.
#[must_use]
pub fn of(origin: &Origin, transition: Transition) -> Run {
    match TypedTransition::from(transition) {
        TypedTransition::WindowsBoot(report) => of_boot(origin, &report),
        TypedTransition::LinuxBoot(report) => of_linux_boot(origin, &report),
        TypedTransition::WindowsShutdown(report) => of_shutdown(origin, &report),
        TypedTransition::LinuxShutdown(report) => of_linux_shutdown(origin, &report),
        TypedTransition::WindowsSuspend(transition) => of_suspend(origin, &transition),
        TypedTransition::LinuxSuspend(sleep) => of_linux_sleep(origin, &sleep),
    }
}

/// The variant of a transition as a run's kind; empty when not known.
fn variant(variant: Variant) -> String {
    match variant {
        Variant::Unknown => String::new(),
        known => known.as_str().to_owned(),
    }
}
