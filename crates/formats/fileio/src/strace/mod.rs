//! Reads the output of `strace`: one line per call, of one or several threads.
//!
//! Reads and writes at the current position do not show the offset. [`descriptors`] therefore tracks every open file
//! through opens, seeks, duplications, clones and execs, as the kernel does.

mod calls;
mod descriptors;
mod line;
mod thread_files;

pub(crate) use calls::read;
pub use calls::{SystemCall, SystemCallReader};
pub(crate) use line::is_call;
pub use thread_files::{JoinedFiles, ThreadFile, join_thread_files, thread_id_of_file};
