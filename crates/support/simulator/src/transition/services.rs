//! Services that are asked to stop: pre-shutdown services one at a time, then the rest in parallel.

use super::Planner;
use crate::plan::BOOT_PRIORITY;
use crate::program::{Step, TruthNote};
use crate::scenario::transition::{ServiceStop, Shutdown};
use crate::transition_truth::{self as truth, NOT_STARTED};
use onoff_testkit::events::service::{self as events, state};

/// Phase number in the manager's records: shutdown.
const PHASE: u32 = 3;

/// Returns the manager's steps to stop pre-shutdown services, starting with the ordered services.
pub(super) fn stop_pre_shutdown(planner: &mut Planner<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let mut steps = Vec::new();
    for ordered in [true, false] {
        for (index, stop) in services_to_stop(planner, true) {
            if stop.ordered == ordered {
                steps.push(Step::Begin);
                let stopped = request_stop(planner, index, &stop, times_out(&stop, shutdown), &mut steps);
                steps.push(wait_for_stop(planner, &stop, shutdown, &stopped));
            }
        }
    }
    steps
}

/// Returns the manager's steps to stop all other services at once and wait for them.
pub(super) fn stop_all_others(planner: &mut Planner<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let mut steps = vec![Step::Begin];
    let mut waits = Vec::new();
    let mut has_unresponsive = false;
    for (index, stop) in services_to_stop(planner, false) {
        let is_unresponsive = times_out(&stop, shutdown);
        let stopped = request_stop(planner, index, &stop, is_unresponsive, &mut steps);
        if is_unresponsive {
            has_unresponsive = true;
        } else {
            waits.push(planner.wait(&stopped));
        }
    }
    steps.extend(waits);
    if has_unresponsive {
        steps.push(Step::PadTo(shutdown.service_timeout.0));
    }
    steps
}

fn services_to_stop(planner: &Planner<'_>, pre_shutdown: bool) -> Vec<(usize, ServiceStop)> {
    let services = &planner.scenario.services.service;
    services
        .iter()
        .enumerate()
        .filter_map(|(index, service)| Some((index, service.stop.clone()?)))
        .filter(|(_, stop)| stop.pre_shutdown == pre_shutdown)
        .collect()
}

fn times_out(stop: &ServiceStop, shutdown: &Shutdown) -> bool {
    stop.hangs || stop.time > shutdown.service_timeout
}

fn wait_for_stop(planner: &mut Planner<'_>, stop: &ServiceStop, shutdown: &Shutdown, stopped: &str) -> Step {
    if times_out(stop, shutdown) {
        let stopped = planner.plan.signal(stopped);
        Step::WaitAtMost(stopped, shutdown.service_timeout.0)
    } else {
        planner.wait(stopped)
    }
}

/// Asks a service to stop; returns the name of the signal set when it has stopped.
fn request_stop(
    planner: &mut Planner<'_>,
    index: usize,
    stop: &ServiceStop,
    is_unresponsive: bool,
    steps: &mut Vec<Step>,
) -> String {
    let service = &planner.scenario.services.service[index];
    let name = &service.name;
    let host = planner.plan.service_hosts[index];
    let pid = planner.plan.processes[host].id;
    let image = planner.plan.processes[host].command.clone();
    let row = planner.plan.transitions.service_stops.len();
    planner.plan.transitions.service_stops.push(truth::ServiceStop {
        name: name.clone(),
        pre_shutdown: stop.pre_shutdown,
        ordered: stop.ordered,
        start_ns: NOT_STARTED,
        pending_ns: None,
        end_ns: None,
        unresponsive: is_unresponsive,
        container_pid: pid,
    });
    let notified = format!("service {name} notified to stop");
    let pending = format!("service {name} reports stop pending");
    let stop_reported = format!("service {name} reports stopped");
    let stopped = format!("service {name} has stopped");
    // A service that is asked to stop reports its state once more.
    steps.push(
        planner.emit(events::status_change(PHASE, state::RUNNING, pid, name, &image), TruthNote::ServiceStop(row)),
    );
    steps.push(planner.set(&notified));

    let mut thread_steps = vec![planner.wait(&notified), Step::Begin];
    if let Some(time) = stop.pending {
        thread_steps.push(Step::PadTo(time.0));
        thread_steps.push(planner.set(&pending));
    }
    thread_steps.extend(planner.plan.steps(&stop.work));
    if !stop.hangs {
        thread_steps.push(Step::PadTo(stop.time.0));
        thread_steps.push(planner.set(&stop_reported));
    }
    thread_steps.push(planner.wait("never"));
    let (priority, io_priority) = (service.priority, service.io_priority);
    let thread = planner.plan.thread(host, priority, thread_steps);
    planner.plan.threads[thread].io_priority = io_priority;
    planner.plan.threads[thread].service_tag = index as u32 + 1;

    // The manager records the service's reports on another thread.
    let mut records = Vec::new();
    if stop.pending.is_some() {
        records.push(planner.wait(&pending));
        records.push(planner.emit(
            events::status_change(PHASE, state::STOP_PENDING, pid, name, &image),
            TruthNote::ServiceStopping(row),
        ));
    }
    records.extend([
        planner.wait(&stop_reported),
        planner.emit(events::status_change(PHASE, state::STOPPED, 0, name, &image), TruthNote::ServiceStopped(row)),
        planner.set(&stopped),
        planner.wait("never"),
    ]);
    let manager = planner.actors.manager;
    planner.plan.thread(manager, BOOT_PRIORITY, records);
    stopped
}
