//! Devices that are asked, put to sleep and woken: one order after the other, those of an order
//! side by side.

use super::Stage;
use crate::plan::BOOT_PRIORITY;
use crate::program::SYSTEM;
use crate::program::{Edge, Note, Step};
use crate::scenario::power::PoweredDevice;
use crate::transition_truth::{NOT_YET, PowerRequest};
use onoff_testkit::events::power::{self as events, Request, minor};

/// The build that first records each completion twice.
const REPEATS_COMPLETIONS: u32 = 16299;
/// Device power states.
const D0: u8 = 1;
const D3: u8 = 4;
/// Request packets that are used in turn.
const PACKETS: u64 = 48;

/// What is said to devices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Query,
    Suspend,
    Resume,
}

impl Telling {
    const fn text(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
        }
    }

    const fn phase(self) -> &'static str {
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

/// The phase in which all devices are told.
pub(super) fn all(stage: &mut Stage<'_>, number: usize, telling: Telling, (target, effective): (u8, u8)) -> Vec<Step> {
    let inner = orders(stage, number, telling, effective);
    let row = stage.activity("power_phase", telling.phase(), "");
    if !stage.records_power() {
        let waking = u8::from(telling == Telling::Resume);
        let payload =
            onoff_testkit::assemble::Payload::wide().u32(effective.into()).bytes(&[waking, 0, telling.minor()]);
        let mut steps = vec![Step::Kernel { hook: 0x1224, payload, notes: vec![Note::Activity(row, Edge::Begin)] }];
        steps.extend(inner);
        steps.push(Step::Kernel {
            hook: 0x1225,
            payload: onoff_testkit::assemble::Payload::wide().u32(0),
            notes: vec![Note::Activity(row, Edge::End)],
        });
        return steps;
    }
    let (begin, end) = if telling == Telling::Resume {
        (events::phase(37, true), events::phase(37, false))
    } else {
        let query = telling == Telling::Query;
        (events::devices_start(query, target.into(), effective.into()), events::devices_stop())
    };
    stage.within(row, begin, inner, end)
}

fn orders(stage: &mut Stage<'_>, number: usize, telling: Telling, state: u8) -> Vec<Step> {
    let scenario = stage.scenario;
    let mut orders: Vec<u8> = scenario.devices.iter().map(|device| device.order).collect();
    orders.sort_unstable();
    orders.dedup();
    if telling != Telling::Resume {
        orders.reverse();
    }
    let mut steps = Vec::new();
    for order in orders {
        let group: Vec<&PoweredDevice> = scenario.devices.iter().filter(|device| device.order == order).collect();
        if let [device] = group[..] {
            steps.extend(one(stage, number, telling, device, state).0);
            continue;
        }
        let mut waits = Vec::new();
        let mut slowest: Option<(u64, usize, u64)> = None;
        for device in group {
            let (mut request, row, irp) = one(stage, number, telling, device, state);
            let name = format!("power {number} {} {}", telling.text(), device.instance);
            let over = format!("{name} over");
            // The first step sends the request.
            let sent = format!("{name} sent");
            request.insert(1, stage.set(&sent));
            let mut own = vec![stage.wait(&name)];
            own.extend(request);
            own.push(stage.set(&over));
            own.push(stage.wait("never"));
            stage.plan.thread(SYSTEM, BOOT_PRIORITY, own);
            steps.push(stage.set(&name));
            steps.push(stage.wait(&sent));
            waits.push(stage.wait(&over));
            let time = duration(telling, device);
            if slowest.is_none_or(|(longest, ..)| time > longest) {
                slowest = Some((time, row, irp));
            }
        }
        if let Some((_, row, irp)) = slowest
            && stage.records_power()
        {
            steps.push(Step::tell_note(events::request_waiting(irp), Note::PowerRequestWaiting(row)));
        }
        steps.extend(waits);
    }
    steps
}

const fn duration(telling: Telling, device: &PoweredDevice) -> u64 {
    match telling {
        Telling::Query => device.query.0,
        Telling::Suspend => device.suspend.0,
        Telling::Resume => device.resume.0,
    }
}

