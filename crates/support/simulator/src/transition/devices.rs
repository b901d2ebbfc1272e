//! Power requests to devices: one order after another, the devices of an order in parallel.

use super::Planner;
use crate::plan::BOOT_PRIORITY;
use crate::program::SYSTEM;
use crate::program::{Edge, Step, TruthNote};
use crate::scenario::power::PoweredDevice;
use crate::transition_truth::{NOT_STARTED, PowerRequest};
use onoff_testkit::events::power::{self as events, PowerIrp, minor};

/// First build that records each completion twice.
const REPEATS_COMPLETIONS: u32 = 16299;
/// Device power states.
const D0: u8 = 1;
const D3: u8 = 4;
/// Number of request packets, which are reused in turn.
const PACKETS: u64 = 48;

/// A phase in which devices receive power requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DevicePhase {
    Query,
    Suspend,
    Resume,
}

impl DevicePhase {
    const fn text(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
        }
    }

    const fn activity_name(self) -> &'static str {
        match self {
            Self::Query => "query_devices",
            Self::Suspend => "suspend_devices",
            Self::Resume => "resume_devices",
        }
    }

    const fn minor(self) -> u8 {
        match self {
            Self::Query => minor::QUERY_POWER,
            Self::Suspend | Self::Resume => minor::SET_POWER,
        }
    }
}

/// Plans one phase for all devices.
pub(super) fn plan_phase(
    planner: &mut Planner<'_>,
    number: usize,
    phase: DevicePhase,
    (target, effective): (u8, u8),
) -> Vec<Step> {
    let inner = request_steps(planner, number, phase, effective);
    let row = planner.activity("power_phase", phase.activity_name(), "");
    if !planner.records_power() {
        let waking = u8::from(phase == DevicePhase::Resume);
        let payload = onoff_testkit::assemble::Payload::wide().u32(effective.into()).bytes(&[waking, 0, phase.minor()]);
        let mut steps =
            vec![Step::Kernel { hook: 0x1224, payload, notes: vec![TruthNote::Activity(row, Edge::Begin)] }];
        steps.extend(inner);
        steps.push(Step::Kernel {
            hook: 0x1225,
            payload: onoff_testkit::assemble::Payload::wide().u32(0),
            notes: vec![TruthNote::Activity(row, Edge::End)],
        });
        return steps;
    }
    let (begin, end) = if phase == DevicePhase::Resume {
        (events::phase(37, true), events::phase(37, false))
    } else {
        let query = phase == DevicePhase::Query;
        (events::devices_start(query, target.into(), effective.into()), events::devices_stop())
    };
    planner.wrap_in_activity(row, begin, inner, end)
}

fn request_steps(planner: &mut Planner<'_>, number: usize, phase: DevicePhase, state: u8) -> Vec<Step> {
    let scenario = planner.scenario;
    let mut orders: Vec<u8> = scenario.devices.iter().map(|device| device.order).collect();
    orders.sort_unstable();
    orders.dedup();
    if phase != DevicePhase::Resume {
        orders.reverse();
    }
    let mut steps = Vec::new();
    for order in orders {
        let group: Vec<&PoweredDevice> = scenario.devices.iter().filter(|device| device.order == order).collect();
        if let [device] = group[..] {
            steps.extend(device_request(planner, number, phase, device, state).0);
            continue;
        }
        let mut waits = Vec::new();
        let mut slowest: Option<(u64, usize, u64)> = None;
        for device in group {
            let (mut request, row, irp) = device_request(planner, number, phase, device, state);
            let name = format!("power {number} {} {}", phase.text(), device.instance);
            let done = format!("{name} done");
            // The first step of a request sends it.
            let sent = format!("{name} sent");
            request.insert(1, planner.set(&sent));
            let mut thread_steps = vec![planner.wait(&name)];
            thread_steps.extend(request);
            thread_steps.push(planner.set(&done));
            thread_steps.push(planner.wait("never"));
            planner.plan.thread(SYSTEM, BOOT_PRIORITY, thread_steps);
            steps.push(planner.set(&name));
            steps.push(planner.wait(&sent));
            waits.push(planner.wait(&done));
            let time = duration(phase, device);
            if slowest.is_none_or(|(longest, ..)| time > longest) {
                slowest = Some((time, row, irp));
            }
        }
        if let Some((_, row, irp)) = slowest
            && planner.records_power()
        {
            steps.push(Step::emit_noted(events::request_waiting(irp), TruthNote::PowerRequestWaiting(row)));
        }
        steps.extend(waits);
    }
    steps
}

const fn duration(phase: DevicePhase, device: &PoweredDevice) -> u64 {
    match phase {
        DevicePhase::Query => device.query.0,
        DevicePhase::Suspend => device.suspend.0,
        DevicePhase::Resume => device.resume.0,
    }
}

