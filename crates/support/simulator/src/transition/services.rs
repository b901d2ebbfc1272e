//! Services that are told to stop: some before all others, one after the other; the rest side by
//! side.

use super::Stage;
use crate::plan::BOOT_PRIORITY;
use crate::program::{Note, Step};
use crate::scenario::transition::{ServiceStop, Shutdown};
use crate::transition_truth::{self as truth, NOT_YET};
use onoff_testkit::events::service::{self as events, state};

/// Phase of the manager as its records number it: the system shuts down.
const PHASE: u32 = 3;

/// The manager's steps to tell those that asked to be told first; ordered ones before the others.
pub(super) fn before_all_others(stage: &mut Stage<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let mut steps = Vec::new();
    for ordered in [true, false] {
        for (index, how) in stopping(stage, true) {
            if how.ordered == ordered {
                steps.push(Step::Begin);
                let stopped = tell(stage, index, &how, gives_up(&how, shutdown), &mut steps);
                steps.push(wait(stage, &how, shutdown, &stopped));
            }
        }
    }
    steps
}

/// The manager's steps to tell all others at once and wait for them.
pub(super) fn side_by_side(stage: &mut Stage<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let mut steps = vec![Step::Begin];
    let mut waits = Vec::new();
    let mut gives_up_waiting = false;
    for (index, how) in stopping(stage, false) {
        let unresponsive = gives_up(&how, shutdown);
        let stopped = tell(stage, index, &how, unresponsive, &mut steps);
        if unresponsive {
            gives_up_waiting = true;
        } else {
            waits.push(stage.wait(&stopped));
        }
    }
    steps.extend(waits);
    if gives_up_waiting {
        steps.push(Step::Pad(shutdown.service_timeout.0));
    }
    steps
}

fn stopping(stage: &Stage<'_>, pre_shutdown: bool) -> Vec<(usize, ServiceStop)> {
    let services = &stage.scenario.services.service;
    services
        .iter()
        .enumerate()
        .filter_map(|(index, service)| Some((index, service.stop.clone()?)))
        .filter(|(_, how)| how.pre_shutdown == pre_shutdown)
        .collect()
}

fn gives_up(how: &ServiceStop, shutdown: &Shutdown) -> bool {
    how.hangs || how.time > shutdown.service_timeout
}

fn wait(stage: &mut Stage<'_>, how: &ServiceStop, shutdown: &Shutdown, stopped: &str) -> Step {
    if gives_up(how, shutdown) {
        let stopped = stage.plan.signal(stopped);
        Step::WaitAtMost(stopped, shutdown.service_timeout.0)
    } else {
        stage.wait(stopped)
    }
}

/// The manager tells a service; returns the name of the event "it has stopped".
fn tell(stage: &mut Stage<'_>, index: usize, how: &ServiceStop, unresponsive: bool, steps: &mut Vec<Step>) -> String {
    let service = &stage.scenario.services.service[index];
    let name = &service.name;
    let host = stage.plan.service_hosts[index];
    let pid = stage.plan.processes[host].id;
    let image = stage.plan.processes[host].command.clone();
    let row = stage.plan.transitions.service_stops.len();
    stage.plan.transitions.service_stops.push(truth::ServiceStop {
        name: name.clone(),
        pre_shutdown: how.pre_shutdown,
        ordered: how.ordered,
        start_ns: NOT_YET,
        pending_ns: None,
        end_ns: None,
        unresponsive,
        container_pid: pid,
    });
    let told = format!("service {name} told to stop");
    let pending = format!("service {name} says it stops");
    let done = format!("service {name} says it has stopped");
    let stopped = format!("service {name} has stopped");
    // A service that was told reports its state once more.
    steps.push(stage.tell(events::status_change(PHASE, state::RUNNING, pid, name, &image), Note::ServiceStop(row)));
    steps.push(stage.set(&told));

    let mut own = vec![stage.wait(&told), Step::Begin];
    if let Some(time) = how.pending {
        own.push(Step::Pad(time.0));
        own.push(stage.set(&pending));
    }
    own.extend(stage.plan.steps(&how.work));
    if !how.hangs {
        own.push(Step::Pad(how.time.0));
        own.push(stage.set(&done));
    }
    own.push(stage.wait("never"));
    let (priority, io_priority) = (service.priority, service.io_priority);
    let thread = stage.plan.thread(host, priority, own);
    stage.plan.threads[thread].io_priority = io_priority;
    stage.plan.threads[thread].service_tag = index as u32 + 1;

    // The manager records what the service reports on a thread of its own.
    let mut records = Vec::new();
    if how.pending.is_some() {
        records.push(stage.wait(&pending));
        records.push(
            stage
                .tell(events::status_change(PHASE, state::STOP_PENDING, pid, name, &image), Note::ServiceStopping(row)),
        );
    }
    records.extend([
        stage.wait(&done),
        stage.tell(events::status_change(PHASE, state::STOPPED, 0, name, &image), Note::ServiceStopped(row)),
        stage.set(&stopped),
        stage.wait("never"),
    ]);
    let manager = stage.cast.manager;
    stage.plan.thread(manager, BOOT_PRIORITY, records);
    stopped
}
