//! A recording that started after the boot.

use onoff_evidence::rule::Rule;
use onoff_transitions::PhaseName;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A recording of a boot that started when the session manager (smss.exe) was already running.
    ///
    /// # Why it costs time
    /// It costs no time, but the phases before the start are not known, and neither is the length of the boot. What
    /// took long before the start is not found.
    ///
    /// # Evidence needed
    /// The processes that were running when the recording started.
    ///
    /// # What to do
    /// Record from the start of the kernel: with an autologger, as `onoff record boot` sets it up, or with `xbootmgr`.
    ///
    /// # When it is wrong
    /// A recording of a running system is no recording of a boot.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Boot Phases": the boot starts with the kernel.
    "recording/started-late", "a recording that started after the boot", BootCaveat(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let phases = &facts.report.phases;
    if !phases.iter().any(|phase| phase.starts.rule == Rule::RecordingStartedTooLate) {
        return Ok(Vec::new());
    }
    let before_desktop = phases.iter().filter(|phase| phase.name < PhaseName::PostBoot);
    let unknown: Vec<&str> =
        before_desktop.filter(|phase| phase.duration_ns.is_none()).map(|phase| phase.name.as_str()).collect();
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Recording, "start"),
            "the recording started after the boot had begun, so the length of the boot is not known",
        )
        .evidence(0, "smss.exe was already running when the recording started")
        .evidence(None, format!("phases whose length is not known: {}", unknown.join(", ")))
        .advice("record from the start of the kernel: 'onoff record boot'"),
    ])
}
