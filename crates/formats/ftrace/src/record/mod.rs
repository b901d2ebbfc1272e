//! A binary record: the description of its fields, what the kernel calls its addresses, and the record read by both.

mod format;
mod kernel_names;

pub(crate) use format::Format;
pub use format::{RecordBody, RecordValue, StackAddresses};
pub(crate) use kernel_names::KernelNames;
pub use kernel_names::{KernelCode, KernelFunction};

/// An unsigned number of up to eight bytes.
pub(crate) fn unsigned(bytes: &[u8], big_endian: bool) -> u64 {
    let add = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
    if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}
