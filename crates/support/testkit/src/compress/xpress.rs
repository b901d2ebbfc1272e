//! Plain XPRESS (MS-XCA 2.3): 32 flag bits, then literals and 13-bit-distance copies.

use super::matches::{Matcher, Token};

/// Maximum distance of a 13-bit field.
const WINDOW: usize = 0x2000;

struct Encoder {
    out: Vec<u8>,
    /// Position of the flag word being filled.
    flags_offset: usize,
    flags: u32,
    used_flags: u32,
    /// Byte with a free high nibble.
    half_used_byte: Option<usize>,
}

impl Encoder {
    fn flag(&mut self, is_copy: bool) {
        if self.used_flags == 32 {
            self.store_flags();
            self.flags_offset = self.out.len();
            self.out.extend_from_slice(&[0; 4]);
            self.flags = 0;
            self.used_flags = 0;
        }
        self.flags = self.flags << 1 | u32::from(is_copy);
        self.used_flags += 1;
    }

    fn store_flags(&mut self) {
        // Unused flags at the end are ones, as Windows' encoder writes them.
        let unused = 32 - self.used_flags;
        let ones = ((1u64 << unused) - 1) as u32;
        let word = if unused == 32 { ones } else { self.flags << unused | ones };
        self.out[self.flags_offset..self.flags_offset + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn copy(&mut self, distance: usize, length: usize) {
        let mut remaining = length - 3;
        let inline_length = remaining.min(7);
        self.out.extend_from_slice(&(((distance - 1) << 3 | inline_length) as u16).to_le_bytes());
        if inline_length < 7 {
            return;
        }
        remaining -= 7;
        let nibble = remaining.min(15) as u8;
        match self.half_used_byte.take() {
            Some(offset) => self.out[offset] |= nibble << 4,
            None => {
                self.half_used_byte = Some(self.out.len());
                self.out.push(nibble);
            }
        }
        if nibble < 15 {
            return;
        }
        remaining -= 15;
        if remaining < 255 {
            self.out.push(remaining as u8);
            return;
        }
        self.out.push(255);
        let long_length = remaining + 22;
        if let Ok(long_length) = u16::try_from(long_length) {
            self.out.extend_from_slice(&long_length.to_le_bytes());
        } else {
            self.out.extend_from_slice(&0u16.to_le_bytes());
            self.out.extend_from_slice(&(long_length as u32).to_le_bytes());
        }
    }
}

pub(super) fn compress(input: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder { out: vec![0; 4], flags_offset: 0, flags: 0, used_flags: 0, half_used_byte: None };
    let mut matcher = Matcher::new(input, WINDOW);
    while let Some(token) = matcher.next(input.len()) {
        match token {
            Token::Literal(byte) => {
                encoder.flag(false);
                encoder.out.push(byte);
            }
            Token::Copy { distance, length } => {
                encoder.flag(true);
                encoder.copy(distance, length);
            }
        }
    }
    encoder.store_flags();
    encoder.out
}
