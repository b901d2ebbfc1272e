//! What a machine is planned to do.

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It needs a processor for so long, µs.
    Runs(i64),
    /// It waits for a timer for so long, µs.
    Sleeps(i64),
}

/// How the start of a unit ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// It is up.
    #[default]
    Up,
    /// It failed, with this result (`exit-code`, `timeout`, …).
    Failed(&'static str),
    /// It fails once with this result and is up at the second attempt, 5 s later.
    UpAtSecondAttempt(&'static str),
    /// It never ends.
    Hangs,
}

#[derive(Clone, Debug)]
pub struct LinuxUnit {
    pub(super) name: String,
    pub(super) after: Vec<String>,
    pub(super) work: Vec<Work>,
    pub(super) ending: Ending,
    pub(super) stop: Vec<Work>,
    pub(super) killed: bool,
    pub(super) modules: Vec<Initcall>,
    /// Each module is loaded by its own command, one after the other.
    pub(super) by_commands: bool,
    /// What starts it, and so long after, ms: it is no part of the start by itself.
    pub(super) with: Option<(String, i64)>,
}

impl LinuxUnit {
    /// A unit that needs no time.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            after: Vec::new(),
            work: Vec::new(),
            ending: Ending::Up,
            stop: Vec::new(),
            killed: false,
            modules: Vec::new(),
            by_commands: false,
            with: None,
        }
    }

    /// It starts only when that one has.
    #[must_use]
    pub fn after(mut self, unit: &str) -> Self {
        self.after.push(unit.to_owned());
        self
    }

    /// Its start then waits for a timer.
    #[must_use]
    pub fn sleeps(mut self, ms: i64) -> Self {
        self.work.push(Work::Sleeps(ms * 1_000));
        self
    }

    /// Its start then needs a processor.
    #[must_use]
    pub fn runs(mut self, ms: i64) -> Self {
        self.work.push(Work::Runs(ms * 1_000));
        self
    }

    /// How its start ends.
    #[must_use]
    pub fn ends(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// How long it takes to stop.
    #[must_use]
    pub fn stops_for(mut self, ms: i64) -> Self {
        self.stop.push(Work::Sleeps(ms * 1_000));
        self
    }

    /// It does not stop and is killed after so long.
    #[must_use]
    pub fn is_killed_after(mut self, ms: i64) -> Self {
        self.killed = true;
        self.stops_for(ms)
    }

    /// Its start loads a module, whose initialization function does that work.
    #[must_use]
    pub fn loads(mut self, module: Initcall) -> Self {
        self.modules.push(module);
        self
    }

    /// Each of its modules is loaded by its own command: the manager starts the next when the one before has ended.
    #[must_use]
    pub fn by_commands(mut self) -> Self {
        self.by_commands = true;
        self
    }

    /// Something else starts it, so long after that did: nobody waits for it.
    #[must_use]
    pub fn started_with(mut self, unit: &str, ms: i64) -> Self {
        self.with = Some((unit.to_owned(), ms));
        self
    }
}

/// An initialization function of the kernel or of a module.
#[derive(Clone, Debug)]
pub struct Initcall {
    pub(super) function: String,
    pub(super) module: String,
    pub(super) work: Vec<Work>,
}

impl Initcall {
    /// A function that is built in.
    #[must_use]
    pub fn new(function: &str) -> Self {
        Self { function: function.to_owned(), module: String::new(), work: Vec::new() }
    }

    /// That of a module.
    #[must_use]
    pub fn of_module(module: &str, function: &str) -> Self {
        Self { module: module.to_owned(), ..Self::new(function) }
    }

    /// It waits for a timer.
    #[must_use]
    pub fn sleeps(mut self, ms: i64) -> Self {
        self.work.push(Work::Sleeps(ms * 1_000));
        self
    }

