//! Processes that use the CPU throughout a phase.

use super::antivirus::is_antivirus;
use crate::rules::prelude::*;
use crate::shell_argument::quote_argument;
use onoff_transitions::PhaseName;

rule! {
    /// # What it finds
    /// A process that keeps one CPU at least 60 % busy throughout a phase before the desktop, for 2 s or more.
    ///
    /// # Why it costs time
    /// Either the boot waits for its result, or it takes CPU time from the threads the boot waits for.
    ///
    /// # Evidence needed
    /// CPU time per process: kernel flag CSWITCH, or samples for an estimate.
    ///
    /// # What to do
    /// Find out what it computes (`onoff cpu FILE --by module`, sampled stacks). Start it later, reduce its work, or
    /// lower its priority.
    ///
    /// # When it is wrong
    /// A shell that is busy during a start of normal length is not reported. If CPUs were idle and nothing waited for
    /// the process, it costs nothing; without a critical path, the cost is an upper bound.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Identifying Applications That Consume Significant CPU Time";
    /// the thresholds are onoff's.
    "boot/cpu-hog", "processes that use the CPU throughout a phase", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_cpu_times()?;
    let mut findings: Vec<RuleFinding> = Vec::new();
    for name in PhaseName::WINDOWS_BOOT {
        if name >= PhaseName::PostBoot {
            break;
        }
        let Some((phase, (start, end))) = facts.phase(name) else { continue };
        let Some(cpu) = &phase.cpu else { continue };
        let length = end.saturating_sub(start);
        for row in &cpu.by_process {
            let is_busy = row.cpu_ns as f64 * 100.0 >= thresholds::HOG_PERCENT * length as f64;
            if !is_busy
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
                        "{} used {} of CPU during the {} of {}",
                        row.image,
                        time(row.cpu_ns),
                        time(length),
                        name.as_str()
                    ),
                )
                .cost(facts.process_cost(row.pid, (start, end), row.cpu_ns.min(length)))
                .certainty(cpu.certainty)
                .evidence(
                    start,
                    format!(
                        "{} of CPU time during {}; all CPUs together were idle for {}",
                        time(row.cpu_ns),
                        name.as_str(),
                        time(cpu.idle_ns)
                    ),
                )
                .advice(format!(
                    "find the busy thread ('onoff cpu FILE --process {} --by thread'), then start the program later, reduce its work \
                     or lower its priority",
                    quote_argument(&row.image)
                )),
            );
        }
    }
    Ok(findings)
}

/// True for the shell during a start of normal length: shell startup is CPU-bound on every computer.
fn is_usual_shell(facts: &BootFacts<'_>, image: &str, length_ns: i64) -> bool {
    let is_usual_length = thresholds::PHASE_LIMITS_NS
        .iter()
        .find(|(phase, _)| *phase == PhaseName::ExplorerInit.as_str())
        .is_some_and(|&(_, limit)| length_ns <= limit);
    is_usual_length && image.eq_ignore_ascii_case(facts.shell)
}
