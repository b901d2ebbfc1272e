//! The ends of the phases, each by the best rule that finds one.

use crate::PhaseName;
use onoff_trace::{DeviceOperationKind, Milestone, Trace, milestone};
use onoff_usage::units::declared_order::first;

use super::report::DefaultTarget;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// What ends the parts of the start. Each is the start of the next.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub(super) firmware: Boundary,
    pub(super) loader: Boundary,
    pub(super) kernel: Boundary,
    /// `None` where there is no initial file system with a service manager.
    pub(super) initrd: Option<Boundary>,
    /// The kernel runs the initial file system's program, where that is no service manager: part of the kernel's phase.
    pub(super) init_program: Option<Boundary>,
    pub(super) user_space: Boundary,
    pub(super) finished: Boundary,
}

impl Course {
    /// Begin and end of a phase up to the end of the start.
    pub(super) fn ends(&self, name: PhaseName) -> Option<(&Boundary, &Boundary)> {
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

    /// The first begin that is known.
    pub(super) fn begin_ns(&self) -> i64 {
        [&self.firmware, &self.loader].into_iter().find_map(|boundary| boundary.time_ns).unwrap_or(0)
    }
}

/// What ends each part of the start.
pub(super) fn course(trace: &Trace, target: Option<&DefaultTarget>) -> Course {
    let at = |name: &str, rule: Rule| match first(trace, name) {
        Some(row) => boundary(trace, &row, rule),
        None => missing(rule),
    };
    let user_space = match first(trace, milestone::USER_SPACE_BEGIN) {
        Some(row) => boundary(trace, &row, Rule::ServiceManagerStarts),
        None => user_space_stand_in(trace),
    };
    let initrd_row = first(trace, milestone::INITRD_BEGIN);
    // The kernel's log tells every program of an initial file system, the service manager only itself.
    let (init_program, initrd) = match initrd_row {
        Some(row) if user_space.certainty == Certainty::Measured && is_kernel_log(trace, &row) => {
            let rule = Rule::InitialProgramRuns;
            (Some(boundary(trace, &row, rule)), None)
        }
        Some(row) => {
            let rule = Rule::InitialServiceManagerStarts;
            (None, Some(boundary(trace, &row, rule)))
        }
        None => (None, None),
    };
    let finished = match first(trace, milestone::STARTUP_FINISHED) {
        Some(row) => boundary(trace, &row, Rule::StartJobsDone),
        None => Boundary {
            time_ns: target.map(|target| target.reached_ns),
            rule: target.map_or(Rule::None, |target| Rule::UnitReached { unit: target.unit.clone() }),
            certainty: match target {
                Some(_) => Certainty::Inferred,
                None => Certainty::Missing,
            },
            missing: vec![Rule::StartFinished],
            ..Boundary::default()
        },
    };
    Course {
        firmware: at(milestone::FIRMWARE, Rule::FirmwareStarts),
        loader: at(milestone::BOOT_MANAGER, Rule::LoaderStarts),
        // A part whose times count from user space, and nothing else: then the kernel's start is not known.
        kernel: if user_space.time_ns == Some(0) {
            missing(Rule::KernelClockStarts)
        } else {
            Boundary {
                time_ns: Some(0),
                rule: Rule::KernelClockStarts,
                event: String::new(),
                certainty: Certainty::Measured,
                missing: Vec::new(),
            }
        },
        initrd,
        init_program,
        user_space,
        finished,
    }
}

fn is_kernel_log(trace: &Trace, row: &Milestone) -> bool {
    trace.text(row.event).starts_with("kernel log")
}

/// Without the service manager's own word: when the kernel's own initialization was over.
fn user_space_stand_in(trace: &Trace) -> Boundary {
    let wanted = Rule::ServiceManagerStarts;
    let last_initcall = trace
        .device_operations
        .iter()
        .filter(|row| row.kind == DeviceOperationKind::Initcall)
        // Modules have such functions too; what the kernel itself runs is over before the first program starts.
        .filter(|row| row.tid.is_none_or(|tid| tid == 1))
        .filter_map(|row| Some((row.end_ns?, row.event)))
        .max_by_key(|&(end_ns, _)| end_ns);
    match last_initcall {
        Some((time_ns, event)) => Boundary {
            time_ns: Some(time_ns),
            rule: Rule::LastInitcallEnds,
            event: trace.text(event).to_owned(),
            certainty: Certainty::Inferred,
            missing: vec![wanted],
        },
        None => missing(wanted),
    }
}

/// The target that the system is started for, once it is reached: the service manager's word, else the highest of the usual ones
/// that was reached while the system started. Any other target says nothing: of a start that hung, the last one is not its end.
pub(super) fn default_target(trace: &Trace) -> Option<DefaultTarget> {
    let reached = trace.strings.find(milestone::TARGET_REACHED)?;
    let finished_ns = first(trace, milestone::STARTUP_FINISHED).map(|row| row.time_ns);
    let targets: Vec<(i64, &str)> = trace
        .milestones
        .iter()
        .filter(|row| row.name == reached)
        .filter(|row| finished_ns.is_none_or(|finished| row.time_ns <= finished))
        .map(|row| (row.time_ns, trace.text(row.detail)))
        .collect();
    let told =
        first(trace, milestone::STARTUP_FINISHED).map(|row| trace.text(row.detail)).filter(|unit| !unit.is_empty());
    let named = |unit: &str| targets.iter().copied().find(|&(_, name)| name == unit);
    let found = told.and_then(named).map(|found| (found, Rule::DefaultTargetIsAlias)).or_else(|| {
        ["graphical.target", "multi-user.target"]
            .into_iter()
            .find_map(named)
            .map(|found| (found, Rule::HighestUsualTarget))
    });
    let ((reached_ns, unit), rule) = found?;
    let begin_ns = first(trace, milestone::USER_SPACE_BEGIN).map(|row| row.time_ns);
    Some(DefaultTarget {
        unit: unit.to_owned(),
        reached_ns,
        in_user_space_ns: begin_ns.map(|begin| reached_ns.saturating_sub(begin)),
        rule,
    })
}

pub(super) fn boundary(trace: &Trace, row: &Milestone, rule: Rule) -> Boundary {
    Boundary {
        time_ns: Some(row.time_ns),
        rule,
        event: trace.text(row.event).to_owned(),
        certainty: Certainty::Measured,
        missing: Vec::new(),
    }
}

pub(super) fn missing(rule: Rule) -> Boundary {
    Boundary { missing: vec![rule], ..Boundary::default() }
}
