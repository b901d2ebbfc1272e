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

/// Writes code bits into 16-bit words. Their places are reserved before the bytes that follow, because a decoder reads
/// two words ahead.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    current: usize,
    following: usize,
    word: u32,
    free: u32,
}

impl<'a> BitWriter<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        let current = out.len();
        out.extend_from_slice(&[0; 4]);
        Self { out, current, following: current + 2, word: 0, free: 16 }
    }

    fn bits(&mut self, count: u32, value: u32) {
        if self.free >= count {
            self.free -= count;
            self.word = self.word << count | value;
            return;
        }
        let low = count - self.free;
        self.word = self.word << self.free | value >> low;
        self.store(self.current, self.word);
        self.current = self.following;
        self.following = self.out.len();
        self.out.extend_from_slice(&[0; 2]);
        self.free = 16 - low;
        self.word = value & ((1 << low) - 1);
    }

    fn finish(mut self) {
        self.word <<= self.free;
        self.store(self.current, self.word);
    }

    fn store(&mut self, at: usize, word: u32) {
        self.out[at..at + 2].copy_from_slice(&(word as u16).to_le_bytes());
    }
}

pub(super) fn compress(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut matcher = Matcher::new(input, WINDOW);
    let mut start = 0;
    loop {
        let end = (start + BLOCK_SIZE).min(input.len());
        let last = end == input.len();
        let mut tokens = Vec::new();
        while let Some(token) = matcher.next(end) {
            tokens.push(token);
        }
        block(&tokens, last, &mut out);
        if last {
            return out;
        }
        start = end;
    }
}

fn block(tokens: &[Token], last: bool, out: &mut Vec<u8>) {
    let mut frequencies = [0u32; 512];
    for token in tokens {
        frequencies[symbol(*token)] += 1;
    }
    if last {
        frequencies[END_OF_STREAM] += 1;
    }
    let lengths = code_lengths(&frequencies);
    let codes = canonical_codes(&lengths);
    out.extend(lengths.chunks(2).map(|pair| pair[0] | pair[1] << 4));
    let mut bits = BitWriter::new(out);
    for token in tokens {
        let symbol = symbol(*token);
        bits.bits(u32::from(lengths[symbol]), u32::from(codes[symbol]));
        if let Token::Copy { distance, length } = *token {
            let rest = length - 3;
            if rest >= 15 {
                if rest - 15 < 255 {
                    bits.out.push((rest - 15) as u8);
                } else {
                    bits.out.push(255);
                    bits.out.extend_from_slice(&(rest as u16).to_le_bytes());
                }
            }
            let width = distance.ilog2();
            bits.bits(width, (distance - (1 << width)) as u32);
        }
    }
    if last {
        bits.bits(u32::from(lengths[END_OF_STREAM]), u32::from(codes[END_OF_STREAM]));
    }
    bits.finish();
}
