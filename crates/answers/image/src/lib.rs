//! Analyzes an offline Windows installation: what its registry shows about the next boot.

#![forbid(unsafe_code)]

mod autologgers;
mod boot_entries;
mod compare;
mod edition;
mod overlay;
pub mod prefetch;
pub mod protected;
mod services;
mod setting;
mod startup_files;
mod startup_programs;
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
pub use edition::{EditionKind, WindowsEdition};
pub use overlay::{OVERLAY_TABLES, OverlayGrowth, OverlayLimits, OverlayOwner, OverlayPoint, overlay_growth};
pub use services::{ErrorControl, ServiceCounts, ServiceEntry, ServiceKind, ServiceStart, start_order};
pub use setting::{Setting, SettingValue};
pub use startup_files::{StartupEntry, TaskFile};
pub use startup_programs::{StartupOrigin, StartupProgram};
pub use write_filter::{FilteredVolume, HormBlocker, OverlayKind, WriteFilter, WriteFilterKind};

/// The part of the registry in a hive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HiveKind {
    /// `HKEY_LOCAL_MACHINE\SYSTEM`.
    System,
    /// `HKEY_LOCAL_MACHINE\SOFTWARE`.
    Software,
    /// `NTUSER.DAT` of a user.
    User,
    /// The boot configuration data store.
    Bcd,
}

impl HiveKind {
    /// Identifies a hive by its keys; `None` for other hives.
    #[must_use]
    pub fn from_hive(hive: &Hive) -> Option<Self> {
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

    /// Returns the name in registry paths.
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

/// A hive of an installation.
#[derive(Debug)]
pub struct ImageHive {
    /// Path or name of the file.
    pub name: String,
    /// Part of the registry.
    pub kind: HiveKind,
    pub hive: Hive,
}

/// The inputs for an installation.
#[derive(Debug, Default)]
pub struct Image {
    /// Hives, possibly of several users.
    pub hives: Vec<ImageHive>,
    /// Signatures of driver files; empty without the files. [`boot_driver_paths`] lists the paths of the files.
    pub drivers: Vec<DriverFile>,
    /// True if there is a hibernation file; `None` without the volume.
    pub has_hibernation_file: Option<bool>,
    /// Prefetch data; `None` without the folder.
    pub prefetch: Option<PrefetchReport>,
    /// Files in startup folders; empty without the volume.
    pub startup_entries: Vec<StartupEntry>,
    /// Scheduled tasks; empty without the volume.
    pub tasks: Vec<TaskFile>,
}

impl Image {
    pub fn hives_of_kind(&self, kind: HiveKind) -> impl Iterator<Item = &ImageHive> {
        self.hives.iter().filter(move |hive| hive.kind == kind)
    }

    #[must_use]
    pub fn has_hive(&self, kind: HiveKind) -> bool {
        self.hives_of_kind(kind).next().is_some()
    }

    /// Returns the name of the control set of the next boot, e.g. `ControlSet001`.
    #[must_use]
    pub fn control_set(&self) -> String {
        let current =
            self.hives_of_kind(HiveKind::System).find_map(|hive| hive.hive.key("Select")?.value("Current")?.number());
        format!("ControlSet{:03}", current.unwrap_or(1))
    }

    /// Returns the key at `path` in the first hive of that kind that contains it, with its full path. In `SYSTEM` paths
    /// `CS\` means the current control set.
    #[must_use]
    pub fn key(&self, kind: HiveKind, path: &str) -> Option<(Key<'_>, String)> {
        let path = match path.strip_prefix("CS\\") {
            Some(rest) => format!("{}\\{rest}", self.control_set()),
            None => path.to_owned(),
        };
        let key = self.hives_of_kind(kind).find_map(|hive| hive.hive.key(&path))?;
        Some((key, format!("{}\\{path}", kind.as_str())))
    }

    /// Returns a value of the key that [`Self::key`] finds; `None` if missing.
    #[must_use]
    pub fn setting(&self, kind: HiveKind, path: &str, name: &str) -> Option<Setting> {
        let (key, path) = self.key(kind, path)?;
        Setting::from_key(&key, &path, name)
    }

    /// Returns a numeric value in `SYSTEM`.
    #[must_use]
    pub fn number(&self, path: &str, name: &str) -> Option<u64> {
        self.setting(HiveKind::System, path, name)?.number()
    }
}

/// Statistics of a hive, including what could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HiveReport {
    /// Path or name of the file.
    pub name: String,
    /// Part of the registry.
    pub kind: HiveKind,
    /// Time of the last write, ns since 1970-01-01 UTC; newer Windows versions do not store it.
    pub last_written_unix_ns: Option<i64>,
    /// Number of keys.
    pub keys: u64,
    /// Number of values.
    pub values: u64,
    /// Number of unreadable keys.
    pub unreadable_keys: u64,
    /// Number of unreadable values.
    pub unreadable_values: u64,
    /// Number of keys recovered from broken key lists.
    pub recovered_keys: u64,
    /// True if the file alone is incomplete because its last changes are in its transaction logs.
    pub is_dirty: bool,
    /// Number of available transaction logs.
    pub logs: u64,
    /// Number of applied log entries.
    pub applied_log_entries: u64,
}

/// Analysis of an image.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImageReport {
    /// Windows product name; empty without `SOFTWARE`.
    pub windows: String,
    /// Build number; empty without `SOFTWARE`.
    pub build: String,
    /// Edition.
    pub edition: WindowsEdition,
    /// Computer name; empty if unknown.
    pub computer: String,
    /// Hives.
    pub hives: Vec<HiveReport>,
    /// Control set of the next boot.
    pub control_set: String,
    /// Load-order groups, in load order.
    pub groups: Vec<String>,
    /// Services and drivers, in start order.
    pub services: Vec<ServiceEntry>,
    /// Numbers of services.
    pub counts: ServiceCounts,
    /// Autologger sessions, by name.
    pub autologgers: Vec<Autologger>,
    /// Boot menu; `None` without `BCD`.
    pub boot_menu: Option<BootMenu>,
    /// Startup programs from the registry, startup folders and scheduled tasks.
    pub startup_programs: Vec<StartupProgram>,
    /// Settings that change how long a boot or a shutdown takes, as far as they are in the registry.
    pub settings: Vec<Setting>,
    /// Number of Windows' own scheduled tasks that start at boot or logon.
    pub windows_startup_tasks: u64,
    /// Unreadable scheduled tasks.
    pub unreadable_tasks: Vec<String>,
    /// Write filters.
    pub write_filters: Vec<WriteFilter>,
    /// Signatures of boot-start drivers; empty without their files.
    pub boot_drivers: Vec<BootDriverSignature>,
    /// Prefetch data; `None` without the folder.
    pub prefetch: Option<PrefetchReport>,
}

