//! Decompresses the formats of Windows (MS-XCA; `COMPRESSION_FORMAT_...` in `ntifs.h`), as used in event trace logs and
//! prefetch files.
//!
//! The size of the output is known in advance, so a decoder fills a slice of that size and returns the number of bytes
//! written. Damaged or truncated input gives the data before the damage.
//!
//! # Design constraints
//!
//! * No I/O, and no allocation that grows with the input.
//! * Input is untrusted: every access is checked, and every step advances.

#![forbid(unsafe_code)]

mod field;
mod lznt1;
mod xpress;
mod xpress_huffman;

/// Compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompressionFormat {
    /// LZNT1: chunks of 4 KiB.
    Lznt1,
    /// Plain XPRESS (LZ77).
    Xpress,
    /// XPRESS with Huffman coding: chunks of 64 KiB.
    XpressHuffman,
}

impl CompressionFormat {
    /// Returns the format with a Windows `COMPRESSION_FORMAT_...` number.
    #[must_use]
    pub const fn from_number(number: u16) -> Option<CompressionFormat> {
        match number {
            2 => Some(CompressionFormat::Lznt1),
            3 => Some(CompressionFormat::Xpress),
            4 => Some(CompressionFormat::XpressHuffman),
            _ => None,
        }
    }

    /// Returns the name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CompressionFormat::Lznt1 => "LZNT1",
            CompressionFormat::Xpress => "XPRESS",
            CompressionFormat::XpressHuffman => "XPRESS Huffman",
        }
    }

    /// Decompresses `input` into `output`, whose length is the decompressed size. Returns the number of valid bytes,
    /// which is less than the length of `output` if the input is truncated or damaged.
    #[must_use]
    pub fn decompress(self, input: &[u8], output: &mut [u8]) -> usize {
        match self {
            CompressionFormat::Lznt1 => lznt1::decompress(input, output),
            CompressionFormat::Xpress => xpress::decompress(input, output),
            CompressionFormat::XpressHuffman => xpress_huffman::decompress(input, output),
        }
    }
}

/// Appends a match: `length` bytes from `distance` bytes back, limited to the output. Source and target may overlap.
/// Returns the new end, or `None` if the distance extends past the start.
#[inline]
fn copy_match(output: &mut [u8], end: usize, distance: usize, length: usize) -> Option<usize> {
    const STEP: usize = 8;
    let source = end.checked_sub(distance)?;
    let new_end = end.saturating_add(length).min(output.len());
    let last_word_end = new_end + STEP;
    if distance >= STEP && last_word_end <= output.len() {
        // Copies whole words. The last one may write past the match, into space that is written later.
        let (mut source, mut target) = (source, end);
        while target < new_end {
            let word: [u8; STEP] = *output.get(source..)?.first_chunk()?;
            *output.get_mut(target..)?.first_chunk_mut()? = word;
            source += STEP;
            target += STEP;
        }
    } else if distance == 1 {
        let byte = *output.get(source)?;
        output.get_mut(end..new_end)?.fill(byte);
    } else {
        // Each step copies only bytes that are already written, so the copied part doubles until the match is complete.
        let mut target = end;
        while target < new_end {
            let step = (target - source).min(new_end - target);
            output.copy_within(source..source + step, target);
            target += step;
        }
    }
    Some(new_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_overlapping_matches_up_to_the_end() {
        for distance in 1..20 {
            for length in 0..40 {
                let mut output: Vec<u8> = (0..20).chain(std::iter::repeat_n(0xEE, 30)).collect();
                let mut expected = output.clone();
                for index in 20..(20 + length).min(50) {
                    expected[index] = expected[index - distance];
                }
                let end = copy_match(&mut output, 20, distance, length).unwrap();
                assert_eq!(end, (20 + length).min(50));
                assert_eq!(output[..end], expected[..end], "distance {distance} length {length}");
            }
        }
        assert_eq!(copy_match(&mut [0; 8], 2, 3, 1), None);
    }
}
