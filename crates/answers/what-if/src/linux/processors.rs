//! Corrects a prediction by unit for the processors: others use what a removed unit leaves, and their work remains.

use onoff_trace::Trace;
use onoff_usage::cpu;

use super::graph::{UnitGraph, UnitNode};
use super::replay::{Effect, rounded};

/// Processor time in an interval, as time of all processors: half of it on two processors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Share {
    length_ns: f64,
    /// Processor time of the removed units, ns.
    removed_ns: f64,
    /// Processor time of everything else, ns; a lower bound without context switches.
    others_ns: f64,
    /// The most processor time of everything else, ns: without context switches, all that units used until they were
    /// asked.
    others_max_ns: f64,
}

impl Share {
    /// Returns `None` if the interval is empty or no processor time is known.
    fn new(trace: &Trace, graph: &UnitGraph, effect: &Effect, (start_ns, end_ns): (i64, i64)) -> Option<Self> {
        let length_ns = end_ns.checked_sub(start_ns).filter(|&ns| ns > 0)? as f64;
        let processors = f64::from(cpu::processors(trace));
        let sum = |is_removed: bool| {
            let nodes = graph.units().filter(move |&(index, _)| effect.removes(index) == is_removed);
            nodes.filter_map(|(_, node)| cpu_time(node, (start_ns, end_ns))).reduce(|a, b| a + b)
        };
        let limit = |ns: f64, max_ns: f64| (ns / processors).clamp(0.0, max_ns);
        let removed_ns = limit(sum(true).unwrap_or(0.0), length_ns);
        let rest_ns = length_ns - removed_ns;
        let (others_ns, others_max_ns) = match cpu::usage(trace, &[start_ns, end_ns]).first() {
            Some(usage) if !trace.context_switches.is_empty() && usage.unknown_ns == 0 => {
                let others_ns = limit(usage.busy_ns as f64 - removed_ns * processors, rest_ns);
                (others_ns, others_ns)
            }
            _ => {
                let others = graph.units().filter(|&(index, _)| !effect.removes(index));
                let most = others.filter_map(|(_, node)| most_cpu_time(node, (start_ns, end_ns), processors));
                let most = most.reduce(|a, b| a + b)?;
                let others_ns = limit(sum(false).unwrap_or(0.0), rest_ns);
                // If the recording ends soon after the boot, units used most of their time in it. Units that were asked
                // long after it do not limit what they used.
                let ends_soon = trace.duration_ns.saturating_sub(end_ns) as f64 <= length_ns;
                let is_bound = ends_soon || most / processors < rest_ns;
                (others_ns, if is_bound { limit(most, rest_ns).max(others_ns) } else { others_ns })
            }
        };
        Some(Self { length_ns, removed_ns, others_ns, others_max_ns })
    }
}

/// Returns the most processor time that a unit used in an interval, ns.
fn most_cpu_time(node: &UnitNode, (start_ns, end_ns): (i64, i64), processors: f64) -> Option<f64> {
    let time_ns = end_ns.saturating_sub(node.start_ns.max(start_ns));
    // A slice has the sum of its units.
    let cpu_max_ns = node.cpu_max_ns.filter(|_| time_ns > 0 && !node.name.ends_with(".slice"));
    let most = || Some((cpu_max_ns? as f64).min(time_ns as f64 * processors));
    cpu_time(node, (start_ns, end_ns)).or_else(most)
}

/// Returns the processor time of a unit in an interval, ns, as if it used its time evenly.
fn cpu_time(node: &UnitNode, (start_ns, end_ns): (i64, i64)) -> Option<f64> {
    let cpu_ns = node.cpu_ns? as f64;
    let length_ns = node.end_ns.saturating_sub(node.start_ns).max(1) as f64;
    let overlap_ns = node.end_ns.min(end_ns).saturating_sub(node.start_ns.max(start_ns)).max(0) as f64;
    Some(cpu_ns * (overlap_ns / length_ns))
}

/// Processor time around the changed units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProcessorTime {
    /// From the start of the first changed unit to the end of the boot.
    boot: Share,
    /// While the removed units ran.
    removed: Share,
}

