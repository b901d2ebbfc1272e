//! The colors and weights of text output.
//!
//! Writers always emit them. The owner of the stream strips them unless the stream is a color terminal.

use anstyle::{AnsiColor, Style};
use onoff_trace::Severity;

pub const HEADLINE: Style = Style::new().bold();
pub const TITLE: Style = Style::new().bold();
/// Secondary text: column titles, rules, certainty.
pub const QUIET: Style = Style::new().dimmed();
pub const BAR: Style = AnsiColor::Cyan.on_default();
/// The slowest item.
pub const WORST: Style = AnsiColor::Yellow.on_default().bold();
/// Inferred or incomplete.
pub const DOUBT: Style = AnsiColor::Yellow.on_default();
/// Missing or failed.
pub const MISSING: Style = AnsiColor::Red.on_default().bold();

/// Returns the style of a severity.
#[must_use]
pub const fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => MISSING,
        Severity::Warning => DOUBT,
        Severity::Notice => QUIET,
    }
}

/// Formats `text` in `style`.
#[must_use]
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
