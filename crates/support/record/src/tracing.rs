//! Selects the kernel's trace events and controls the trace of the running kernel.

use crate::capabilities::Capabilities;
use crate::job::Job;
use crate::machine::{Machine, MachineFiles};
use crate::step::{Step, Value};
pub use crate::trace_group::{TRACEFS, TraceGroup};

/// Returns the requested events that this kernel has, in a fixed order. If the kernel's events are not visible, returns
/// all requested events.
#[must_use]
pub fn events(job: &Job, capabilities: &Capabilities) -> Vec<String> {
    let requested = job
        .groups
        .iter()
        .flat_map(|group| group.events().iter().map(|&event| event.to_owned()))
        .chain(job.events.iter().cloned());
    let mut events = Vec::new();
    for event in requested {
        let is_available = capabilities.events.as_ref().is_none_or(|available| available.contains(&event));
        if is_available && !events.contains(&event) {
            events.push(event);
        }
    }
    events
}

/// Returns the size of the trace buffer per CPU, in MiB: at most an eighth of the memory, to avoid memory pressure.
#[must_use]
pub fn buffer_mib(job: &Job, capabilities: &Capabilities) -> u64 {
    const MAX: u64 = 64;
    const MIN: u64 = 4;
    job.buffer_mib.unwrap_or_else(|| {
        let processors = u64::from(capabilities.processors.max(1));
        (capabilities.memory_bytes / 8 / processors / (1 << 20)).clamp(MIN, MAX)
    })
}

/// Returns the step that configures the running kernel's trace for a job.
#[must_use]
pub fn arm(job: &Job, capabilities: &Capabilities) -> Option<Step> {
    let tracefs = capabilities.tracefs.as_deref()?;
    let mut values = vec![
        // First, so that it is restored last.
        Value::new(format!("{tracefs}/tracing_on"), "0"),
        Value::new(format!("{tracefs}/trace_clock"), "mono"),
        Value::new(format!("{tracefs}/buffer_size_kb"), &(buffer_mib(job, capabilities) * 1024).to_string()),
    ];
    let events = events(job, capabilities);
    let description = format!("up the kernel trace of {} events", events.len());
    for event in events {
        let path = format!("{tracefs}/events/{}/enable", event.replacen(':', "/", 1));
        values.push(Value::new(path, "1"));
    }
    for path in ["/sys/power/pm_print_times", "/sys/power/pm_debug_messages"] {
        if !job.transition.restarts() && capabilities.power_values.iter().any(|value| value == path) {
            values.push(Value::new(path.to_owned(), "1"));
        }
    }
    Some(Step::Values { what: description, values })
}

/// Clears the trace and starts it.
pub fn begin(machine: &mut dyn Machine, tracefs: &str) -> Result<(), crate::error::Error> {
    machine.set_value(&format!("{tracefs}/trace"), b"\n")?;
    machine.set_value(&format!("{tracefs}/tracing_on"), b"1")
}

/// Stops the trace. Its contents stay readable.
pub fn stop(machine: &mut dyn Machine, tracefs: &str) -> Result<(), crate::error::Error> {
    machine.set_value(&format!("{tracefs}/tracing_on"), b"0")
}

/// Stops a trace that was started by kernel options and frees its memory.
pub fn release(machine: &mut dyn Machine, tracefs: &str) -> Result<(), crate::error::Error> {
    stop(machine, tracefs)?;
    machine.set_value(&format!("{tracefs}/set_event"), b"\n")?;
    machine.set_value(&format!("{tracefs}/trace"), b"\n")?;
    machine.set_value(&format!("{tracefs}/buffer_size_kb"), b"1408")
}

/// Returns a line with a reading of all clocks, and also writes it into the trace if there is one.
pub fn mark(machine: &mut dyn Machine, tracefs: Option<&str>, label: &str) -> String {
    let clocks = machine.clocks();
    let seconds = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let line = format!(
        "onoff:clock {label} mono={} raw={} boot={} real={}",
        seconds(clocks.monotonic_ns),
        seconds(clocks.raw_ns),
        seconds(clocks.boot_ns),
        seconds(clocks.real_ns),
    );
    if let Some(tracefs) = tracefs {
        // A trace without marks is still useful.
        let _ = machine.set_value(&format!("{tracefs}/trace_marker"), line.as_bytes());
    }
    line
}
