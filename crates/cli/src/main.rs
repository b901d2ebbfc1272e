//! The `onoff` program.
fn main() {}
