//! A Windows installation that is not running: what its registry says about its next boot.

#![forbid(unsafe_code)]

mod autologgers;
mod boot_entries;
mod compare;
mod overlay;
pub mod prefetch;
mod services;
mod setting;
mod start_files;
mod start_programs;
#[cfg(test)]
mod tests;
mod write_filter;

use onoff_hive::{Hive, Key};
use onoff_trace::{CivilTime, DriverFile};
use serde::Serialize;

use crate::prefetch::PrefetchReport;

pub use autologgers::Autologger;
pub use boot_entries::{BootEntry, BootMenu};
pub use compare::{ImageChange, ImageComparison, compare};
pub use overlay::{OVERLAY_TABLES, OverlayGrowth, OverlayLimits, OverlayOwner, OverlayPoint, growth as overlay_growth};
pub use services::{ErrorControl, ServiceCounts, ServiceEntry, ServiceKind, ServiceStart, start_order};
pub use setting::{Setting, SettingValue};
pub use start_files::{StartupEntry, TaskFile};
pub use start_programs::{StartOrigin, StartProgram};
pub use write_filter::{FilteredVolume, HormBlocker, OverlayKind, WriteFilter, WriteFilterKind};

/// Which part of the registry a hive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HiveKind {
    /// `HKEY_LOCAL_MACHINE\SYSTEM`.
    System,
    /// `HKEY_LOCAL_MACHINE\SOFTWARE`.
    Software,
    /// A user's: `NTUSER.DAT`.
    User,
    /// The boot loader's store.
    Bcd,
}

impl HiveKind {
    /// Which part a hive holds, by its keys; `None` for another one.
    #[must_use]
    pub fn of(hive: &Hive) -> Option<Self> {
        let has = |path: &str| hive.key(path).is_some();
        if has("Select") || has("ControlSet001") {
            Some(Self::System)
        } else if has("Objects") && has("Description") || has(r"Objects\{9dea862c-5cdd-4e70-acc1-f32b344d4795}") {
            Some(Self::Bcd)
        } else if has(r"Microsoft\Windows\CurrentVersion") || has(r"Microsoft\Windows NT\CurrentVersion") {
            Some(Self::Software)
        } else if has("Control Panel") || has(r"Software\Microsoft\Windows") {
            Some(Self::User)
        } else {
            None
        }
    }

    /// Its name in paths.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "SYSTEM",
            Self::Software => "SOFTWARE",
            Self::User => "NTUSER",
            Self::Bcd => "BCD",
        }
    }
}

/// A hive of the image.
#[derive(Debug)]
pub struct ImageHive {
    /// Path or name of its file.
    pub name: String,
    /// Which part of the registry it holds.
    pub kind: HiveKind,
    /// The hive.
    pub hive: Hive,
}

/// What is known of an installation.
#[derive(Debug, Default)]
pub struct Image {
    /// Its hives; users' may be several.
    pub hives: Vec<ImageHive>,
    /// How its drivers' files are signed; empty where they are not at hand.
    pub drivers: Vec<DriverFile>,
    /// Whether there is a hibernation file; `None` without the volume.
    pub has_hibernation_file: Option<bool>,
    /// What Windows reads ahead; `None` without the folder.
    pub prefetch: Option<PrefetchReport>,
    /// The files of startup folders; empty without the volume.
    pub startup_entries: Vec<StartupEntry>,
    /// Scheduled tasks; empty without the volume.
    pub tasks: Vec<TaskFile>,
}

impl Image {
    /// The hives of a kind.
    pub fn of_kind(&self, kind: HiveKind) -> impl Iterator<Item = &ImageHive> {
        self.hives.iter().filter(move |hive| hive.kind == kind)
    }

    /// Whether there is a hive of that kind.
    #[must_use]
    pub fn has(&self, kind: HiveKind) -> bool {
        self.of_kind(kind).next().is_some()
    }

