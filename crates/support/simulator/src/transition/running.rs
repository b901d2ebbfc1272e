//! A machine that is already running: the processes a boot would have started.

use hashbrown::HashMap;

use crate::plan::Actors;
use crate::plan::Plan;
use crate::program::SYSTEM;
use crate::scenario::Scenario;
use crate::services::SVCHOST;
use crate::truth::Service;

/// Plans the existing processes; returns those that transitions need.
pub(crate) fn plan(plan: &mut Plan, scenario: &Scenario) -> Actors {
    let session_manager = plan.process(SYSTEM, 0, "smss.exe", "\\SystemRoot\\System32\\smss.exe");
    let csrss = "csrss.exe ObjectDirectory=\\Windows";
    let csrss_system = plan.process(session_manager, 0, "csrss.exe", csrss);
    let wininit = plan.process(session_manager, 0, "wininit.exe", "wininit.exe");
    let csrss_user = plan.process(session_manager, 1, "csrss.exe", csrss);
    let winlogon = plan.process(session_manager, 1, "winlogon.exe", "winlogon.exe");
    let manager = plan.process(wininit, 0, "services.exe", "C:\\Windows\\system32\\services.exe");
    let lsass = plan.process(wininit, 0, "lsass.exe", "C:\\Windows\\system32\\lsass.exe");
    let explorer = plan.process(winlogon, 1, "\\Windows\\explorer.exe", "C:\\Windows\\Explorer.EXE");
    let processes = [session_manager, csrss_system, wininit, csrss_user, winlogon, manager, lsass, explorer];
    let without_user = scenario.running.as_ref().is_some_and(|running| running.without_user);
    for process in processes {
        if without_user && plan.processes[process].session != 0 {
            continue;
        }
        plan.processes[process].existing = true;
        plan.resident(process);
    }
    hosts(plan, scenario, manager);
    if let Some(running) = &scenario.running
        && !running.background.is_empty()
    {
        let steps = plan.steps(&running.background);
        plan.thread(SYSTEM, 8, steps);
    }
    Actors {
        session_manager,
        csrss_system,
        csrss_user,
        wininit,
        winlogon,
        manager,
        explorer,
        // Without a user session, the system's csrss notifies applications.
        notifier: if without_user { csrss_system } else { csrss_user },
    }
}

/// Adds the running services and their hosts.
fn hosts(plan: &mut Plan, scenario: &Scenario, manager: usize) {
    let mut hosts: HashMap<String, usize> = HashMap::new();
    for (index, service) in scenario.services.service.iter().enumerate() {
        let key = match &service.host {
            Some(group) => group.clone(),
            None => format!("own / {}", service.name),
        };
        let process = *hosts.entry(key).or_insert_with(|| {
            let (image, command) = match (&service.host, &service.image) {
                (Some(group), _) => (SVCHOST.to_owned(), format!("C:\\Windows\\System32\\svchost.exe -k {group}")),
                (None, Some(image)) => (image.clone(), format!("C:{image}")),
                (None, None) => {
                    let image = format!("\\Windows\\System32\\{}.exe", service.name);
                    let command = format!("C:{image}");
                    (image, command)
                }
            };
            let process = match service.host_id {
                Some(id) => plan.process_with_id(id, manager, 0, &image, &command),
                None => plan.process(manager, 0, &image, &command),
            };
            plan.processes[process].existing = true;
            plan.resident(process);
            process
        });
        plan.service_hosts[index] = process;
        plan.running_services.push(Service {
            name: service.name.clone(),
            group: service.group.clone(),
            container: plan.processes[process].command.clone(),
            container_pid: plan.processes[process].id,
            ..Service::default()
        });
    }
}
