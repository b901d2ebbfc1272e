//! Helpers for the rules about deferred procedure calls.

use onoff_evidence::Scope;
use onoff_lists::interrupts::{InterruptGroup, list};
use onoff_trace::{InterruptKind, Trace};

use super::prelude::*;
use crate::context::require_interrupts;

/// Returns findings for modules with long deferred procedure calls in `window`.
pub(super) fn long_calls(trace: &Trace, window: Interval) -> Outcome {
    require_interrupts(trace)?;
    let Some(scope) = Scope::between(trace, window.0, window.1) else { return Ok(Vec::new()) };
    let rows = list(trace, &scope, &[InterruptGroup::Module, InterruptGroup::Routine]).rows;
    let mut findings = Vec::new();
    for row in rows {
        if row.kind == InterruptKind::Interrupt || row.longest_ns < thresholds::DPC_NS {
            continue;
        }
        let address = u64::from_str_radix(row.routine.trim_start_matches("0x"), 16).ok();
        let intervals: Vec<Interval> = trace
            .interrupts
            .iter()
            .filter(|call| {
                Some(call.routine) == address
                    && call.kind == row.kind
                    && call.end_ns.saturating_sub(call.start_ns) >= thresholds::DPC_NS
            })
            .map(|call| (call.start_ns, call.end_ns))
            .collect();
        let module = match row.module.as_str() {
            "" => row.routine.as_str(),
            module => module,
        };
        findings.push(
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Driver, module),
                format!("deferred procedure calls of {module} blocked a CPU for up to {}", time(row.longest_ns)),
            )
            .evidence(
                row.longest_start_ns,
                format!("longest: {}; {} of at least 10 ms", time(row.longest_ns), counted(intervals.len(), "call")),
            )
            .cost(Cost::at_most(covered_ns(intervals, window)))
            .advice("look for a newer driver that moves this work to a thread"),
        );
    }
    Ok(findings)
}