/// Signature of a boot-start driver file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootDriverSignature {
    /// Service name.
    pub service: String,
    /// File name.
    pub file: String,
    /// True if the file is available.
    pub is_present: bool,
    /// True if the file has an embedded signature; otherwise it is signed by a catalog or unsigned.
    pub has_embedded_signature: bool,
    /// True if that signature is a test signature.
    pub is_test_signed: bool,
    /// True if the version information of the file names it as a part of Windows.
    pub is_part_of_windows: bool,
}

/// Analyzes an image.
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
        // Windows 11 still has a Windows 10 product name in the registry.
        windows = windows.replacen("Windows 10", "Windows 11", 1);
    }
    let tasks = startup_files::task_programs(&image.tasks);
    let mut programs = startup_programs::read(image);
    programs.extend(startup_files::folder_programs(&image.startup_entries));
    programs.extend(tasks.programs);
    let groups = image
        .setting(HiveKind::System, r"CS\Control\ServiceGroupOrder", "List")
        .and_then(|setting| setting.texts())
        .unwrap_or_default();
    let mut report = ImageReport {
        windows,
        build,
        edition: edition::read(image),
        computer: text(HiveKind::System, r"CS\Control\ComputerName\ComputerName", "ComputerName"),
        hives: image.hives.iter().map(hive_report).collect(),
        control_set: if image.has_hive(HiveKind::System) { image.control_set() } else { String::new() },
        groups,
        counts: ServiceCounts::default(),
        services,
        autologgers: autologgers::read(image),
        boot_menu: boot_entries::read(image),
        startup_programs: programs,
        settings: watched_settings(image),
        windows_startup_tasks: tasks.windows_tasks,
        unreadable_tasks: tasks.unreadable,
        write_filters: write_filter::read(image),
        boot_drivers: Vec::new(),
        prefetch: image.prefetch.clone(),
    };
    start_order(&mut report.services, &report.groups);
    report.counts = ServiceCounts::from_report(&report);
    report.boot_drivers = boot_drivers(image, &report.services);
    report
}

