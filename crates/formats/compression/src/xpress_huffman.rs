//! XPRESS with Huffman coding (MS-XCA 2.1 and 2.2).
//!
//! Every 64 KiB of output start with 256 bytes of code lengths for 512 symbols: 256 literals, and 256 matches with a
//! length (low nibble) and the number of distance bits (high nibble). Codes are stored in 16-bit words, most
//! significant bit first, and read two words ahead. The bytes of long lengths are between the words.

use super::copy_match;
use crate::field::{u16_at, u32_at};

const SYMBOLS: usize = 512;
const LENGTHS_SIZE: usize = SYMBOLS / 2;
const CHUNK_SIZE: usize = 1 << 16;
const MAX_CODE_LEN: u32 = 15;
/// Codes up to this length are decoded with one table lookup, longer codes by comparison with the last code of each
/// length.
const TABLE_BITS: u32 = 10;

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
        let chunk_end = (end + CHUNK_SIZE).min(output.len());
        if decode(&codes, &mut bits, output, &mut end, chunk_end).is_none() {
            break;
        }
        next = bits.next;
    }
    end
}

/// Decodes one chunk. Returns `None` if the input is truncated or invalid; the output is valid up to `end`.
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
                // The long form is the full length, so subtract what is added below for the short form.
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

/// 32 bits of lookahead over 16-bit words. Words past the end of the input are read as 0, because streams end before
/// the lookahead does, but their bits must not be consumed.
struct Bits<'i> {
    input: &'i [u8],
    /// Offset of the next word or length byte.
    next: usize,
    /// The next bits, first bit highest.
    window: u32,
    /// Number of bits in the window beyond the guaranteed 16.
    extra: u32,
    /// Number of bits at the end of the window that are past the end of the input.
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

    /// Consumes up to 15 bits. Returns `None` if they are past the end of the input.
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

/// A canonical prefix code: symbols sorted by code length, then by number.
struct Codes {
    /// By the next `TABLE_BITS` bits: symbol << 4 | code length; 0 if the code is longer or does not exist.
    table: Box<[u16; 1 << TABLE_BITS]>,
    /// Symbols in code order.
    ordered: [u16; SYMBOLS],
    /// By length: one past the last code, left-aligned to 16 bits.
    limit: [u32; MAX_CODE_LEN as usize + 1],
    /// By length: index in `ordered` of the first code, minus that code.
    base: [i32; MAX_CODE_LEN as usize + 1],
}

impl Codes {
    fn new() -> Self {
        Codes {
            table: Box::new([0; 1 << TABLE_BITS]),
            ordered: [0; SYMBOLS],
            limit: [0; MAX_CODE_LEN as usize + 1],
            base: [0; MAX_CODE_LEN as usize + 1],
        }
    }

    /// Assigns codes to the code lengths of one chunk. Returns `false` if no prefix code has these lengths.
    fn assign(&mut self, lengths: &[u8; LENGTHS_SIZE]) -> bool {
        let code_length = |symbol: usize| {
            let pair = lengths.get(symbol / 2).copied().unwrap_or_default();
            usize::from(if symbol.is_multiple_of(2) { pair & 15 } else { pair >> 4 })
        };
        let mut count = [0u32; MAX_CODE_LEN as usize + 1];
        for symbol in 0..SYMBOLS {
            if let Some(count) = count.get_mut(code_length(symbol)) {
                *count += 1;
            }
        }
        let mut index = [0usize; MAX_CODE_LEN as usize + 1];
        let (mut code, mut position) = (0u32, 0usize);
        for length in 1..=MAX_CODE_LEN as usize {
            let (Some(&count), Some(limit), Some(base), Some(index)) =
                (count.get(length), self.limit.get_mut(length), self.base.get_mut(length), index.get_mut(length))
            else {
                return false;
            };
            code <<= 1;
            *index = position;
            *base = position as i32 - code as i32;
            code += count;
            position += count as usize;
            if code > 1 << length {
                return false;
            }
            *limit = code << (16 - length);
        }
        for symbol in 0..SYMBOLS {
            if let length @ 1.. = code_length(symbol)
                && let Some(index) = index.get_mut(length)
                && let Some(slot) = self.ordered.get_mut(*index)
            {
                *slot = symbol as u16;
                *index += 1;
            }
        }
        self.fill_table();
        true
    }

    fn fill_table(&mut self) {
        let mut start = 0;
        for length in 1..=TABLE_BITS {
            let (Some(&limit), Some(&base)) = (self.limit.get(length as usize), self.base.get(length as usize)) else {
                return;
            };
            let end = (limit >> (16 - TABLE_BITS)) as usize;
            for entry in start..end {
                let code = entry as i32 >> (TABLE_BITS - length);
                let symbol = usize::try_from(code + base).ok().and_then(|index| self.ordered.get(index));
                if let (Some(slot), Some(&symbol)) = (self.table.get_mut(entry), symbol) {
                    *slot = symbol << 4 | length as u16;
                }
            }
            start = start.max(end);
        }
        if let Some(unused_entries) = self.table.get_mut(start..) {
            unused_entries.fill(0);
        }
    }

    /// Decodes the symbol at the start of the window. Also returns its code length in bits.
    #[inline]
    fn symbol(&self, window: u32) -> Option<(u16, u32)> {
        let entry = *self.table.get((window >> (32 - TABLE_BITS)) as usize)?;
        if entry != 0 {
            return Some((entry >> 4, u32::from(entry & 15)));
        }
        let bits = window >> 16;
        let length = (TABLE_BITS + 1..=MAX_CODE_LEN)
            .find(|&length| self.limit.get(length as usize).is_some_and(|&limit| bits < limit))?;
        let code = (bits >> (16 - length)) as i32;
        let index = usize::try_from(code + self.base.get(length as usize)?).ok()?;
        Some((*self.ordered.get(index)?, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The two examples in MS-XCA 3.2.
    #[test]
    fn decompresses_published_examples() {
        let mut alphabet = vec![0u8; 256];
        // Codes of a..x have 5 bits, except for the first six.
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
    fn rejects_impossible_code_lengths() {
        let mut output = [0; 16];
        assert_eq!(decompress(&[0x11; 300], &mut output), 0);
        assert_eq!(decompress(&[0; 300], &mut output), 0);
        assert_eq!(decompress(&[], &mut output), 0);
    }
}
