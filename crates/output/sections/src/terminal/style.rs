//! The few colors and weights of text output.
//!
//! Writers always emit them; who owns the stream strips them where it is not a terminal that wants color.

use anstyle::{AnsiColor, Style};
use onoff_trace::Severity;

/// The answer.
pub const HEADLINE: Style = Style::new().bold();
/// A section's title.
pub const TITLE: Style = Style::new().bold();
/// Column titles, rules, certainty: there for who looks.
pub const QUIET: Style = Style::new().dimmed();
/// Work in a bar.
pub const BAR: Style = AnsiColor::Cyan.on_default();
/// What is worst.
pub const WORST: Style = AnsiColor::Yellow.on_default().bold();
/// What is inferred or incomplete.
pub const DOUBT: Style = AnsiColor::Yellow.on_default();
/// What is missing.
pub const MISSING: Style = AnsiColor::Red.on_default().bold();

/// How something of this severity looks.
#[must_use]
pub const fn of_severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => MISSING,
        Severity::Warning => DOUBT,
        Severity::Notice => QUIET,
    }
}

/// `text` in `style`.
#[must_use]
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
