//! How a machine sleeps: tasks freeze, devices sleep one after the other or side by side, and all of it backwards on
//! the way up.

use std::collections::{HashMap, HashSet};

use super::Play;
use super::plan::{LinuxDevice, LinuxSleepPlan, Work};
use super::processors::ThreadId;

/// The task that writes to `/sys/power/state`.
const SLEEPER: u32 = 900;
/// The first task that is frozen, and the first worker of the kernel.
const FIRST_TASK: u32 = 910;
const FIRST_WORKER: u32 = 60;

/// Phases of devices, as the tracer and the log name them, and the event that the tracer counts them under.
const DOWN: [(&str, &str, i32); 3] =
    [("dpm_suspend", "suspend", 2), ("dpm_suspend_late", "late suspend", 2), ("dpm_suspend_noirq", "noirq suspend", 2)];
const UP: [(&str, &str, i32); 3] =
    [("dpm_resume_noirq", "noirq resume", 16), ("dpm_resume_early", "early resume", 16), ("dpm_resume", "resume", 16)];

impl Play<'_> {
    /// A suspend to memory and its end.
    pub(super) fn sleep(&mut self, plan: &LinuxSleepPlan) {
        let sleeper = self.processors.thread(SLEEPER, "systemd-sleep", false);
        self.works(sleeper, &[Work::Runs(200)]);
        let (word, state) = if plan.to_idle.is_some() { ("s2idle", 1) } else { ("deep", 3) };
        self.reads_power(plan, false);
        if plan.wireless_ms.is_some() {
            self.log("wlan0: deauthenticating from 02:00:00:00:00:01 by local choice (Reason: 3=DEAUTH_LEAVING)");
        }
        self.log(&format!("PM: suspend entry ({word})"));
        let begin_us = self.processors.now_us();
        self.marks(sleeper, &format!("suspend_enter[{state}]"), true);
        self.marks(sleeper, "sync_filesystems[0]", true);
        self.works(sleeper, &[Work::Sleeps(plan.sync_ms * 1_000), Work::Runs(50)]);
        self.marks(sleeper, "sync_filesystems[0]", false);
        self.truth.sleep_phases.push(("sync_filesystems", begin_us, self.processors.now_us()));
        let sync_ms = (self.processors.now_us() - begin_us) / 1_000;
        self.log(&format!("Filesystems sync: {}.{:03} seconds", sync_ms / 1_000, sync_ms % 1_000));
        self.log(&format!("PM: Preparing system for sleep ({word})"));
        let tasks = self.freeze(sleeper, plan);
        self.marks(sleeper, &format!("suspend_enter[{state}]"), false);
        self.log(&format!("PM: Suspending system ({word})"));
        let mut back_us = 0;
        let refused = self.devices(sleeper, &plan.devices, DOWN[0]);
        if let Some((device, error)) = refused {
            self.log(&format!("{} {}: PM: failed to suspend: error {error}", device.driver, device.name));
            self.log("PM: Some devices failed to suspend, or early wake event detected");
            self.devices(sleeper, &plan.devices, UP[2]);
        } else {
            self.devices(sleeper, &[], DOWN[1]);
            self.devices(sleeper, &[], DOWN[2]);
            match plan.to_idle {
                Some(_) => self.idles(sleeper, plan),
                None => self.machine(sleeper, plan),
            }
            back_us = self.processors.now_us();
            self.devices(sleeper, &[], UP[0]);
            self.devices(sleeper, &[], UP[1]);
            self.devices(sleeper, &plan.devices, UP[2]);
            self.log("PM: Finishing wakeup.");
        }
        self.thaw(sleeper, &tasks);
        self.works(sleeper, &[Work::Runs(300)]);
        self.log("PM: suspend exit");
        self.processors.rests(sleeper);
        self.reads_power(plan, true);
        if let Some((associated_ms, address_ms)) = plan.wireless_ms {
            self.truth.machine_back_us = back_us;
            let until = |play: &mut Self, us: i64| play.processors.pass((us - play.processors.now_us()).max(0));
            until(self, back_us + associated_ms * 1_000);
            self.log("wlan0: associated");
            self.log("IPv6: ADDRCONF(NETDEV_CHANGE): wlan0: link becomes ready");
            until(self, back_us + (associated_ms + address_ms) * 1_000);
            let now_us = self.processors.now_us();
            let lease = "<info>  [1795338000.1] dhcp4 (wlan0): state changed new lease, address=192.0.2.5";
            self.records.program_says(now_us, ("NetworkManager", 150), lease);
        }
    }

    /// The recorder reads clocks, and what counts power.
    fn reads_power(&mut self, plan: &LinuxSleepPlan, after: bool) {
        let us = self.processors.now_us();
        let mut line = format!(
            "onoff:clock {} mono={}.{:06} real=1.0",
            if after { "after-sleep" } else { "before-sleep" },
            us / 1_000_000,
            us % 1_000_000
        );
        let counted_us = plan.to_idle.flatten().map(|ms| if after { 7_000_000 + ms * 1_000 } else { 7_000_000 });
        let battery_uwh = plan.battery_uwh.map(|used| if after { 40_000_000 - used } else { 40_000_000 });
        for (name, value) in [("total_hw_sleep_us", counted_us), ("BAT0.energy_uwh", battery_uwh)] {
            if let Some(value) = value {
                line += &format!(" power.{name}={value}");
            }
        }
        if line.contains("power.") {
            self.records.power.push(line);
        }
    }

    /// The processors stop until something wakes them; the clock goes on.
    fn idles(&mut self, sleeper: ThreadId, plan: &LinuxSleepPlan) {
        self.log("PM: suspend-to-idle");
        self.marks(sleeper, "machine_suspend[1]", true);
        self.processors.rests(sleeper);
        self.processors.pass(plan.asleep_ms * 1_000);
        self.works(sleeper, &[Work::Runs(100)]);
        self.marks(sleeper, "machine_suspend[1]", false);
        self.log("PM: Triggering wakeup from IRQ 9");
        self.log("PM: resume from suspend-to-idle");
    }

    fn log(&mut self, text: &str) {
        self.records.kernel(self.processors.now_us(), text);
    }

    fn marks(&mut self, sleeper: ThreadId, what: &str, begins: bool) {
        let end = if begins { "begin" } else { "end" };
        self.processors.says(sleeper, &format!("suspend_resume: {what} {end}"));
    }

    /// Every task stops where the kernel lets it.
    fn freeze(&mut self, sleeper: ThreadId, plan: &LinuxSleepPlan) -> Vec<ThreadId> {
        let begin_us = self.processors.now_us();
        self.marks(sleeper, "freeze_processes[0]", true);
        self.log("Freezing user space processes");
        let mut tasks = Vec::new();
        for ((name, ms), pid) in plan.tasks.iter().zip(FIRST_TASK..) {
            let task = self.processors.thread(pid, name, false);
            self.processors.give(task, &[Work::Sleeps(ms * 1_000), Work::Runs(80)], Some(sleeper));
            tasks.push(task);
        }
        self.processors.rests(sleeper);
        let mut frozen = 0;
        while frozen < tasks.len() {
            let Some(done) = self.processors.next(i64::MAX) else { break };
            self.processors.freezes(done);
            frozen += 1;
        }
        self.works(sleeper, &[Work::Runs(100)]);
        let us = self.processors.now_us() - begin_us;
        let elapsed = format!("(elapsed {}.{:03} seconds)", us / 1_000_000, us / 1_000 % 1_000);
        self.log(&format!("Freezing user space processes completed {elapsed}"));
        self.log("OOM killer disabled.");
        self.log("Freezing remaining freezable tasks");
        self.works(sleeper, &[Work::Runs(500)]);
        self.log("Freezing remaining freezable tasks completed (elapsed 0.000 seconds)");
        self.marks(sleeper, "freeze_processes[0]", false);
        self.truth.sleep_phases.push(("freeze_processes", begin_us, self.processors.now_us()));
        tasks
    }

    fn thaw(&mut self, sleeper: ThreadId, tasks: &[ThreadId]) {
        self.log("OOM killer enabled.");
        let begin_us = self.processors.now_us();
        self.marks(sleeper, "thaw_processes[0]", true);
        for &task in tasks {
            self.processors.give(task, &[Work::Runs(50)], Some(sleeper));
        }
        self.works(sleeper, &[Work::Runs(100)]);
        self.marks(sleeper, "thaw_processes[0]", false);
        let end_us = self.processors.now_us();
        self.truth.sleep_phases.push(("thaw_processes", begin_us, end_us));
        self.log("Restarting tasks ... done.");
        while let Some(done) = self.processors.next(end_us + 100_000) {
            self.processors.rests(done);
        }
    }

    /// One phase of all devices. Gives the device that refused, with its error.
    fn devices<'d>(
        &mut self,
        sleeper: ThreadId,
        devices: &'d [LinuxDevice],
        (phase, said, event): (&'static str, &str, i32),
    ) -> Option<(&'d LinuxDevice, i32)> {
        let begin_us = self.processors.now_us();
        self.marks(sleeper, &format!("{phase}[{event}]"), true);
        let down = event == 2;
        // On the way up the order is the other way round.
        let order: Vec<&LinuxDevice> = if down { devices.iter().collect() } else { devices.iter().rev().collect() };
        let mut refused = None;
        let mut done: HashSet<&str> = HashSet::new();
        let mut workers: HashMap<ThreadId, &LinuxDevice> = HashMap::new();
        let free = |device: &LinuxDevice, done: &HashSet<&str>| {
            if down {
                order.iter().filter(|other| other.parent == device.name).all(|child| done.contains(&*child.name))
            } else {
                !order.iter().any(|other| other.name == device.parent) || done.contains(&*device.parent)
            }
        };
        let mut begun: Vec<&str> = Vec::new();
        loop {
            // Those that run beside others begin as soon as they may.
            for device in order.iter().filter(|device| device.is_async) {
                if refused.is_none() && !begun.contains(&&*device.name) && free(device, &done) {
                    begun.push(&device.name);
                    let number = u32::try_from(begun.len()).unwrap_or(0);
                    let worker = self.processors.thread(FIRST_WORKER + number, &format!("kworker/u4:{number}"), true);
                    self.processors.give(worker, &[Work::Runs(20)], Some(sleeper));
                    workers.insert(worker, device);
                }
            }
            // The others come one after the other.
            let next =
                order.iter().find(|device| !device.is_async && !begun.contains(&&*device.name) && free(device, &done));
            if let Some(&device) = next.filter(|_| refused.is_none()) {
                begun.push(&device.name);
                self.callback(sleeper, device, phase, down);
                let work = [Work::Sleeps(length_us(device, down)), Work::Runs(20)];
                let mut is_over = false;
                self.processors.give(sleeper, &work, None);
                while !is_over {
                    let Some(thread) = self.processors.next(i64::MAX) else { break };
                    is_over = thread == sleeper;
                    if !is_over {
                        self.worker(thread, &mut workers, &mut done, phase, down, &mut refused);
                    }
                }
                self.ends(sleeper, device, phase, down, &mut refused);
                done.insert(&device.name);
                continue;
            }
            if workers.is_empty() {
                break;
            }
            self.processors.rests(sleeper);
            let Some(thread) = self.processors.next(i64::MAX) else { break };
            self.worker(thread, &mut workers, &mut done, phase, down, &mut refused);
        }
        self.works(sleeper, &[Work::Runs(30)]);
        self.marks(sleeper, &format!("{phase}[{event}]"), false);
        let end_us = self.processors.now_us();
        self.truth.sleep_phases.push((phase, begin_us, end_us));
        let us = end_us - begin_us;
        self.log(&format!("PM: {said} of devices complete after {}.{:03} msecs", us / 1_000, us % 1_000));
        refused
    }

    /// A worker of the kernel has done its part: the callback begins, or is over.
    fn worker<'d>(
        &mut self,
        thread: ThreadId,
        workers: &mut HashMap<ThreadId, &'d LinuxDevice>,
        done: &mut HashSet<&'d str>,
        phase: &'static str,
        down: bool,
        refused: &mut Option<(&'d LinuxDevice, i32)>,
    ) {
        let Some(&device) = workers.get(&thread) else {
            self.processors.rests(thread);
            return;
        };
        let is_begun = self.truth.callbacks.iter().any(|row| row.0 == device.name && row.1 == phase && row.3 == 0);
        if !is_begun {
            self.callback(thread, device, phase, down);
            self.processors.give(thread, &[Work::Sleeps(length_us(device, down)), Work::Runs(20)], None);
            return;
        }
        done.insert(&device.name);
        self.ends(thread, device, phase, down, refused);
        workers.remove(&thread);
        self.processors.rests(thread);
    }

    fn callback(&mut self, thread: ThreadId, device: &LinuxDevice, phase: &'static str, down: bool) {
        let kind = if down { "suspend" } else { "resume" };
        let parent = if device.parent.is_empty() { "none" } else { &device.parent };
        let event =
            format!("device_pm_callback_start: {} {}, parent: {parent}, bus [{kind}]", device.driver, device.name);
        self.processors.says(thread, &event);
        self.truth.callbacks.push((device.name.clone(), phase, self.processors.now_us(), 0));
    }

    fn ends<'d>(
        &mut self,
        thread: ThreadId,
        device: &'d LinuxDevice,
        phase: &'static str,
        down: bool,
        refused: &mut Option<(&'d LinuxDevice, i32)>,
    ) {
        let error = if down { device.error } else { 0 };
        let event = format!("device_pm_callback_end: {} {}, err={error}", device.driver, device.name);
        self.processors.says(thread, &event);
        let now_us = self.processors.now_us();
        let row = self.truth.callbacks.iter_mut().rev().find(|row| row.0 == device.name && row.1 == phase);
        if let Some(row) = row {
            row.3 = now_us;
        }
        if error != 0 {
            *refused = Some((device, error));
        }
    }

    /// The machine sleeps: its clock stands.
    fn machine(&mut self, sleeper: ThreadId, plan: &LinuxSleepPlan) {
        self.log("ACPI: PM: Preparing to enter system sleep state S3");
        self.log("Disabling non-boot CPUs ...");
        self.works(sleeper, &[Work::Runs(1_000)]);
        self.marks(sleeper, "machine_suspend[3]", true);
        self.marks(sleeper, "machine_suspend[3]", false);
        self.log("ACPI: PM: Low-level resume complete");
        let slept =
            format!("Timekeeping suspended for {}.{:03} seconds", plan.asleep_ms / 1_000, plan.asleep_ms % 1_000);
        self.log(&slept);
        self.log("Enabling non-boot CPUs ...");
        self.works(sleeper, &[Work::Runs(1_000)]);
        self.log("ACPI: PM: Waking up from system sleep state S3");
        if let Some(ms) = plan.firmware_ms {
            let folder = "acpi/fpdt/resume";
            for (name, value) in
                [("resume_count", 3), ("resume_prev_ns", ms * 1_000_000), ("resume_avg_ns", 400_000_000)]
            {
                self.records.firmware.push((format!("{folder}/{name}"), format!("{value}\n").into_bytes()));
            }
        }
    }
}

fn length_us(device: &LinuxDevice, down: bool) -> i64 {
    1_000 * if down { device.suspend_ms } else { device.resume_ms }
}
