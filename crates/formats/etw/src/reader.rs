//! Bounds-checked little-endian cursor over a payload.

use onoff_etl::Guid;

use crate::security_identifier::Sid;
use crate::text::{Ansi, Utf16};

/// Reads consecutive fields of a payload. A read past the end returns `None` and does not move the cursor. Pointers
/// have the size given by the record's header.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'b> {
    unread: &'b [u8],
    wide_pointers: bool,
}

impl<'b> Reader<'b> {
    /// Starts at the first byte of `bytes`. `pointer_size` is 4 or 8 bytes (any other value counts as 4).
    #[inline]
    #[must_use]
    pub fn new(bytes: &'b [u8], pointer_size: usize) -> Self {
        Self { unread: bytes, wide_pointers: pointer_size == 8 }
    }

    /// Returns the unread bytes.
    #[inline]
    #[must_use]
    pub fn unread(&self) -> &'b [u8] {
        self.unread
    }

    /// Returns the number of unread bytes.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.unread.len()
    }

    /// Returns the size of a pointer in bytes: 4 or 8.
    #[inline]
    #[must_use]
    pub fn pointer_size(&self) -> usize {
        if self.wide_pointers { 8 } else { 4 }
    }

    /// Reads the next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (bytes, unread) = self.unread.split_at_checked(count)?;
        self.unread = unread;
        Some(bytes)
    }

    /// Skips `count` bytes.
    #[inline]
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.take(count).map(|_| ())
    }

    /// Reads the next `N` bytes, as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<&'b [u8; N]> {
        let (bytes, unread) = self.unread.split_first_chunk::<N>()?;
        self.unread = unread;
        Some(bytes)
    }

    /// Reads an unsigned byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|bytes| bytes[0])
    }

    /// Reads a signed byte.
    #[inline]
    pub fn i8(&mut self) -> Option<i8> {
        self.array().copied().map(i8::from_le_bytes)
    }

    /// Reads an unsigned 16-bit integer.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().copied().map(u16::from_le_bytes)
    }

    /// Reads an unsigned 32-bit integer.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().copied().map(u32::from_le_bytes)
    }

    /// Reads a signed 32-bit integer.
    #[inline]
    pub fn i32(&mut self) -> Option<i32> {
        self.array().copied().map(i32::from_le_bytes)
    }

    /// Reads an unsigned 64-bit integer.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().copied().map(u64::from_le_bytes)
    }

    /// Reads a signed 64-bit integer.
    #[inline]
    pub fn i64(&mut self) -> Option<i64> {
        self.array().copied().map(i64::from_le_bytes)
    }

    /// Reads a pointer or `SIZE_T`, zero-extended.
    #[inline]
    pub fn pointer(&mut self) -> Option<u64> {
        if self.wide_pointers { self.u64() } else { self.u32().map(u64::from) }
    }

    /// Reads a GUID in its Windows (mixed-endian) form.
    #[inline]
    pub fn guid(&mut self) -> Option<Guid> {
        self.array().map(|bytes| Guid::from_bytes_le(*bytes))
    }

    /// Reads UTF-16 text up to its NUL, or up to the end if there is none. Returns an empty text at the end of the
    /// payload.
    #[inline]
    pub fn utf16_z(&mut self) -> Utf16<'b> {
        let units = self.unread.len() / 2;
        let end = self.unread.chunks_exact(2).position(|unit| unit == [0, 0]);
        let (text, unread) = match end {
            Some(end) => (&self.unread[..end * 2], &self.unread[end * 2 + 2..]),
            None => self.unread.split_at(units * 2),
        };
        self.unread = unread;
        Utf16::new(text)
    }

    /// Reads 8-bit text up to its NUL, or up to the end if there is none. Returns an empty text at the end of the
    /// payload.
    #[inline]
    pub fn ansi_z(&mut self) -> Ansi<'b> {
        let end = self.unread.iter().position(|&byte| byte == 0);
        let (text, unread) = match end {
            Some(end) => (&self.unread[..end], &self.unread[end + 1..]),
            None => (self.unread, &[][..]),
        };
        self.unread = unread;
        Ansi::new(text)
    }

    /// Reads a fixed array of `units` UTF-16 code units, truncated at the first NUL.
    #[inline]
    pub fn utf16_array(&mut self, units: usize) -> Option<Utf16<'b>> {
        self.take(units.checked_mul(2)?).map(|bytes| Utf16::new(bytes).until_nul())
    }

    /// Reads a security identifier: 8 bytes plus 4 per sub-authority.
    pub fn sid(&mut self) -> Option<Sid<'b>> {
        let (sid, unread) = Sid::split(self.unread)?;
        self.unread = unread;
        Some(sid)
    }

    /// Reads the kernel's `TOKEN_USER` image: two pointers, then the SID. A zero first dword means no SID and ends the
    /// image, unless a SID follows anyway: some writers clear the pointer. Returns `None` if the payload is too short
    /// and `Some(None)` if there is no SID.
    pub fn token_user_sid(&mut self) -> Option<Option<Sid<'b>>> {
        let mut lookahead = *self;
        let absent = lookahead.u32()? == 0;
        let mut with_sid = *self;
        let sid = with_sid.skip(2 * self.pointer_size()).and_then(|()| with_sid.sid());
        if absent && !sid.is_some_and(Sid::is_plausible) {
            *self = lookahead;
            return Some(None);
        }
        *self = with_sid;
        sid.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_order_up_to_the_end() {
        let bytes = [1, 2, 0, 3, 0, 0, 0, 0xff];
        let mut reader = Reader::new(&bytes, 4);
        assert_eq!(reader.u8(), Some(1));
        assert_eq!(reader.u16(), Some(2));
        assert_eq!(reader.pointer(), Some(3));
        assert_eq!(reader.u32(), None);
        assert_eq!(reader.remaining(), 1, "a failed read does not move the cursor");
        assert_eq!(reader.i8(), Some(-1));
    }

    #[test]
    fn text_ends_at_nul_or_end() {
        let mut reader = Reader::new(b"a\0\0\0bc\0rest", 8);
        assert_eq!(reader.utf16_z(), "a");
        assert_eq!(reader.ansi_z(), "bc");
        assert_eq!(reader.ansi_z(), "rest");
        assert_eq!(reader.ansi_z(), "");
        assert_eq!(reader.utf16_z(), "");
    }

    #[test]
    fn absent_token_user_is_four_bytes() {
        let mut reader = Reader::new(&[0, 0, 0, 0, 7], 8);
        assert_eq!(reader.token_user_sid(), Some(None));
        assert_eq!(reader.u8(), Some(7));

        let mut bytes = vec![1; 16];
        bytes.extend([1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0]);
        let mut reader = Reader::new(&bytes, 8);
        let sid = reader.token_user_sid().unwrap().unwrap();
        assert_eq!(sid.to_string(), "S-1-5-18");
        assert_eq!(reader.remaining(), 0);
        let truncated = Reader::new(&bytes[..20], 8).token_user_sid();
        assert!(truncated.is_none());

        bytes[..16].fill(0);
        let mut reader = Reader::new(&bytes, 8);
        let sid = reader.token_user_sid().unwrap().unwrap();
        assert_eq!(sid.to_string(), "S-1-5-18", "a cleared pointer");
    }
}
