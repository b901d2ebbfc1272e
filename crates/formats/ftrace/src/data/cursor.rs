//! A cursor that reads numbers and strings from the file.

use crate::error::Error;
use crate::record::read_unsigned;

/// The remaining bytes and their offset in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Offset of the next byte in the file, or in the decompressed section.
    pub(super) offset: usize,
    big_endian: bool,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8], offset: usize, big_endian: bool) -> Self {
        Self { bytes, offset, big_endian }
    }

    pub(super) const fn remaining(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) const fn big_endian(&self) -> bool {
        self.big_endian
    }

    pub(super) fn with_endianness(self, big_endian: bool) -> Self {
        Self { big_endian, ..self }
    }

    pub(super) fn take(&mut self, length: usize, structure: &'static str) -> Result<&'a [u8], Error> {
        match self.bytes.split_at_checked(length) {
            Some((bytes, remaining)) => {
                self.bytes = remaining;
                self.offset += length;
                Ok(bytes)
            }
            None => Err(self.truncated(structure)),
        }
    }

    pub(super) fn truncated(&self, structure: &'static str) -> Error {
        Error::Truncated { offset: self.offset as u64, structure }
    }

    fn number(&mut self, size: usize, structure: &'static str) -> Result<u64, Error> {
        let bytes = self.take(size, structure)?;
        Ok(read_unsigned(bytes, self.big_endian))
    }

    pub(super) fn u8(&mut self, structure: &'static str) -> Result<u8, Error> {
        self.number(1, structure).map(|number| number as u8)
    }

    pub(super) fn u16(&mut self, structure: &'static str) -> Result<u16, Error> {
        self.number(2, structure).map(|number| number as u16)
    }

    pub(super) fn u32(&mut self, structure: &'static str) -> Result<u32, Error> {
        self.number(4, structure).map(|number| number as u32)
    }

    pub(super) fn u64(&mut self, structure: &'static str) -> Result<u64, Error> {
        self.number(8, structure)
    }

    /// Reads a 64-bit length, which must not exceed the remaining bytes.
    pub(super) fn length(&mut self, structure: &'static str) -> Result<usize, Error> {
        let length = self.u64(structure)?;
        usize::try_from(length)
            .ok()
            .filter(|&length| length <= self.bytes.len())
            .ok_or_else(|| self.truncated(structure))
    }

    /// Reads a zero-terminated string.
    pub(super) fn text(&mut self, structure: &'static str) -> Result<String, Error> {
        let length = memchr::memchr(0, self.bytes).ok_or_else(|| self.truncated(structure))?;
        let text = self.take(length + 1, structure)?;
        Ok(String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned())
    }
}
