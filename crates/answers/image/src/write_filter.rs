//! Write filters, which protect a volume from changes.

use serde::Serialize;

use super::{HiveKind, Image, Setting};

/// Kind of write filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WriteFilterKind {
    /// Unified Write Filter: Windows 8.1 and later.
    Uwf,
    /// Enhanced Write Filter, sector-based: up to Windows Embedded Standard 8.
    Ewf,
    /// File-Based Write Filter: up to Windows Embedded Standard 7.
    Fbwf,
}

impl WriteFilterKind {
    /// Returns the common name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Uwf => "UWF",
            Self::Ewf => "EWF",
            Self::Fbwf => "FBWF",
        }
    }
}

/// Location of the overlay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OverlayKind {
    /// In memory.
    Ram,
    /// On the disk.
    Disk,
    /// Not in the registry.
    #[default]
    Unknown,
}

/// Reasons why HORM (hibernate once, resume many) cannot be enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HormBlocker {
    /// The filter is off.
    FilterOff,
    /// A volume is not protected.
    UnprotectedVolume,
    /// A file or folder is excluded from the filter.
    FileExclusion,
    /// A registry key is excluded from the filter.
    RegistryExclusion,
    /// The overlay is on the disk.
    DiskOverlay,
}

/// A volume in the filter's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilteredVolume {
    /// Name, or its key in the registry.
    pub name: String,
    /// True if protected; `None` if not in the registry.
    pub is_protected: Option<bool>,
    /// Excluded files and folders, whose changes persist.
    pub exclusions: Vec<String>,
    /// Registry values used.
    pub settings: Vec<Setting>,
}

/// A write filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteFilter {
    /// Kind.
    pub kind: WriteFilterKind,
    /// True if enabled; `None` if not in the registry.
    pub is_enabled: Option<bool>,
    /// True if enabled after the next restart, if that differs from the current state and is known.
    pub is_enabled_after_restart: Option<bool>,
    /// Location of the overlay.
    pub overlay: OverlayKind,
    /// Maximum overlay size, bytes.
    pub max_bytes: Option<u64>,
    /// Warning threshold, bytes.
    pub warning_bytes: Option<u64>,
    /// Critical threshold, bytes.
    pub critical_bytes: Option<u64>,
    /// Volumes.
    pub volumes: Vec<FilteredVolume>,
    /// Excluded registry keys, whose changes persist; `None` if not in the registry.
    pub registry_exclusions: Option<Vec<String>>,
    /// True if HORM (hibernate once, resume many) is enabled; `None` if not supported or unknown.
    pub is_horm_enabled: Option<bool>,
    /// Reasons why HORM cannot be enabled; empty for filters without HORM.
    pub horm_blockers: Vec<HormBlocker>,
    /// Registry values used.
    pub settings: Vec<Setting>,
}

