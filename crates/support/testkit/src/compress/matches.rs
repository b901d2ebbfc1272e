//! A greedy LZ77 matcher over hash chains, shared by both XPRESS encoders.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A byte.
    Literal(u8),
    /// A repetition of `length` bytes that start `distance` bytes earlier; source and target may overlap.
    Copy {
        /// At least 1.
        distance: usize,
        /// At least 3.
        length: usize,
    },
}

const MIN_MATCH_LEN: usize = 3;
const HASH_BITS: u32 = 15;
/// Candidates tried per position: enough for good matches, few enough to stay linear.
const MAX_CANDIDATES: usize = 16;
const NONE: u32 = u32::MAX;

/// Finds matches with distances up to `window`.
pub(super) struct Matcher<'a> {
    input: &'a [u8],
    window: usize,
    head: Vec<u32>,
    previous: Vec<u32>,
    position: usize,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(input: &'a [u8], window: usize) -> Self {
        Self { input, window, head: vec![NONE; 1 << HASH_BITS], previous: vec![NONE; input.len()], position: 0 }
    }

    /// Returns the next token, which does not reach beyond `end` (a block boundary); `None` at `end`.
    pub(super) fn next(&mut self, end: usize) -> Option<Token> {
        let end = end.min(self.input.len());
        if self.position >= end {
            return None;
        }
        let best = self.longest_match(end);
        let (token, length) = match best {
            Some((distance, length)) => (Token::Copy { distance, length }, length),
            None => (Token::Literal(self.input[self.position]), 1),
        };
        for position in self.position..self.position + length {
            self.insert(position);
        }
        self.position += length;
        Some(token)
    }

    fn longest_match(&self, end: usize) -> Option<(usize, usize)> {
        let position = self.position;
        let mut candidate = self.head[self.hash(position)?];
        let mut best: Option<(usize, usize)> = None;
        for _ in 0..MAX_CANDIDATES {
            if candidate == NONE {
                break;
            }
            let start = candidate as usize;
            let distance = position - start;
            if distance > self.window {
                break;
            }
            let length =
                self.input[start..].iter().zip(&self.input[position..end]).take_while(|(old, new)| old == new).count();
            if length >= MIN_MATCH_LEN && best.is_none_or(|(_, longest)| length > longest) {
                best = Some((distance, length));
            }
            candidate = self.previous[start];
        }
        best
    }

    fn insert(&mut self, position: usize) {
        if let Some(hash) = self.hash(position) {
            self.previous[position] = self.head[hash];
            self.head[hash] = position as u32;
        }
    }

    fn hash(&self, position: usize) -> Option<usize> {
        let bytes = self.input.get(position..position + MIN_MATCH_LEN)?;
        let key = u32::from(bytes[0]) | u32::from(bytes[1]) << 8 | u32::from(bytes[2]) << 16;
        Some((key.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize)
    }
}
