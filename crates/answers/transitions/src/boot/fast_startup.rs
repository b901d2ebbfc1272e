//! Describes the boot half of a fast startup: the user's new session on a kernel restored from a memory image.

use onoff_trace::{SystemKind, Trace, milestone};

use super::{BeforeKernel, BootOptions, BootReport, EarlierTime, TrainingState, WindowsBoot, session, startup};
use crate::suspend::PowerTransition;
use crate::{Phase, PhaseName, SuspendStage, TransitionKind, Variant, losses_affecting};
use onoff_evidence::activity::NamedActivity;
use onoff_evidence::missing_evidence;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, DerivedInterval, affecting_losses};
use onoff_firmware_times::before_kernel::value;
use onoff_trace::TableName;
use onoff_usage::processes;
use onoff_usage::units;

/// Describes the new session of `transition` as a boot: phases, logon, policy, service starts and startup programs
/// after the computer woke up. Work restored from the memory image is excluded. Returns `None` if `transition` is not a
/// fast startup or its resume was not recorded.
#[must_use]
pub fn fast_startup(trace: &Trace, transition: &PowerTransition, options: &BootOptions) -> Option<BootReport> {
    let awake_ns = transition.details.resume.measured.start_ns?;
    if transition.variant != Variant::FastStartup {
        return None;
    }
    let is_new_session = |phase: &&Phase| phase.half == Some(SuspendStage::After) && phase.start_ns.is_some();
    let phases: Vec<Phase> = transition.phases.iter().filter(is_new_session).cloned().collect();
    if phases.is_empty() {
        return None;
    }
    let desktop = phases.iter().find(|phase| phase.name == PhaseName::ExplorerInit);
    let desktop_ns = desktop.and_then(|phase| phase.end_ns);
    let retain_new = |activities: &mut Vec<NamedActivity>| {
        activities.retain(|activity| activity.start_ns >= awake_ns);
    };
    let mut logon = session::logon(trace, &options.shell, (awake_ns, desktop_ns));
    for activities in [
        &mut logon.welcome_screens,
        &mut logon.credential_requests,
        &mut logon.authentications,
        &mut logon.user_profiles,
        &mut logon.notification_subscribers,
    ] {
        retain_new(activities);
    }
    let mut group_policy = session::group_policy(trace);
    for activities in [
        &mut group_policy.applications,
        &mut group_policy.extensions,
        &mut group_policy.scripts,
        &mut group_policy.network_waits,
    ] {
        retain_new(activities);
    }
    let mut startup_applications = startup::startup_applications(trace, &phases);
    startup_applications.programs.retain(|program| program.start_ns >= awake_ns);
    retain_new(&mut startup_applications.lists);
    let mut units = units::units(trace);
    units.retain(|unit| unit.start_ns >= awake_ns);
    let (processes, process_summary) = processes::process_lifetimes(trace, &options.expected_processes);
    let user_input = value(trace, milestone::RESUME_USER_TIME).filter(|&(ns, _)| ns > 0);
    let firmware = transition.phase(PhaseName::BiosInit).filter(|phase| phase.duration_ns.is_some());
    let before_kernel = BeforeKernel {
        firmware: firmware.map_or_else(EarlierTime::default, |phase| EarlierTime {
            duration_ns: phase.duration_ns,
            rule: phase.ends.rule.clone(),
            event: phase.ends.event.clone(),
            certainty: phase.certainty,
        }),
        user_input: user_input.map_or_else(EarlierTime::default, |(ns, row)| EarlierTime {
            duration_ns: Some(ns),
            rule: Rule::KernelRecordsUserInputAtResumeLoader,
            event: trace.text(row.event).to_owned(),
            certainty: Certainty::Measured,
        }),
        ..BeforeKernel::default()
    };
    let details = WindowsBoot {
        total_with_idle_ns: None,
        total_with_loader_ns: None,
        total_from_reset_ns: None,
        os_loader_ns: None,
        before_kernel,
        axis: None,
        main_path_boot: DerivedInterval {
            start_ns: Some(awake_ns),
            end_ns: desktop_ns,
            duration_ns: desktop_ns.map(|end| end.saturating_sub(awake_ns)),
            rule: Rule::FromMemoryImageToDesktop,
            certainty: desktop.map_or(Certainty::Missing, |phase| phase.certainty),
            ..DerivedInterval::default()
        },
        auto_start: DerivedInterval::default(),
        service_groups: Vec::new(),
        losses_affecting_units: affecting_losses(trace, &[TableName::ServiceTransitions]),
        device_phases: Vec::new(),
        drivers: Vec::new(),
        device_totals: Vec::new(),
        devices: Vec::new(),
        losses_affecting_devices: Vec::new(),
        group_policy,
        logon,
        video: super::VideoInitialization::default(),
        windows_account: None,
        reported_delays: Vec::new(),
        channels: trace.channels.clone(),
        changes: None,
        failed_services: Vec::new(),
        later_service_failures: 0,
        account_comparison: None,
        startup_applications,
        read_ahead: super::ReadAhead {
            training_count: None,
            state: TrainingState::Unknown,
            work: Vec::new(),
            event: String::new(),
        },
        processes,
        process_summary,
        losses_affecting_processes: affecting_losses(trace, &[TableName::Processes]),
    };
    Some(BootReport {
        system: SystemKind::Windows,
        kind: TransitionKind::Boot,
        variant: Variant::FastStartup,
        number: transition.number,
        start_ns: Some(awake_ns),
        end_ns: transition.settling.as_ref().and_then(|settling| settling.end_ns),
        total_ns: transition.details.resume.whole_ns,
        total_at_least_ns: transition.details.resume.at_least_ns,
        total_certainty: transition.details.resume.measured.certainty,
        user_input_ns: transition.user_input_ns,
        affecting_losses: losses_affecting(&phases),
        settling: transition.settling.clone(),
        phases,
        units,
        missing_evidence: missing_evidence::for_boot(trace),
        losses: trace.losses.clone(),
        culprits: Vec::new(),
        fix_first: None,
        details,
    })
}