/// Plans one device's request; returns its steps, its row and its packet.
fn device_request(
    planner: &mut Planner<'_>,
    number: usize,
    phase: DevicePhase,
    device: &PoweredDevice,
    state: u8,
) -> (Vec<Step>, usize, u64) {
    let mut steps = Vec::new();
    let (row, irp) = begin(planner, &mut steps, phase, device, (false, state));
    steps.push(Step::Begin);
    let time = duration(phase, device);
    if phase == DevicePhase::Suspend {
        for filter in &device.filter {
            let hold = vec![Step::Sleep(filter.time.0)];
            steps.extend(driver(planner, row, irp, &filter.name, hold));
        }
    }
    let mut nested_steps = Vec::new();
    if phase != DevicePhase::Query
        && let Some(duration) = device.own_request
    {
        let state = if phase == DevicePhase::Suspend { D3 } else { D0 };
        let (row, irp) = begin(planner, &mut nested_steps, phase, device, (true, state));
        nested_steps.push(Step::Sleep(duration.0));
        end(planner, &mut nested_steps, row, irp, duration.0);
    }
    if phase == DevicePhase::Suspend {
        nested_steps.extend(planner.plan.steps(&device.work));
    }
    if phase == DevicePhase::Suspend && !device.chain.is_empty() {
        let name = format!("power {number} {}", device.instance);
        chain(planner, &name, &device.chain, time);
        nested_steps.push(planner.set(&format!("{name} 0")));
        nested_steps.push(planner.wait(&format!("{name} 0 done")));
    } else {
        nested_steps.push(Step::PadTo(time));
    }
    let name = device.driver.clone();
    steps.extend(driver(planner, row, irp, &name, nested_steps));
    end(planner, &mut steps, row, irp, time);
    (steps, row, irp)
}

/// Sends the request.
fn begin(
    planner: &mut Planner<'_>,
    steps: &mut Vec<Step>,
    phase: DevicePhase,
    device: &PoweredDevice,
    (of_device, state): (bool, u8),
) -> (usize, u64) {
    let sent_count = planner.plan.transitions.power_requests.len() as u64;
    let irp = 0xFFFF_9A00_0000_0000 + (sent_count % PACKETS) * 0x140;
    let records_power = planner.records_power();
    let row = planner.request(PowerRequest {
        kind: if phase == DevicePhase::Query { "query" } else { "set" },
        scope: "device",
        device: device.instance.clone(),
        driver: device.driver.clone(),
        description: device.description.clone(),
        state_kind: if of_device { "device" } else { "system" },
        state: (!records_power || planner.version > 0).then_some(state),
        status: Some(0),
        irp,
        ..PowerRequest::default()
    });
    let request =
        PowerIrp { irp, is_device_request: of_device, minor: phase.minor(), instance: &device.instance, state };
    let note = TruthNote::PowerRequest(row, Edge::Begin);
    steps.push(if records_power {
        Step::emit_noted(request.start(planner.version), note)
    } else {
        Step::Kernel { hook: 0x1226, payload: request.logger_start(device.order), notes: vec![note] }
    });
    (row, irp)
}

/// Completes the request.
fn end(planner: &Planner<'_>, steps: &mut Vec<Step>, row: usize, irp: u64, elapsed: u64) {
    let note = TruthNote::PowerRequest(row, Edge::End);
    if !planner.records_power() {
        steps.push(Step::Kernel { hook: 0x1227, payload: events::logger_request_stop(irp, 0), notes: vec![note] });
        return;
    }
    steps.push(Step::emit_noted(events::request_stop(irp, 0), note));
    if planner.scenario.machine.build >= REPEATS_COMPLETIONS {
        steps.push(Step::emit(events::request_info(irp, 0, elapsed)));
    }
}

/// Returns the steps of a driver that handles the request while `nested_steps` run.
fn driver(planner: &mut Planner<'_>, request: usize, irp: u64, name: &str, nested_steps: Vec<Step>) -> Vec<Step> {
    if !planner.records_power() {
        return nested_steps;
    }
    let device_request = planner.plan.transitions.power_requests[request].clone();
    let name = format!("\\Driver\\{name}");
    let row = planner.request(PowerRequest { scope: "driver", driver: name.clone(), status: None, ..device_request });
    let object = 0xFFFF_9B00_0000_0000 + row as u64 * 0x200;
    let mut steps =
        vec![Step::emit_noted(events::driver_start(irp, object, &name), TruthNote::PowerRequest(row, Edge::Begin))];
    steps.extend(nested_steps);
    steps.push(Step::emit_noted(events::driver_stop(irp, object), TruthNote::PowerRequest(row, Edge::End)));
    steps
}

/// Plans kernel threads that wait for each other; the last waits for a timer.
fn chain(planner: &mut Planner<'_>, name: &str, ids: &[u32], time: u64) {
    for (index, &id) in ids.iter().enumerate() {
        let mut steps = vec![planner.wait(&format!("{name} {index}")), Step::Compute(200)];
        if index + 1 == ids.len() {
            steps.push(Step::Sleep(time));
        } else {
            steps.push(planner.set(&format!("{name} {}", index + 1)));
            steps.push(planner.wait(&format!("{name} {} done", index + 1)));
        }
        steps.push(Step::Compute(200));
        steps.push(planner.set(&format!("{name} {index} done")));
        steps.push(planner.wait("never"));
        let thread = planner.plan.thread(SYSTEM, BOOT_PRIORITY, steps);
        planner.plan.threads[thread].id = id;
    }
}

impl Planner<'_> {
    /// Adds a power request to the truth.
    fn request(&mut self, row: PowerRequest) -> usize {
        self.plan.transitions.power_requests.push(PowerRequest { start_ns: NOT_STARTED, ..row });
        self.plan.transitions.power_requests.len() - 1
    }
}
