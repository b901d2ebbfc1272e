//! Reads recordings of the Linux kernel tracer (ftrace): bytes in, events out.
//!
//! Three formats give the same [`Event`]s:
//!
//! * the kernel's text (`/sys/kernel/tracing/trace`),
//! * the text of `trace-cmd report`,
//! * the file of `trace-cmd record` and `extract`: `trace.dat`, versions 6 and 7.
//!
//! # Design constraints
//!
//! * Opens no files, and knows nothing about boots or sleeps.
//! * Unreadable lines and records are counted in [`Losses`], with the offset of the first; nothing is skipped silently.
//! * Times are in ns on the trace's clock. Text has a resolution of 1 µs.
//! * Every count and length in a file is checked before use; decompressed sizes are limited.

#![forbid(unsafe_code)]

pub mod data;
mod error;
mod event;
mod kind;
mod losses;
mod record;
pub mod text;

pub use data::{DataFile, MappedFile, ProcessMap};
pub use error::Error;
pub use event::{Body, Context, Event};
pub use kind::{
    BlockRequest, Kind, PowerEdge, RequestStage, RuntimePower, SystemCallArgument, TaskState, system_call_arguments,
};
pub use losses::Losses;
pub use record::{KernelCode, KernelFunction, RecordBody, RecordValue, StackAddresses};
pub use text::TextTrace;
