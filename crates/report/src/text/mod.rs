//! Text for people: aligned, worst first, times readable.

pub mod bar;
pub mod boot;
pub mod causes;
pub mod compare;
pub mod diagnose;
pub mod events;
pub mod firmware;
pub mod gate;
pub mod info;
pub mod io;
pub mod lacking;
pub mod linux;
pub mod losses;
pub mod machine;
pub mod netboot;
pub mod phases;
pub mod printable;
pub mod quantity;
pub mod section;
pub mod shutdown;
pub mod style;
pub mod suspend;
pub mod table;
pub mod time_point;
pub mod usage;
pub mod why;
