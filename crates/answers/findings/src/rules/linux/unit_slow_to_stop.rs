//! Units that a shutdown waits for.

use onoff_transitions::linux::shutdown::LinuxShutdownReport;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that takes 1 s or more to stop, or that is killed when its time-out is over.
    ///
    /// # Why it costs time
    /// The computer goes off when every unit has stopped; what is ordered before it stops only after it.
    ///
    /// # Evidence needed
    /// Stops of units: the journal of the boot that ended, kept over the shutdown.
    ///
    /// # What to do
    /// See what it does when it is asked to stop (`journalctl -b -1 -u UNIT`): end on SIGTERM, mend its ExecStop, or give it a shorter
    /// `TimeoutStopSec`.
    ///
    /// # When it is wrong
    /// Units stop side by side: one that is not on the path to the end costs less than its length. Such a cost is an upper bound.
    ///
    /// # Source
    /// systemd.service(5), `TimeoutStopSec`; the limit is onoff's.
    "linux/unit-slow-to-stop", "units that a shutdown waits for", LinuxShutdown(check)
}

fn check(report: &LinuxShutdownReport) -> Outcome {
    if report.units.is_empty() {
        return Err(lacks_other("when each unit was asked to stop and did"));
    }
    Ok(report
        .units
        .iter()
        .filter(|unit| !unit.name.ends_with(".target"))
        .filter_map(|unit| {
            let (end, length) = unit.end_ns.zip(unit.duration_ns)?;
            // Rows of a broken recording may end before they begin.
            if length < 0 {
                return None;
            }
            if length < thresholds::SERVICE_STOP_NS && unit.time_out.is_none() {
                return None;
            }
            let on_path = report.details.path.iter().find(|step| step.name == unit.name);
            let title = if unit.time_out.is_some() {
                format!("{} does not stop; it is killed after {}", unit.name, time(length))
            } else {
                format!("{} takes {} to stop", unit.name, time(length))
            };
            let mut finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, unit.name.clone())
                    .with_pid(unit.pid),
                title,
            )
            .costs(match on_path {
                Some(step) => Cost::on_path(step.duration_ns),
                None => Cost::at_most(length),
            })
            .certain(on_path.map_or(Certainty::Measured, |step| step.certainty))
            .because(unit.start_ns, format!("{} is asked to stop ({})", unit.name, unit.event))
            .because(end, format!("it has stopped, {} later", time(length)))
            .advise(format!(
                "see what it does when it is asked to stop ('journalctl -b -1 -u {}'): end on SIGTERM, mend its ExecStop, or give it a \
                 shorter TimeoutStopSec",
                unit.name
            ));
            for process in unit.processes.iter().take(2) {
                finding = finding.because(
                    process.end_ns,
                    format!("its process {} ({}) ends", process.image, process.pid),
                );
            }
            Some(finding)
        })
        .collect())
}
