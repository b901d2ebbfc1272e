//! Names of units, one by one and in lists.

/// Endings of unit names.
const KINDS: [&str; 11] = [
    ".service",
    ".socket",
    ".target",
    ".device",
    ".mount",
    ".automount",
    ".swap",
    ".timer",
    ".path",
    ".slice",
    ".scope",
];

/// Whether `text` is a unit's name.
pub(crate) fn is_unit(text: &str) -> bool {
    KINDS
        .iter()
        .any(|kind| text.strip_suffix(kind).is_some_and(|stem| !stem.is_empty() && !stem.contains(char::is_whitespace)))
}

/// The names of a list as systemd writes one: separated by blanks, quoted where they hold a backslash, which is then doubled.
pub(crate) fn names(list: &str) -> impl Iterator<Item = String> {
    list.split_ascii_whitespace().map(|name| match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\\\\", "\\"),
        None => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_names_are_unquoted() {
        let list = r#"system.slice "blockdev@dev-disk-by\\x2dlabel-ESP.target" -.mount"#;
        let found: Vec<String> = names(list).collect();
        assert_eq!(found, ["system.slice", r"blockdev@dev-disk-by\x2dlabel-ESP.target", "-.mount"]);
        assert!(found.iter().all(|name| is_unit(name)));
        assert!(!is_unit(".mount") && !is_unit("a b.service") && !is_unit("Services"));
    }
}
