//! Recognizes unit names and parses lists of them.

/// Suffixes of unit names.
const SUFFIXES: [&str; 11] = [
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

pub fn is_unit(text: &str) -> bool {
    SUFFIXES.iter().any(|suffix| {
        text.strip_suffix(suffix).is_some_and(|stem| !stem.is_empty() && !stem.contains(char::is_whitespace))
    })
}

/// Parses a list of names as systemd writes it: separated by spaces, and quoted, with doubled backslashes, if a name
/// contains a backslash.
pub fn names(list: &str) -> impl Iterator<Item = String> {
    list.split_ascii_whitespace().map(|name| match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\\\\", "\\"),
        None => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquotes_names() {
        let list = r#"system.slice "blockdev@dev-disk-by\\x2dlabel-ESP.target" -.mount"#;
        let unit_names: Vec<String> = names(list).collect();
        assert_eq!(unit_names, ["system.slice", r"blockdev@dev-disk-by\x2dlabel-ESP.target", "-.mount"]);
        assert!(unit_names.iter().all(|name| is_unit(name)));
        assert!(!is_unit(".mount") && !is_unit("a b.service") && !is_unit("Services"));
    }
}