    /// The control set that the next boot uses, `ControlSet001`.
    #[must_use]
    pub fn control_set(&self) -> String {
        let current =
            self.of_kind(HiveKind::System).find_map(|hive| hive.hive.key("Select")?.value("Current")?.number());
        format!("ControlSet{:03}", current.unwrap_or(1))
    }

    /// The key at `path` of the first hive of that kind that has it. In `SYSTEM` paths `CS\` stands for the current control set.
    #[must_use]
    pub fn key(&self, kind: HiveKind, path: &str) -> Option<(Key<'_>, String)> {
        let path = match path.strip_prefix("CS\\") {
            Some(rest) => format!("{}\\{rest}", self.control_set()),
            None => path.to_owned(),
        };
        let key = self.of_kind(kind).find_map(|hive| hive.hive.key(&path))?;
        Some((key, format!("{}\\{path}", kind.as_str())))
    }

    /// A value, as [`Self::key`] finds its key; `None` when it is not there.
    #[must_use]
    pub fn setting(&self, kind: HiveKind, path: &str, name: &str) -> Option<Setting> {
        let (key, path) = self.key(kind, path)?;
        Setting::of(&key, &path, name)
    }

    /// The number that a value of `SYSTEM` holds.
    #[must_use]
    pub fn number(&self, path: &str, name: &str) -> Option<u64> {
        self.setting(HiveKind::System, path, name)?.number()
    }
}

/// What a hive holds, and what of it could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HiveReport {
    /// Path or name of its file.
    pub name: String,
    /// Which part of the registry it holds.
    pub kind: HiveKind,
    /// When it was last written, ns since 1970-01-01 UTC; newer Windows does not keep it.
    pub last_written_unix_ns: Option<i64>,
    /// Keys.
    pub keys: u64,
    /// Values.
    pub values: u64,
    /// Keys that could not be read.
    pub unreadable_keys: u64,
    /// Values that could not be read.
    pub unreadable_values: u64,
    /// Keys that were found although the list that should name them is broken.
    pub recovered_keys: u64,
    /// Whether the file alone is not complete: its last changes are in its logs.
    pub is_dirty: bool,
    /// Transaction logs that were at hand.
    pub logs: u64,
    /// Entries of these that were applied.
    pub applied_log_entries: u64,
}

/// What an image says about its next boot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImageReport {
    /// Windows by the name that people know; empty without `SOFTWARE`.
    pub windows: String,
    /// Build; empty without `SOFTWARE`.
    pub build: String,
    /// The computer's name; empty where it is not known.
    pub computer: String,
    /// Its hives.
    pub hives: Vec<HiveReport>,
    /// The control set that the next boot uses.
    pub control_set: String,
    /// Load-order groups, in their order.
    pub groups: Vec<String>,
    /// Services and drivers, in the order in which they start.
    pub services: Vec<ServiceEntry>,
    /// The same in numbers.
    pub counts: ServiceCounts,
    /// Recordings that start with the computer, by name.
    pub autologgers: Vec<Autologger>,
    /// The boot menu; `None` without `BCD`.
    pub boot_menu: Option<BootMenu>,
    /// Programs that start with the computer or the session: from the registry, startup folders and scheduled tasks.
    pub start_programs: Vec<StartProgram>,
    /// Scheduled tasks of Windows itself that start with the computer or the session.
    pub start_tasks_of_windows: u64,
    /// Scheduled tasks that cannot be read.
    pub unreadable_tasks: Vec<String>,
    /// Write filters.
    pub write_filters: Vec<WriteFilter>,
    /// How boot-start drivers are signed; empty without their files.
    pub boot_drivers: Vec<BootDriverSignature>,
    /// What Windows reads ahead; `None` without the folder.
    pub prefetch: Option<PrefetchReport>,
}

