//! When a boot or a resume is over.

use std::time::Duration;

use crate::machine::{Files, Machine};

/// Longest wait for systemd's start-up jobs, s.
const MAX_START_S: u64 = 600;
/// Longest wait for the processors to become idle, s.
const MAX_BUSY_S: u64 = 180;
/// Seconds in a row in which the processors must be idle: what the analysis asks for, and two more so that it is there.
const IDLE_S: u64 = 12;
/// An idle second: this share of the processors' time at least, %.
const IDLE_PERCENT: u64 = 80;

/// Waits until systemd has no start-up jobs left, then for `delay_s`, or until the processors are idle.
pub fn settle(machine: &mut dyn Machine, delay_s: Option<u64>) {
    for _ in 0..MAX_START_S {
        let state = machine.run(&["systemctl", "is-system-running"]);
        // It fails for `degraded` too, which is an end.
        let state = state.map(|outcome| String::from_utf8_lossy(&outcome.stdout).into_owned());
        match state.as_deref().map(str::trim) {
            Ok("starting" | "initializing") => machine.wait(Duration::from_secs(1)),
            _ => break,
        }
    }
    match delay_s {
        Some(seconds) => machine.wait(Duration::from_secs(seconds)),
        None => until_idle(machine),
    }
}

fn until_idle(machine: &mut dyn Machine) {
    let mut idle_s = 0;
    let mut before = processor_time(machine);
    for _ in 0..MAX_BUSY_S {
        machine.wait(Duration::from_secs(1));
        let now = processor_time(machine);
        let is_idle = match (before, now) {
            (Some((idle_before, all_before)), Some((idle_now, all_now))) => {
                let idle = idle_now.saturating_sub(idle_before);
                let all = all_now.saturating_sub(all_before);
                idle.saturating_mul(100) >= all.saturating_mul(IDLE_PERCENT)
            }
            _ => true,
        };
        idle_s = if is_idle { idle_s + 1 } else { 0 };
        if idle_s == IDLE_S {
            return;
        }
        before = now;
    }
}

/// Idle time (waiting for disks is none) and all time of the processors so far, in the kernel's ticks.
fn processor_time(machine: &dyn Machine) -> Option<(u64, u64)> {
    let text = machine.read_text("/proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest times are in user and nice.
    let all = ticks.iter().take(8).sum();
    Some((*ticks.get(3)?, all))
}
