//! Plans of simulated Linux machines.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Uses a CPU, µs.
    Cpu(i64),
    /// Waits for a timer, µs.
    Sleep(i64),
}

/// Outcome of a unit's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartOutcome {
    #[default]
    Up,
    /// Fails with this result (`exit-code`, `timeout`, …).
    Failed(&'static str),
    /// Fails once with this result and succeeds at the second attempt, 5 s later.
    UpAfterRetry(&'static str),
    /// Never completes.
    Hangs,
}

#[derive(Clone, Debug)]
pub struct LinuxUnit {
    pub(super) name: String,
    pub(super) after: Vec<String>,
    pub(super) work: Vec<Work>,
    pub(super) outcome: StartOutcome,
    pub(super) stop: Vec<Work>,
    pub(super) is_killed: bool,
    pub(super) modules: Vec<Initcall>,
    /// Each module is loaded by a separate command, one after another.
    pub(super) has_command_per_module: bool,
    /// Unit that triggers this unit, and the delay, ms; the unit is not part of the initial transaction.
    pub(super) triggered_by: Option<(String, i64)>,
}

impl LinuxUnit {
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            after: Vec::new(),
            work: Vec::new(),
            outcome: StartOutcome::Up,
            stop: Vec::new(),
            is_killed: false,
            modules: Vec::new(),
            has_command_per_module: false,
            triggered_by: None,
        }
    }

    /// Starts after that unit.
    #[must_use]
    pub fn after(mut self, unit: &str) -> Self {
        self.after.push(unit.to_owned());
        self
    }

    /// Appends a timer wait to its start.
    #[must_use]
    pub fn sleep_ms(mut self, ms: i64) -> Self {
        self.work.push(Work::Sleep(ms * 1_000));
        self
    }

    /// Appends CPU work to its start.
    #[must_use]
    pub fn cpu_ms(mut self, ms: i64) -> Self {
        self.work.push(Work::Cpu(ms * 1_000));
        self
    }

    /// Sets the outcome of its start.
    #[must_use]
    pub fn start_outcome(mut self, outcome: StartOutcome) -> Self {
        self.outcome = outcome;
        self
    }

    /// Appends a timer wait to its stop.
    #[must_use]
    pub fn stop_ms(mut self, ms: i64) -> Self {
        self.stop.push(Work::Sleep(ms * 1_000));
        self
    }

    /// Does not stop, and is killed after this time.
    #[must_use]
    pub fn killed_after_ms(mut self, ms: i64) -> Self {
        self.is_killed = true;
        self.stop_ms(ms)
    }

    /// Loads a module while it starts.
    #[must_use]
    pub fn load_module(mut self, module: Initcall) -> Self {
        self.modules.push(module);
        self
    }

    /// Loads each module with a separate command: the manager starts the next when the previous one has ended.
    #[must_use]
    pub fn by_commands(mut self) -> Self {
        self.has_command_per_module = true;
        self
    }

    /// Lets another unit trigger this unit after a delay. No unit waits for it.
    #[must_use]
    pub fn trigger(mut self, unit: &str, ms: i64) -> Self {
        self.triggered_by = Some((unit.to_owned(), ms));
        self
    }
}

/// An initcall of the kernel or of a module.
#[derive(Clone, Debug)]
pub struct Initcall {
    pub(super) function: String,
    pub(super) module: String,
    pub(super) work: Vec<Work>,
}

impl Initcall {
    /// Creates a built-in initcall.
    #[must_use]
    pub fn new(function: &str) -> Self {
        Self { function: function.to_owned(), module: String::new(), work: Vec::new() }
    }

    /// Creates an initcall of a module.
    #[must_use]
    pub fn in_module(module: &str, function: &str) -> Self {
        Self { module: module.to_owned(), ..Self::new(function) }
    }

    /// Appends a timer wait.
    #[must_use]
    pub fn sleep_ms(mut self, ms: i64) -> Self {
        self.work.push(Work::Sleep(ms * 1_000));
        self
    }

