//! Write filters: what keeps a volume as it was.

use serde::Serialize;

use super::{HiveKind, Image, Setting};

/// Which filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WriteFilterKind {
    /// Unified Write Filter: Windows 8.1 and later.
    Uwf,
    /// Enhanced Write Filter: up to Windows Embedded Standard 8; by sectors.
    Ewf,
    /// File-Based Write Filter: up to Windows Embedded Standard 7; by files.
    Fbwf,
}

impl WriteFilterKind {
    /// The name that people know.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Uwf => "UWF",
            Self::Ewf => "EWF",
            Self::Fbwf => "FBWF",
        }
    }
}

/// Where the filter keeps what is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OverlayKind {
    /// In memory.
    Ram,
    /// On the disk.
    Disk,
    /// The registry does not say.
    #[default]
    Unknown,
}

/// What keeps UWF from resuming from one image again and again (HORM).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HormBlocker {
    /// The filter is off.
    FilterOff,
    /// A volume is not protected.
    UnprotectedVolume,
    /// A file or folder is left out of the filter.
    FileExclusion,
    /// A part of the registry is left out of the filter.
    RegistryExclusion,
    /// The overlay is on the disk.
    DiskOverlay,
}

/// A volume as the filter knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilteredVolume {
    /// Name, or what the registry calls it.
    pub name: String,
    /// Whether it is protected; `None` where the registry does not say.
    pub is_protected: Option<bool>,
    /// Files and folders whose writes stay.
    pub exclusions: Vec<String>,
}

/// A write filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteFilter {
    /// Which.
    pub kind: WriteFilterKind,
    /// Whether it is on; `None` where the registry does not say.
    pub is_on: Option<bool>,
    /// Whether it will be on after the next restart, where that differs and is said.
    pub is_on_next: Option<bool>,
    /// Where the overlay is.
    pub overlay: OverlayKind,
    /// Most bytes of the overlay.
    pub most_bytes: Option<u64>,
    /// Bytes from which it warns.
    pub warning_bytes: Option<u64>,
    /// Bytes from which it is critical.
    pub critical_bytes: Option<u64>,
    /// Volumes.
    pub volumes: Vec<FilteredVolume>,
    /// Parts of the registry whose writes stay; `None` where the registry does not say.
    pub registry_exclusions: Option<Vec<String>>,
    /// Whether resuming from one image again and again (HORM) is on; `None` where the filter has none or does not say.
    pub is_horm_on: Option<bool>,
    /// What keeps it from being turned on; empty for filters that have none.
    pub horm_blockers: Vec<HormBlocker>,
    /// What was read.
    pub settings: Vec<Setting>,
}

