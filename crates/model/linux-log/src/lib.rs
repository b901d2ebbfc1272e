//! Lines of Linux logs: the time at the beginning of a line, kernel messages, durations, and the names and descriptions
//! of systemd's units. Text of another form gives `None`.

pub mod duration;
pub mod kernel_line;
pub mod text_stamp;
pub mod unit_descriptions;
pub mod unit_names;
