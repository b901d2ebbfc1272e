//! Converts reports to runs, one module per transition. The modules for Windows and Linux use the same keys for the
//! same quantities.

mod account;
mod boot;
mod collector;
mod firmware;
mod linux;
mod netboot;
mod shutdown;
mod suspend;

pub use account::add_accounts;
pub use boot::fast_startup_run;
pub use firmware::firmware_run;
pub use netboot::network_boot_run;

use boot::boot_run;
use linux::{linux_boot_run, linux_shutdown_run, linux_sleep_run};
use shutdown::shutdown_run;
use suspend::suspend_run;

use hashbrown::HashSet;
use onoff_trace::{DeviceOperationKind, Losses, TableName, Trace};

use super::run::{Category, Exclusion, ExclusionReason, Machine, RecordingIdentity, Run};
use collector::Collector;
use onoff_transitions::{Transition, TypedTransition, Variant};
use onoff_usage::devices::Device;

/// Minimum CPU time of an image, or disk time of a file, to become a measure, ns: 1 ms.
pub const MIN_SHARE_NS: i64 = 1_000_000;

/// Maximum number of files, and of images, per run. Those with the most time are kept.
pub const MAX_SHARES: usize = 1_000;

/// Key suffix of a service's own initialization, excluding the time to start its process and load its image.
pub const OWN_INITIALIZATION: &str = "initialization";

/// Key suffix of the time in which a driver's requests blocked others: until they were pended or completed.
pub const UNTIL_PENDED: &str = "until_pended";

/// The recording and computer of a run.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Name of the run, which is its file.
    pub name: String,
    /// True if call stacks were recorded (in analysis traces, not in timing traces).
    pub has_stacks: bool,
    pub machine: Option<Machine>,
    pub recording: Option<RecordingIdentity>,
}

impl Origin {
    /// Returns the origin of a run without a trace, from a capture or firmware tables.
    #[must_use]
    pub fn without_stacks(name: String) -> Self {
        Self { name, has_stacks: false, machine: None, recording: None }
    }

    /// Returns the origin of a run from `trace`. Stacks are detected only if the trace was opened with
    /// [`TableName::Inventory`].
    #[must_use]
    pub fn from_trace(name: String, trace: &Trace) -> Self {
        let kinds = trace.inventory.iter().flat_map(|counts| &counts.kinds);
        Self {
            name,
            machine: Some(Machine::from_trace(trace)),
            recording: RecordingIdentity::from_trace(trace),
            has_stacks: kinds
                .into_iter()
                .any(|kind| kind.events > 0 && STACK_EVENTS.contains(&kind.id) && kind.provider == STACK_PROVIDER),
        }
    }

    fn exclusion(&self) -> Option<Exclusion> {
        self.has_stacks.then(|| Exclusion {
            reason: ExclusionReason::AnalysisTracing,
            text: "call stacks were recorded, which increases times".to_owned(),
        })
    }
}

/// Ids of kernel events that contain or reference a call stack.
const STACK_EVENTS: [u32; 3] = [0x1820, 0x1825, 0x1826];

/// Provider of these events.
const STACK_PROVIDER: &str = "StackWalk";

/// Returns the exclusion for the losses that affect the phases; `affecting_losses` has their names.
fn losses(losses: &Losses, affecting_losses: &[String]) -> Option<Exclusion> {
    let mut texts: Vec<String> = Vec::new();
    for name in affecting_losses {
        let text = format!("{} × {}", losses.count(name), name.replace('_', " "));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    (!texts.is_empty()).then(|| Exclusion {
        reason: ExclusionReason::Losses,
        text: format!("events were lost in the phases: {}", texts.join(", ")),
    })
}

/// Returns true for operations of the Linux kernel.
const fn is_linux_operation(operation: &Device) -> bool {
    matches!(
        operation.details.kind,
        DeviceOperationKind::Initcall | DeviceOperationKind::ModuleLoad | DeviceOperationKind::Probe
    )
}

/// Adds operations on devices and drivers, summed by operation.
fn operations(devices: &[Device], doubtful: bool, measures: &mut Collector) {
    let mut operations: Vec<&Device> = devices.iter().collect();
    operations.sort_by_key(|operation| operation.start_ns);
    // The init function of a module takes most of its load time, so count it only once.
    let loaded_modules: HashSet<&str> = operations
        .iter()
        .filter(|operation| operation.details.kind == DeviceOperationKind::ModuleLoad)
        .map(|operation| operation.driver.as_str())
        .collect();
    let is_within_load = |operation: &Device| {
        operation.details.kind == DeviceOperationKind::Initcall && loaded_modules.contains(operation.owner())
    };
    operations.retain(|operation| !is_within_load(operation));
    for operation in &operations {
        let action = match operation.details.kind {
            DeviceOperationKind::BootInit | DeviceOperationKind::DriverInit => "init",
            DeviceOperationKind::DriverLoad | DeviceOperationKind::ModuleLoad => "load",
            DeviceOperationKind::DeviceStart => "start",
            DeviceOperationKind::DeviceEnum => "enumerate",
            DeviceOperationKind::Initcall => "initcall",
            DeviceOperationKind::Probe => "probe",
        };
        let names = [(Category::Driver, driver_name(operation.owner())), (Category::Device, operation.device.as_str())];
        // An operation of the Linux kernel on a device counts only for the device.
        let skip_driver = is_linux_operation(operation) && !operation.device.is_empty();
        for (category, name) in names.into_iter().skip(skip_driver.into()) {
            if !name.is_empty() {
                measures.item(
                    category,
                    &format!("{name}.{action}"),
                    operation.start_ns,
                    operation.duration_ns,
                    doubtful,
                );
            }
        }
    }
    // Linux has no pended requests, so the value would repeat the duration.
    for operation in operations.into_iter().filter(|operation| !is_linux_operation(operation)) {
        let name = driver_name(&operation.driver);
        if !name.is_empty() {
            measures.part(Category::Driver, &format!("{name}.{UNTIL_PENDED}"), operation.details.pre_pend_ns, doubtful);
        }
    }
}

/// Returns the driver name without the driver-object folder, which only load records have.
fn driver_name(name: &str) -> &str {
    name.strip_prefix(r"\Driver\").unwrap_or(name)
}

/// The table that [`Origin::from_trace`] needs in addition to the report's tables.
pub const TABLE: TableName = TableName::Inventory;

/// Converts a transition to a run.
#[must_use]
pub fn transition_run(origin: &Origin, transition: Transition) -> Run {
    match TypedTransition::from(transition) {
        TypedTransition::WindowsBoot(report) => boot_run(origin, &report),
        TypedTransition::LinuxBoot(report) => linux_boot_run(origin, &report),
        TypedTransition::WindowsShutdown(report) => shutdown_run(origin, &report),
        TypedTransition::LinuxShutdown(report) => linux_shutdown_run(origin, &report),
        TypedTransition::WindowsSuspend(transition) => suspend_run(origin, &transition),
        TypedTransition::LinuxSuspend(sleep) => linux_sleep_run(origin, &sleep),
    }
}

/// Returns the variant as the kind of a run; empty if unknown.
fn variant(variant: Variant) -> String {
    match variant {
        Variant::Unknown => String::new(),
        known_variant => known_variant.as_str().to_owned(),
    }
}
