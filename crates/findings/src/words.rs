//! Times and lists as they stand in sentences.

/// `12.3 s` or `456 ms`.
pub(crate) fn time(ns: i64) -> String {
    let ns = ns as f64;
    if ns >= 99.95e9 {
        format!("{:.0} s", ns / 1e9)
    } else if ns >= 0.9995e9 {
        format!("{:.1} s", ns / 1e9)
    } else if ns >= 9.95e6 {
        format!("{:.0} ms", ns / 1e6)
    } else {
        format!("{:.1} ms", ns / 1e6)
    }
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
        assert_eq!(time(6_020_400_000), "6.0 s");
        assert_eq!(time(120_000_000_000), "120 s");
        assert_eq!(time(812_300_000), "812 ms");
        assert_eq!(time(1_250_000), "1.2 ms");
        assert_eq!(listed(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(listed(&["a"], 2), "a");
        assert_eq!(counted(1, "service"), "1 service");
        assert_eq!(file_name(r"\Windows\explorer.exe"), "explorer.exe");
        assert_eq!(folder(r"\Windows\System32\a.dll"), r"\Windows\System32");
        assert_eq!(folder("a.dll"), "");
    }
}
