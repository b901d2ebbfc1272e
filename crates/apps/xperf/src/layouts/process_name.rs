//! Formats processes like xperf.

use std::fmt;

use onoff_report::text::printable::printable;

/// `name.exe (PID)`: the name right-aligned to 16 characters, the id to four; `Unknown (  -1)` for an unknown process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessName<'a>(
    /// Image name.
    pub Option<&'a str>,
    /// Process id.
    pub Option<u32>,
);

impl fmt::Display for ProcessName<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.filter(|name| !name.is_empty());
        let name = name.map_or(std::borrow::Cow::Borrowed("Unknown"), printable);
        match self.1 {
            Some(pid) => write!(formatter, "{name:>16} ({pid:>4})"),
            None => write!(formatter, "{:>16} ({:>4})", "Unknown", -1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_names_and_ids() {
        let text = |name, pid| ProcessName(name, pid).to_string();
        assert_eq!(text(Some("System"), Some(4)), "          System (   4)");
        assert_eq!(text(Some(""), Some(12345)), "         Unknown (12345)");
        assert_eq!(text(None, None), "         Unknown (  -1)");
    }
}
