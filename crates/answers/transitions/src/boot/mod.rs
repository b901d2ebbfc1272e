//! Analyzes a Windows boot.
//!
//! [`analyze`] turns a [`Trace`] into a [`BootReport`]. If the recording contains no boot, it returns what the
//! recording contains instead.

mod absence;
mod account_check;
pub mod changes;
mod fast_startup;
mod phases;
pub mod report;
pub mod service_failures;
mod session;
mod startup;
#[cfg(test)]
mod tests;

use crate::reported_delays::reported_delays;
use crate::{Phase, PhaseName};
use crate::{PhaseInterval, TransitionKind, Variant, losses_affecting};
use onoff_trace::{ReportedTransition, SystemKind, TableName, TableSet, Trace};

pub use fast_startup::fast_startup;
pub use report::*;

pub use onoff_firmware_times::before_kernel::{
    BeforeKernel, EarlierStage, EarlierTime, FirmwareBeforeKernel, GivenFirmware,
};

use crate::boot_axis::AxisInputs;
use crate::usage;
use onoff_evidence::auto_start;
use onoff_evidence::missing_evidence;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, DerivedInterval, affecting_losses};
use onoff_usage::cpu::{self, CpuSource};
use onoff_usage::devices;
use onoff_usage::idle::{self, Settling};
use onoff_usage::processes;
use onoff_usage::units;
use onoff_usage::user_input::{UserInputTime, without_user_input};
use phases::MainPath;

/// The tables that the analysis reads; if a trace was opened with fewer, results are less complete.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::Samples,
    TableName::DiskIos,
    TableName::ServiceTransitions,
    TableName::DeviceOperations,
    TableName::Milestones,
    TableName::Activities,
    TableName::ReportedDelays,
    TableName::SystemChanges,
    TableName::ServiceFailures,
]);

/// The tables that boundary rules read.
const BOUNDARY_TABLES: [TableName; 3] = [TableName::Processes, TableName::Milestones, TableName::Activities];

/// Analyzes the boot in `trace`.
///
/// # Errors
/// The recording contains no boot; the error describes what it contains instead.
pub fn analyze(trace: &Trace, options: &BootOptions) -> Result<BootReport, Box<NoBoot>> {
    if !absence::contains_a_boot(trace) {
        return Err(Box::new(absence::not_a_boot(trace)));
    }
    let path = phases::main_path(trace, options);
    let post_boot = match path.desktop_ready.time_ns {
        Some(start_ns) => idle::find_settling(trace, start_ns, options.idle),
        None => Settling {
            metric: options.idle,
            rule: Rule::IdleCountNeedsDesktop,
            unmatched_rules: path.desktop_ready.unmatched_rules.clone(),
            ..Settling::default()
        },
    };
    let mut phases = describe_phases(trace, &path, &post_boot);
    let kernel_ns = path.kernel_start.time_ns.unwrap_or(0);
    // If the user had not logged on when the recording ended, the wait extends beyond the recorded part of the boot.
    let until_ns = path.desktop_ready.time_ns.unwrap_or_else(|| path.latest_ns());
    let input_time = UserInputTime::before_desktop(trace, &options.shell, (kernel_ns, until_ns));
    phases.iter_mut().for_each(|phase| phase.set_user_input(&input_time));
    let user_input_ns = input_time.total_ns();
    let before_kernel =
        onoff_firmware_times::before_kernel::before_kernel(trace, options.firmware.as_ref(), path.kernel_start.time_ns);
    let os_loader_ns = before_kernel.os_loader.duration_ns;
    // A disk password is entered before the kernel starts, so it counts only in times measured from reset.
    let user_input_from_reset_ns = user_input_ns.saturating_add(before_kernel.user_input.duration_ns.unwrap_or(0));
    let settled_ns = post_boot.end_ns.map(|end| end.saturating_sub(post_boot.idle_ns));
    let intervals: Vec<_> = phases.iter().map(Phase::interval).collect();
    let axis = AxisInputs {
        firmware_table: before_kernel.firmware_table.as_ref(),
        manager_difference_ns: None,
        user_input_ns: user_input_from_reset_ns,
    }
    .axis(
        trace,
        (options.firmware.as_ref(), options.capture.as_deref()),
        (path.kernel_start.time_ns.unwrap_or(0), &intervals, settled_ns),
    );

    let total_with_idle_ns = path
        .kernel_start
        .time_ns
        .zip(post_boot.end_ns)
        .map(|(start, end)| without_user_input(end.saturating_sub(start), user_input_ns));
    let total_ns = total_with_idle_ns.map(|ns| ns.saturating_sub(post_boot.idle_ns));
    let total_certainty = match total_ns {
        Some(_) => path.kernel_start.certainty.and(path.desktop_ready.certainty).and(post_boot.certainty),
        None => Certainty::Missing,
    };

    let units = units::units(trace);
    let (processes, process_summary) = processes::process_lifetimes(trace, &options.expected_processes);
    let devices = devices::operations(trace);
    let (failed_services, later_service_failures) = service_failures::failed_services(trace, post_boot.end_ns);
    let details = WindowsBoot {
        total_with_idle_ns,
        total_with_loader_ns: total_ns.zip(os_loader_ns).map(|(total, loader)| total.saturating_add(loader)),
        total_from_reset_ns: before_kernel
            .firmware_table
            .as_ref()
            .and_then(|table| table.reset_ns)
            .zip(path.kernel_start.time_ns)
            .zip(total_ns)
            .map(|((reset, kernel), total)| {
                let before_ns = before_kernel.user_input.duration_ns.unwrap_or(0);
                total.saturating_add(without_user_input(kernel.saturating_sub(reset), before_ns))
            }),
        os_loader_ns,
        before_kernel,
        axis,
        main_path_boot: DerivedInterval::between(&path.kernel_start, &path.desktop_ready),
        auto_start: auto_start::auto_start_interval(trace),
        service_groups: units::groups(trace, &units),
        losses_affecting_units: affecting_losses(trace, &[TableName::ServiceTransitions]),
        device_phases: devices::phases(trace, &devices),
        drivers: devices::by_driver(&devices),
        device_totals: devices::by_device(&devices),
        devices,
        losses_affecting_devices: affecting_losses(trace, &[TableName::DeviceOperations]),
        group_policy: session::group_policy(trace),
        logon: session::logon(trace, &options.shell, (kernel_ns, path.desktop_ready.time_ns)),
        video: session::video(trace),
        windows_account: trace.windows_account.clone(),
        reported_delays: reported_delays(trace, ReportedTransition::Boot),
        channels: trace.channels.clone(),
        changes: changes::changes_before(trace),
        failed_services,
        later_service_failures,
        account_comparison: None,
        startup_applications: startup::startup_applications(trace, &phases),
        read_ahead: session::read_ahead(trace),
        processes,
        process_summary,
        losses_affecting_processes: affecting_losses(trace, &[TableName::Processes]),
    };
    let mut report = BootReport {
        system: SystemKind::Windows,
        kind: TransitionKind::Boot,
        variant: variant(trace),
        number: 1,
        start_ns: path.kernel_start.time_ns,
        end_ns: post_boot.end_ns,
        affecting_losses: losses_affecting(&phases),
        total_ns,
        total_at_least_ns: total_ns
            .unwrap_or_else(|| without_user_input(path.latest_ns(), user_input_ns).saturating_add(post_boot.busy_ns)),
        total_certainty,
        user_input_ns,
        settling: Some(post_boot),
        phases,
        units,
        missing_evidence: missing_evidence::for_boot(trace),
        losses: trace.losses.clone(),
        culprits: Vec::new(),
        fix_first: None,
        details,
    };
    report.details.account_comparison = account_check::compare(trace, &report);
    Ok(report)
}

