//! Applies changes to the units of a boot.

use onoff_trace::{DeviceOperation, DeviceOperationKind, Trace};

use super::graph::UnitGraph;
use super::replay::Effect;
use crate::changes::names::{candidates, has_name};
use crate::changes::{Change, ChangeError};

/// Endings of units that are barriers or groups without work, or that announce a device.
const NO_WORK: [&str; 3] = [".target", ".slice", ".device"];

/// The id of the thread that runs the kernel's initialization functions.
const INIT_THREAD: u32 = 1;

/// Effects of the same changes under different assumptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effects {
    pub(super) likely: Effect,
    /// Later start of user space (negative: earlier), ns: if the asynchronous drivers wait, and if they compute.
    pub(super) kernel_delays_ns: [i64; 2],
    pub(super) has_async_probe: bool,
}

/// Applies the changes to the graph.
///
/// # Errors
/// A name is unknown, a unit is needed, or the change needs context switches.
pub(super) fn apply(
    trace: &Trace,
    graph: &UnitGraph,
    (kernel_start_ns, kernel_end_ns): (i64, i64),
    changes: &[Change],
) -> Result<Effects, ChangeError> {
    let mut effect = Effect::none(graph);
    let mut drivers: Vec<&str> = Vec::new();
    for change in changes {
        match change {
            Change::Without { name } | Change::Delay { name } => set(&mut effect.is_removed, &nodes(graph, name)?),
            Change::Parallel { unit } => set(&mut effect.is_parallel, &nodes(graph, unit)?),
            Change::Async { driver } => drivers.push(driver),
            Change::Pend { driver: name } | Change::Ungroup { service: name } => {
                let reason = "Linux has no pended requests or load-order groups";
                return Err(ChangeError::NotPossible { name: name.clone(), reason });
            }
            Change::DiskSpeed { .. } | Change::ProcessorSpeed { .. } | Change::Processors { .. } => {
                let reason = "a prediction by unit does not know the work of processors and disks";
                return Err(ChangeError::NotPossible { name: "hardware".to_owned(), reason });
            }
        }
    }
    refuse_needed(graph, &effect)?;
    let kernel_delays_ns = async_probes(trace, (kernel_start_ns, kernel_end_ns), &drivers)?;
    effect.user_space_delay_ns = kernel_delays_ns[0];
    Ok(Effects { likely: effect, kernel_delays_ns, has_async_probe: !drivers.is_empty() })
}

fn set(flags: &mut [bool], nodes: &[usize]) {
    for &node in nodes {
        if let Some(flag) = flags.get_mut(node) {
            *flag = true;
        }
    }
}

/// Returns the starts of a unit in the boot.
fn nodes(graph: &UnitGraph, name: &str) -> Result<Vec<usize>, ChangeError> {
    let not_possible = |reason| ChangeError::NotPossible { name: name.to_owned(), reason };
    let found: Vec<usize> =
        graph.units().filter(|(_, node)| has_name(&node.name, name)).map(|(index, _)| index).collect();
    if found.is_empty() {
        if graph.unfinished.iter().any(|unit| has_name(unit, name)) {
            return Err(not_possible("its start did not finish in the boot, so its effect is not known"));
        }
        let others = graph.units().filter(|(_, node)| !NO_WORK.iter().any(|ending| node.name.ends_with(ending)));
        let others = others.map(|(_, node)| (node.end_ns.saturating_sub(node.start_ns), node.name.clone())).collect();
        return Err(ChangeError::Unknown {
            kind: "unit that started in user space",
            name: name.to_owned(),
            candidates: candidates(name, others),
        });
    }
    let names = || found.iter().filter_map(|&index| graph.nodes.get(index)).map(|node| node.name.as_str());
    if names().any(|unit| NO_WORK.iter().any(|ending| unit.ends_with(ending))) {
        return Err(not_possible("targets, slices and devices do no work; change the unit that takes the time"));
    }
    if names().any(|unit| unit == "-.mount") {
        return Err(ChangeError::SystemComponent { name: name.to_owned() });
    }
    Ok(found)
}

