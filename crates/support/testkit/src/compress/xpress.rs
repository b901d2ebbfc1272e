//! Plain XPRESS (MS-XCA 2.3): 32 flag bits, then literals and 13-bit-distance copies.

use super::matches::{Matcher, Token};

/// Maximum distance of a 13-bit field.
const WINDOW: usize = 0x2000;

struct Encoder {
    out: Vec<u8>,
    /// Position of the flag word being filled.
    flags_at: usize,
    flags: u32,
    used: u32,
    /// Byte with a free high nibble.
    half_used: Option<usize>,
}

impl Encoder {
    fn flag(&mut self, copy: bool) {
        if self.used == 32 {
            self.store_flags();
            self.flags_at = self.out.len();
            self.out.extend_from_slice(&[0; 4]);
            self.flags = 0;
            self.used = 0;
        }
        self.flags = self.flags << 1 | u32::from(copy);
        self.used += 1;
    }

    fn store_flags(&mut self) {
        // Unused flags at the end are ones, as Windows' encoder writes them.
        let unused = 32 - self.used;
        let ones = ((1u64 << unused) - 1) as u32;
        let word = if unused == 32 { ones } else { self.flags << unused | ones };
        self.out[self.flags_at..self.flags_at + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn copy(&mut self, distance: usize, length: usize) {
        let mut rest = length - 3;
        let short = rest.min(7);
        self.out.extend_from_slice(&(((distance - 1) << 3 | short) as u16).to_le_bytes());
        if short < 7 {
            return;
        }
        rest -= 7;
        let nibble = rest.min(15) as u8;
        match self.half_used.take() {
            Some(at) => self.out[at] |= nibble << 4,
            None => {
                self.half_used = Some(self.out.len());
                self.out.push(nibble);
            }
        }
        if nibble < 15 {
            return;
        }
        rest -= 15;
        if rest < 255 {
            self.out.push(rest as u8);
            return;
        }
        self.out.push(255);
        let whole = rest + 22;
        if let Ok(whole) = u16::try_from(whole) {
            self.out.extend_from_slice(&whole.to_le_bytes());
        } else {
            self.out.extend_from_slice(&0u16.to_le_bytes());
            self.out.extend_from_slice(&(whole as u32).to_le_bytes());
        }
    }
}

pub(super) fn compress(input: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder { out: vec![0; 4], flags_at: 0, flags: 0, used: 0, half_used: None };
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
