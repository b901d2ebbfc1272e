//! Finds the ends of the phases, each by the best rule that matches.

use crate::PhaseName;
use onoff_trace::{DeviceOperationKind, Milestone, Trace, milestone};
use onoff_usage::units::declared_order::first_milestone;

use super::report::DefaultTarget;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// The boundaries between the parts of a boot; each boundary starts the part it is named after.
#[derive(Clone, Debug)]
pub(super) struct BootBoundaries {
    pub(super) firmware: Boundary,
    pub(super) loader: Boundary,
    pub(super) kernel: Boundary,
    /// `None` without an initramfs that runs a service manager.
    pub(super) initrd: Option<Boundary>,
    /// Start of the initramfs program, if that is not a service manager: part of the kernel phase.
    pub(super) init_program: Option<Boundary>,
    pub(super) user_space: Boundary,
    pub(super) finished: Boundary,
}

impl BootBoundaries {
    /// Returns start and end of a phase up to the end of the boot.
    pub(super) fn phase(&self, name: PhaseName) -> Option<(&Boundary, &Boundary)> {
        Some(match name {
            PhaseName::Firmware => (&self.firmware, &self.loader),
            PhaseName::Loader => (&self.loader, &self.kernel),
            PhaseName::Kernel => {
                let end = self.initrd.as_ref().unwrap_or(&self.user_space);
                (&self.kernel, end)
            }
            PhaseName::Initrd => (self.initrd.as_ref()?, &self.user_space),
            PhaseName::UserSpace => (&self.user_space, &self.finished),
            _ => return None,
        })
    }

    /// Returns the earliest known start, in ns.
    pub(super) fn start_ns(&self) -> i64 {
        [&self.firmware, &self.loader].into_iter().find_map(|boundary| boundary.time_ns).unwrap_or(0)
    }
}

/// Finds the boundaries of the boot.
pub(super) fn boundaries(trace: &Trace, target: Option<&DefaultTarget>) -> BootBoundaries {
    let boundary_at = |name: &str, rule: Rule| match first_milestone(trace, name) {
        Some(row) => boundary(trace, &row, rule),
        None => missing(rule),
    };
    let user_space = match first_milestone(trace, milestone::USER_SPACE_BEGIN) {
        Some(row) => boundary(trace, &row, Rule::ServiceManagerStarts),
        None => user_space_from_initcalls(trace),
    };
    let initrd_row = first_milestone(trace, milestone::INITRD_BEGIN);
    // The kernel log shows every initramfs program; the service manager reports only itself.
    let (init_program, initrd) = match initrd_row {
        Some(row) if user_space.certainty == Certainty::Measured && is_kernel_log(trace, &row) => {
            let rule = Rule::InitramfsProgramStarts;
            (Some(boundary(trace, &row, rule)), None)
        }
        Some(row) => {
            let rule = Rule::InitramfsServiceManagerStarts;
            (None, Some(boundary(trace, &row, rule)))
        }
        None => (None, None),
    };
    let finished = match first_milestone(trace, milestone::STARTUP_FINISHED) {
        Some(row) => boundary(trace, &row, Rule::StartJobsDone),
        None => Boundary {
            time_ns: target.map(|target| target.reached_ns),
            rule: target.map_or(Rule::None, |target| Rule::UnitReached { unit: target.unit.clone() }),
            certainty: match target {
                Some(_) => Certainty::Inferred,
                None => Certainty::Missing,
            },
            unmatched_rules: vec![Rule::StartFinished],
            ..Boundary::default()
        },
    };
    BootBoundaries {
        firmware: boundary_at(milestone::FIRMWARE, Rule::FirmwareStarts),
        loader: boundary_at(milestone::BOOT_MANAGER, Rule::LoaderStarts),
        // If times count from the start of user space, the kernel start is unknown.
        kernel: if user_space.time_ns == Some(0) || is_start_unknown(trace) {
            missing(Rule::KernelClockStarts)
        } else {
            Boundary {
                time_ns: Some(0),
                rule: Rule::KernelClockStarts,
                event: String::new(),
                certainty: Certainty::Measured,
                unmatched_rules: Vec::new(),
            }
        },
        initrd,
        init_program,
        user_space,
        finished,
    }
}

