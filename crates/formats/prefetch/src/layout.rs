//! Reads `Layout.ini`: the files of all plans in their order on the disk.

use crate::field::text;

/// Contents of a `Layout.ini`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Declared version.
    pub version: Option<u32>,
    /// Paths in order; boot files come first.
    pub files: Vec<String>,
}

/// Reads a `Layout.ini` in UTF-16, with or without a byte order mark. `None` if it has no section
/// `[OptimalLayoutFile]`.
#[must_use]
pub fn read_layout(bytes: &[u8]) -> Option<Layout> {
    let bytes = bytes.strip_prefix(b"\xff\xfe").unwrap_or(bytes);
    let text = text(bytes);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.find(|line| line.eq_ignore_ascii_case("[OptimalLayoutFile]"))?;
    let mut layout = Layout::default();
    for line in lines.take_while(|line| !line.starts_with('[')) {
        match line.split_once('=') {
            Some((name, value)) if name.eq_ignore_ascii_case("version") => layout.version = value.trim().parse().ok(),
            _ => layout.files.push(line.to_owned()),
        }
    }
    Some(layout)
}
