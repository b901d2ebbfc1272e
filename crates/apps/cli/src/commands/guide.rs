//! `onoff guide`.

use crate::failure::Failure;
use crate::output::Destination;

pub const TEXT: &str = include_str!("guide.txt");

pub fn run(destination: &Destination) -> Result<(), Failure> {
    destination.write(|out| Ok(out.write_all(TEXT.as_bytes())?))
}
