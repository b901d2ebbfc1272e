//! Shutdown: each unit stops when the units ordered after it have stopped; then systemd-shutdown ends the rest.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Simulation;
use super::boot::description;
use super::plan::{StartOutcome, Work};
use super::scheduler::ThreadId;
use super::truth::TrueInterval;

const STOPPING: &str = "de5b426a63be47a7b6ac3eaac82e2f6f";
const STOPPED: &str = "9d1aaa27d60140bd96365438aad20286";
/// CPU time of the manager for each step, µs.
const STEP_US: i64 = 300;
/// First process id of the programs that stop units.
const FIRST_STOP_PID: u32 = 600;
/// Steps of systemd-shutdown: time since its start, ms, and message.
const FINAL_STEPS: [(i64, &str); 7] = [
    (0, "Syncing filesystems and block devices."),
    (40, "Sending SIGTERM to remaining processes..."),
    (120, "Sending SIGKILL to remaining processes..."),
    (150, "Unmounting file systems."),
    (260, "All filesystems unmounted."),
    (300, "All filesystems, swaps, loop devices, MD devices and DM devices detached."),
    (320, "Powering off."),
];

impl Simulation<'_> {
    /// Simulates from the request until the power is off.
    pub(super) fn shutdown(&mut self) {
        let plan = self.plan;
        let request_us = self.scheduler.now_us();
        self.recorder.log_program(request_us, ("systemd-logind", 150), "The system will power off now!");
        let manager = self.scheduler.thread(1, "systemd", false);
        let mut remaining: HashSet<usize> = (0..plan.units.len())
            .filter(|&index| self.recorder.units[index].as_ref().is_some_and(|state| state.active_us > 0))
            .filter(|&index| plan.units[index].outcome != StartOutcome::Hangs)
            .collect();
        let index_of = |name: &String| plan.units.iter().position(|unit| unit.name == *name);
        let mut stopped_us: HashMap<usize, i64> = HashMap::new();
        let mut released_by: HashMap<usize, usize> = HashMap::new();
        let mut stopping = HashMap::new();
        let mut last_stopped = None;
        // Programs that ended while the manager was busy.
        let mut ended: VecDeque<ThreadId> = VecDeque::new();
        while !remaining.is_empty() || !stopping.is_empty() {
            // Units can stop when no unit ordered after them remains.
            let mut ready: Vec<usize> = remaining
                .iter()
                .copied()
                .filter(|&index| {
                    let is_ordered_after = |other: &usize| {
                        plan.units[*other].after.iter().filter_map(index_of).any(|predecessor| predecessor == index)
                    };
                    !remaining.iter().any(is_ordered_after) && !stopping.values().any(is_ordered_after)
                })
                .collect();
            ready.sort_unstable();
            for index in ready {
                remaining.remove(&index);
                let last_successor = (0..plan.units.len())
                    .filter(|other| {
                        plan.units[*other].after.iter().filter_map(index_of).any(|predecessor| predecessor == index)
                    })
                    .filter(|other| stopped_us.contains_key(other))
                    .max_by_key(|other| stopped_us.get(other));
                if let Some(successor) = last_successor {
                    released_by.insert(index, successor);
                }
                ended.extend(self.step(manager));
                let now_us = self.scheduler.now_us();
                let unit = &plan.units[index];
                self.truth.stops.insert(unit.name.clone(), TrueInterval { start_us: now_us, end_us: None });
                if let Some(state) = &mut self.recorder.units[index] {
                    state.stop_us = now_us;
                }
                if unit.stop.is_empty() {
                    self.unit_stopped(index);
                    stopped_us.insert(index, self.scheduler.now_us());
                    last_stopped = Some(index);
                    continue;
                }
                let text = format!("Stopping {} - {}...", unit.name, description(&unit.name));
                let fields = [("MESSAGE_ID", STOPPING), ("UNIT", &*unit.name), ("JOB_TYPE", "stop")];
                self.recorder.log_manager(now_us, &text, &fields);
                let pid = FIRST_STOP_PID + u32::try_from(index).unwrap_or(0);
                let program = unit.name.split(['.', '@']).next().unwrap_or("unit");
                let thread = self.scheduler.process(pid, &program[..program.len().min(15)], &unit.stop, manager);
                stopping.insert(thread, index);
            }
            self.scheduler.block(manager);
            if stopping.is_empty() {
                continue;
            }
            let Some(done) = ended.pop_front().or_else(|| self.scheduler.next(i64::MAX)) else { break };
            let Some(index) = stopping.remove(&done) else {
                self.scheduler.block(done);
                continue;
            };
            self.scheduler.add_work(manager, &[], Some(done));
            self.scheduler.exit(done);
            ended.extend(self.step(manager));
            self.unit_stopped(index);
            stopped_us.insert(index, self.scheduler.now_us());
            last_stopped = Some(index);
        }
        let mut path = Vec::new();
        while let Some(index) = last_stopped {
            path.push(plan.units[index].name.clone());
            last_stopped = released_by.get(&index).copied();
        }
        path.reverse();
        self.truth.critical_stop_path = path;
        self.final_shutdown(manager);
    }

    fn step(&mut self, manager: ThreadId) -> Vec<ThreadId> {
        self.run_work(manager, &[Work::Cpu(STEP_US)])
    }

    fn unit_stopped(&mut self, index: usize) {
        let unit = &self.plan.units[index];
        let now_us = self.scheduler.now_us();
        if let Some(interval) = self.truth.stops.get_mut(&unit.name) {
            interval.end_us = Some(now_us);
        }
        if let Some(state) = &mut self.recorder.units[index] {
            state.inactive_us = now_us;
            if unit.is_killed {
                (state.result, state.has_failed) = ("timeout", true);
            }
        }
        let name = unit.name.as_str();
        if unit.is_killed {
            let pid = self.recorder.units[index].as_ref().map_or(0, |state| state.pid);
            let program = name.split(['.', '@']).next().unwrap_or("unit");
            for (before_us, text) in [
                (90, format!("{name}: State 'stop-sigterm' timed out. Killing.")),
                (80, format!("{name}: Killing process {pid} ({program}) with signal SIGKILL.")),
                (30, format!("{name}: Failed with result 'timeout'.")),
            ] {
                self.recorder.log_manager(now_us - before_us, &text, &[("UNIT", name)]);
            }
        }
        let kind = if name.ends_with(".target") { "Stopped target" } else { "Stopped" };
        let fields = [("MESSAGE_ID", STOPPED), ("UNIT", name), ("JOB_TYPE", "stop"), ("JOB_RESULT", "done")];
        self.recorder.log_manager(now_us, &format!("{kind} {name} - {}.", description(name)), &fields);
    }

    /// Simulates systemd-shutdown, when no unit remains.
    fn final_shutdown(&mut self, manager: ThreadId) {
        for target in ["umount.target", "shutdown.target", "final.target", "poweroff.target"] {
            self.step(manager);
            let now_us = self.scheduler.now_us();
            let fields = [
                ("MESSAGE_ID", "39f53479d3a045ac8e11786248231fbf"),
                ("UNIT", target),
                ("JOB_TYPE", "start"),
                ("JOB_RESULT", "done"),
            ];
            self.recorder.log_manager(now_us, &format!("Reached target {target} - {}.", description(target)), &fields);
        }
        self.recorder.log_manager(self.scheduler.now_us(), "Shutting down.", &[]);
        self.recorder.journal_until_us = Some(self.scheduler.now_us() + 1_000);
        let begin_us = self.scheduler.now_us() + 5_000;
        for (after_ms, text) in FINAL_STEPS {
            self.recorder.log_console(begin_us + after_ms * 1_000, "systemd-shutdown", text);
        }
        self.scheduler.advance(350_000);
        self.recorder.log_kernel(self.scheduler.now_us(), "reboot: Power down");
        self.scheduler.block(manager);
    }
}
