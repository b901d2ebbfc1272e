//! A place in the file from which numbers and texts are taken.

use crate::error::Error;
use crate::record::unsigned;

/// Bytes from a place on, and where in the file that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    bytes: &'a [u8],
    /// Offset of the first of them in the file, or in what was decompressed.
    pub(super) offset: usize,
    big_endian: bool,
}

impl<'a> Bytes<'a> {
    pub(super) const fn new(bytes: &'a [u8], offset: usize, big_endian: bool) -> Self {
        Self { bytes, offset, big_endian }
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) const fn big_endian(&self) -> bool {
        self.big_endian
    }

    pub(super) fn with_order(self, big_endian: bool) -> Self {
        Self { big_endian, ..self }
    }

    pub(super) fn take(&mut self, length: usize, structure: &'static str) -> Result<&'a [u8], Error> {
        match self.bytes.split_at_checked(length) {
            Some((taken, rest)) => {
                self.bytes = rest;
                self.offset += length;
                Ok(taken)
            }
            None => Err(self.cut(structure)),
        }
    }

    pub(super) fn cut(&self, structure: &'static str) -> Error {
        Error::Truncated { offset: self.offset as u64, structure }
    }

    fn number(&mut self, size: usize, structure: &'static str) -> Result<u64, Error> {
        let taken = self.take(size, structure)?;
        Ok(unsigned(taken, self.big_endian))
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

    /// A length of 64 bits that has to fit what is there.
    pub(super) fn length(&mut self, structure: &'static str) -> Result<usize, Error> {
        let length = self.u64(structure)?;
        usize::try_from(length).ok().filter(|&length| length <= self.bytes.len()).ok_or_else(|| self.cut(structure))
    }

    /// A text that ends with a zero.
    pub(super) fn text(&mut self, structure: &'static str) -> Result<String, Error> {
        let length = memchr::memchr(0, self.bytes).ok_or_else(|| self.cut(structure))?;
        let text = self.take(length + 1, structure)?;
        Ok(String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned())
    }
}
