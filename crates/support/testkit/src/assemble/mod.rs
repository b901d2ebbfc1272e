//! Assembles records of every header kind into Event Trace Log files, intact or damaged.
//!
//! ```text
//! Payload ──► Record (any header kind) ──► Packer (one open buffer per processor)
//!                                            │
//!                     EtlBuilder (in memory, ├──► Buffer ──► file bytes
//!                     any file mode, defects)│
//!                     EtlWriter (streamed) ──┘
//! ```

mod buffer;
mod builder;
mod defect;
mod packer;
mod payload;
mod record;
mod session;
mod writer;

pub use buffer::{BUFFER_HEADER_SIZE, Buffer, flag, kind};
pub use builder::EtlBuilder;
pub use defect::{Defect, file_offset};
pub use packer::Packer;
pub use payload::{Payload, PointerSize};
pub use record::{ClassHeader, EventHeader, ExtendedItem, Header, MessageHeader, Record, SystemHeader};
pub use session::{ClockKind, ProcessorField, Session, mode};
pub use writer::{EtlWriter, RecordSink};
