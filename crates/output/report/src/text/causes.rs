//! Error messages with their causes.

use std::error::Error;

/// Formats the message of `error` with its chain of causes, on one line.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Many errors repeat their cause.
        if !message.contains(&text) {
            message += ": ";
            message += &text;
        }
        cause = error.source();
    }
    message
}
