//! How a machine shuts down: each unit stops when those that started after it have stopped; then the last program ends
//! what is left.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Play;
use super::boot::description;
use super::plan::{Ending, Work};
use super::processors::ThreadId;
use super::truth::TrueLife;

const STOPPING: &str = "de5b426a63be47a7b6ac3eaac82e2f6f";
const STOPPED: &str = "9d1aaa27d60140bd96365438aad20286";
/// What the manager needs for each step, µs.
const STEP_US: i64 = 300;
/// The process ids of programs that stop units begin here.
const FIRST_STOP_PID: u32 = 600;
/// Steps of the last program: so long after its begin, ms, and what it says.
const LAST_STEPS: [(i64, &str); 7] = [
    (0, "Syncing filesystems and block devices."),
    (40, "Sending SIGTERM to remaining processes..."),
    (120, "Sending SIGKILL to remaining processes..."),
    (150, "Unmounting file systems."),
    (260, "All filesystems unmounted."),
    (300, "All filesystems, swaps, loop devices, MD devices and DM devices detached."),
    (320, "Powering off."),
];

impl Play<'_> {
    /// From the request until the power is off.
    pub(super) fn shutdown(&mut self) {
        let plan = self.plan;
        let asked_us = self.processors.now_us();
        self.records.program_says(asked_us, ("systemd-logind", 150), "The system will power off now!");
        let manager = self.processors.thread(1, "systemd", false);
        let mut left: HashSet<usize> = (0..plan.units.len())
            .filter(|&at| self.records.units[at].as_ref().is_some_and(|state| state.active_us > 0))
            .filter(|&at| plan.units[at].ending != Ending::Hangs)
            .collect();
        let place = |name: &String| plan.units.iter().position(|unit| unit.name == *name);
        let mut stopped_us: HashMap<usize, i64> = HashMap::new();
        let mut released_by: HashMap<usize, usize> = HashMap::new();
        let mut stopping = HashMap::new();
        let mut last = None;
        // Programs that ended while the manager was at work.
        let mut over: VecDeque<ThreadId> = VecDeque::new();
        while !left.is_empty() || !stopping.is_empty() {
            // Whose turn it is: nobody that came after it is left.
            let mut ready: Vec<usize> = left
                .iter()
                .copied()
                .filter(|&at| {
                    let later =
                        |other: &usize| plan.units[*other].after.iter().filter_map(place).any(|before| before == at);
                    !left.iter().any(later) && !stopping.values().any(later)
                })
                .collect();
            ready.sort_unstable();
            for at in ready {
                left.remove(&at);
                let later = (0..plan.units.len())
                    .filter(|other| plan.units[*other].after.iter().filter_map(place).any(|before| before == at))
                    .filter(|other| stopped_us.contains_key(other))
                    .max_by_key(|other| stopped_us.get(other));
                if let Some(later) = later {
                    released_by.insert(at, later);
                }
                over.extend(self.step(manager));
                let now_us = self.processors.now_us();
                let unit = &plan.units[at];
                self.truth.stops.insert(unit.name.clone(), TrueLife { start_us: now_us, end_us: None });
                if let Some(state) = &mut self.records.units[at] {
                    state.stop_us = now_us;
                }
                if unit.stop.is_empty() {
                    self.stopped(at);
                    stopped_us.insert(at, self.processors.now_us());
                    last = Some(at);
                    continue;
                }
                let text = format!("Stopping {} - {}...", unit.name, description(&unit.name));
                let about = [("MESSAGE_ID", STOPPING), ("UNIT", &*unit.name), ("JOB_TYPE", "stop")];
                self.records.manager_says(now_us, &text, &about);
                let pid = FIRST_STOP_PID + u32::try_from(at).unwrap_or(0);
                let program = unit.name.split(['.', '@']).next().unwrap_or("unit");
                let thread = self.processors.process(pid, &program[..program.len().min(15)], &unit.stop, manager);
                stopping.insert(thread, at);
            }
            self.processors.rests(manager);
            if stopping.is_empty() {
                continue;
            }
            let Some(done) = over.pop_front().or_else(|| self.processors.next(i64::MAX)) else { break };
            let Some(at) = stopping.remove(&done) else {
                self.processors.rests(done);
                continue;
            };
            self.processors.give(manager, &[], Some(done));
            self.processors.exits(done);
            over.extend(self.step(manager));
            self.stopped(at);
            stopped_us.insert(at, self.processors.now_us());
            last = Some(at);
        }
        let mut way = Vec::new();
        while let Some(at) = last {
            way.push(plan.units[at].name.clone());
            last = released_by.get(&at).copied();
        }
        way.reverse();
        self.truth.stop_path = way;
        self.last_program(manager);
    }

    fn step(&mut self, manager: ThreadId) -> Vec<ThreadId> {
        self.works(manager, &[Work::Runs(STEP_US)])
    }

    fn stopped(&mut self, at: usize) {
        let unit = &self.plan.units[at];
        let now_us = self.processors.now_us();
        if let Some(life) = self.truth.stops.get_mut(&unit.name) {
            life.end_us = Some(now_us);
        }
        if let Some(state) = &mut self.records.units[at] {
            state.inactive_us = now_us;
            if unit.killed {
                (state.result, state.has_failed) = ("timeout", true);
            }
        }
        let name = unit.name.as_str();
        if unit.killed {
            let pid = self.records.units[at].as_ref().map_or(0, |state| state.pid);
            let program = name.split(['.', '@']).next().unwrap_or("unit");
            for (before_us, text) in [
                (90, format!("{name}: State 'stop-sigterm' timed out. Killing.")),
                (80, format!("{name}: Killing process {pid} ({program}) with signal SIGKILL.")),
                (30, format!("{name}: Failed with result 'timeout'.")),
            ] {
                self.records.manager_says(now_us - before_us, &text, &[("UNIT", name)]);
            }
        }
        let kind = if name.ends_with(".target") { "Stopped target" } else { "Stopped" };
        let about = [("MESSAGE_ID", STOPPED), ("UNIT", name), ("JOB_TYPE", "stop"), ("JOB_RESULT", "done")];
        self.records.manager_says(now_us, &format!("{kind} {name} - {}.", description(name)), &about);
    }

    /// What comes when no unit is left.
    fn last_program(&mut self, manager: ThreadId) {
        for target in ["umount.target", "shutdown.target", "final.target", "poweroff.target"] {
            self.step(manager);
            let now_us = self.processors.now_us();
            let about = [
                ("MESSAGE_ID", "39f53479d3a045ac8e11786248231fbf"),
                ("UNIT", target),
                ("JOB_TYPE", "start"),
                ("JOB_RESULT", "done"),
            ];
            self.records.manager_says(now_us, &format!("Reached target {target} - {}.", description(target)), &about);
        }
        self.records.manager_says(self.processors.now_us(), "Shutting down.", &[]);
        self.records.journal_until_us = Some(self.processors.now_us() + 1_000);
        let begin_us = self.processors.now_us() + 5_000;
        for (after_ms, text) in LAST_STEPS {
            self.records.console(begin_us + after_ms * 1_000, "systemd-shutdown", text);
        }
        self.processors.pass(350_000);
        self.records.kernel(self.processors.now_us(), "reboot: Power down");
        self.processors.rests(manager);
    }
}