/// How the file of a driver that the loader reads is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootDriverSignature {
    /// Service.
    pub service: String,
    /// File name.
    pub file: String,
    /// Whether its file is at hand.
    pub is_present: bool,
    /// Whether it carries its own signature; without one a catalog has it or nothing does.
    pub embedded_signature: bool,
    /// Whether that signature is one for tests.
    pub signed_for_tests: bool,
}

/// Looks at an image.
#[must_use]
pub fn analyze(image: &Image) -> ImageReport {
    let services = services::read(image);
    let text = |kind, path: &str, name: &str| {
        image.setting(kind, path, name).and_then(|setting| setting.text()).unwrap_or_default()
    };
    let version = r"Microsoft\Windows NT\CurrentVersion";
    let build = text(HiveKind::Software, version, "CurrentBuild");
    let mut windows = text(HiveKind::Software, version, "ProductName");
    if build.parse::<u32>().is_ok_and(|build| build >= 22_000) {
        // Windows 11 goes on naming itself after the one before.
        windows = windows.replacen("Windows 10", "Windows 11", 1);
    }
    let tasks = start_files::of_tasks(&image.tasks);
    let mut programs = start_programs::read(image);
    programs.extend(start_files::of_folders(&image.startup_entries));
    programs.extend(tasks.programs);
    let groups = image
        .setting(HiveKind::System, r"CS\Control\ServiceGroupOrder", "List")
        .and_then(|setting| setting.texts())
        .unwrap_or_default();
    let mut report = ImageReport {
        windows,
        build,
        computer: text(HiveKind::System, r"CS\Control\ComputerName\ComputerName", "ComputerName"),
        hives: image.hives.iter().map(hive_report).collect(),
        control_set: if image.has(HiveKind::System) { image.control_set() } else { String::new() },
        groups,
        counts: ServiceCounts::default(),
        services,
        autologgers: autologgers::read(image),
        boot_menu: boot_entries::read(image),
        start_programs: programs,
        start_tasks_of_windows: tasks.of_windows,
        unreadable_tasks: tasks.unreadable,
        write_filters: write_filter::read(image),
        boot_drivers: Vec::new(),
        prefetch: image.prefetch.clone(),
    };
    start_order(&mut report.services, &report.groups);
    report.counts = ServiceCounts::of(&report);
    report.boot_drivers = boot_drivers(image, &report.services);
    report
}

fn hive_report(hive: &ImageHive) -> HiveReport {
    let survey = hive.hive.survey();
    let logs = hive.hive.log_use();
    HiveReport {
        name: hive.name.clone(),
        kind: hive.kind,
        last_written_unix_ns: hive.hive.last_written_unix_ns(),
        keys: survey.keys,
        values: survey.values,
        unreadable_keys: survey.unreadable_keys,
        unreadable_values: survey.unreadable_values,
        recovered_keys: survey.recovered_keys,
        is_dirty: hive.hive.is_dirty(),
        logs: logs.given,
        applied_log_entries: logs.applied,
    }
}

fn boot_drivers(image: &Image, services: &[ServiceEntry]) -> Vec<BootDriverSignature> {
    if image.drivers.is_empty() {
        return Vec::new();
    }
    let boot = services.iter().filter(|service| service.start == ServiceStart::Boot && !service.file.is_empty());
    boot.map(|service| {
        let file = service.file.rsplit('\\').next().unwrap_or_default().to_lowercase();
        let known = image.drivers.iter().find(|driver| driver.name == file);
        BootDriverSignature {
            service: service.name.clone(),
            is_present: known.is_some(),
            embedded_signature: known.is_some_and(|driver| driver.embedded_signature),
            signed_for_tests: known.is_some_and(|driver| driver.signed_for_tests),
            file,
        }
    })
    .collect()
}

/// A point in time to the second, UTC, in a sentence; empty when it is not known.
pub(crate) fn second(unix_ns: Option<i64>) -> String {
    unix_ns.map_or_else(String::new, |ns| {
        let text = CivilTime::from_unix_ns(ns).to_string();
        text.get(..19).unwrap_or(&text).replace('T', " ")
    })
}