/// Refuses if a unit that starts requires a removed unit, or requires a parallel unit and waits for it.
fn refuse_needed(graph: &UnitGraph, effect: &Effect) -> Result<(), ChangeError> {
    for &(on, by) in &graph.requirements {
        let (Some(unit), Some(other)) = (graph.nodes.get(on), graph.nodes.get(by)) else { continue };
        let is_needed = effect.removes(on) || effect.is_parallel(on) && other.predecessors.contains(&on);
        if is_needed && !effect.removes(by) && unit.name != other.name {
            return Err(ChangeError::Required { name: unit.name.clone(), by: other.name.clone() });
        }
    }
    Ok(())
}

/// Returns by how much user space starts later (negative: earlier) if the drivers probe asynchronously, ns: if their
/// initialization waits, and if it computes.
///
/// Initialization functions run one after another. The kernel waits for all asynchronous probes before it mounts the
/// root file system or starts the first program. Source: `prepare_namespace` and `kernel_init` in Linux.
fn async_probes(trace: &Trace, kernel: (i64, i64), drivers: &[&str]) -> Result<[i64; 2], ChangeError> {
    if drivers.is_empty() {
        return Ok([0; 2]);
    }
    let mut calls: Vec<DeviceOperation> = trace
        .device_operations
        .iter()
        .filter(|row| row.kind == DeviceOperationKind::Initcall && row.tid.is_none_or(|tid| tid == INIT_THREAD))
        .filter(|row| row.start_ns >= kernel.0 && row.end_ns.is_some_and(|end_ns| end_ns <= kernel.1))
        .collect();
    calls.sort_by_key(|row| row.start_ns);
    let length_ns = |row: &DeviceOperation| row.end_ns.unwrap_or(row.start_ns).saturating_sub(row.start_ns);
    let is_of = |row: &DeviceOperation, driver: &str| {
        [row.driver, row.description].into_iter().any(|name| is_driver_name(trace.text(name), driver))
    };
    if let Some(driver) = drivers.iter().find(|driver| !calls.iter().any(|row| is_of(row, driver))) {
        let others = calls.iter().map(|row| (length_ns(row), trace.text(row.driver).to_owned())).collect();
        return Err(ChangeError::Unknown {
            kind: "driver or initialization function of the kernel",
            name: (*driver).to_owned(),
            candidates: candidates(driver, others),
        });
    }
    // Each call starts earlier by the asynchronous calls before it.
    let (mut earlier_ns, mut last_probe_ns) = (0_i64, i64::MIN);
    for row in calls.iter().filter(|row| drivers.iter().any(|driver| is_of(row, driver))) {
        let end_ns = row.end_ns.unwrap_or(row.start_ns);
        last_probe_ns = last_probe_ns.max(end_ns.saturating_sub(earlier_ns));
        earlier_ns = earlier_ns.saturating_add(length_ns(row));
    }
    let last_end_ns = calls.iter().filter_map(|row| row.end_ns).max().unwrap_or(kernel.1);
    let end_ns = last_end_ns.saturating_sub(earlier_ns).max(last_probe_ns);
    let waits_ns = end_ns.saturating_sub(last_end_ns).min(0);
    // A second processor can do the work meanwhile.
    let computes_ns = if trace.system.processors > 1 { waits_ns } else { 0 };
    Ok([waits_ns, computes_ns])
}

/// Compares the name of an initialization function or module with a driver's name: `ahci` is the driver of
/// `ahci_pci_driver_init` and of module `ahci`.
fn is_driver_name(recorded: &str, name: &str) -> bool {
    const ENDINGS: [&str; 6] = ["_pci_driver_init", "_driver_init", "_module_init", "_mod_init", "_drv_init", "_init"];
    let normalized = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let (recorded, name) = (normalized(recorded), normalized(name));
    !name.is_empty()
        && (recorded == name || ENDINGS.iter().any(|ending| recorded.strip_suffix(ending) == Some(name.as_str())))
}
