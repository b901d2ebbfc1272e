//! Converts device paths to paths with a drive letter.

use std::borrow::Cow;

use onoff_trace::Trace;

/// Maps the volumes of a recording to drive letters.
#[derive(Clone, Debug)]
pub struct DrivePaths<'t> {
    /// (device path, drive), e.g. (`\Device\HarddiskVolume3`, `C:`).
    volumes: Vec<(&'t str, &'t str)>,
}

impl<'t> DrivePaths<'t> {
    /// Reads the volumes that `trace` maps to drives.
    #[must_use]
    pub fn from_trace(trace: &'t Trace) -> Self {
        let volumes = trace.system.volumes.iter();
        Self::from_volumes(volumes.map(|volume| (volume.device_path.as_str(), volume.drive.as_str())))
    }

    /// Maps volumes given as device path and drive letter with colon, each with or without a trailing backslash.
    #[must_use]
    pub fn from_volumes(volumes: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        Self {
            volumes: volumes
                .into_iter()
                .map(|(device, drive)| (device.trim_end_matches('\\'), drive.trim_end_matches('\\')))
                .filter(|(device, drive)| !device.is_empty() && !drive.is_empty())
                .collect(),
        }
    }

    /// Returns `path` with its drive letter if known, otherwise as recorded.
    #[must_use]
    pub fn readable<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if let Some(drive_path) = path.strip_prefix(r"\??\") {
            return Cow::Borrowed(drive_path);
        }
        for &(device, drive) in &self.volumes {
            let is_on_volume = path.get(..device.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(device));
            match path.get(device.len()..) {
                Some(relative) if is_on_volume && (relative.is_empty() || relative.starts_with('\\')) => {
                    return Cow::Owned(format!("{drive}{relative}"));
                }
                _ => {}
            }
        }
        Cow::Borrowed(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::system::Volume;

    #[test]
    fn known_volumes_become_drives() {
        let mut trace = Trace::default();
        trace.system.volumes.push(Volume {
            drive: "C:".to_owned(),
            device_path: r"\Device\HarddiskVolume2".to_owned(),
            ..Volume::default()
        });
        let paths = DrivePaths::from_trace(&trace);
        for (recorded, readable) in [
            (r"\Device\HarddiskVolume2\Windows\a.dll", r"C:\Windows\a.dll"),
            (r"\device\harddiskvolume2\a", r"C:\a"),
            (r"\Device\HarddiskVolume20\a", r"\Device\HarddiskVolume20\a"),
            (r"\??\D:\x", r"D:\x"),
            ("/usr/lib/a.so", "/usr/lib/a.so"),
            ("", ""),
        ] {
            assert_eq!(paths.readable(recorded), readable);
        }
    }
}
