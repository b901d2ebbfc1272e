//! A page file that is overwritten at every shutdown.

use onoff_trace::shutdown_step;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The kernel overwrites the page file with zeros.
    ///
    /// # Why it costs time
    /// The whole page file, typically gigabytes, is written before the computer powers off.
    ///
    /// # Evidence needed
    /// Kernel shutdown steps: provider Microsoft-Windows-Kernel-Power.
    ///
    /// # What to do
    /// Turn off the policy "Shutdown: Clear virtual memory pagefile" (`ClearPageFileAtShutdown`) if your security rules
    /// allow it; full-disk encryption protects the page file as well.
    ///
    /// # When it is wrong
    /// Security rules require it.
    ///
    /// # Source
    /// The kernel step of that name, and the Windows security policy that causes it.
    "shutdown/page-file-cleared", "a page file that is overwritten at shutdown", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Kernel-Power")?;
    Ok(facts
        .report
        .details.kernel_steps
        .iter()
        .filter(|step| step.name == shutdown_step::ZERO_PAGE_FILE)
        .filter_map(|step| {
            let (end, length) = step.end_ns.zip(step.duration_ns)?;
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Work, shutdown_step::ZERO_PAGE_FILE),
                    format!("overwriting the page file with zeros took {}", time(length)),
                )
                .cost(facts.cost((step.start_ns, end)))
                .evidence(step.start_ns, format!("kernel step started ({})", step.event))
                .advice("turn off ClearPageFileAtShutdown if your security rules allow it, or use full-disk encryption instead"),
            )
        })
        .collect())
}
