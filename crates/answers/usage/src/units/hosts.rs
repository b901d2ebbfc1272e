//! Finds the services hosted by each process.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use onoff_trace::{ServiceChange, StringId, Trace};

use crate::owners::file_name;
use crate::processes::Images;

/// The program that hosts services together; other programs host one service.
const SHARED_HOST: &str = "svchost.exe";

/// Returns the services of each process, by its row in the table of processes: services that changed state in it, and
/// services that the system configuration lists for it at the end of the recording. A service whose process id was not
/// recorded belongs to the only process of its program. Names that differ only in case count once.
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
    for (row, service) in only_processes(trace, &services_by_process) {
        services_by_process.entry(row).or_default().insert(service);
    }
    services_by_process
}

/// Returns the services without a process whose program the system configuration names, with the only process of that
/// program, if it started after the service manager started the service.
fn only_processes(trace: &Trace, known: &HashMap<usize, BTreeSet<String>>) -> Vec<(usize, String)> {
    let known_names: HashSet<String> = known.values().flatten().map(|name| name.to_ascii_lowercase()).collect();
    let mut requested_ns: HashMap<String, i64> = HashMap::new();
    for row in trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start) {
        let earliest_ns = requested_ns.entry(trace.text(row.service).to_ascii_lowercase()).or_insert(row.start_ns);
        *earliest_ns = row.start_ns.min(*earliest_ns);
    }
    // The row and the start of each program's only process.
    let mut only: HashMap<String, Option<(usize, i64)>> = HashMap::new();
    for (row, process) in trace.processes.iter().enumerate() {
        let program = file_name(trace.text(process.image)).to_ascii_lowercase();
        let first = process.start_ns.map(|start_ns| (row, start_ns));
        only.entry(program).and_modify(|only| *only = None).or_insert(first);
    }
    let mut found = Vec::new();
    for service in trace.system.services.iter().filter(|service| service.pid == 0) {
        let name = service.name.to_ascii_lowercase();
        let program = file_name(&service.process).to_ascii_lowercase();
        if let (Some(&requested_ns), Some(&Some((row, start_ns)))) = (requested_ns.get(&name), only.get(&program))
            && program != SHARED_HOST
            && requested_ns <= start_ns
            && !known_names.contains(&name)
            && !known.contains_key(&row)
        {
            found.push((row, service.name.clone()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, process, service};
    use onoff_trace::system::InstalledService;

    /// Starts `WSearch` at 1 s, without a process id, with processes (image, start in ms).
    fn hosted(program: &str, processes: &[(&str, i64)]) -> Vec<(usize, Vec<String>)> {
        let mut trace = Trace { duration_ns: 60_000 * MS, ..Trace::default() };
        service(&mut trace, "WSearch", "", (1_000, None, None, Some(1_500)));
        for (pid, &(image, start_ms)) in (100..).zip(processes) {
            process(&mut trace, pid, image, Some(start_ms * MS), None);
        }
        trace.system.services.push(InstalledService {
            name: "wsearch".into(),
            process: program.into(),
            ..InstalledService::default()
        });
        let hosts = services_by_process(&trace, &Images::new(&trace));
        hosts.into_iter().map(|(row, names)| (row, names.into_iter().collect())).collect()
    }

    #[test]
    fn service_without_process_id_belongs_to_the_only_process_of_its_program() {
        let found = hosted("SearchIndexer.exe", &[("explorer.exe", 900), ("searchindexer.exe", 1_200)]);
        assert_eq!(found, [(1, vec!["wsearch".to_owned()])]);
    }

    #[test]
    fn ambiguous_or_earlier_processes_belong_to_no_service() {
        assert!(hosted("SearchIndexer.exe", &[("SearchIndexer.exe", 1_200), ("SearchIndexer.exe", 9_000)]).is_empty());
        assert!(hosted("SearchIndexer.exe", &[("SearchIndexer.exe", 500)]).is_empty());
        assert!(hosted("svchost.exe", &[("svchost.exe", 1_200)]).is_empty());
        assert!(hosted("", &[("SearchIndexer.exe", 1_200)]).is_empty());
    }
}
