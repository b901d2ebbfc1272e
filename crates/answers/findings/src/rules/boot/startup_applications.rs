//! Too many startup programs.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Ten or more startup programs, or fewer that use 3 s or more of CPU and disk time in total.
    ///
    /// # Why it costs time
    /// They start when the desktop appears and the user wants to work. The computer is not idle until they are done.
    ///
    /// # Evidence needed
    /// Starts from the Run keys: provider Microsoft-Windows-Shell-Core. Costs also need CPU time or disk requests per
    /// process.
    ///
    /// # What to do
    /// Remove entries you do not need from the Run keys and the Startup folder; start the rest from a delayed task.
    ///
    /// # When it is wrong
    /// Programs that start and then sleep cost little, however many there are.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PostBoot Performance Vulnerabilities"; the thresholds are
    /// onoff's.
    "boot/startup-applications", "many or expensive startup programs", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Shell-Core")?;
    let programs = &facts.report.details.startup_applications.programs;
    let cost = |program: &onoff_transitions::boot::StartupApplication| {
        program.cpu_ns.unwrap_or(0).saturating_add(program.disk_service_ns.unwrap_or(0))
    };
    let total: i64 = programs.iter().map(cost).fold(0, i64::saturating_add);
    if programs.len() < thresholds::MIN_STARTUP_PROGRAMS && total < thresholds::STARTUP_NS {
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
    let has_costs = programs.iter().any(|program| program.cpu_ns.is_some() || program.disk_service_ns.is_some());
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Process, listed(&names, 3)),
        format!(
            "{} used {} of CPU and disk: {}",
            counted(programs.len(), "startup program"),
            time(total),
            listed(&names, 3)
        ),
    )
    .members(names.iter().copied())
    .cost(if has_costs { Cost::at_most(total.min(busy)) } else { Cost::UNKNOWN })
    .advice(
        "remove entries you do not need from the Run keys and the Startup folder; start the rest from a delayed task",
    );
    for program in programs.iter().take(5) {
        finding = finding.evidence(
            program.start_ns,
            format!(
                "{}: {} of CPU, {} of disk",
                program.name,
                time(program.cpu_ns.unwrap_or(0)),
                time(program.disk_service_ns.unwrap_or(0))
            ),
        );
    }
    Ok(vec![finding])
}
