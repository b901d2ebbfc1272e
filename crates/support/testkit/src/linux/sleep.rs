//! Sleep: tasks freeze, devices suspend one after another or asynchronously, and everything resumes in reverse order.

use std::collections::{HashMap, HashSet};

use super::Simulation;
use super::plan::{LinuxDevice, LinuxSleepPlan, Work};
use super::scheduler::ThreadId;

/// Process id of the task that writes to `/sys/power/state`.
const SLEEPER: u32 = 900;
/// First process ids of frozen tasks and of kernel workers.
const FIRST_TASK: u32 = 910;
const FIRST_WORKER: u32 = 60;

/// Device phases: name in the trace, name in the log, and the PM event number in the trace.
const SUSPEND_PHASES: [(&str, &str, i32); 3] =
    [("dpm_suspend", "suspend", 2), ("dpm_suspend_late", "late suspend", 2), ("dpm_suspend_noirq", "noirq suspend", 2)];
const RESUME_PHASES: [(&str, &str, i32); 3] =
    [("dpm_resume_noirq", "noirq resume", 16), ("dpm_resume_early", "early resume", 16), ("dpm_resume", "resume", 16)];

impl Simulation<'_> {
    /// Simulates a suspend and resume.
    pub(super) fn sleep(&mut self, plan: &LinuxSleepPlan) {
        let sleeper = self.scheduler.thread(SLEEPER, "systemd-sleep", false);
        self.run_work(sleeper, &[Work::Cpu(200)]);
        let (mode, state) = if plan.suspend_to_idle.is_some() { ("s2idle", 1) } else { ("deep", 3) };
        self.record_power(plan, false);
        if plan.wireless_ms.is_some() {
            self.log("wlan0: deauthenticating from 02:00:00:00:00:01 by local choice (Reason: 3=DEAUTH_LEAVING)");
        }
        self.log(&format!("PM: suspend entry ({mode})"));
        let begin_us = self.scheduler.now_us();
        self.trace_suspend(sleeper, &format!("suspend_enter[{state}]"), true);
        self.trace_suspend(sleeper, "sync_filesystems[0]", true);
        self.run_work(sleeper, &[Work::Sleep(plan.sync_ms * 1_000), Work::Cpu(50)]);
        self.trace_suspend(sleeper, "sync_filesystems[0]", false);
        self.truth.sleep_phases.push(("sync_filesystems", begin_us, self.scheduler.now_us()));
        let sync_ms = (self.scheduler.now_us() - begin_us) / 1_000;
        self.log(&format!("Filesystems sync: {}.{:03} seconds", sync_ms / 1_000, sync_ms % 1_000));
        self.log(&format!("PM: Preparing system for sleep ({mode})"));
        let tasks = self.freeze(sleeper, plan);
        self.trace_suspend(sleeper, &format!("suspend_enter[{state}]"), false);
        self.log(&format!("PM: Suspending system ({mode})"));
        let mut resumed_us = 0;
        let failed_device = self.devices(sleeper, &plan.devices, SUSPEND_PHASES[0]);
        if let Some((device, error)) = failed_device {
            self.log(&format!("{} {}: PM: failed to suspend: error {error}", device.driver, device.name));
            self.log("PM: Some devices failed to suspend, or early wake event detected");
            self.devices(sleeper, &plan.devices, RESUME_PHASES[2]);
        } else {
            self.devices(sleeper, &[], SUSPEND_PHASES[1]);
            self.devices(sleeper, &[], SUSPEND_PHASES[2]);
            match plan.suspend_to_idle {
                Some(_) => self.suspend_to_idle(sleeper, plan),
                None => self.suspend_to_ram(sleeper, plan),
            }
            resumed_us = self.scheduler.now_us();
            self.devices(sleeper, &[], RESUME_PHASES[0]);
            self.devices(sleeper, &[], RESUME_PHASES[1]);
            self.devices(sleeper, &plan.devices, RESUME_PHASES[2]);
            self.log("PM: Finishing wakeup.");
        }
        self.thaw(sleeper, &tasks);
        self.run_work(sleeper, &[Work::Cpu(300)]);
        self.log("PM: suspend exit");
        self.scheduler.block(sleeper);
        self.record_power(plan, true);
        if let Some((associated_ms, address_ms)) = plan.wireless_ms {
            self.truth.resumed_us = resumed_us;
            let advance_to = |simulation: &mut Self, us: i64| {
                simulation.scheduler.advance((us - simulation.scheduler.now_us()).max(0))
            };
            advance_to(self, resumed_us + associated_ms * 1_000);
            self.log("wlan0: associated");
            self.log("IPv6: ADDRCONF(NETDEV_CHANGE): wlan0: link becomes ready");
            advance_to(self, resumed_us + (associated_ms + address_ms) * 1_000);
            let now_us = self.scheduler.now_us();
            let lease = "<info>  [1795338000.1] dhcp4 (wlan0): state changed new lease, address=192.0.2.5";
            self.recorder.log_program(now_us, ("NetworkManager", 150), lease);
        }
    }

    /// Records clocks and power counters.
    fn record_power(&mut self, plan: &LinuxSleepPlan, is_after_sleep: bool) {
        let us = self.scheduler.now_us();
        let mut line = format!(
            "onoff:clock {} mono={}.{:06} real=1.0",
            if is_after_sleep { "after-sleep" } else { "before-sleep" },
            us / 1_000_000,
            us % 1_000_000
        );
        let counted_us =
            plan.suspend_to_idle.flatten().map(|ms| if is_after_sleep { 7_000_000 + ms * 1_000 } else { 7_000_000 });
        let battery_uwh = plan.battery_uwh.map(|used| if is_after_sleep { 40_000_000 - used } else { 40_000_000 });
        for (name, value) in [("total_hw_sleep_us", counted_us), ("BAT0.energy_uwh", battery_uwh)] {
            if let Some(value) = value {
                line += &format!(" power.{name}={value}");
            }
        }
        if line.contains("power.") {
            self.recorder.power.push(line);
        }
    }

    /// Idles the processors until a wakeup; the clock keeps running.
    fn suspend_to_idle(&mut self, sleeper: ThreadId, plan: &LinuxSleepPlan) {
        self.log("PM: suspend-to-idle");
        self.trace_suspend(sleeper, "machine_suspend[1]", true);
        self.scheduler.block(sleeper);
        self.scheduler.advance(plan.asleep_ms * 1_000);
        self.run_work(sleeper, &[Work::Cpu(100)]);
        self.trace_suspend(sleeper, "machine_suspend[1]", false);
        self.log("PM: Triggering wakeup from IRQ 9");
        self.log("PM: resume from suspend-to-idle");
    }

    fn log(&mut self, text: &str) {
        self.recorder.log_kernel(self.scheduler.now_us(), text);
    }

    fn trace_suspend(&mut self, sleeper: ThreadId, action: &str, is_begin: bool) {
        let edge = if is_begin { "begin" } else { "end" };
        self.scheduler.trace(sleeper, &format!("suspend_resume: {action} {edge}"));
    }

    /// Freezes every task.
    fn freeze(&mut self, sleeper: ThreadId, plan: &LinuxSleepPlan) -> Vec<ThreadId> {
        let begin_us = self.scheduler.now_us();
        self.trace_suspend(sleeper, "freeze_processes[0]", true);
        self.log("Freezing user space processes");
        let mut tasks = Vec::new();
        for ((name, ms), pid) in plan.tasks.iter().zip(FIRST_TASK..) {
            let task = self.scheduler.thread(pid, name, false);
            self.scheduler.add_work(task, &[Work::Sleep(ms * 1_000), Work::Cpu(80)], Some(sleeper));
            tasks.push(task);
        }
        self.scheduler.block(sleeper);
        let mut frozen = 0;
        while frozen < tasks.len() {
            let Some(done) = self.scheduler.next(i64::MAX) else { break };
            self.scheduler.freeze(done);
            frozen += 1;
        }
        self.run_work(sleeper, &[Work::Cpu(100)]);
        let us = self.scheduler.now_us() - begin_us;
        let elapsed = format!("(elapsed {}.{:03} seconds)", us / 1_000_000, us / 1_000 % 1_000);
        self.log(&format!("Freezing user space processes completed {elapsed}"));
        self.log("OOM killer disabled.");
        self.log("Freezing remaining freezable tasks");
        self.run_work(sleeper, &[Work::Cpu(500)]);
        self.log("Freezing remaining freezable tasks completed (elapsed 0.000 seconds)");
        self.trace_suspend(sleeper, "freeze_processes[0]", false);
        self.truth.sleep_phases.push(("freeze_processes", begin_us, self.scheduler.now_us()));
        tasks
    }

    fn thaw(&mut self, sleeper: ThreadId, tasks: &[ThreadId]) {
        self.log("OOM killer enabled.");
        let begin_us = self.scheduler.now_us();
        self.trace_suspend(sleeper, "thaw_processes[0]", true);
        for &task in tasks {
            self.scheduler.add_work(task, &[Work::Cpu(50)], Some(sleeper));
        }
        self.run_work(sleeper, &[Work::Cpu(100)]);
        self.trace_suspend(sleeper, "thaw_processes[0]", false);
        let end_us = self.scheduler.now_us();
        self.truth.sleep_phases.push(("thaw_processes", begin_us, end_us));
        self.log("Restarting tasks ... done.");
        while let Some(done) = self.scheduler.next(end_us + 100_000) {
            self.scheduler.block(done);
        }
    }

    /// Runs a phase for all devices; returns the device that failed to suspend, and its error.
    fn devices<'d>(
        &mut self,
        sleeper: ThreadId,
        devices: &'d [LinuxDevice],
        (phase, log_name, event): (&'static str, &str, i32),
    ) -> Option<(&'d LinuxDevice, i32)> {
        let begin_us = self.scheduler.now_us();
        self.trace_suspend(sleeper, &format!("{phase}[{event}]"), true);
        let is_suspend = event == 2;
        // Devices resume in reverse order.
        let ordered_devices: Vec<&LinuxDevice> =
            if is_suspend { devices.iter().collect() } else { devices.iter().rev().collect() };
        let mut failed_device = None;
        let mut finished: HashSet<&str> = HashSet::new();
        let mut workers: HashMap<ThreadId, &LinuxDevice> = HashMap::new();
        let can_start = |device: &LinuxDevice, finished: &HashSet<&str>| {
            if is_suspend {
                ordered_devices
                    .iter()
                    .filter(|other| other.parent == device.name)
                    .all(|child| finished.contains(&*child.name))
            } else {
                !ordered_devices.iter().any(|other| other.name == device.parent) || finished.contains(&*device.parent)
            }
        };
        let mut started: Vec<&str> = Vec::new();
        loop {
            // Asynchronous devices start as soon as they can.
            for device in ordered_devices.iter().filter(|device| device.is_async) {
                if failed_device.is_none() && !started.contains(&&*device.name) && can_start(device, &finished) {
                    started.push(&device.name);
                    let number = u32::try_from(started.len()).unwrap_or(0);
                    let worker = self.scheduler.thread(FIRST_WORKER + number, &format!("kworker/u4:{number}"), true);
                    self.scheduler.add_work(worker, &[Work::Cpu(20)], Some(sleeper));
                    workers.insert(worker, device);
                }
            }
            // Synchronous devices run one after another.
            let next = ordered_devices
                .iter()
                .find(|device| !device.is_async && !started.contains(&&*device.name) && can_start(device, &finished));
            if let Some(&device) = next.filter(|_| failed_device.is_none()) {
                started.push(&device.name);
                self.callback_start(sleeper, device, phase, is_suspend);
                let work = [Work::Sleep(callback_us(device, is_suspend)), Work::Cpu(20)];
                let mut is_finished = false;
                self.scheduler.add_work(sleeper, &work, None);
                while !is_finished {
                    let Some(thread) = self.scheduler.next(i64::MAX) else { break };
                    is_finished = thread == sleeper;
                    if !is_finished {
                        self.worker_done(thread, &mut workers, &mut finished, phase, is_suspend, &mut failed_device);
                    }
                }
                self.callback_end(sleeper, device, phase, is_suspend, &mut failed_device);
                finished.insert(&device.name);
                continue;
            }
            if workers.is_empty() {
                break;
            }
            self.scheduler.block(sleeper);
            let Some(thread) = self.scheduler.next(i64::MAX) else { break };
            self.worker_done(thread, &mut workers, &mut finished, phase, is_suspend, &mut failed_device);
        }
        self.run_work(sleeper, &[Work::Cpu(30)]);
        self.trace_suspend(sleeper, &format!("{phase}[{event}]"), false);
        let end_us = self.scheduler.now_us();
        self.truth.sleep_phases.push((phase, begin_us, end_us));
        let us = end_us - begin_us;
        self.log(&format!("PM: {log_name} of devices complete after {}.{:03} msecs", us / 1_000, us % 1_000));
        failed_device
    }

    /// Handles a kernel worker without work: its callback is about to start or has ended.
    fn worker_done<'d>(
        &mut self,
        thread: ThreadId,
        workers: &mut HashMap<ThreadId, &'d LinuxDevice>,
        finished: &mut HashSet<&'d str>,
        phase: &'static str,
        is_suspend: bool,
        failed_device: &mut Option<(&'d LinuxDevice, i32)>,
    ) {
        let Some(&device) = workers.get(&thread) else {
            self.scheduler.block(thread);
            return;
        };
        let has_started = self
            .truth
            .callbacks
            .iter()
            .any(|(name, row_phase, _, end_us)| *name == device.name && *row_phase == phase && *end_us == 0);
        if !has_started {
            self.callback_start(thread, device, phase, is_suspend);
            self.scheduler.add_work(thread, &[Work::Sleep(callback_us(device, is_suspend)), Work::Cpu(20)], None);
            return;
        }
        finished.insert(&device.name);
        self.callback_end(thread, device, phase, is_suspend, failed_device);
        workers.remove(&thread);
        self.scheduler.block(thread);
    }

    fn callback_start(&mut self, thread: ThreadId, device: &LinuxDevice, phase: &'static str, is_suspend: bool) {
        let kind = if is_suspend { "suspend" } else { "resume" };
        let parent = if device.parent.is_empty() { "none" } else { &device.parent };
        let event =
            format!("device_pm_callback_start: {} {}, parent: {parent}, bus [{kind}]", device.driver, device.name);
        self.scheduler.trace(thread, &event);
        self.truth.callbacks.push((device.name.clone(), phase, self.scheduler.now_us(), 0));
    }

    fn callback_end<'d>(
        &mut self,
        thread: ThreadId,
        device: &'d LinuxDevice,
        phase: &'static str,
        is_suspend: bool,
        failed_device: &mut Option<(&'d LinuxDevice, i32)>,
    ) {
        let error = if is_suspend { device.error } else { 0 };
        let event = format!("device_pm_callback_end: {} {}, err={error}", device.driver, device.name);
        self.scheduler.trace(thread, &event);
        let now_us = self.scheduler.now_us();
        let row = self
            .truth
            .callbacks
            .iter_mut()
            .rev()
            .find(|(name, row_phase, ..)| *name == device.name && *row_phase == phase);
        if let Some((.., end_us)) = row {
            *end_us = now_us;
        }
        if error != 0 {
            *failed_device = Some((device, error));
        }
    }

    /// Suspends to RAM, while the clock is stopped.
    fn suspend_to_ram(&mut self, sleeper: ThreadId, plan: &LinuxSleepPlan) {
        self.log("ACPI: PM: Preparing to enter system sleep state S3");
        self.log("Disabling non-boot CPUs ...");
        self.run_work(sleeper, &[Work::Cpu(1_000)]);
        self.trace_suspend(sleeper, "machine_suspend[3]", true);
        self.trace_suspend(sleeper, "machine_suspend[3]", false);
        self.log("ACPI: PM: Low-level resume complete");
        let message =
            format!("Timekeeping suspended for {}.{:03} seconds", plan.asleep_ms / 1_000, plan.asleep_ms % 1_000);
        self.log(&message);
        self.log("Enabling non-boot CPUs ...");
        self.run_work(sleeper, &[Work::Cpu(1_000)]);
        self.log("ACPI: PM: Waking up from system sleep state S3");
        if let Some(ms) = plan.firmware_ms {
            let folder = "acpi/fpdt/resume";
            for (name, value) in
                [("resume_count", 3), ("resume_prev_ns", ms * 1_000_000), ("resume_avg_ns", 400_000_000)]
            {
                self.recorder.firmware.push((format!("{folder}/{name}"), format!("{value}\n").into_bytes()));
            }
        }
    }
}

fn callback_us(device: &LinuxDevice, is_suspend: bool) -> i64 {
    1_000 * if is_suspend { device.suspend_ms } else { device.resume_ms }
}
