//! Formatting of times and lists within sentences.

use onoff_trace::Duration;

#[must_use]
pub const fn time(ns: i64) -> Duration {
    Duration::from_ns(ns)
}

/// Formats a count with its noun: `3 services`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Formats a number of bytes: `1.50 MiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|&(unit, _)| bytes >= unit) {
        Some((unit, name)) => format!("{:.2} {name}", bytes as f64 / unit as f64),
        None => counted(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
    }
}

/// Joins the first `max` names, followed by the number of remaining ones.
#[must_use]
pub fn listed(names: &[&str], max: usize) -> String {
    let shown: Vec<&str> = names.iter().take(max).copied().collect();
    match names.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        remaining => format!("{} and {remaining} more", shown.join(", ")),
    }
}

#[must_use]
pub fn file_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

/// Returns the path without its last component.
#[must_use]
pub fn folder(path: &str) -> &str {
    path.rfind(['\\', '/']).and_then(|position| path.get(..position)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_lists_and_paths() {
        assert_eq!(listed(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(listed(&["a"], 2), "a");
        assert_eq!(counted(1, "service"), "1 service");
        assert_eq!(file_name(r"\Windows\explorer.exe"), "explorer.exe");
        assert_eq!(folder(r"\Windows\System32\a.dll"), r"\Windows\System32");
        assert_eq!(folder("a.dll"), "");
    }
}
