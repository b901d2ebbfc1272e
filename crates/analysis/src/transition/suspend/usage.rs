//! What processors and disks did in each phase.
//!
//! Phases may overlap, and the analyses of processors and disks take stretches that do not. So phases are laid in as few
//! layers as they need, each of stretches one after the other, and each layer is looked at once for all transitions.

use onoff_trace::Trace;

use super::report::{PowerPhase, PowerTransition};
use crate::cpu::{self, CpuSource};
use crate::disk;

/// Layers, at most: phases that overlap more than so many others are left without.
const MOST_LAYERS: usize = 6;

/// Phases looked at, at most.
const MOST_PHASES: usize = 2_000;

/// Fills in what processors and disks did in each phase of `transitions`.
pub(super) fn fill(trace: &Trace, transitions: &mut [PowerTransition]) {
    let has_cpu = cpu::source(trace) != CpuSource::None;
    let has_disk = !trace.disk_ios.is_empty();
    if !has_cpu && !has_disk {
        return;
    }
    let mut phases: Vec<(i64, i64, &mut PowerPhase)> = transitions
        .iter_mut()
        .flat_map(|transition| &mut transition.phases)
        .filter_map(|phase| Some((phase.start_ns?, phase.end_ns?, phase)))
        .filter(|(start, end, _)| start < end)
        .take(MOST_PHASES)
        .collect();
    phases.sort_by_key(|&(start, end, _)| (start, end));
    let mut layers: Vec<Vec<(i64, i64, &mut PowerPhase)>> = Vec::new();
    for (start, end, phase) in phases {
        let is_free = |layer: &Vec<(i64, i64, _)>| layer.last().is_none_or(|&(_, last, _)| last <= start);
        match layers.iter().position(is_free) {
            Some(at) => layers[at].push((start, end, phase)),
            None if layers.len() < MOST_LAYERS => layers.push(vec![(start, end, phase)]),
            None => {}
        }
    }
    for layer in layers {
        let mut cuts: Vec<i64> = layer.iter().flat_map(|&(start, end, _)| [start, end]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let cpu = if has_cpu { cpu::usage(trace, &cuts) } else { Vec::new() };
        let disk = if has_disk { disk::usage(trace, &cuts) } else { Vec::new() };
        for (start, _, phase) in layer {
            let Ok(at) = cuts.binary_search(&start) else {
                continue;
            };
            phase.cpu = cpu.get(at).cloned();
            phase.disk = disk.get(at).cloned();
        }
    }
}