/// One device's request: its steps, its row and its packet.
fn one(
    stage: &mut Stage<'_>,
    number: usize,
    telling: Telling,
    device: &PoweredDevice,
    state: u8,
) -> (Vec<Step>, usize, u64) {
    let mut steps = Vec::new();
    let (row, irp) = begin(stage, &mut steps, telling, device, (false, state));
    steps.push(Step::Begin);
    let time = duration(telling, device);
    if telling == Telling::Suspend {
        for filter in &device.filter {
            let hold = vec![Step::Sleep(filter.time.0)];
            steps.extend(driver(stage, row, irp, &filter.name, hold));
        }
    }
    let mut inside = Vec::new();
    if telling != Telling::Query
        && let Some(own) = device.own_request
    {
        let state = if telling == Telling::Suspend { D3 } else { D0 };
        let (row, irp) = begin(stage, &mut inside, telling, device, (true, state));
        inside.push(Step::Sleep(own.0));
        end(stage, &mut inside, row, irp, own.0);
    }
    if telling == Telling::Suspend {
        inside.extend(stage.plan.steps(&device.work));
    }
    if telling == Telling::Suspend && !device.chain.is_empty() {
        let name = format!("power {number} {}", device.instance);
        chain(stage, &name, &device.chain, time);
        inside.push(stage.set(&format!("{name} 0")));
        inside.push(stage.wait(&format!("{name} 0 done")));
    } else {
        inside.push(Step::Pad(time));
    }
    let name = device.driver.clone();
    steps.extend(driver(stage, row, irp, &name, inside));
    end(stage, &mut steps, row, irp, time);
    (steps, row, irp)
}

/// The request is sent.
fn begin(
    stage: &mut Stage<'_>,
    steps: &mut Vec<Step>,
    telling: Telling,
    device: &PoweredDevice,
    (of_device, state): (bool, u8),
) -> (usize, u64) {
    let sent = stage.plan.transitions.power_requests.len() as u64;
    let irp = 0xFFFF_9A00_0000_0000 + (sent % PACKETS) * 0x140;
    let records_power = stage.records_power();
    let row = stage.request(PowerRequest {
        kind: if telling == Telling::Query { "query" } else { "set" },
        scope: "device",
        device: device.instance.clone(),
        driver: device.driver.clone(),
        description: device.description.clone(),
        state_kind: if of_device { "device" } else { "system" },
        state: (!records_power || stage.version > 0).then_some(state),
        status: Some(0),
        irp,
        ..PowerRequest::default()
    });
    let request = Request { irp, of_device, minor: telling.minor(), instance: &device.instance, state };
    let note = Note::PowerRequest(row, Edge::Begin);
    steps.push(if records_power {
        Step::tell_note(request.start(stage.version), note)
    } else {
        Step::Kernel { hook: 0x1226, payload: request.logger_start(device.order), notes: vec![note] }
    });
    (row, irp)
}

/// The request is completed.
fn end(stage: &Stage<'_>, steps: &mut Vec<Step>, row: usize, irp: u64, elapsed: u64) {
    let note = Note::PowerRequest(row, Edge::End);
    if !stage.records_power() {
        steps.push(Step::Kernel { hook: 0x1227, payload: events::logger_request_stop(irp, 0), notes: vec![note] });
        return;
    }
    steps.push(Step::tell_note(events::request_stop(irp, 0), note));
    if stage.scenario.machine.build >= REPEATS_COMPLETIONS {
        steps.push(Step::tell(events::request_info(irp, 0, elapsed)));
    }
}

/// A driver holds the request.
fn driver(stage: &mut Stage<'_>, request: usize, irp: u64, name: &str, inside: Vec<Step>) -> Vec<Step> {
    if !stage.records_power() {
        return inside;
    }
    let of = stage.plan.transitions.power_requests[request].clone();
    let name = format!("\\Driver\\{name}");
    let row = stage.request(PowerRequest { scope: "driver", driver: name.clone(), status: None, ..of });
    let object = 0xFFFF_9B00_0000_0000 + row as u64 * 0x200;
    let mut steps =
        vec![Step::tell_note(events::driver_start(irp, object, &name), Note::PowerRequest(row, Edge::Begin))];
    steps.extend(inside);
    steps.push(Step::tell_note(events::driver_stop(irp, object), Note::PowerRequest(row, Edge::End)));
    steps
}

/// Threads of the kernel that wait for each other; the last waits for a timer.
fn chain(stage: &mut Stage<'_>, name: &str, ids: &[u32], time: u64) {
    for (place, &id) in ids.iter().enumerate() {
        let mut steps = vec![stage.wait(&format!("{name} {place}")), Step::Compute(200)];
        if place + 1 == ids.len() {
            steps.push(Step::Sleep(time));
        } else {
            steps.push(stage.set(&format!("{name} {}", place + 1)));
            steps.push(stage.wait(&format!("{name} {} done", place + 1)));
        }
        steps.push(Step::Compute(200));
        steps.push(stage.set(&format!("{name} {place} done")));
        steps.push(stage.wait("never"));
        let thread = stage.plan.thread(SYSTEM, BOOT_PRIORITY, steps);
        stage.plan.threads[thread].id = id;
    }
}

impl Stage<'_> {
    /// A new row of the truth: a power request.
    fn request(&mut self, row: PowerRequest) -> usize {
        self.plan.transitions.power_requests.push(PowerRequest { start_ns: NOT_YET, ..row });
        self.plan.transitions.power_requests.len() - 1
    }
}
