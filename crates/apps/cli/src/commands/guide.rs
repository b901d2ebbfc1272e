//! `onoff guide`.

use crate::failure::Failure;
use crate::output::Destination;

/// How to investigate, step by step.
pub const TEXT: &str = include_str!("guide.txt");

/// Prints the guide.
pub fn run(destination: &Destination) -> Result<(), Failure> {
    destination.write(|out| Ok(out.write_all(TEXT.as_bytes())?))
}
