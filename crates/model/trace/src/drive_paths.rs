//! Converts kernel paths to the paths that people know.
//!
//! A recording maps prefixes of kernel paths: `\Device\HarddiskVolume3\` to `C:\`, `\SystemRoot\` to `C:\Windows\`,
//! `\Device\Mup\` (network) to `\\`, `\??\` to nothing.

use std::borrow::Cow;

/// Maximum number of prefixes. Recordings have about a dozen and one for each drive.
const MAX_PREFIXES: usize = 64;

/// The prefixes that a recording maps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrivePaths {
    /// Kernel prefix without its last backslash, and what replaces it.
    prefixes: Vec<(Box<str>, Box<str>)>,
}

impl DrivePaths {
    /// Adds a prefix. The first mapping of a prefix applies. Returns true if it was added.
    pub fn add(&mut self, kernel: &str, replacement: &str) -> bool {
        let kernel = kernel.trim_end_matches('\\');
        let is_known = self.prefixes.iter().any(|(known, _)| known.eq_ignore_ascii_case(kernel));
        let is_new = !kernel.is_empty() && !is_known && self.prefixes.len() < MAX_PREFIXES;
        if is_new {
            self.prefixes.push((kernel.into(), replacement.into()));
        }
        is_new
    }

    /// Returns `path` with its drive letter if known, otherwise as recorded.
    #[must_use]
    pub fn readable<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let mapped = self.prefixes.iter().find_map(|(kernel, replacement)| replaced(path, kernel, replacement));
        match (mapped, path.strip_prefix(r"\??\")) {
            (Some(path), _) => Cow::Owned(path),
            (None, Some(path)) => Cow::Borrowed(path),
            (None, None) => Cow::Borrowed(path),
        }
    }
}

/// Returns `path` with `replacement` in place of `kernel`, or `None` if it has another prefix.
fn replaced(path: &str, kernel: &str, replacement: &str) -> Option<String> {
    let has_prefix = path.get(..kernel.len())?.eq_ignore_ascii_case(kernel);
    let rest = path.get(kernel.len()..).filter(|_| has_prefix)?;
    match rest.strip_prefix('\\') {
        Some(relative) if replacement.is_empty() || replacement.ends_with('\\') => {
            Some(format!("{replacement}{relative}"))
        }
        Some(_) => Some(format!("{replacement}{rest}")),
        None => rest.is_empty().then(|| replacement.trim_end_matches('\\').to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_replaced() {
        let mut paths = DrivePaths::default();
        // The mappings of a real recording.
        for (kernel, replacement) in [
            (r"\??\\", ""),
            (r"\??\", ""),
            (r"\SystemRoot\", r"C:\WINDOWS\"),
            (r"\Device\HarddiskVolume3\", r"C:\"),
            (r"\Device\Mup\", r"\\"),
            (r"\\", r"\\"),
            (r"\Device\HarddiskVolume3\", r"X:\"),
            (r"\Device\HarddiskVolume4", "E:"),
        ] {
            paths.add(kernel, replacement);
        }
        for (path, expected) in [
            (r"\Device\HarddiskVolume3\Windows\a.dll", r"C:\Windows\a.dll"),
            (r"\device\harddiskvolume3\a", r"C:\a"),
            (r"\Device\HarddiskVolume3", "C:"),
            (r"\Device\HarddiskVolume4\a", r"E:\a"),
            (r"\Device\HarddiskVolume30\a", r"\Device\HarddiskVolume30\a"),
            (r"\SystemRoot\system32\ntoskrnl.exe", r"C:\WINDOWS\system32\ntoskrnl.exe"),
            (r"\SystemRootless\a", r"\SystemRootless\a"),
            (r"\Device\Mup\server\share\a", r"\\server\share\a"),
            (r"\??\D:\a", r"D:\a"),
            (r"D:\a", r"D:\a"),
            ("/usr/bin/ls", "/usr/bin/ls"),
            ("", ""),
        ] {
            assert_eq!(paths.readable(path), expected);
        }
    }

    #[test]
    fn unmapped_paths_stay() {
        let paths = DrivePaths::default();
        assert_eq!(paths.readable(r"\SystemRoot\a"), r"\SystemRoot\a");
        assert_eq!(paths.readable(r"\??\C:\a"), r"C:\a");
    }

    #[test]
    fn number_of_prefixes_is_limited() {
        let mut paths = DrivePaths::default();
        let added = (0..1000).filter(|number| paths.add(&format!(r"\Device\Volume{number}\"), "V:")).count();
        assert_eq!(added, MAX_PREFIXES);
    }
}
