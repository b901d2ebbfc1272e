//! The text of `strace`: one line per call, of one or many threads.
//!
//! Calls that read and write where the file stands do not say where that is: [`descriptors`] follows every open file
//! through opening, moving, duplication, cloning and execution, as the kernel does.

mod calls;
mod descriptors;
mod line;

pub(crate) use calls::read;
pub use calls::{SystemCall, SystemCalls};
pub(crate) use line::is_call;
