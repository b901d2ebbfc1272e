//! Services and drivers.

use std::collections::BTreeMap;

use onoff_hive::Key;
use serde::Serialize;

use super::{HiveKind, Image, ImageReport};

/// Start type of a service or driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ServiceStart {
    /// Loaded by the boot loader, started with the kernel.
    Boot,
    /// Started by the kernel.
    System,
    /// Started by the service control manager at every boot.
    Auto,
    /// Started on demand.
    Demand,
    /// Never started.
    Disabled,
    /// Not in the registry.
    #[default]
    Unknown,
}

impl ServiceStart {
    const fn from_number(number: Option<u64>) -> Self {
        match number {
            Some(0) => Self::Boot,
            Some(1) => Self::System,
            Some(2) => Self::Auto,
            Some(3) => Self::Demand,
            Some(4) => Self::Disabled,
            _ => Self::Unknown,
        }
    }

    /// Returns the name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::System => "system",
            Self::Auto => "auto",
            Self::Demand => "demand",
            Self::Disabled => "disabled",
            Self::Unknown => "unknown",
        }
    }
}

/// What Windows does if the start fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorControl {
    /// Ignores the error.
    Ignore,
    /// Logs the error.
    Normal,
    /// Boots with the last known good configuration.
    Severe,
    /// Fails the boot.
    Critical,
    /// Not in the registry.
    #[default]
    Unknown,
}

impl ErrorControl {
    const fn from_number(number: Option<u64>) -> Self {
        match number {
            Some(0) => Self::Ignore,
            Some(1) => Self::Normal,
            Some(2) => Self::Severe,
            Some(3) => Self::Critical,
            _ => Self::Unknown,
        }
    }

    /// Returns the name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::Normal => "normal",
            Self::Severe => "severe",
            Self::Critical => "critical",
            Self::Unknown => "unknown",
        }
    }
}

/// Type of a service or driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ServiceKind {
    /// Kernel driver.
    Driver,
    /// File system driver.
    FileSystem,
    /// Service.
    Service,
    /// Template of per-user services.
    UserTemplate,
    /// Another type, or a key that only contains settings.
    #[default]
    Other,
}

/// A service or driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceEntry {
    /// Name.
    pub name: String,
    /// Display name as in the registry; may reference a resource.
    pub display_name: String,
    /// Service type.
    pub kind: ServiceKind,
    /// Start type.
    pub start: ServiceStart,
    /// What Windows does if the start fails.
    pub error_control: ErrorControl,
    /// Load-order group; empty if none.
    pub group: String,
    /// Position in the group.
    pub tag: Option<u64>,
    /// Services that must start before it.
    pub depends_on_services: Vec<String>,
    /// Groups with at least one member that must start before it.
    pub depends_on_groups: Vec<String>,
    /// Services that depend on it.
    pub needed_by: Vec<String>,
    /// True if it is trigger-started, e.g. by a device, an address or a policy.
    pub has_trigger: bool,
    /// True for a delayed automatic start (two minutes later, at low priority).
    pub is_delayed: bool,
    /// Protection level of its process; 0 if unprotected.
    pub launch_protected: u64,
    /// Preshutdown timeout, ms.
    pub preshutdown_timeout_ms: Option<u64>,
    /// Command line or path of the image.
    pub image_path: String,
    /// File relative to the volume, in the case of the registry; the service DLL for a shared process. Empty if
    /// unknown.
    pub file: String,
    /// True if that file is outside the Windows folder.
    pub is_outside_windows: bool,
    /// Account.
    pub account: String,
    /// Path of the key, starting with the hive name.
    pub key: String,
    /// Time of the last write to the key, ns since 1970-01-01 UTC.
    pub last_written_unix_ns: Option<i64>,
}

impl ServiceEntry {
    /// True for a service that starts at every boot.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        self.start == ServiceStart::Auto && matches!(self.kind, ServiceKind::Service | ServiceKind::UserTemplate)
    }

    /// Returns the evidence for a finding: the key with its start type.
    #[must_use]
    pub fn evidence(&self) -> String {
        let written = super::format_utc(self.last_written_unix_ns);
        let written = if written.is_empty() { written } else { format!("; key last written {written} UTC") };
        format!("{}: start {}, error control {}{written}", self.key, self.start.as_str(), self.error_control.as_str())
    }
}

/// Numbers of services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceCounts {
    /// Services that start at every boot.
    pub auto: u64,
    /// Number of these that are delayed.
    pub delayed: u64,
    /// Number of these that are trigger-started.
    pub trigger: u64,
    /// Number of these in a load-order group.
    pub in_group: u64,
    /// Number of these with a file outside the Windows folder.
    pub outside_windows: u64,
    /// Boot-start drivers.
    pub boot_start: u64,
    /// Number of these that are required to boot (critical error control).
    pub critical_boot_start: u64,
    /// Enabled autologger sessions.
    pub autologgers: u64,
}

impl ServiceCounts {
    pub(super) fn from_report(report: &ImageReport) -> Self {
        let mut counts = Self::default();
        for service in &report.services {
            if service.is_auto() {
                counts.auto += 1;
                counts.delayed += u64::from(service.is_delayed);
                counts.trigger += u64::from(service.has_trigger);
                counts.in_group += u64::from(!service.group.is_empty());
                counts.outside_windows += u64::from(service.is_outside_windows);
            }
            if service.start == ServiceStart::Boot {
                counts.boot_start += 1;
                counts.critical_boot_start += u64::from(service.error_control == ErrorControl::Critical);
            }
        }
        counts.autologgers = report.autologgers.iter().filter(|logger| logger.is_enabled).count() as u64;
        counts
    }
}

