//! What Windows compresses (MS-XCA; `COMPRESSION_FORMAT_...` of `ntifs.h`): buffers of event trace logs, prefetch plans.
//!
//! The output's size is known before, so a decoder fills a slice of that size and says how much of it it could fill: damaged
//! or cut input gives what comes before the damage.
//!
//! # Design constraints
//!
//! * Pure, and allocates nothing that grows with the input.
//! * Input is hostile: no step reads or writes outside its slices, and each moves forward.

#![forbid(unsafe_code)]

mod field;
mod lznt1;
mod xpress;
mod xpress_huffman;

/// How something is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompressionFormat {
    /// LZNT1: chunks of 4 KiB.
    Lznt1,
    /// Plain XPRESS (LZ77), what Windows writes.
    Xpress,
    /// XPRESS with Huffman coding: chunks of 64 KiB.
    XpressHuffman,
}

impl CompressionFormat {
    /// The format of a Windows `COMPRESSION_FORMAT_...` number.
    #[must_use]
    pub const fn from_number(number: u16) -> Option<CompressionFormat> {
        match number {
            2 => Some(CompressionFormat::Lznt1),
            3 => Some(CompressionFormat::Xpress),
            4 => Some(CompressionFormat::XpressHuffman),
            _ => None,
        }
    }

    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CompressionFormat::Lznt1 => "LZNT1",
            CompressionFormat::Xpress => "XPRESS",
            CompressionFormat::XpressHuffman => "XPRESS Huffman",
        }
    }

    /// Decompresses `input` into `output`, whose length is the announced size. Gives the number of bytes that are good: fewer
    /// than `output` has when the input ends early or is damaged.
    #[must_use]
    pub fn decompress(self, input: &[u8], output: &mut [u8]) -> usize {
        match self {
            CompressionFormat::Lznt1 => lznt1::decompress(input, output),
            CompressionFormat::Xpress => xpress::decompress(input, output),
            CompressionFormat::XpressHuffman => xpress_huffman::decompress(input, output),
        }
    }
}

/// Appends a match: `length` bytes from `distance` bytes back, which may overlap what is being written. Clipped to the output.
/// Gives the new end, or `None` when the distance reaches before the start.
#[inline]
fn copy_match(output: &mut [u8], end: usize, distance: usize, length: usize) -> Option<usize> {
    const STEP: usize = 8;
    let from = end.checked_sub(distance)?;
    let new_end = end.saturating_add(length).min(output.len());
    let tail = new_end + STEP;
    if distance >= STEP && tail <= output.len() {
        // Whole words; the last may write past the match, into space that is still to be written.
        let (mut from, mut to) = (from, end);
        while to < new_end {
            let word: [u8; STEP] = *output.get(from..)?.first_chunk()?;
            *output.get_mut(to..)?.first_chunk_mut()? = word;
            from += STEP;
            to += STEP;
        }
    } else if distance == 1 {
        let byte = *output.get(from)?;
        output.get_mut(end..new_end)?.fill(byte);
    } else {
        // The copied part doubles until the match is complete, so that each step copies bytes that are there.
        let mut to = end;
        while to < new_end {
            let step = (to - from).min(new_end - to);
            output.copy_within(from..from + step, to);
            to += step;
        }
    }
    Some(new_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_overlap_and_stop_at_the_end() {
        for distance in 1..20 {
            for length in 0..40 {
                let mut output: Vec<u8> = (0..20).chain(std::iter::repeat_n(0xEE, 30)).collect();
                let mut expected = output.clone();
                for place in 20..(20 + length).min(50) {
                    expected[place] = expected[place - distance];
                }
                let end = copy_match(&mut output, 20, distance, length).unwrap();
                assert_eq!(end, (20 + length).min(50));
                assert_eq!(output[..end], expected[..end], "distance {distance} length {length}");
            }
        }
        assert_eq!(copy_match(&mut [0; 8], 2, 3, 1), None);
    }
}
