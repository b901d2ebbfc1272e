//! Many programs that start with the session.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Ten or more programs that start with the session, or fewer that use 3 s or more of processors and disk in all.
    ///
    /// # Why it costs time
    /// They start when the desktop is there and a person wants to work; until they are done, the computer is not idle.
    ///
    /// # Evidence needed
    /// Starts from the Run keys: provider Microsoft-Windows-Shell-Core. Costs need processor times or disk requests by process.
    ///
    /// # What to do
    /// Remove what nobody needs from the Run keys and the Startup folder; have others start by a task with a delay.
    ///
    /// # When it is wrong
    /// Programs that start and sleep cost little however many there are.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PostBoot Performance Vulnerabilities"; the limits are onoff's.
    "boot/startup-applications", "many programs that start with the session", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Shell-Core")?;
    let programs = &facts.report.details.startup_applications.programs;
    let cost = |program: &onoff_transitions::boot::StartupApplication| {
        program.cpu_ns.unwrap_or(0).saturating_add(program.disk_service_ns.unwrap_or(0))
    };
    let total: i64 = programs.iter().map(cost).fold(0, i64::saturating_add);
    if programs.len() < thresholds::STARTUP_PROGRAMS && total < thresholds::STARTUP_NS {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = programs
        .iter()
        .map(|program| match program.image.as_str() {
            "" => file_name(&program.name),
            image => image,
        })
        .collect();
    let busy = facts.report.work_after_ns().unwrap_or(0);
    let known = programs.iter().any(|program| program.cpu_ns.is_some() || program.disk_service_ns.is_some());
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Process, listed(&names, 3)),
        format!(
            "{}, started with the session, used {} of processors and disk: {}",
            counted(programs.len(), "program"),
            time(total),
            listed(&names, 3)
        ),
    )
    .costs(if known {
        Cost::at_most(total.min(busy))
    } else {
        Cost::UNKNOWN
    })
    .advise("remove what nobody needs from the Run keys and the Startup folder, and have others start by a task with a delay");
    for program in programs.iter().take(5) {
        finding = finding.because(
            program.start_ns,
            format!(
                "{}: {} of processors, {} of disk",
                program.name,
                time(program.cpu_ns.unwrap_or(0)),
                time(program.disk_service_ns.unwrap_or(0))
            ),
        );
    }
    Ok(vec![finding])
}
