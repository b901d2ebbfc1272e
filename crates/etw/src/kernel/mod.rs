//! Kernel events: typed structs for the hot and the structural ones.
//!
//! A kernel event is identified by its *hook*, `group << 8 | type`, and its payload by hook, version and
//! pointer size; the header type says nothing about it. Each struct here reads every known version of its
//! hooks. Newer systems append fields without raising the version, so bytes after the known fields are
//! left alone, and only a payload too short for its known fields is refused (`None`).
//!
//! One file per group. What has no struct here is still decoded into named fields, by
//! [`Schemas::decode`](crate::Schemas::decode), from the table of all kernel layouts.
//!
//! ```
//! use onoff_etw::kernel::{ContextSwitch, KernelPayload};
//!
//! let bytes = [
//!     8, 0, 0, 0, 0, 0, 0, 0, // new thread 8, old thread 0 (idle)
//!     9, 0, 2, 0, 0, 0, 2, 1, // priorities 9 and 0, C-state 2, old thread running
//!     5, 0, 0, 0, 0, 0, 0, 0, // waited 5 timer ticks
//! ];
//! let payload = KernelPayload::new(ContextSwitch::HOOK, 4, &bytes, 8);
//! let switch = ContextSwitch::read(payload).unwrap();
//! assert_eq!((switch.new_thread_id, switch.new_thread_priority), (8, 9));
//! ```

mod disk;
mod file;
mod image;
mod memory;
mod network;
mod perf_info;
mod power;
mod process;
mod recorder;
mod registry;
mod stack_walk;
mod system_config;
mod thread;
mod thread_switch;

pub use disk::*;
pub use file::*;
pub use image::*;
pub use memory::*;
pub use network::*;
pub use perf_info::*;
pub use power::*;
pub use process::*;
pub use recorder::*;
pub use registry::*;
pub use stack_walk::*;
pub use system_config::*;
pub use thread::*;
pub use thread_switch::*;

use onoff_etl::Record;

use crate::reader::Reader;

/// A kernel payload and the three facts that say how to read it.
#[derive(Clone, Copy, Debug)]
pub struct KernelPayload<'b> {
    /// `group << 8 | type`.
    pub hook: u16,
    /// Version of the payload's layout.
    pub version: u16,
    /// The payload, at its first field.
    pub fields: Reader<'b>,
}

impl<'b> KernelPayload<'b> {
    /// Puts a payload together; `pointer_size` is 4 or 8.
    #[inline]
    #[must_use]
    pub fn new(hook: u16, version: u16, payload: &'b [u8], pointer_size: usize) -> Self {
        Self { hook, version, fields: Reader::new(payload, pointer_size) }
    }

    /// The payload of a record with a SYSTEM, COMPACT or PERFINFO header; `None` for any other.
    #[inline]
    #[must_use]
    pub fn of(record: &Record<'b>) -> Option<Self> {
        Some(Self::new(record.hook()?, record.version(), record.payload(), record.pointer_size()))
    }
}

/// Gives a kernel struct its `parse`, beside the `read` it is written with.
macro_rules! parse_from_record {
    ($name:ident) => {
        impl $name {
            /// Reads the event out of a record; `None` when the record is another event or too short.
            #[inline]
            #[must_use]
            pub fn parse(record: &onoff_etl::Record<'_>) -> Option<Self> {
                Self::read($crate::kernel::KernelPayload::of(record)?)
            }
        }
    };
    ($name:ident<'b>) => {
        impl<'b> $name<'b> {
            /// Reads the event out of a record; `None` when the record is another event or too short.
            #[inline]
            #[must_use]
            pub fn parse(record: &onoff_etl::Record<'b>) -> Option<Self> {
                Self::read($crate::kernel::KernelPayload::of(record)?)
            }
        }
    };
}
use parse_from_record;