    /// Appends CPU work.
    #[must_use]
    pub fn cpu_ms(mut self, ms: i64) -> Self {
        self.work.push(Work::Cpu(ms * 1_000));
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initramfs {
    pub unpack_ms: i64,
    /// Compressed size.
    pub size_kib: i64,
    /// Duration of its init program.
    pub init_ms: i64,
    /// It contains systemd, as dracut's images do.
    pub has_systemd: bool,
}

/// A device with suspend and resume callbacks.
#[derive(Clone, Debug)]
pub struct LinuxDevice {
    pub(super) name: String,
    pub(super) driver: String,
    pub(super) parent: String,
    pub(super) suspend_ms: i64,
    pub(super) resume_ms: i64,
    pub(super) is_async: bool,
    pub(super) error: i32,
}

impl LinuxDevice {
    /// Creates a device without a parent, whose callbacks take no time.
    #[must_use]
    pub fn new(name: &str, driver: &str) -> Self {
        Self {
            name: name.to_owned(),
            driver: driver.to_owned(),
            parent: String::new(),
            suspend_ms: 0,
            resume_ms: 0,
            is_async: false,
            error: 0,
        }
    }

    /// Sets the parent, which suspends after it and resumes before it.
    #[must_use]
    pub fn child_of(mut self, parent: &str) -> Self {
        self.parent = parent.to_owned();
        self
    }

    /// Sets the durations of its callbacks.
    #[must_use]
    pub fn callbacks_ms(mut self, suspend_ms: i64, resume_ms: i64) -> Self {
        (self.suspend_ms, self.resume_ms) = (suspend_ms, resume_ms);
        self
    }

    /// Runs its callbacks asynchronously.
    #[must_use]
    pub fn asynchronous(mut self) -> Self {
        self.is_async = true;
        self
    }

    /// Makes its suspend callback fail.
    #[must_use]
    pub fn fails_suspend(mut self, error: i32) -> Self {
        self.error = error;
        self
    }
}

#[derive(Clone, Debug, Default)]
pub struct LinuxSleepPlan {
    /// Duration of the file system sync.
    pub sync_ms: i64,
    /// Tasks, and how long each takes to freeze, ms.
    pub tasks: Vec<(String, i64)>,
    /// Devices in suspend order.
    pub devices: Vec<LinuxDevice>,
    pub asleep_ms: i64,
    /// Resume time reported by the firmware, if it reports one.
    pub firmware_ms: Option<i64>,
    /// Set for suspend-to-idle: the time in the low-power state counted by the hardware, ms, if it counts.
    pub suspend_to_idle: Option<Option<i64>>,
    /// Energy drawn from the battery, µWh, if read.
    pub battery_uwh: Option<i64>,
    /// Times until the wireless interface is associated again and then until it has an address, ms.
    pub wireless_ms: Option<(i64, i64)>,
}

#[derive(Clone, Debug)]
pub struct LinuxMachine {
    pub(super) processors: u16,
    pub(super) firmware_ms: Option<i64>,
    pub(super) loader_ms: i64,
    pub(super) initcalls: Vec<Initcall>,
    pub(super) initramfs: Option<Initramfs>,
    pub(super) units: Vec<LinuxUnit>,
    pub(super) default_target: String,
    pub(super) hung_recording_ms: i64,
}

impl Default for LinuxMachine {
    fn default() -> Self {
        Self::new()
    }
}

impl LinuxMachine {
    /// Creates a machine with two processors, 2 s of firmware time and 0.5 s of loader time, that starts no units. Its
    /// default target is `multi-user.target`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            processors: 2,
            firmware_ms: Some(2_000),
            loader_ms: 500,
            initcalls: Vec::new(),
            initramfs: None,
            units: Vec::new(),
            default_target: "multi-user.target".to_owned(),
            hung_recording_ms: 60_000,
        }
    }

    /// Creates a healthy machine whose user space takes about 2 s: a few targets and services.
    #[must_use]
    pub fn healthy() -> Self {
        Self::new()
            .initcall(Initcall::new("pci_subsys_init").cpu_ms(60))
            .initcall(Initcall::new("acpi_init").cpu_ms(120))
            .unit(LinuxUnit::new("systemd-udevd.service").cpu_ms(80).sleep_ms(60))
            .unit(LinuxUnit::new("dev-sda1.device").after("systemd-udevd.service").sleep_ms(350))
            .unit(LinuxUnit::new("local-fs.target").after("dev-sda1.device"))
            .unit(LinuxUnit::new("systemd-tmpfiles-setup.service").after("local-fs.target").cpu_ms(60))
            .unit(LinuxUnit::new("sysinit.target").after("systemd-tmpfiles-setup.service"))
            .unit(LinuxUnit::new("basic.target").after("sysinit.target"))
            .unit(LinuxUnit::new("dbus.service").after("basic.target").cpu_ms(90))
            .unit(LinuxUnit::new("cron.service").after("basic.target").cpu_ms(20))
            .unit(LinuxUnit::new("ssh.service").after("basic.target").cpu_ms(120).sleep_ms(100))
            .unit(LinuxUnit::new("multi-user.target").after("dbus.service").after("cron.service").after("ssh.service"))
    }

    #[must_use]
    pub fn processors(mut self, processors: u16) -> Self {
        self.processors = processors.max(1);
        self
    }

    /// Sets firmware and loader times, ms; with `None`, the loader reports neither.
    #[must_use]
    pub fn firmware_and_loader_ms(mut self, firmware_ms: Option<i64>, loader_ms: i64) -> Self {
        (self.firmware_ms, self.loader_ms) = (firmware_ms, loader_ms);
        self
    }

    /// Appends an initcall.
    #[must_use]
    pub fn initcall(mut self, initcall: Initcall) -> Self {
        self.initcalls.push(initcall);
        self
    }

    /// Boots from an initramfs.
    #[must_use]
    pub fn initial_file_system(mut self, file_system: Initramfs) -> Self {
        self.initramfs = Some(file_system);
        self
    }

    /// Adds a unit, replacing one of the same name.
    #[must_use]
    pub fn unit(mut self, unit: LinuxUnit) -> Self {
        self.units.retain(|existing| existing.name != unit.name);
        self.units.push(unit);
        self
    }

    /// Adds a unit that the default target waits for.
    #[must_use]
    pub fn wanted_unit(mut self, unit: LinuxUnit) -> Self {
        let target = self.default_target.clone();
        if let Some(target) = self.units.iter_mut().find(|existing| existing.name == target) {
            target.after.push(unit.name.clone());
        }
        self.unit(unit)
    }

    /// Sets the end of the recording of a boot that hangs, ms since the kernel's start.
    #[must_use]
    pub fn record_hang_until(mut self, ms: i64) -> Self {
        self.hung_recording_ms = ms;
        self
    }
}
