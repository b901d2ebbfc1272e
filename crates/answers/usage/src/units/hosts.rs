//! Finds the services hosted by each process.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use onoff_trace::{StringId, Trace};

use crate::processes::Images;

/// Returns the services of each process, by its row in the table of processes: services that changed state in it, and
/// services that the system configuration lists for it at the end of the recording. Names that differ only in case
/// count once.
pub fn services_by_process(trace: &Trace, images: &Images<'_>) -> HashMap<usize, BTreeSet<String>> {
    let mut services_by_process: HashMap<usize, BTreeSet<String>> = HashMap::new();
    let mut add = |row: usize, name: &str| {
        let services = services_by_process.entry(row).or_default();
        if !services.iter().any(|service| service.eq_ignore_ascii_case(name)) {
            services.insert(name.to_owned());
        }
    };
    for row in trace.service_transitions.iter() {
        let time_ns = row.checkpoint_ns.or(row.end_ns).unwrap_or(row.start_ns);
        if let Some(host) = row.container_pid.filter(|&pid| pid != 0).and_then(|pid| images.row_at(pid, time_ns)) {
            add(host, trace.text(row.service));
        }
    }
    // A process of a service command exists while its service starts, stops or runs.
    if !trace.service_processes.is_empty() {
        let mut first_ns: HashMap<StringId, i64> = HashMap::new();
        for change in trace.service_transitions.iter() {
            let earliest_ns = first_ns.entry(change.service).or_insert(change.start_ns);
            *earliest_ns = change.start_ns.min(*earliest_ns);
        }
        let mut services_by_pid: HashMap<u32, Vec<StringId>> = HashMap::new();
        for row in trace.service_processes.iter() {
            services_by_pid.entry(row.pid).or_default().push(row.service);
        }
        for (index, process) in trace.processes.iter().enumerate() {
            let has_started = |service: &&StringId| {
                first_ns.get(*service).zip(process.start_ns).is_some_and(|(&earliest_ns, start)| earliest_ns <= start)
            };
            for service in services_by_pid.get(&process.pid).into_iter().flatten().filter(has_started) {
                add(index, trace.text(*service));
            }
        }
    }
    for service in trace.system.services.iter().filter(|service| service.pid != 0) {
        if let Some(host) = images.row_at(service.pid, trace.duration_ns) {
            add(host, &service.name);
        }
    }
    services_by_process
}
