//! What went to the disks and files, over any range of a recording.
//!
//! | module | question |
//! | --- | --- |
//! | [`disk`] | which requests reached the disks, for whom, and how long did they take? |
//! | [`files`] | what did programs ask of files, and what did the disks do for it? |
//! | [`hard_faults`] | which files' pages were waited for? |
//! | [`requests`] | what was each request, one by one? |
//! | [`utilization`] | how busy was each disk, interval by interval, and how deep its queue? |
//! | [`queue`] | which requests waited for which? |
//! | [`idle_gaps`] | how long at a time did a disk have nothing to do? |
//!
//! A request, an operation or a fault counts, as a whole, in the range in which it ends.

pub mod disk;
pub mod files;
mod grouping;
pub mod hard_faults;
pub mod idle_gaps;
pub mod queue;
pub mod requests;
pub mod utilization;

pub use crate::drive_paths::DrivePaths;
pub use grouping::{Key, NO_FILE_READ, Shared};
