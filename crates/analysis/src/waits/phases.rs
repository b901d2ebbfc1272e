//! The phases of the transitions that a recording holds, as stretches whose critical path can be asked for.

use onoff_trace::{ActivityKind, SystemKind, Trace, milestone};

use crate::interval::Interval;
use crate::transition::TransitionKind;
use crate::transition::boot::{self, BootOptions};
use crate::transition::linux::shutdown as shutdown_of_linux;
use crate::transition::shutdown::{self, ShutdownOptions};
use crate::transition::suspend::{self, SuspendOptions};

/// A phase of a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionPhase {
    /// Of which transition.
    pub transition: TransitionKind,
    /// The phase's name, as the transition's own report has it.
    pub name: String,
    /// When it was. Phases may overlap.
    pub range: Interval,
}

/// The phases of `kind` in `trace`, or of all kinds: those whose ends are both known. The rest of the recording after a
/// boot is none.
#[must_use]
pub fn phases(trace: &Trace, kind: Option<TransitionKind>) -> Vec<TransitionPhase> {
    TransitionKind::ALL
        .into_iter()
        .filter(|&each| kind.is_none_or(|kind| kind == each))
        .flat_map(|kind| match kind {
            _ if trace.system.kind == SystemKind::Linux => linux(trace, kind),
            TransitionKind::Boot => boot_phases(trace),
            TransitionKind::Shutdown => shutdown_phases(trace),
            TransitionKind::Suspend => suspend_phases(trace),
        })
        .collect()
}

fn phase(
    transition: TransitionKind,
    name: &str,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
) -> Option<TransitionPhase> {
    let (start_ns, end_ns) = (start_ns?, end_ns?);
    (start_ns < end_ns).then(|| TransitionPhase {
        transition,
        name: name.to_owned(),
        range: Interval::new(start_ns, end_ns),
    })
}

fn boot_phases(trace: &Trace) -> Vec<TransitionPhase> {
    boot::spans(trace, &BootOptions::default())
        .into_iter()
        .filter_map(|(name, start, end)| phase(TransitionKind::Boot, name.as_str(), start, end))
        .collect()
}

fn shutdown_phases(trace: &Trace) -> Vec<TransitionPhase> {
    let Ok(report) = shutdown::analyse(trace, &ShutdownOptions::default()) else {
        return Vec::new();
    };
    report
        .phases
        .iter()
        .filter_map(|row| phase(TransitionKind::Shutdown, row.name.as_str(), row.start_ns, row.end_ns))
        .collect()
}

fn suspend_phases(trace: &Trace) -> Vec<TransitionPhase> {
    let Ok(report) = suspend::analyse(trace, &SuspendOptions::default()) else {
        return Vec::new();
    };
    report
        .transitions
        .iter()
        .flat_map(|transition| &transition.phases)
        .filter_map(|row| phase(TransitionKind::Suspend, row.name.as_str(), row.start_ns, row.end_ns))
        .collect()
}

/// The phases of a Linux boot with the names that the report of a boot gives them.
const LINUX_BOOT: [(&str, &str, &[&str]); 3] = [
    ("kernel", milestone::KERNEL_BEGIN, &[milestone::INITRD_BEGIN, milestone::USER_SPACE_BEGIN]),
    ("initrd", milestone::INITRD_BEGIN, &[milestone::USER_SPACE_BEGIN]),
    ("user_space", milestone::USER_SPACE_BEGIN, &[milestone::STARTUP_FINISHED]),
];

fn linux(trace: &Trace, kind: TransitionKind) -> Vec<TransitionPhase> {
    let at = |name: &str| trace.milestones.iter().find(|row| trace.text(row.name) == name).map(|row| row.time_ns);
    let wanted = match kind {
        TransitionKind::Boot => {
            return LINUX_BOOT
                .iter()
                .filter_map(|&(name, begin, ends)| {
                    let end = ends.iter().find_map(|end| at(end));
                    phase(kind, name, at(begin), end)
                })
                .collect();
        }
        TransitionKind::Shutdown => {
            let report = shutdown_of_linux::analyse(trace);
            return report.map_or_else(
                |_| Vec::new(),
                |report| {
                    let phases = report.phases.iter();
                    phases.filter_map(|row| phase(kind, row.name.as_str(), row.start_ns, row.end_ns)).collect()
                },
            );
        }
        TransitionKind::Suspend => ActivityKind::PowerPhase,
    };
    trace
        .activities
        .iter()
        .filter(|row| row.kind == wanted)
        .filter_map(|row| phase(kind, trace.text(row.name), Some(row.start_ns), row.end_ns))
        .collect()
}
