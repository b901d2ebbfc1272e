//! Waits until a boot or a resume is complete.

use std::time::Duration;

use crate::machine::{Machine, MachineFiles};

/// Maximum wait for systemd's startup jobs, in seconds.
const MAX_START_S: u64 = 600;
/// Maximum wait for idle CPUs, in seconds.
const MAX_BUSY_S: u64 = 180;
/// Required number of consecutive idle seconds: as many as the analysis needs, plus two.
const IDLE_S: u64 = 12;
/// Minimum CPU idle time of an idle second, in percent.
const IDLE_PERCENT: u64 = 80;

/// Waits until systemd has no startup jobs left, and then for `delay_s` or until the CPUs are idle.
pub fn settle(machine: &mut dyn Machine, delay_s: Option<u64>) {
    for _ in 0..MAX_START_S {
        let state = machine.run(&["systemctl", "is-system-running"]);
        // The command also fails for `degraded`, which is a final state.
        let state = state.map(|outcome| String::from_utf8_lossy(&outcome.stdout).into_owned());
        match state.as_deref().map(str::trim) {
            Ok("starting" | "initializing") => machine.wait(Duration::from_secs(1)),
            _ => break,
        }
    }
    match delay_s {
        Some(seconds) => machine.wait(Duration::from_secs(seconds)),
        None => wait_until_idle(machine),
    }
}

fn wait_until_idle(machine: &mut dyn Machine) {
    let mut idle_s = 0;
    let mut previous = cpu_ticks(machine);
    for _ in 0..MAX_BUSY_S {
        machine.wait(Duration::from_secs(1));
        let current = cpu_ticks(machine);
        let is_idle = match (previous, current) {
            (Some((previous_idle, previous_total)), Some((current_idle, current_total))) => {
                let idle = current_idle.saturating_sub(previous_idle);
                let total = current_total.saturating_sub(previous_total);
                idle.saturating_mul(100) >= total.saturating_mul(IDLE_PERCENT)
            }
            _ => true,
        };
        idle_s = if is_idle { idle_s + 1 } else { 0 };
        if idle_s == IDLE_S {
            return;
        }
        previous = current;
    }
}

/// Returns the idle and total CPU time so far, in ticks. Waiting for disks does not count as idle.
fn cpu_ticks(machine: &dyn Machine) -> Option<(u64, u64)> {
    let text = machine.read_text("/proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; user and nice include the guest times.
    let total = ticks.iter().take(8).sum();
    Some((*ticks.get(3)?, total))
}
