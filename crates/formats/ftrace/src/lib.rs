//! Recordings of the Linux kernel's tracer (ftrace): bytes in, events out.
//!
//! There are three forms of the same events, and all give the same [`Event`]:
//!
//! * the kernel's own text (`/sys/kernel/tracing/trace`),
//! * the text of `trace-cmd report`,
//! * the file of `trace-cmd record` and `extract`: `trace.dat`, versions 6 and 7.
//!
//! # Design constraints
//!
//! * Opens no file; knows no boot from a suspend.
//! * A line or record that cannot be read is counted in [`Losses`], with the place of the first; nothing is passed over
//!   silently.
//! * Times are nanoseconds of the trace's clock. Text has microseconds, so its times end in three zeros.
//! * Every count and length in a file is checked before use; what is decompressed is bounded.

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