impl WriteFilter {
    fn new(kind: WriteFilterKind) -> Self {
        Self {
            kind,
            is_enabled: None,
            is_enabled_after_restart: None,
            overlay: OverlayKind::Unknown,
            max_bytes: None,
            warning_bytes: None,
            critical_bytes: None,
            volumes: Vec::new(),
            registry_exclusions: None,
            is_horm_enabled: None,
            horm_blockers: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// Returns true if changes to `path` (relative to the volume) persist because an exclusion covers it; `None` if the
    /// exclusions cannot be read.
    #[must_use]
    pub fn excludes(&self, path: &str) -> Option<bool> {
        if self.volumes.is_empty() {
            return None;
        }
        let path = path.to_lowercase();
        let covers = |exclusion: &String| {
            let exclusion = exclusion.to_lowercase();
            let location =
                exclusion.get(1..2).filter(|&colon| colon == ":").map_or(exclusion.as_str(), |_| &exclusion[2..]);
            let location = location.trim_end_matches('\\');
            path.strip_prefix(location).is_some_and(|rest| rest.is_empty() || rest.starts_with('\\'))
        };
        Some(self.volumes.iter().flat_map(|volume| &volume.exclusions).any(covers))
    }

    /// Returns the evidence for the state of the filter.
    #[must_use]
    pub fn evidence(&self) -> String {
        self.settings.first().map_or_else(String::new, Setting::evidence)
    }
}

const MIB: u64 = 1 << 20;

pub(super) fn read(image: &Image) -> Vec<WriteFilter> {
    [uwf(image), ewf(image), fbwf(image)].into_iter().flatten().collect()
}

/// Reads the Unified Write Filter. The location of its settings comes from a public listing of the filter's program,
/// not from a computer on which the filter is enabled.
fn uwf(image: &Image) -> Option<WriteFilter> {
    let root = r"CS\Services\uwfvol";
    image.key(HiveKind::System, root)?;
    let mut filter = WriteFilter::new(WriteFilterKind::Uwf);
    let static_path = format!(r"{root}\Parameters\Static");
    let setting = |path: &str, name: &str| image.setting(HiveKind::System, path, name);
    let current = setting(&static_path, "CurrentSettings").and_then(|setting| setting.number());
    let next = setting(&static_path, "UpdatedSettings").and_then(|setting| setting.number());
    let copy_path = |number: u64| format!(r"{static_path}\Copy{number}");
    let current_path = copy_path(current.unwrap_or(0));
    let mut read_number = |path: &str, name: &str| {
        let setting = setting(path, name)?;
        filter.settings.push(setting.clone());
        setting.number()
    };
    let enabled = read_number(&current_path, "UwfEnabled");
    let overlay = read_number(&current_path, "OverlayType");
    let max_size = read_number(&current_path, "OverlayMaximumSize");
    let dynamic_path = format!(r"{root}\Parameters\Dynamic");
    let horm = read_number(&dynamic_path, "HormEnabled");
    let warning = read_number(&dynamic_path, "OverlayWarningThreshold");
    let critical = read_number(&dynamic_path, "OverlayCriticalThreshold");
    // Without settings the filter is installed but disabled.
    filter.is_enabled = Some(enabled.is_some_and(|enabled| enabled != 0));
    let enabled_after_restart =
        next.filter(|next| Some(*next) != current).and_then(|next| setting(&copy_path(next), "UwfEnabled")?.number());
    filter.is_enabled_after_restart =
        enabled_after_restart.map(|enabled| enabled != 0).filter(|enabled| Some(*enabled) != filter.is_enabled);
    filter.overlay = match overlay {
        Some(0) => OverlayKind::Ram,
        Some(1) => OverlayKind::Disk,
        _ => OverlayKind::Unknown,
    };
    let bytes = |mebibytes: Option<u64>| mebibytes.and_then(|number| number.checked_mul(MIB));
    (filter.max_bytes, filter.warning_bytes, filter.critical_bytes) =
        (bytes(max_size), bytes(warning), bytes(critical));
    filter.is_horm_enabled = horm.map(|horm| horm != 0);
    if let Some((key, key_path)) = image.key(HiveKind::System, &current_path) {
        let exclusions = setting(&current_path, "RegistryExceptionsUserDefined");
        filter.registry_exclusions = Some(exclusions.as_ref().and_then(Setting::texts).unwrap_or_default());
        filter.settings.extend(exclusions);
        for volume in key.subkeys() {
            if volume.name().parse::<u32>().is_err() {
                continue;
            }
            let name = volume.value("VolumeName").and_then(|value| value.string()).unwrap_or_else(|| volume.name());
            let volume_path = format!("{key_path}\\{}", volume.name());
            let enabled = Setting::from_key(&volume, &volume_path, "VolumeEnabled");
            let exclusions = Setting::from_key(&volume, &volume_path, "FileExceptionsUserDefined");
            filter.volumes.push(FilteredVolume {
                name,
                is_protected: enabled.as_ref().and_then(Setting::number).map(|enabled| enabled != 0),
                exclusions: exclusions.as_ref().and_then(Setting::texts).unwrap_or_default(),
                settings: enabled.into_iter().chain(exclusions).collect(),
            });
        }
    }
    filter.horm_blockers = horm_blockers(&filter);
    Some(filter)
}

fn horm_blockers(filter: &WriteFilter) -> Vec<HormBlocker> {
    let checks = [
        (HormBlocker::FilterOff, filter.is_enabled == Some(false)),
        (HormBlocker::UnprotectedVolume, filter.volumes.iter().any(|volume| volume.is_protected == Some(false))),
        (HormBlocker::FileExclusion, filter.volumes.iter().any(|volume| !volume.exclusions.is_empty())),
        (
            HormBlocker::RegistryExclusion,
            filter.registry_exclusions.as_ref().is_some_and(|exclusions| !exclusions.is_empty()),
        ),
        (HormBlocker::DiskOverlay, filter.overlay == OverlayKind::Disk),
    ];
    checks.into_iter().filter(|check| check.1).map(|check| check.0).collect()
}

fn ewf(image: &Image) -> Option<WriteFilter> {
    let (protected, path) = image.key(HiveKind::System, r"CS\Services\EWF\Parameters\Protected")?;
    let mut filter = WriteFilter::new(WriteFilterKind::Ewf);
    for volume in protected.subkeys() {
        let path = format!("{path}\\{}", volume.name());
        let enabled = Setting::from_key(&volume, &path, "Enabled");
        let name = ["VolumeID", "ArcName"].iter().find_map(|name| volume.value(name)?.string());
        filter.volumes.push(FilteredVolume {
            name: name.unwrap_or_else(|| volume.name()),
            is_protected: enabled.as_ref().and_then(Setting::number).map(|enabled| enabled != 0),
            exclusions: Vec::new(),
            settings: enabled.clone().into_iter().collect(),
        });
        filter.settings.extend(enabled);
    }
    // Without volumes the filter protects nothing.
    let is_known = filter.volumes.iter().all(|volume| volume.is_protected.is_some());
    filter.is_enabled = is_known.then(|| filter.volumes.iter().any(|volume| volume.is_protected == Some(true)));
    Some(filter)
}

fn fbwf(image: &Image) -> Option<WriteFilter> {
    let start = image.setting(HiveKind::System, r"CS\Services\FBWF", "Start")?;
    let mut filter = WriteFilter::new(WriteFilterKind::Fbwf);
    // FBWF stores its protected volumes and exclusions in its own file, not in the registry.
    filter.is_enabled = if start.number() == Some(4) { Some(false) } else { None };
    filter.overlay = OverlayKind::Ram;
    filter.settings.push(start);
    Some(filter)
}