/// True if times count from the first line of a log that does not show the start of the kernel or of user space.
pub(super) fn is_start_unknown(trace: &Trace) -> bool {
    let starts = [milestone::KERNEL_BEGIN, milestone::USER_SPACE_BEGIN, milestone::INITRD_BEGIN];
    let is_relative = |event: &str| {
        [milestone::WALL_CLOCK_EVENT, milestone::NO_TIME_EVENT].iter().any(|name| event.starts_with(name))
    };
    let mut units = trace.service_transitions.iter().peekable();
    units.peek().is_some()
        && units.all(|row| is_relative(trace.text(row.event)))
        && starts.iter().all(|name| first_milestone(trace, name).is_none())
        && trace.device_operations.is_empty()
}

fn is_kernel_log(trace: &Trace, row: &Milestone) -> bool {
    trace.text(row.event).starts_with("kernel log")
}

/// Derives the start of user space from the end of the kernel's own initialization, for recordings without messages of
/// the service manager. They must go on after it: a log may end within the initialization.
fn user_space_from_initcalls(trace: &Trace) -> Boundary {
    let better_rule = Rule::ServiceManagerStarts;
    let last_initcall = trace
        .device_operations
        .iter()
        .filter(|row| row.kind == DeviceOperationKind::Initcall)
        // Modules have initcalls too; the kernel's own initcalls run on thread 1 and end before the first program
        // starts.
        .filter(|row| row.tid.is_none_or(|tid| tid == 1))
        .filter_map(|row| Some((row.end_ns?, row.event)))
        .max_by_key(|&(end_ns, _)| end_ns);
    match last_initcall.filter(|&(time_ns, _)| has_programs_after(trace, time_ns)) {
        Some((time_ns, event)) => Boundary {
            time_ns: Some(time_ns),
            rule: Rule::LastInitcallEnds,
            event: trace.text(event).to_owned(),
            certainty: Certainty::Inferred,
            unmatched_rules: vec![better_rule],
        },
        None => missing(better_rule),
    }
}

/// True if the recording shows a unit, a program or a module that started after `time_ns`.
fn has_programs_after(trace: &Trace, time_ns: i64) -> bool {
    trace.service_transitions.iter().any(|row| row.start_ns > time_ns)
        || trace.processes.iter().any(|row| row.start_ns.is_some_and(|start_ns| start_ns > time_ns))
        || trace.device_operations.iter().any(|row| row.start_ns > time_ns && row.tid.is_some_and(|tid| tid != 1))
}

/// Returns the default target if it was reached: the target that the service manager reported, otherwise the highest
/// standard target that was reached during the boot. Other targets do not count: if the boot hung, the last target
/// reached is not its end.
pub(super) fn default_target(trace: &Trace) -> Option<DefaultTarget> {
    let reached_name = trace.strings.find(milestone::TARGET_REACHED)?;
    let finished_ns = first_milestone(trace, milestone::STARTUP_FINISHED).map(|row| row.time_ns);
    let targets: Vec<(i64, &str)> = trace
        .milestones
        .iter()
        .filter(|row| row.name == reached_name)
        .filter(|row| finished_ns.is_none_or(|finished| row.time_ns <= finished))
        .map(|row| (row.time_ns, trace.text(row.detail)))
        .collect();
    let reported = first_milestone(trace, milestone::STARTUP_FINISHED)
        .map(|row| trace.text(row.detail))
        .filter(|unit| !unit.is_empty());
    let find_target = |unit: &str| targets.iter().copied().find(|&(_, name)| name == unit);
    let target_and_rule =
        reported.and_then(find_target).map(|target| (target, Rule::DefaultTargetIsAlias)).or_else(|| {
            ["graphical.target", "multi-user.target"]
                .into_iter()
                .find_map(find_target)
                .map(|target| (target, Rule::HighestStandardTarget))
        });
    let ((reached_ns, unit), rule) = target_and_rule?;
    let user_space_ns = first_milestone(trace, milestone::USER_SPACE_BEGIN).map(|row| row.time_ns);
    Some(DefaultTarget {
        unit: unit.to_owned(),
        reached_ns,
        in_user_space_ns: user_space_ns.map(|start| reached_ns.saturating_sub(start)),
        rule,
    })
}

pub(super) fn boundary(trace: &Trace, row: &Milestone, rule: Rule) -> Boundary {
    Boundary {
        time_ns: Some(row.time_ns),
        rule,
        event: trace.text(row.event).to_owned(),
        certainty: Certainty::Measured,
        unmatched_rules: Vec::new(),
    }
}

pub(super) fn missing(rule: Rule) -> Boundary {
    Boundary { unmatched_rules: vec![rule], ..Boundary::default() }
}
