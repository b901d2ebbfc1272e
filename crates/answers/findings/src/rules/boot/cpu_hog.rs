//! Processes that compute through a whole phase.

use super::antivirus::is_antivirus;
use crate::rules::prelude::*;
use crate::shell_argument::argument;
use onoff_transitions::PhaseName;

rule! {
    /// # What it finds
    /// A process that keeps at least 60 % of one processor busy throughout a phase before the desktop, for 2 s or more.
    ///
    /// # Why it costs time
    /// Either the boot waits for what it computes, or it takes a processor from those that the boot waits for.
    ///
    /// # Evidence needed
    /// Processor times by process: the kernel's flag CSWITCH, or samples for an estimate.
    ///
    /// # What to do
    /// See what it computes (`onoff cpu FILE --by module`, stacks of samples). Have it start later, do less, or run at a lower priority.
    ///
    /// # When it is wrong
    /// A shell that computes while it starts, within the usual length of its phase, is not named. With idle processors and nobody who waits for it, it costs nothing: without the chain of waits the cost is an upper bound.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Identifying Applications That Consume Significant CPU Time"; the limits are onoff's.
    "boot/cpu-hog", "processes that compute through a whole phase", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs_processors()?;
    let mut findings: Vec<RuleFinding> = Vec::new();
    for name in PhaseName::WINDOWS_BOOT {
        if name >= PhaseName::PostBoot {
            break;
        }
        let Some((phase, (start, end))) = facts.phase(name) else { continue };
        let Some(cpu) = &phase.cpu else { continue };
        let length = end.saturating_sub(start);
        for row in &cpu.by_process {
            let much = row.cpu_ns as f64 * 100.0 >= thresholds::HOG_PERCENT * length as f64;
            if !much
                || row.cpu_ns < thresholds::HOG_NS
                || row.image.is_empty()
                || (name == PhaseName::ExplorerInit && is_antivirus(&row.image))
                || (name == PhaseName::ExplorerInit && is_usual_shell(facts, &row.image, length))
            {
                continue;
            }
            findings.push(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Process, row.image.clone()).with_pid(row.pid),
                    format!(
                        "{} computes for {} of the {} that {} takes",
                        row.image,
                        time(row.cpu_ns),
                        time(length),
                        name.as_str()
                    ),
                )
                .costs(facts.process_cost(row.pid, (start, end), row.cpu_ns.min(length)))
                .certain(cpu.certainty)
                .because(
                    start,
                    format!(
                        "{} of processor time in {}; all processors together were {} idle",
                        time(row.cpu_ns),
                        name.as_str(),
                        time(cpu.idle_ns)
                    ),
                )
                .advise(format!(
                    "see which of its threads computes ('onoff cpu FILE --process {} --by thread'), and have it start later, do less \
                     or run at a lower priority",
                    argument(&row.image)
                )),
            );
        }
    }
    Ok(findings)
}

/// Whether it is the shell in a start of its own that is no longer than usual: that is bound by the processor everywhere.
fn is_usual_shell(facts: &BootFacts<'_>, image: &str, length_ns: i64) -> bool {
    let usual = thresholds::PHASE_LIMITS_NS
        .iter()
        .find(|(phase, _)| *phase == PhaseName::ExplorerInit.as_str())
        .is_some_and(|&(_, limit)| length_ns <= limit);
    usual && image.eq_ignore_ascii_case(facts.shell)
}
