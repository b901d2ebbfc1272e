//! Disk and file activity over any range of a recording.
//!
//! | module | content |
//! | --- | --- |
//! | [`disk`] | disk requests: how many, by which process, and how long they took |
//! | [`files`] | file operations, and the disk requests they caused |
//! | [`hard_faults`] | hard faults by file and process |
//! | [`requests`] | each request in detail |
//! | [`utilization`] | utilization and queue depth per disk and interval |
//! | [`queue`] | which requests waited for which |
//! | [`idle_gaps`] | idle gaps of each disk |
//!
//! A request, operation or fault belongs entirely to the range in which it ends.

pub mod disk;
pub mod files;
mod grouping;
pub mod hard_faults;
pub mod idle_gaps;
pub mod queue;
pub mod requests;
pub mod utilization;

pub use grouping::{Key, NO_FILE, SharedValues};
