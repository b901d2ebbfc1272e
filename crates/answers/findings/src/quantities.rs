//! Formatting of times and lists within sentences.

use onoff_trace::Duration;

pub(crate) const fn time(ns: i64) -> Duration {
    Duration::from_ns(ns)
}

/// Formats a count with its noun: `3 services`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Joins the first `max` names, followed by the number of remaining ones.
pub(crate) fn listed(names: &[&str], max: usize) -> String {
    let shown: Vec<&str> = names.iter().take(max).copied().collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        remaining => format!("{} and {remaining} more", shown.join(", ")),
    }
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

/// Returns the path without its last component.
pub(crate) fn folder(path: &str) -> &str {
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