/// Settings in [`ImageReport::settings`].
const WATCHED_SETTINGS: [(HiveKind, &str, &str); 27] = {
    const MANAGER: &str = r"CS\Control\Session Manager";
    const MEMORY: &str = r"CS\Control\Session Manager\Memory Management";
    const PREFETCH: &str = r"CS\Control\Session Manager\Memory Management\PrefetchParameters";
    const WINLOGON: &str = r"Microsoft\Windows NT\CurrentVersion\Winlogon";
    const WINLOGON_POLICY: &str = r"Policies\Microsoft\Windows NT\CurrentVersion\Winlogon";
    const POLICY: &str = r"Microsoft\Windows\CurrentVersion\Policies\System";
    const DESKTOP: &str = r"Control Panel\Desktop";
    [
        (HiveKind::System, r"CS\Control\Session Manager\Power", "HiberbootEnabled"),
        (HiveKind::System, r"CS\Control\Power", "HibernateEnabled"),
        (HiveKind::System, PREFETCH, "EnablePrefetcher"),
        (HiveKind::System, PREFETCH, "EnableSuperfetch"),
        (HiveKind::System, PREFETCH, "EnableBootTrace"),
        (HiveKind::System, MEMORY, "PagingFiles"),
        (HiveKind::System, MEMORY, "ClearPageFileAtShutdown"),
        (HiveKind::System, MEMORY, "VerifyDrivers"),
        (HiveKind::System, MANAGER, "BootExecute"),
        (HiveKind::System, MANAGER, "SetupExecute"),
        (HiveKind::System, MANAGER, "PendingFileRenameOperations"),
        (HiveKind::System, r"CS\Control", "WaitToKillServiceTimeout"),
        (HiveKind::System, r"CS\Control", "PreshutdownOrder"),
        (HiveKind::System, r"CS\Control", "SystemStartOptions"),
        (HiveKind::System, r"CS\Control\Lsa", "Authentication Packages"),
        (HiveKind::System, r"CS\Control\NetworkProvider\Order", "ProviderOrder"),
        (HiveKind::Software, WINLOGON, "Shell"),
        (HiveKind::Software, WINLOGON, "Userinit"),
        (HiveKind::Software, WINLOGON, "GpNetworkStartTimeoutPolicyValue"),
        (HiveKind::Software, WINLOGON_POLICY, "SyncForegroundPolicy"),
        (HiveKind::Software, POLICY, "RunLogonScriptSync"),
        (HiveKind::Software, POLICY, "RunStartupScriptSync"),
        (HiveKind::Software, POLICY, "MaxGPOScriptWait"),
        (HiveKind::Software, r"Microsoft\Windows NT\CurrentVersion\Windows", "AppInit_DLLs"),
        (HiveKind::Software, r"Microsoft\Windows NT\CurrentVersion\Windows", "LoadAppInit_DLLs"),
        (HiveKind::User, DESKTOP, "WaitToKillAppTimeout"),
        (HiveKind::User, DESKTOP, "HungAppTimeout"),
    ]
};

fn watched_settings(image: &Image) -> Vec<Setting> {
    WATCHED_SETTINGS.iter().filter_map(|&(kind, path, name)| image.setting(kind, path, name)).collect()
}

fn hive_report(hive: &ImageHive) -> HiveReport {
    let survey = hive.hive.survey();
    let logs = hive.hive.log_stats();
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

/// Returns the paths of the boot-start drivers' files, relative to the volume.
#[must_use]
pub fn boot_driver_paths(image: &Image) -> Vec<String> {
    let services = services::read(image);
    let boot_services = services.into_iter().filter(|service| service.start == ServiceStart::Boot);
    boot_services.map(|service| service.file).filter(|file| !file.is_empty()).collect()
}

fn boot_drivers(image: &Image, services: &[ServiceEntry]) -> Vec<BootDriverSignature> {
    if image.drivers.is_empty() {
        return Vec::new();
    }
    let boot_services =
        services.iter().filter(|service| service.start == ServiceStart::Boot && !service.file.is_empty());
    boot_services
        .map(|service| {
            let file = service.file.rsplit('\\').next().unwrap_or_default().to_lowercase();
            let driver = image.drivers.iter().find(|driver| driver.name == file);
            BootDriverSignature {
                service: service.name.clone(),
                is_present: driver.is_some(),
                has_embedded_signature: driver.is_some_and(|driver| driver.has_embedded_signature),
                is_test_signed: driver.is_some_and(|driver| driver.is_test_signed),
                is_part_of_windows: driver.is_some_and(|driver| driver.is_part_of_windows),
                file,
            }
        })
        .collect()
}

/// Formats a time to the second, UTC; empty if unknown.
#[must_use]
pub fn format_utc(unix_ns: Option<i64>) -> String {
    unix_ns.map_or_else(String::new, |ns| {
        let text = CivilTime::from_unix_ns(ns).to_string();
        text.get(..19).unwrap_or(&text).replace('T', " ")
    })
}