/// Share of an interval that the removed units left to others below which the others' need is not known.
const MIN_REST_PERCENT: f64 = 5.0;

impl ProcessorTime {
    /// Returns `None` if no unit is changed, or no processor time was recorded.
    pub(super) fn new(trace: &Trace, graph: &UnitGraph, effect: &Effect) -> Option<Self> {
        let changed = || graph.units().filter(|&(index, _)| effect.removes(index) || effect.is_parallel(index));
        let removed = || graph.units().filter(|&(index, _)| effect.removes(index)).map(|(_, node)| node);
        let start_ns = changed().map(|(_, node)| node.start_ns).min()?;
        let end_ns = graph.nodes.last()?.end_ns;
        let boot = Share::new(trace, graph, effect, (start_ns, end_ns))?;
        let while_removed = removed().map(|node| node.start_ns).min().zip(removed().map(|node| node.end_ns).max());
        let removed = while_removed.and_then(|range| Share::new(trace, graph, effect, range)).unwrap_or_default();
        Some(Self { boot, removed })
    }

    /// Corrects a change of the duration (negative: shorter) that assumes that units do not affect each other, ns.
    ///
    /// The boot does not get shorter than the time in which the processors can do the remaining work. While a removed
    /// unit computed, others waited for its processor, as likely as they used the time that it left to them.
    pub(super) fn corrected(&self, change_ns: i64) -> i64 {
        let Self { boot, removed } = *self;
        let rest_ns = removed.length_ns - removed.removed_ns;
        let need = match rest_ns > removed.length_ns / 100.0 * MIN_REST_PERCENT {
            true => removed.others_ns / rest_ns,
            false => boot.others_ns / (boot.length_ns - boot.removed_ns).max(1.0),
        };
        let returned_ns = rounded(removed.removed_ns * need.clamp(0.0, 1.0));
        let shortest_ns = rounded(boot.others_ns - boot.length_ns).min(0);
        let change_ns = if returned_ns > 0 { change_ns.min(returned_ns.saturating_neg()) } else { change_ns };
        // What the replay makes longer stays so.
        if change_ns < 0 { change_ns.max(shortest_ns) } else { change_ns }
    }

    /// Limits a corrected change to what others leave if they used the most processor time, ns.
    pub(super) fn least(&self, change_ns: i64) -> i64 {
        let shortest_ns = rounded(self.boot.others_max_ns - self.boot.length_ns).min(0);
        if change_ns < 0 { change_ns.max(shortest_ns) } else { change_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(removed_ns: f64, others_ns: f64) -> ProcessorTime {
        let share = Share { length_ns: 10_000.0, removed_ns, others_ns, others_max_ns: others_ns + 1_000.0 };
        ProcessorTime { boot: share, removed: share }
    }

    #[test]
    fn remaining_work_limits_the_saving() {
        let sleeps = time(0.0, 6_000.0);
        assert_eq!(sleeps.corrected(-3_000), -3_000);
        assert_eq!(sleeps.corrected(-7_000), -4_000);
        assert_eq!(sleeps.corrected(500), 500);
        assert_eq!(sleeps.least(-4_000), -3_000);
        assert_eq!(sleeps.least(500), 500);
    }

    #[test]
    fn computing_unit_returns_its_time_on_a_busy_processor() {
        let busy = time(3_000.0, 7_000.0);
        assert_eq!(busy.corrected(0), -3_000);
        assert_eq!(busy.corrected(-8_000), -3_000);
        // No other unit used the processor in the time that was left.
        let idle = time(3_000.0, 0.0);
        assert_eq!(idle.corrected(0), 0);
        assert_eq!(idle.corrected(-9_000), -9_000);
        // It left no time.
        let mut alone = time(3_000.0, 7_000.0);
        alone.removed = Share { length_ns: 3_000.0, removed_ns: 3_000.0, others_ns: 0.0, others_max_ns: 0.0 };
        assert_eq!(alone.corrected(0), -3_000);
    }
}