pub(super) fn read(image: &Image) -> Vec<ServiceEntry> {
    let Some((services, path)) = image.key(HiveKind::System, r"CS\Services") else { return Vec::new() };
    let mut entries: Vec<ServiceEntry> = services.subkeys().iter().map(|key| entry(key, &path)).collect();
    // Keys without type and start only contain settings.
    entries.retain(|entry| entry.kind != ServiceKind::Other || entry.start != ServiceStart::Unknown);
    let mut needed_by: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in &entries {
        for dependency in &entry.depends_on_services {
            needed_by.entry(dependency.to_lowercase()).or_default().push(entry.name.clone());
        }
    }
    for entry in &mut entries {
        entry.needed_by = needed_by.remove(&entry.name.to_lowercase()).unwrap_or_default();
    }
    entries
}

fn entry(key: &Key<'_>, services: &str) -> ServiceEntry {
    let number = |name: &str| key.value(name).and_then(|value| value.number());
    let text = |name: &str| key.value(name).and_then(|value| value.string()).unwrap_or_default();
    let texts = |name: &str| key.value(name).and_then(|value| value.strings()).unwrap_or_default();
    let kind = number("Type").map_or(ServiceKind::Other, |kind| match kind {
        1 => ServiceKind::Driver,
        2 | 8 => ServiceKind::FileSystem,
        kind if kind & 0x40 != 0 => ServiceKind::UserTemplate,
        kind if kind & 0x30 != 0 => ServiceKind::Service,
        _ => ServiceKind::Other,
    });
    let name = key.name();
    let image_path = text("ImagePath");
    let parameters_library = key.subkey("Parameters").and_then(|parameters| parameters.value("ServiceDll")?.string());
    let library = parameters_library.or_else(|| key.value("ServiceDll")?.string());
    let is_driver = matches!(kind, ServiceKind::Driver | ServiceKind::FileSystem);
    let file = match library {
        Some(library) => volume_path(&library),
        // The default path of a driver.
        None if image_path.is_empty() && is_driver => format!(r"\Windows\System32\drivers\{name}.sys"),
        None => volume_path(&image_path),
    };
    let is_in_windows = file.to_lowercase().starts_with(r"\windows\");
    ServiceEntry {
        display_name: text("DisplayName"),
        kind,
        start: ServiceStart::from_number(number("Start")),
        error_control: ErrorControl::from_number(number("ErrorControl")),
        group: text("Group"),
        tag: number("Tag"),
        depends_on_services: texts("DependOnService"),
        depends_on_groups: texts("DependOnGroup"),
        needed_by: Vec::new(),
        has_trigger: key.subkey("TriggerInfo").is_some(),
        is_delayed: number("DelayedAutostart") == Some(1),
        launch_protected: number("LaunchProtected").unwrap_or(0),
        preshutdown_timeout_ms: number("PreshutdownTimeout"),
        is_outside_windows: !file.is_empty() && !is_in_windows,
        image_path,
        file,
        account: text("ObjectName"),
        key: format!("{services}\\{name}"),
        last_written_unix_ns: key.last_written_unix_ns(),
        name,
    }
}

/// Returns the file in a command line, relative to the volume: `%SystemRoot%\system32\svchost.exe -k rpcss` gives
/// `\Windows\system32\svchost.exe`.
pub(super) fn volume_path(command: &str) -> String {
    let command = command.trim();
    let file = match command.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => {
            // Unquoted paths may contain spaces: the path ends after the file extension of a program.
            let lower = command.to_ascii_lowercase();
            let end = [".exe", ".sys", ".dll", ".com", ".bat", ".cmd", ".scr"]
                .iter()
                .filter_map(|extension| lower.find(extension).map(|start| start + extension.len()))
                .min();
            match end.and_then(|end| command.get(..end)) {
                Some(file) => file,
                None => command.split_whitespace().next().unwrap_or_default(),
            }
        }
    };
    let file = file.replace('/', "\\");
    let lower = file.to_ascii_lowercase();
    for (prefix, folder) in [
        (r"\??\", ""),
        (r"%systemroot%\", r"\Windows\"),
        (r"%windir%\", r"\Windows\"),
        (r"\systemroot\", r"\Windows\"),
        (r"system32\", r"\Windows\system32\"),
        (r"syswow64\", r"\Windows\syswow64\"),
        (r"%programfiles%\", r"\Program Files\"),
        (r"%programfiles(x86)%\", r"\Program Files (x86)\"),
        (r"%programdata%\", r"\ProgramData\"),
        (r"%systemdrive%\", r"\"),
    ] {
        if lower.starts_with(prefix) {
            let rest = file.get(prefix.len()..).unwrap_or_default();
            return if folder.is_empty() { volume_path(rest) } else { format!("{folder}{rest}") };
        }
    }
    let bytes = file.as_bytes();
    if bytes.len() > 2 && bytes[1] == b':' && bytes[0].is_ascii_alphabetic() {
        return file.get(2..).unwrap_or_default().to_owned();
    }
    if file.is_empty() || file.starts_with('\\') { file } else { format!(r"\Windows\system32\{file}") }
}

/// Sorts services in start order: by start type, position of their group in `groups`, tag, and name.
pub fn start_order(services: &mut [ServiceEntry], groups: &[String]) {
    let positions: BTreeMap<String, usize> =
        groups.iter().enumerate().map(|(position, name)| (name.to_lowercase(), position)).collect();
    services.sort_by_cached_key(|service| {
        let group_position = positions.get(&service.group.to_lowercase()).copied().unwrap_or(usize::MAX);
        (
            service.start,
            service.is_delayed,
            group_position,
            service.tag.unwrap_or(u64::MAX),
            service.name.to_lowercase(),
        )
    });
}
