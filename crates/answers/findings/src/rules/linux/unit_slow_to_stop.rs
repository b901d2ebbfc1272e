//! Units that delay a shutdown.

use onoff_transitions::linux::shutdown::LinuxShutdownReport;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that takes 5 % of the shutdown or more (at least 300 ms, at most 1 s) to stop, or that is killed after its timeout.
    ///
    /// # Why it costs time
    /// The computer powers off only after every unit has stopped, and units are stopped in reverse order of their
    /// start.
    ///
    /// # Evidence needed
    /// Unit stops: the journal of the boot that ended, kept across the shutdown.
    ///
    /// # What to do
    /// Find out what it does when asked to stop (`journalctl -b -1 -u UNIT`): have it exit on SIGTERM, fix its
    /// ExecStop, or shorten `TimeoutStopSec`.
    ///
    /// # When it is wrong
    /// Units stop in parallel: a unit off the critical path costs less than its duration, so its cost is an upper
    /// bound.
    ///
    /// # Source
    /// systemd.service(5), `TimeoutStopSec`; the threshold is onoff's.
    "linux/unit-slow-to-stop", "units that delay a shutdown", LinuxShutdown(check)
}

fn check(report: &LinuxShutdownReport) -> Outcome {
    if report.units.is_empty() {
        return Err(missing_input("unit stop times"));
    }
    Ok(report
        .units
        .iter()
        .filter(|unit| !unit.name.ends_with(".target"))
        .filter_map(|unit| {
            let (end, length) = unit.end_ns.zip(unit.duration_ns)?;
            // In a corrupt recording, rows may end before they start.
            if length < 0 {
                return None;
            }
            if length < report.min_cause_ns() && unit.time_out.is_none() {
                return None;
            }
            let path_step = report.details.path.iter().find(|step| step.name == unit.name);
            let title = if unit.time_out.is_some() {
                format!("{} did not stop; systemd killed it after {}", unit.name, time(length))
            } else {
                format!("{} took {} to stop", unit.name, time(length))
            };
            let mut finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, unit.name.clone())
                    .with_pid(unit.pid),
                title,
            )
            .cost(match path_step {
                Some(step) => Cost::on_path(step.duration_ns),
                None => Cost::at_most(length),
            })
            .certainty(path_step.map_or(Certainty::Measured, |step| step.certainty))
            .evidence(unit.start_ns, format!("stop of {} requested ({})", unit.name, unit.event))
            .evidence(end, format!("stopped {} later", time(length)))
            .advice(format!(
                "find out what it does when asked to stop ('journalctl -b -1 -u {}'): have it exit on SIGTERM, fix its ExecStop, or \
                 shorten its TimeoutStopSec",
                unit.name
            ));
            for process in unit.processes.iter().take(2) {
                finding = finding.evidence(
                    process.end_ns,
                    format!("its process {} ({}) exited", process.image, process.pid),
                );
            }
            Some(finding)
        })
        .collect())
}
