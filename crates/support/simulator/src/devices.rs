//! The Plug and Play manager: handles drivers one at a time, except while a request is pending.

use super::plan::{BOOT_PRIORITY, Plan};
use super::program::SYSTEM;
use super::program::{Signal, Step, TruthNote};
use super::scenario::Driver;
use super::truth::Device;
use onoff_testkit::events::device;

/// Returns the manager's steps for a list of drivers. Boot drivers are only initialized; others are loaded first. The
/// last step waits for all pending requests.
pub(super) fn steps(plan: &mut Plan, drivers: &[Driver], is_boot: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut deferred: Vec<(&Driver, &str, Signal)> = Vec::new();
    let mut pending: Vec<Signal> = Vec::new();
    for driver in drivers {
        load(plan, driver, is_boot, &mut steps);
        if let Some(instance) = &driver.device {
            match start(plan, driver, instance, &mut steps) {
                Some(started) => deferred.push((driver, instance, started)),
                None => pending.extend(enumerate(plan, driver, instance, &mut steps)),
            }
        }
        deferred.retain(|&(deferred_driver, instance, started)| {
            if deferred_driver.enumerate_after.as_deref() != Some(driver.name.as_str()) {
                return true;
            }
            steps.push(Step::Wait(started));
            pending.extend(enumerate(plan, deferred_driver, instance, &mut steps));
            false
        });
    }
    for (driver, instance, started) in deferred {
        steps.push(Step::Wait(started));
        pending.extend(enumerate(plan, driver, instance, &mut steps));
    }
    steps.extend(pending.into_iter().map(Step::Wait));
    steps
}

fn operation(plan: &mut Plan, kind: &'static str, name: String) -> usize {
    plan.devices.push(Device { kind, name, ..Device::default() });
    plan.devices.len() - 1
}

fn load(plan: &mut Plan, driver: &Driver, is_boot: bool, steps: &mut Vec<Step>) {
    let name = format!("\\Driver\\{}", driver.name);
    let kind = if is_boot { "BootInit" } else { "DriverLoad" };
    let index = operation(plan, kind, name.clone());
    let begin = if is_boot { device::boot_init_start(&name) } else { device::driver_load_start(&name) };
    steps.push(Step::emit_noted(begin, TruthNote::DeviceStart(index)));
    steps.push(Step::Begin);
    if !is_boot {
        let image =
            driver.image.clone().unwrap_or_else(|| format!("\\SystemRoot\\System32\\drivers\\{}.sys", driver.name));
        steps.push(Step::Load(image));
    }
    steps.extend(plan.steps(&driver.work));
    compute(driver, driver.load.0, steps);
    steps.push(Step::PadTo(driver.load.0));
    let end = if is_boot { device::boot_init_stop(&name, 0) } else { device::driver_load_stop(&driver.name, 0, &name) };
    steps.push(Step::emit_noted(end, TruthNote::DeviceEnd(index)));
}

fn compute(driver: &Driver, time: u64, steps: &mut Vec<Step>) {
    let cpu = driver.cpu.0.min(time);
    if cpu > 0 {
        steps.push(Step::Compute(cpu));
    }
}

/// Starts a device; returns the completion signal if the request is pended.
fn start(plan: &mut Plan, driver: &Driver, instance: &str, steps: &mut Vec<Step>) -> Option<Signal> {
    let index = operation(plan, "DeviceStart", instance.to_owned());
    steps.push(Step::emit_noted(device::device_start(instance), TruthNote::DeviceStart(index)));
    steps.push(Step::Begin);
    let Some(returns_after) = driver.pend_start else {
        compute(driver, driver.start.0, steps);
        steps.push(Step::PadTo(driver.start.0));
        let end = device::device_start_stop(instance, 0);
        steps.push(Step::emit_noted(end, TruthNote::DeviceEnd(index)));
        return None;
    };
    let pended = device::device_start_pended(instance);
    let end = device::device_start_stop(instance, 0);
    Some(pend(plan, index, [pended, end], returns_after.0, driver.start.0, steps))
}

/// Enumerates a device's children; returns the completion signal if the request is pended.
fn enumerate(plan: &mut Plan, driver: &Driver, instance: &str, steps: &mut Vec<Step>) -> Option<Signal> {
    let time = driver.enumerate?;
    let index = operation(plan, "DeviceEnum", instance.to_owned());
    steps.push(Step::emit_noted(device::device_enum(instance), TruthNote::DeviceStart(index)));
    steps.push(Step::Begin);
    let Some(returns_after) = driver.pend_enumerate else {
        compute(driver, time.0, steps);
        steps.push(Step::PadTo(time.0));
        let end = device::device_enum_stop(instance);
        steps.push(Step::emit_noted(end, TruthNote::DeviceEnd(index)));
        return None;
    };
    let pended = device::device_enum_pended(instance);
    let end = device::device_enum_stop(instance);
    Some(pend(plan, index, [pended, end], returns_after.0, time.0, steps))
}

/// Plans a pending request: the manager continues after `returns_after`, and a thread of the driver completes the
/// request.
fn pend(
    plan: &mut Plan,
    index: usize,
    [pended, end]: [onoff_testkit::events::EventTemplate; 2],
    returns_after: u64,
    total: u64,
    steps: &mut Vec<Step>,
) -> Signal {
    let started = plan.signal(&format!("device {index} pended"));
    let done = plan.signal(&format!("device {index} completed"));
    steps.push(Step::PadTo(returns_after));
    steps.push(Step::emit_noted(pended, TruthNote::DevicePend(index)));
    steps.push(Step::Set(started));
    let remaining = total.saturating_sub(returns_after).max(1);
    plan.thread(
        SYSTEM,
        BOOT_PRIORITY,
        vec![
            Step::Wait(started),
            Step::Sleep(remaining),
            Step::emit_noted(end, TruthNote::DeviceEnd(index)),
            Step::Set(done),
        ],
    );
    done
}