/// Returns start and end of each phase except `TraceTail`, in ns, without CPU and disk usage. Empty if the recording
/// contains no boot.
#[must_use]
pub(crate) fn phase_intervals(trace: &Trace, options: &BootOptions) -> Vec<PhaseInterval> {
    if !absence::contains_a_boot(trace) {
        return Vec::new();
    }
    let path = phases::main_path(trace, options);
    let ready_ns = path.desktop_ready.time_ns;
    let settled_ns = ready_ns.and_then(|start_ns| idle::find_settling(trace, start_ns, options.idle).end_ns);
    PhaseName::WINDOWS_BOOT
        .into_iter()
        .filter_map(|name| match name {
            PhaseName::TraceTail => None,
            PhaseName::PostBoot => Some((name, ready_ns, settled_ns)),
            _ => path.boundaries(name).map(|(start, end)| (name, start.time_ns, end.time_ns)),
        })
        .collect()
}

/// Builds the six phases, with CPU and disk usage.
fn describe_phases(trace: &Trace, path: &MainPath, post_boot: &Settling) -> Vec<Phase> {
    let settled = Boundary {
        time_ns: post_boot.end_ns,
        rule: post_boot.rule.clone(),
        event: match post_boot.cpu_source {
            CpuSource::ContextSwitches => "context switches and disk requests".to_owned(),
            CpuSource::Samples => "profile samples and disk requests".to_owned(),
            CpuSource::None => String::new(),
        },
        certainty: post_boot.certainty,
        unmatched_rules: post_boot.unmatched_rules.clone(),
    };
    let last_event = Boundary {
        time_ns: Some(trace.duration_ns),
        rule: Rule::LastEvent,
        event: String::new(),
        certainty: Certainty::Measured,
        unmatched_rules: Vec::new(),
    };
    let boundaries = |name: PhaseName| match name {
        PhaseName::PostBoot => (&path.desktop_ready, &settled),
        PhaseName::TraceTail => (&settled, &last_event),
        _ => path.boundaries(name).unwrap_or((&settled, &settled)),
    };
    let mut tables = BOUNDARY_TABLES.to_vec();
    let boundary_losses = affecting_losses(trace, &tables);
    tables.extend([TableName::DiskIos]);
    tables.extend(cpu::source(trace).tables());
    let settling_losses = affecting_losses(trace, &tables);

    // Event logs go on for the whole session, so there is no tail of a recording.
    let has_tail = trace.channels.is_empty();
    let mut phases: Vec<Phase> = PhaseName::WINDOWS_BOOT
        .into_iter()
        .filter(|&name| has_tail || name != PhaseName::TraceTail)
        .map(|name| {
            let (start, end) = boundaries(name);
            let phase = Phase::from_boundaries(name, start, end);
            // A PostBoot phase that did not end in the recording is described up to the end of the recording.
            let phase = if name == PhaseName::PostBoot { phase.recorded_until(trace.duration_ns) } else { phase };
            let affecting_losses = match name {
                PhaseName::PostBoot | PhaseName::TraceTail => settling_losses.clone(),
                _ => boundary_losses.clone(),
            };
            Phase { affecting_losses, ..phase }
        })
        .collect();
    usage::fill(trace, &mut phases);
    phases
}

/// Returns the kind of boot reported by the boot manager.
fn variant(trace: &Trace) -> Variant {
    match onoff_firmware_times::before_kernel::value(trace, onoff_trace::milestone::BOOT_TYPE) {
        Some((0, _)) => Variant::Cold,
        Some((1, _)) => Variant::FastStartup,
        Some((2, _)) => Variant::Resume,
        _ => Variant::Unknown,
    }
}
