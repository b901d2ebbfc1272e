//! Puts the computer to sleep, has it woken by the RTC alarm, and collects the trace.

use std::time::Duration;

use crate::alarm;
use crate::capabilities::Capabilities;
use crate::collect::{self, About};
use crate::error::Error;
use crate::job::{Job, SleepMethod, Transition};
use crate::machine::{Machine, MachineFiles};
use crate::pack::pack;
use crate::power;
use crate::settle::settle;
use crate::tracing;

/// Performs one run with an armed trace. Returns the path of the recording, or `None` for a training run.
pub fn run(
    machine: &mut dyn Machine,
    job: &Job,
    capabilities: &Capabilities,
    run: u32,
    folder: &str,
) -> Result<Option<String>, Error> {
    let tracefs = capabilities.tracefs.as_deref();
    if let Some(tracefs) = tracefs {
        tracing::begin(machine, tracefs)?;
    }
    let mut clocks = vec![tracing::mark(machine, tracefs, "start")];
    // Wait until the effects of the previous run have subsided.
    machine.wait(Duration::from_secs(1));
    if let Some(seconds) = job.wake_after_s {
        alarm::set(machine, seconds)?;
    }
    clocks.push(tracing::mark(machine, tracefs, "before-sleep") + &power::readings(machine));
    fall_asleep(machine, job)?;
    clocks.push(tracing::mark(machine, tracefs, "after-sleep") + &power::readings(machine));
    if job.wake_after_s.is_some() {
        // Something else may have woken the computer before the alarm.
        alarm::clear(machine)?;
    }
    machine.print_line(&format!("onoff record: {}, {}: awake", job.transition.name(), job.run_name(run)));
    settle(machine, job.post_delay_s);
    clocks.push(tracing::mark(machine, tracefs, "end"));
    if let Some(tracefs) = tracefs {
        tracing::stop(machine, tracefs)?;
    }
    let Some(number) = job.recording_number(run) else { return Ok(None) };
    let (part, mut missing) = collect::computer(machine, folder, "sleep", &clocks)?;
    for (source, name) in [
        ("/sys/power/state", "power-state"),
        ("/sys/power/mem_sleep", "mem-sleep"),
        ("/sys/kernel/debug/suspend_stats", "suspend-stats"),
        ("/sys/kernel/debug/wakeup_sources", "wakeup-sources"),
    ] {
        collect::copy(machine, source, &format!("{part}/{name}"), &mut missing)?;
    }
    let kind = job.transition.name();
    let about = About { kind, number, of: job.runs, recorder: recorder(), previous_boot_ended: None, missing };
    collect::about(machine, &part, &about)?;
    let path = job.recording_path(kind, number);
    pack(machine, folder, &format!("{kind}-{number}"), &path, job.owner)?;
    Ok(Some(path))
}

fn fall_asleep(machine: &mut dyn Machine, job: &Job) -> Result<(), Error> {
    let hibernates = job.transition == Transition::Hibernate;
    match job.sleep_by {
        SleepMethod::Systemd => {
            let service = if hibernates { "systemd-hibernate.service" } else { "systemd-suspend.service" };
            // The command returns after the resume.
            machine.run_checked(&["systemctl", "start", service])?;
            Ok(())
        }
        SleepMethod::Kernel => {
            let state = if hibernates { "disk" } else { &job.sleep_state };
            machine.set_value("/sys/power/state", state.as_bytes())
        }
    }
}

/// Returns the name and version of this program.
pub(crate) fn recorder() -> String {
    concat!("onoff ", env!("CARGO_PKG_VERSION")).to_owned()
}
