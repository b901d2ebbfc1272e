//! Times and lists as they stand in sentences.

use onoff_trace::Duration;

/// A length of time in a sentence.
pub(crate) const fn time(ns: i64) -> Duration {
    Duration::from_ns(ns)
}

/// `3 times` of `time`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {one}{plural}")
}

/// The first names, and how many more there are.
pub(crate) fn listed(names: &[&str], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).copied().collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

/// A path without its last part.
pub(crate) fn folder(path: &str) -> &str {
    path.rfind(['\\', '/']).and_then(|at| path.get(..at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lists_read_well() {
        assert_eq!(listed(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(listed(&["a"], 2), "a");
        assert_eq!(counted(1, "service"), "1 service");
        assert_eq!(file_name(r"\Windows\explorer.exe"), "explorer.exe");
        assert_eq!(folder(r"\Windows\System32\a.dll"), r"\Windows\System32");
        assert_eq!(folder("a.dll"), "");
    }
}
