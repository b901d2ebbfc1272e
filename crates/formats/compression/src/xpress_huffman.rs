//! XPRESS with Huffman coding (MS-XCA 2.1 and 2.2).
//!
//! Every 64 KiB of output begin with 256 bytes that hold the code lengths of 512 symbols: 256 literals, and 256 matches that
//! name a length (low nibble) and the number of bits of the distance (high nibble). Codes are read from 16-bit words, most
//! significant bit first, two words ahead; bytes of long lengths stand between the words.

use super::copy_match;
use crate::field::{u16_at, u32_at};

const SYMBOLS: usize = 512;
const LENGTHS_SIZE: usize = SYMBOLS / 2;
const CHUNK: usize = 1 << 16;
const MAX_CODE_LEN: u32 = 15;
/// Codes up to this length are found by one look-up, longer ones by comparing with the last code of each length.
const DIRECT_BITS: u32 = 10;

pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> usize {
    let mut end = 0;
    let mut codes = Codes::new();
    let mut next = 0;
    while end < output.len() {
        let Some(lengths) = input.get(next..).and_then(<[u8]>::first_chunk) else {
            break;
        };
        if !codes.assign(lengths) {
            break;
        }
        let mut bits = Bits::new(input, next + LENGTHS_SIZE);
        let chunk_end = (end + CHUNK).min(output.len());
        if decode(&codes, &mut bits, output, &mut end, chunk_end).is_none() {
            break;
        }
        next = bits.next;
    }
    end
}

/// `None` when the input ends or contradicts itself; `end` is then where the good output ends.
fn decode(codes: &Codes, bits: &mut Bits<'_>, output: &mut [u8], end: &mut usize, chunk_end: usize) -> Option<()> {
    while *end < chunk_end {
        let (symbol, code_length) = codes.symbol(bits.window)?;
        bits.consume(code_length)?;
        if symbol < 256 {
            *output.get_mut(*end)? = symbol as u8;
            *end += 1;
            continue;
        }
        let mut length = usize::from(symbol & 15);
        let distance_bits = u32::from(symbol >> 4 & 15);
        if length == 15 {
            length = usize::from(bits.byte()?);
            if length == 255 {
                length = usize::from(bits.u16()?);
                if length == 0 {
                    length = bits.u32()? as usize;
                }
                // The long form holds the whole length; what the short form would add below is taken off first.
                length = length.checked_sub(15)?;
            }
            length += 15;
        }
        let distance = (1 << distance_bits) + bits.peek(distance_bits) as usize;
        bits.consume(distance_bits)?;
        *end = copy_match(output, *end, distance, length + 3)?;
    }
    Some(())
}

/// 32 bits of look-ahead over 16-bit words. Words past the end of the input read as zero but may not be used: a stream ends
/// with fewer bits than the look-ahead wants.
struct Bits<'i> {
    input: &'i [u8],
    /// Where the next word or length byte is.
    next: usize,
    /// The next bits, first bit highest.
    window: u32,
    /// Bits of the window beyond the 16 that are always there.
    extra: u32,
    /// Bits at the end of the window that are not of the input.
    phantom: u32,
}

impl<'i> Bits<'i> {
    fn new(input: &'i [u8], start: usize) -> Self {
        let mut bits = Bits { input, next: start, window: 0, extra: 16, phantom: 0 };
        bits.window = bits.word() << 16;
        bits.window |= bits.word();
        bits
    }

    fn word(&mut self) -> u32 {
        match u16_at(self.input, self.next) {
            Some(word) => {
                self.next += 2;
                u32::from(word)
            }
            None => {
                self.next = self.input.len();
                self.phantom += 16;
                0
            }
        }
    }

    #[inline]
    fn peek(&self, count: u32) -> u32 {
        if count == 0 { 0 } else { self.window >> (32 - count) }
    }

    /// Steps over up to 15 bits.
    #[inline]
    fn consume(&mut self, count: u32) -> Option<()> {
        self.window <<= count;
        if count > self.extra {
            let word = self.word();
            self.extra += 16;
            self.extra -= count;
            self.window |= word << (16 - self.extra);
        } else {
            self.extra -= count;
        }
        (self.extra + 16 >= self.phantom).then_some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.input.get(self.next)?;
        self.next += 1;
        Some(byte)
    }

    fn u16(&mut self) -> Option<u16> {
        let value = u16_at(self.input, self.next)?;
        self.next += 2;
        Some(value)
    }

    fn u32(&mut self) -> Option<u32> {
        let value = u32_at(self.input, self.next)?;
        self.next += 4;
        Some(value)
    }
}

/// A canonical prefix code: symbols ordered by code length, then by number.
struct Codes {
    /// By the next `DIRECT_BITS` bits: symbol << 4 | code length; 0 where the code is longer or there is none.
    direct: Box<[u16; 1 << DIRECT_BITS]>,
    /// Symbols in code order.
    ordered: [u16; SYMBOLS],
    /// By length: the end of its codes, aligned to 16 bits (one past the last).
    limit: [u32; MAX_CODE_LEN as usize + 1],
    /// By length: position in `ordered` of its first code, less that code.
    base: [i32; MAX_CODE_LEN as usize + 1],
}

