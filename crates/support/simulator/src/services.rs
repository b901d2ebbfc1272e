//! The service control manager: starts load-order groups one after another, the services of a group in parallel, and
//! then all services without a group.

use hashbrown::HashMap;

use super::plan::{BOOT_PRIORITY, Plan};
use super::program::{Edge, Signal, Step, TruthNote};
use super::scenario::{Scenario, ScenarioError, Service};
use super::truth;
use onoff_testkit::events::service::{self, state};

pub(super) const SVCHOST: &str = "\\Windows\\System32\\svchost.exe";

struct Host {
    process: usize,
    command: String,
    started: bool,
}

/// Plans the manager's thread and every service.
pub(super) fn plan(plan: &mut Plan, scenario: &Scenario, manager: usize) -> Result<(), ScenarioError> {
    let services = &scenario.services;
    let mut groups: Vec<&str> = Vec::new();
    for service in &services.service {
        if !service.group.is_empty() && !groups.contains(&service.group.as_str()) {
            groups.push(&service.group);
        }
    }
    if let Some(gate) = &services.logon_waits_for_group
        && !groups.contains(&gate.as_str())
    {
        return Err(ScenarioError::Impossible(format!("load-order group `{gate}` has no services")));
    }
    let gate = plan.signal("logon services");
    let mut hosts = HashMap::new();
    let mut steps = Vec::new();
    if let Some(time) = services.auto_start_at {
        steps.push(Step::Until(time.0));
    }
    steps.push(Step::emit_noted(service::auto_start(true), TruthNote::AutoStart(Edge::Begin)));
    steps.push(Step::emit(service::critical_auto_start(true)));
    for group in groups {
        let index = plan.groups.len();
        plan.groups.push(group.to_owned());
        steps.push(Step::emit_noted(service::starting_group(true, group), TruthNote::Group(index, Edge::Begin)));
        let mut running = Vec::new();
        for service in services.service.iter().filter(|service| service.group == group) {
            let running_signal = start(plan, (&services.service, service), manager, &mut hosts, &mut steps)?;
            running.extend((!service.on_demand).then_some(running_signal));
        }
        steps.extend(running.into_iter().map(Step::Wait));
        steps.push(Step::emit_noted(service::starting_group(false, group), TruthNote::Group(index, Edge::End)));
        if services.logon_waits_for_group.as_deref() == Some(group) {
            steps.push(Step::emit(service::critical_auto_start(false)));
            steps.push(Step::Set(gate));
        }
    }
    if services.logon_waits_for_group.is_none() {
        steps.push(Step::emit(service::critical_auto_start(false)));
        steps.push(Step::Set(gate));
    }
    let mut running = Vec::new();
    for service in services.service.iter().filter(|service| service.group.is_empty()) {
        running.push(start(plan, (&services.service, service), manager, &mut hosts, &mut steps)?);
    }
    steps.extend(running.into_iter().map(Step::Wait));
    if let Some(time) = services.auto_start_end_at {
        steps.push(Step::Until(time.0));
    }
    steps.push(Step::emit_noted(service::auto_start(false), TruthNote::AutoStart(Edge::End)));
    steps.push(Step::Set(plan.signal("services_running")));
    steps.push(Step::Wait(plan.signal("never")));
    plan.thread(manager, BOOT_PRIORITY, steps);
    Ok(())
}

/// Adds the manager's steps to start a service; returns the signal set when it runs.
fn start(
    plan: &mut Plan,
    (scenario_services, service): (&[Service], &Service),
    manager: usize,
    hosts: &mut HashMap<String, Host>,
    steps: &mut Vec<Step>,
) -> Result<Signal, ScenarioError> {
    for dependency in &service.depends_on {
        if !plan.services.iter().any(|earlier| earlier.name == *dependency) {
            return Err(ScenarioError::Impossible(format!(
                "service `{}` depends on `{dependency}`, which does not start before it",
                service.name
            )));
        }
        steps.push(Step::Wait(plan.signal(&format!("service {dependency} runs"))));
    }
    if let Some(time) = service.at {
        steps.push(Step::Until(time.0));
    }
    let index = plan.services.len();
    let host = host(plan, service, manager, hosts);
    let (process, command, is_new_host) = (host.process, host.command.clone(), !host.started);
    host.started = true;
    if let Some(position) = scenario_services.iter().position(|candidate| candidate.name == service.name) {
        plan.service_hosts[position] = process;
    }
    let process_id = plan.processes[process].id;
    plan.services.push(truth::Service {
        name: service.name.clone(),
        group: service.group.clone(),
        container: command.clone(),
        container_pid: process_id,
        ..truth::Service::default()
    });
    let start_signal = plan.signal(&format!("service {} go", service.name));
    let reported = plan.signal(&format!("service {} reported", service.name));
    let running_signal = plan.signal(&format!("service {} runs", service.name));

    let status = |state: u32, process: u32| {
        let status = service::status_change(1, state, process, &service.name, &command);
        if service.on_demand { service::on_demand(status) } else { status }
    };
    steps.push(Step::emit_noted(status(state::START_PENDING, 0), TruthNote::ServiceStart(index)));
    steps.push(Step::Begin);
    if is_new_host {
        steps.push(Step::Start(process, None));
    }
    steps.push(Step::PadTo(service.container.0));
    steps.push(Step::emit_noted(status(state::START_PENDING, process_id), TruthNote::ServiceCheckpoint(index)));
    steps.push(Step::Set(start_signal));

    let mut thread_steps = vec![
        Step::Wait(start_signal),
        Step::Begin,
        Step::Load(format!("\\Device\\HarddiskVolume2\\Windows\\System32\\{}.dll", service.name.to_lowercase())),
        Step::PadTo(service.load.0),
        Step::emit_noted(service::service_main(true, &service.name), TruthNote::ServiceLoad(index)),
        Step::Begin,
    ];
    thread_steps.extend(plan.steps(&service.work));
    thread_steps.push(Step::PadTo(service.init.0));
    thread_steps.push(Step::Set(reported));
    thread_steps.push(Step::emit(service::service_main(false, &service.name)));
    thread_steps.extend(plan.steps(&service.after));
    if !service.main_returns {
        thread_steps.push(Step::Wait(plan.signal("never")));
    }
    let thread = plan.thread(process, service.priority, thread_steps);
    plan.threads[thread].io_priority = service.io_priority;
    plan.threads[thread].id = service.main_thread_id.unwrap_or(plan.threads[thread].id);
    plan.threads[thread].service_tag = index as u32 + 1;

    // The manager records on another thread that the service runs.
    plan.thread(
        manager,
        BOOT_PRIORITY,
        vec![
            Step::Wait(reported),
            Step::emit_noted(status(state::RUNNING, process_id), TruthNote::ServiceEnd(index)),
            Step::Set(running_signal),
        ],
    );
    Ok(running_signal)
}

fn host<'h>(plan: &mut Plan, service: &Service, manager: usize, hosts: &'h mut HashMap<String, Host>) -> &'h mut Host {
    // A dedicated host cannot collide with a shared one: group names contain no slash.
    let key = match &service.host {
        Some(group) => group.clone(),
        None => format!("own / {}", service.name),
    };
    hosts.entry(key).or_insert_with(|| {
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
        Host { process, command, started: false }
    })
}