    /// It needs a processor.
    #[must_use]
    pub fn runs(mut self, ms: i64) -> Self {
        self.work.push(Work::Runs(ms * 1_000));
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialFileSystem {
    /// Unpacking it, ms.
    pub unpack_ms: i64,
    /// Its packed size, KiB.
    pub size_kib: i64,
    /// What its program does until it hands over, ms.
    pub program_ms: i64,
    /// Whether a service manager runs in it, as dracut's systems have one.
    pub has_service_manager: bool,
}

/// A device that sleeps and wakes.
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
    /// A device that hangs on nothing and needs no time.
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

    /// It hangs on that one, which sleeps after it and wakes before it.
    #[must_use]
    pub fn on(mut self, parent: &str) -> Self {
        self.parent = parent.to_owned();
        self
    }

    /// How long its callbacks take, ms.
    #[must_use]
    pub fn takes(mut self, suspend_ms: i64, resume_ms: i64) -> Self {
        (self.suspend_ms, self.resume_ms) = (suspend_ms, resume_ms);
        self
    }

    /// Its callbacks run beside those of others.
    #[must_use]
    pub fn beside_others(mut self) -> Self {
        self.is_async = true;
        self
    }

    /// It answers that it does not sleep.
    #[must_use]
    pub fn refuses(mut self, error: i32) -> Self {
        self.error = error;
        self
    }
}

#[derive(Clone, Debug, Default)]
pub struct LinuxSleepPlan {
    /// Writing back what is cached, ms.
    pub sync_ms: i64,
    /// Tasks and how long each takes to freeze, ms.
    pub tasks: Vec<(String, i64)>,
    /// Devices, in the order in which they sleep.
    pub devices: Vec<LinuxDevice>,
    /// How long the machine sleeps, ms.
    pub asleep_ms: i64,
    /// What the firmware says it took on the way up, ms, where it says so.
    pub firmware_ms: Option<i64>,
    /// It suspends to idle: what the hardware then counts in its low-power state, ms, where it counts.
    pub to_idle: Option<Option<i64>>,
    /// What the battery gives meanwhile, µWh, where that is read.
    pub battery_uwh: Option<i64>,
    /// Its wireless interface is lost, and after the machine is back associated and then has an address, ms each.
    pub wireless_ms: Option<(i64, i64)>,
}

#[derive(Clone, Debug)]
pub struct LinuxMachine {
    pub(super) processors: u16,
    pub(super) firmware_ms: Option<i64>,
    pub(super) loader_ms: i64,
    pub(super) initcalls: Vec<Initcall>,
    pub(super) initial_file_system: Option<InitialFileSystem>,
    pub(super) units: Vec<LinuxUnit>,
    pub(super) default_target: String,
    pub(super) hung_ms: i64,
}

impl Default for LinuxMachine {
    fn default() -> Self {
        Self::new()
    }
}

impl LinuxMachine {
    /// A machine of two processors, with firmware of 2 s and a loader of 0.5 s, that starts nothing yet. Its default target is
    /// `multi-user.target`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            processors: 2,
            firmware_ms: Some(2_000),
            loader_ms: 500,
            initcalls: Vec::new(),
            initial_file_system: None,
            units: Vec::new(),
            default_target: "multi-user.target".to_owned(),
            hung_ms: 60_000,
        }
    }

    /// A healthy machine, whose user space takes some two seconds: three targets, a handful of services.
    #[must_use]
    pub fn healthy() -> Self {
        Self::new()
            .initcall(Initcall::new("pci_subsys_init").runs(60))
            .initcall(Initcall::new("acpi_init").runs(120))
            .unit(LinuxUnit::new("systemd-udevd.service").runs(80).sleeps(60))
            .unit(LinuxUnit::new("dev-sda1.device").after("systemd-udevd.service").sleeps(350))
            .unit(LinuxUnit::new("local-fs.target").after("dev-sda1.device"))
            .unit(LinuxUnit::new("systemd-tmpfiles-setup.service").after("local-fs.target").runs(60))
            .unit(LinuxUnit::new("sysinit.target").after("systemd-tmpfiles-setup.service"))
            .unit(LinuxUnit::new("basic.target").after("sysinit.target"))
            .unit(LinuxUnit::new("dbus.service").after("basic.target").runs(90))
            .unit(LinuxUnit::new("cron.service").after("basic.target").runs(20))
            .unit(LinuxUnit::new("ssh.service").after("basic.target").runs(120).sleeps(100))
            .unit(LinuxUnit::new("multi-user.target").after("dbus.service").after("cron.service").after("ssh.service"))
    }

    #[must_use]
    pub fn processors(mut self, processors: u16) -> Self {
        self.processors = processors.max(1);
        self
    }

    /// How long firmware and loader take, ms; a loader that says nothing of the firmware's leaves both out.
    #[must_use]
    pub fn before_kernel(mut self, firmware_ms: Option<i64>, loader_ms: i64) -> Self {
        (self.firmware_ms, self.loader_ms) = (firmware_ms, loader_ms);
        self
    }

    /// The kernel calls this function next.
    #[must_use]
    pub fn initcall(mut self, initcall: Initcall) -> Self {
        self.initcalls.push(initcall);
        self
    }

    /// It starts from an initial file system.
    #[must_use]
    pub fn initial_file_system(mut self, file_system: InitialFileSystem) -> Self {
        self.initial_file_system = Some(file_system);
        self
    }

    /// Another unit. One of the same name is replaced.
    #[must_use]
    pub fn unit(mut self, unit: LinuxUnit) -> Self {
        self.units.retain(|known| known.name != unit.name);
        self.units.push(unit);
        self
    }

    /// A unit that the default target waits for, as every service that it wants.
    #[must_use]
    pub fn wanted(mut self, unit: LinuxUnit) -> Self {
        let target = self.default_target.clone();
        if let Some(target) = self.units.iter_mut().find(|known| known.name == target) {
            target.after.push(unit.name.clone());
        }
        self.unit(unit)
    }

    /// How long a start that hangs is recorded, ms since the kernel's start.
    #[must_use]
    pub fn recorded_until(mut self, ms: i64) -> Self {
        self.hung_ms = ms;
        self
    }
}
