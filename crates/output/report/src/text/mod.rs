//! The text reports: headline first, then tables with the slowest items first.

mod absences;
mod account_comparison;
pub mod bar;
pub mod boot;
pub mod boot_axis;
pub mod boot_history;
pub mod boot_list;
pub mod causes;
pub mod compare;
pub mod device_work;
pub mod diagnose;
mod ending;
mod event_logs;
pub mod events;
pub mod firmware;
pub mod fix_first;
pub mod gate;
pub mod image;
pub mod info;
pub mod io;
pub mod linux;
pub mod machine;
pub mod missing_evidence;
pub mod netboot;
pub mod overview;
pub mod phases;
pub mod prefetch;
pub mod shutdown;
pub mod suspend;
pub mod time_point;
pub mod transition;
pub mod unit_starts;
pub mod usage;
pub mod what_if;
pub mod why;

pub use onoff_sections::terminal::{layout, losses, printable, quantity, section, style, table};
