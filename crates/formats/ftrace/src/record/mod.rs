//! Binary records: field descriptions, kernel symbols, and access to fields.

mod format;
mod kernel_symbols;

pub(crate) use format::Format;
pub use format::{RecordBody, RecordValue, StackAddresses};
pub(crate) use kernel_symbols::KernelSymbols;
pub use kernel_symbols::{KernelCode, KernelFunction};

/// Reads an unsigned number of up to eight bytes.
pub(crate) fn read_unsigned(bytes: &[u8], big_endian: bool) -> u64 {
    let add = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
    if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}