impl WriteFilter {
    fn of(kind: WriteFilterKind) -> Self {
        Self {
            kind,
            is_on: None,
            is_on_next: None,
            overlay: OverlayKind::Unknown,
            most_bytes: None,
            warning_bytes: None,
            critical_bytes: None,
            volumes: Vec::new(),
            registry_exclusions: None,
            is_horm_on: None,
            horm_blockers: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// Whether what is written to `path` below the volume stays: an exclusion names it or a folder above it. `None` where exclusions cannot
    /// be read.
    #[must_use]
    pub fn excludes(&self, path: &str) -> Option<bool> {
        if self.volumes.is_empty() {
            return None;
        }
        let path = path.to_lowercase();
        let holds = |exclusion: &String| {
            let exclusion = exclusion.to_lowercase();
            let below =
                exclusion.get(1..2).filter(|&colon| colon == ":").map_or(exclusion.as_str(), |_| &exclusion[2..]);
            let below = below.trim_end_matches('\\');
            path.strip_prefix(below).is_some_and(|rest| rest.is_empty() || rest.starts_with('\\'))
        };
        Some(self.volumes.iter().flat_map(|volume| &volume.exclusions).any(holds))
    }

    /// What the filter's state rests on, in one sentence.
    #[must_use]
    pub fn evidence(&self) -> String {
        self.settings.first().map_or_else(String::new, Setting::evidence)
    }
}

const MIB: u64 = 1 << 20;

pub(super) fn read(image: &Image) -> Vec<WriteFilter> {
    [uwf(image), ewf(image), fbwf(image)].into_iter().flatten().collect()
}

/// The Unified Write Filter. Where its settings lie is known from a public listing of its own program, not from a computer that had it on.
fn uwf(image: &Image) -> Option<WriteFilter> {
    let root = r"CS\Services\uwfvol";
    image.key(HiveKind::System, root)?;
    let mut filter = WriteFilter::of(WriteFilterKind::Uwf);
    let fixed = format!(r"{root}\Parameters\Static");
    let setting = |path: &str, name: &str| image.setting(HiveKind::System, path, name);
    let current = setting(&fixed, "CurrentSettings").and_then(|setting| setting.number());
    let next = setting(&fixed, "UpdatedSettings").and_then(|setting| setting.number());
    let copy = |number: u64| format!(r"{fixed}\Copy{number}");
    let at = copy(current.unwrap_or(0));
    let mut take = |path: &str, name: &str| {
        let found = setting(path, name)?;
        filter.settings.push(found.clone());
        found.number()
    };
    let enabled = take(&at, "UwfEnabled");
    let overlay = take(&at, "OverlayType");
    let most = take(&at, "OverlayMaximumSize");
    let moving = format!(r"{root}\Parameters\Dynamic");
    let horm = take(&moving, "HormEnabled");
    let warning = take(&moving, "OverlayWarningThreshold");
    let critical = take(&moving, "OverlayCriticalThreshold");
    // Without its settings the filter is installed, and off.
    filter.is_on = Some(enabled.is_some_and(|enabled| enabled != 0));
    let then = next.filter(|next| Some(*next) != current).and_then(|next| setting(&copy(next), "UwfEnabled")?.number());
    filter.is_on_next = then.map(|enabled| enabled != 0).filter(|next| Some(*next) != filter.is_on);
    filter.overlay = match overlay {
        Some(0) => OverlayKind::Ram,
        Some(1) => OverlayKind::Disk,
        _ => OverlayKind::Unknown,
    };
    let bytes = |mebibytes: Option<u64>| mebibytes.and_then(|number| number.checked_mul(MIB));
    (filter.most_bytes, filter.warning_bytes, filter.critical_bytes) = (bytes(most), bytes(warning), bytes(critical));
    filter.is_horm_on = horm.map(|horm| horm != 0);
    if let Some((key, _)) = image.key(HiveKind::System, &at) {
        filter.registry_exclusions =
            Some(key.value("RegistryExceptionsUserDefined").and_then(|value| value.texts()).unwrap_or_default());
        for volume in key.subkeys() {
            if volume.name().parse::<u32>().is_err() {
                continue;
            }
            let name = volume.value("VolumeName").and_then(|value| value.text()).unwrap_or_else(|| volume.name());
            filter.volumes.push(FilteredVolume {
                name,
                is_protected: volume
                    .value("VolumeEnabled")
                    .and_then(|value| value.number())
                    .map(|enabled| enabled != 0),
                exclusions: volume
                    .value("FileExceptionsUserDefined")
                    .and_then(|value| value.texts())
                    .unwrap_or_default(),
            });
        }
    }
    filter.horm_blockers = horm_blockers(&filter);
    Some(filter)
}

fn horm_blockers(filter: &WriteFilter) -> Vec<HormBlocker> {
    let checks = [
        (HormBlocker::FilterOff, filter.is_on == Some(false)),
        (HormBlocker::UnprotectedVolume, filter.volumes.iter().any(|volume| volume.is_protected == Some(false))),
        (HormBlocker::FileExclusion, filter.volumes.iter().any(|volume| !volume.exclusions.is_empty())),
        (HormBlocker::RegistryExclusion, filter.registry_exclusions.as_ref().is_some_and(|all| !all.is_empty())),
        (HormBlocker::DiskOverlay, filter.overlay == OverlayKind::Disk),
    ];
    checks.into_iter().filter(|check| check.1).map(|check| check.0).collect()
}

fn ewf(image: &Image) -> Option<WriteFilter> {
    let (protected, path) = image.key(HiveKind::System, r"CS\Services\EWF\Parameters\Protected")?;
    let mut filter = WriteFilter::of(WriteFilterKind::Ewf);
    for volume in protected.subkeys() {
        let path = format!("{path}\\{}", volume.name());
        let enabled = Setting::of(&volume, &path, "Enabled");
        let name = ["VolumeID", "ArcName"].iter().find_map(|name| volume.value(name)?.text());
        filter.volumes.push(FilteredVolume {
            name: name.unwrap_or_else(|| volume.name()),
            is_protected: enabled.as_ref().and_then(Setting::number).map(|enabled| enabled != 0),
            exclusions: Vec::new(),
        });
        filter.settings.extend(enabled);
    }
    // Without a volume it protects none.
    let known = filter.volumes.iter().all(|volume| volume.is_protected.is_some());
    filter.is_on = known.then(|| filter.volumes.iter().any(|volume| volume.is_protected == Some(true)));
    Some(filter)
}

fn fbwf(image: &Image) -> Option<WriteFilter> {
    let start = image.setting(HiveKind::System, r"CS\Services\FBWF", "Start")?;
    let mut filter = WriteFilter::of(WriteFilterKind::Fbwf);
    // It keeps what it protects and leaves out in a file of its own, not in the registry.
    filter.is_on = if start.number() == Some(4) { Some(false) } else { None };
    filter.overlay = OverlayKind::Ram;
    filter.settings.push(start);
    Some(filter)
}
