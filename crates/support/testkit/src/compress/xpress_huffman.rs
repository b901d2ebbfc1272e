//! XPRESS Huffman (MS-XCA 2.1): blocks of 64 KiB, each with a table of 512 code lengths, then 16-bit words of code bits
//! interleaved with length bytes.

use super::huffman::{canonical_codes, code_lengths};
use super::matches::{Matcher, Token};

const BLOCK_SIZE: usize = 0x1_0000;
/// Maximum distance: 15 extra bits below the implied one.
const WINDOW: usize = 0xFFFF;
const END_OF_STREAM: usize = 256;

fn symbol(token: Token) -> usize {
    match token {
        Token::Literal(byte) => usize::from(byte),
        Token::Copy { distance, length } => 256 + (distance.ilog2() as usize) * 16 + (length - 3).min(15),
    }
}

/// Writes code bits into 16-bit words. Space for a word is reserved before the bytes that follow it, because a decoder
/// reads two words ahead.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    current_offset: usize,
    next_offset: usize,
    word: u32,
    free_bits: u32,
}

impl<'a> BitWriter<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        let current_offset = out.len();
        out.extend_from_slice(&[0; 4]);
        Self { out, current_offset, next_offset: current_offset + 2, word: 0, free_bits: 16 }
    }

    fn write_bits(&mut self, count: u32, value: u32) {
        if self.free_bits >= count {
            self.free_bits -= count;
            self.word = self.word << count | value;
            return;
        }
        let low_bits = count - self.free_bits;
        self.word = self.word << self.free_bits | value >> low_bits;
        self.store(self.current_offset, self.word);
        self.current_offset = self.next_offset;
        self.next_offset = self.out.len();
        self.out.extend_from_slice(&[0; 2]);
        self.free_bits = 16 - low_bits;
        self.word = value & ((1 << low_bits) - 1);
    }

    fn finish(mut self) {
        self.word <<= self.free_bits;
        self.store(self.current_offset, self.word);
    }

    fn store(&mut self, offset: usize, word: u32) {
        self.out[offset..offset + 2].copy_from_slice(&(word as u16).to_le_bytes());
    }
}

pub(super) fn compress(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut matcher = Matcher::new(input, WINDOW);
    let mut start = 0;
    loop {
        let end = (start + BLOCK_SIZE).min(input.len());
        let is_last = end == input.len();
        let mut tokens = Vec::new();
        while let Some(token) = matcher.next(end) {
            tokens.push(token);
        }
        write_block(&tokens, is_last, &mut out);
        if is_last {
            return out;
        }
        start = end;
    }
}

fn write_block(tokens: &[Token], is_last: bool, out: &mut Vec<u8>) {
    let mut frequencies = [0u32; 512];
    for token in tokens {
        frequencies[symbol(*token)] += 1;
    }
    if is_last {
        frequencies[END_OF_STREAM] += 1;
    }
    let lengths = code_lengths(&frequencies);
    let codes = canonical_codes(&lengths);
    out.extend(lengths.chunks(2).map(|pair| pair[0] | pair[1] << 4));
    let mut writer = BitWriter::new(out);
    for token in tokens {
        let symbol = symbol(*token);
        writer.write_bits(u32::from(lengths[symbol]), u32::from(codes[symbol]));
        if let Token::Copy { distance, length } = *token {
            let extra_length = length - 3;
            if extra_length >= 15 {
                if extra_length - 15 < 255 {
                    writer.out.push((extra_length - 15) as u8);
                } else {
                    writer.out.push(255);
                    writer.out.extend_from_slice(&(extra_length as u16).to_le_bytes());
                }
            }
            let width = distance.ilog2();
            writer.write_bits(width, (distance - (1 << width)) as u32);
        }
    }
    if is_last {
        writer.write_bits(u32::from(lengths[END_OF_STREAM]), u32::from(codes[END_OF_STREAM]));
    }
    writer.finish();
}
