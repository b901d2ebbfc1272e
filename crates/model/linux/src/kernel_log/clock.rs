//! Pairs the log's clock (`sched_clock`) with the axis by steps that are in both the log and the trace.

use hashbrown::HashMap;
use onoff_trace::{ActivityKind, DeviceOperationKind, power_phase};

use super::{Messages, function_and_module};
use crate::assembly::Assembly;
use crate::clocks::{ClockPairs, Evidence, SourceClock};

/// Adds a pair for every initialization function and every suspend phase that both the log and the trace have.
pub(crate) fn add_pairs(messages: &Messages, assembly: &Assembly, pairs: &mut ClockPairs) {
    let mut call_times: HashMap<&str, Option<i64>> = HashMap::new();
    let mut phases: HashMap<&str, Vec<i64>> = HashMap::new();
    for message in messages.iter() {
        if let Some(call) = message.text.strip_prefix("calling  ") {
            let (function, module) = function_and_module(call);
            // The trace does not have the functions of modules, and a name that occurs twice is ambiguous.
            if module.is_empty() {
                call_times.entry(function).and_modify(|time| *time = None).or_insert(Some(message.time_ns));
            }
        } else if let Some(phase) = super::power::finished_phase(&message.text) {
            phases.entry(phase.name).or_default().push(message.time_ns);
        }
    }
    const INITCALLS: &str = "initialization functions in the trace and in the log";
    for row in &assembly.device_operations {
        if row.kind == DeviceOperationKind::Initcall
            && row.description.is_empty()
            && let Some(Some(time_ns)) = call_times.get(assembly.texts.get(row.driver))
        {
            pairs.add(SourceClock::KernelLog, Evidence::SameStep, INITCALLS, *time_ns, row.start_ns);
        }
    }
    const PHASES: &str = "phases of suspend in the trace and in the log";
    for name in [
        power_phase::DEVICES_SUSPEND,
        power_phase::DEVICES_SUSPEND_LATE,
        power_phase::DEVICES_SUSPEND_NOIRQ,
        power_phase::DEVICES_RESUME_NOIRQ,
        power_phase::DEVICES_RESUME_EARLY,
        power_phase::DEVICES_RESUME,
    ] {
        let traced: Vec<i64> = assembly
            .activities
            .iter()
            .filter(|row| row.kind == ActivityKind::PowerPhase)
            .filter(|row| assembly.texts.get(row.name) == name)
            .filter_map(|row| row.end_ns)
            .collect();
        let logged = phases.get(name).map_or(&[][..], Vec::as_slice);
        // If the counts differ, the phases cannot be matched.
        if traced.len() == logged.len() {
            for (&log_ns, axis_ns) in logged.iter().zip(traced) {
                pairs.add(SourceClock::KernelLog, Evidence::SameStep, PHASES, log_ns, axis_ns);
            }
        }
    }
}