impl Codes {
    fn new() -> Self {
        Codes {
            direct: Box::new([0; 1 << DIRECT_BITS]),
            ordered: [0; SYMBOLS],
            limit: [0; MAX_CODE_LEN as usize + 1],
            base: [0; MAX_CODE_LEN as usize + 1],
        }
    }

    /// Assigns codes to the lengths of one chunk. `false` when no prefix code has such lengths.
    fn assign(&mut self, lengths: &[u8; LENGTHS_SIZE]) -> bool {
        let length_of = |symbol: usize| {
            let pair = lengths.get(symbol / 2).copied().unwrap_or_default();
            usize::from(if symbol.is_multiple_of(2) { pair & 15 } else { pair >> 4 })
        };
        let mut count = [0u32; MAX_CODE_LEN as usize + 1];
        for symbol in 0..SYMBOLS {
            if let Some(count) = count.get_mut(length_of(symbol)) {
                *count += 1;
            }
        }
        let mut place = [0usize; MAX_CODE_LEN as usize + 1];
        let (mut code, mut position) = (0u32, 0usize);
        for length in 1..=MAX_CODE_LEN as usize {
            let (Some(&count), Some(limit), Some(base), Some(place)) =
                (count.get(length), self.limit.get_mut(length), self.base.get_mut(length), place.get_mut(length))
            else {
                return false;
            };
            code <<= 1;
            *place = position;
            *base = position as i32 - code as i32;
            code += count;
            position += count as usize;
            if code > 1 << length {
                return false;
            }
            *limit = code << (16 - length);
        }
        for symbol in 0..SYMBOLS {
            if let length @ 1.. = length_of(symbol)
                && let Some(place) = place.get_mut(length)
                && let Some(slot) = self.ordered.get_mut(*place)
            {
                *slot = symbol as u16;
                *place += 1;
            }
        }
        self.fill_direct();
        true
    }

    fn fill_direct(&mut self) {
        let mut from = 0;
        for length in 1..=DIRECT_BITS {
            let (Some(&limit), Some(&base)) = (self.limit.get(length as usize), self.base.get(length as usize)) else {
                return;
            };
            let to = (limit >> (16 - DIRECT_BITS)) as usize;
            for entry in from..to {
                let code = entry as i32 >> (DIRECT_BITS - length);
                let symbol = usize::try_from(code + base).ok().and_then(|place| self.ordered.get(place));
                if let (Some(slot), Some(&symbol)) = (self.direct.get_mut(entry), symbol) {
                    *slot = symbol << 4 | length as u16;
                }
            }
            from = from.max(to);
        }
        if let Some(rest) = self.direct.get_mut(from..) {
            rest.fill(0);
        }
    }

    /// The symbol the window begins with, and its code's length in bits.
    #[inline]
    fn symbol(&self, window: u32) -> Option<(u16, u32)> {
        let entry = *self.direct.get((window >> (32 - DIRECT_BITS)) as usize)?;
        if entry != 0 {
            return Some((entry >> 4, u32::from(entry & 15)));
        }
        let bits = window >> 16;
        let length = (DIRECT_BITS + 1..=MAX_CODE_LEN)
            .find(|&length| self.limit.get(length as usize).is_some_and(|&limit| bits < limit))?;
        let code = (bits >> (16 - length)) as i32;
        let place = usize::try_from(code + self.base.get(length as usize)?).ok()?;
        Some((*self.ordered.get(place)?, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The two examples of MS-XCA 3.2.
    #[test]
    fn published_examples() {
        let mut alphabet = vec![0u8; 256];
        // a..x have 5 bits but for the first six, which share what is left.
        alphabet[0x30..0x3E]
            .copy_from_slice(&[0x50, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x45, 0x44, 0x04]);
        alphabet[0x80] = 0x04;
        alphabet.extend_from_slice(&[
            0xd8, 0x52, 0x3e, 0xd7, 0x94, 0x11, 0x5b, 0xe9, 0x19, 0x5f, 0xf9, 0xd6, 0x7c, 0xdf, 0x8d, 0x04, 0, 0, 0, 0,
        ]);
        let mut output = vec![0; 26];
        assert_eq!(decompress(&alphabet, &mut output), 26);
        assert_eq!(output, b"abcdefghijklmnopqrstuvwxyz");

        let mut repeated = vec![0u8; 256];
        repeated[0x30] = 0x30;
        repeated[0x31] = 0x23;
        repeated[0x80] = 0x02;
        repeated[0x8F] = 0x20;
        repeated.extend_from_slice(&[0xa8, 0xdc, 0x00, 0x00, 0xff, 0x26, 0x01]);
        let mut output = vec![0; 300];
        assert_eq!(decompress(&repeated, &mut output), 300);
        assert_eq!(output, b"abc".repeat(100));
    }

    #[test]
    fn impossible_lengths_are_refused() {
        let mut output = [0; 16];
        assert_eq!(decompress(&[0x11; 300], &mut output), 0);
        assert_eq!(decompress(&[0; 300], &mut output), 0);
        assert_eq!(decompress(&[], &mut output), 0);
    }
}
