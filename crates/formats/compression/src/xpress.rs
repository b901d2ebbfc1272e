//! Plain XPRESS: LZ77 with 32 flag bits ahead of 32 items (MS-XCA 2.3 and 2.4).

use super::copy_match;
use crate::field::{u16_at, u32_at};

pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> usize {
    let mut end = 0;
    // `None` is the end of the input in the middle of an item, or a match from before the start: what is there stands.
    let _ = decode(input, output, &mut end);
    end
}

fn decode(input: &[u8], output: &mut [u8], end: &mut usize) -> Option<()> {
    let mut next = 0;
    let mut flags = 0u32;
    let mut flags_left = 0;
    // Long lengths are nibbles, two matches to a byte: where the byte is whose high nibble is still to be used.
    let mut half_used: Option<usize> = None;
    while *end < output.len() {
        if flags_left == 0 {
            flags = u32_at(input, next)?;
            next += 4;
            flags_left = 32;
            // 32 literals at once: common where data does not compress.
            if flags == 0
                && let (Some(from), Some(to)) = (input.get(next..next + 32), output.get_mut(*end..*end + 32))
            {
                to.copy_from_slice(from);
                next += 32;
                *end += 32;
                flags_left = 0;
                continue;
            }
        }
        flags_left -= 1;
        let is_match = flags & 0x8000_0000 != 0;
        flags <<= 1;
        if !is_match {
            *output.get_mut(*end)? = *input.get(next)?;
            next += 1;
            *end += 1;
            continue;
        }
        let item = u16_at(input, next)?;
        next += 2;
        let distance = usize::from(item >> 3) + 1;
        let mut length = usize::from(item & 7);
        if length == 7 {
            length = match half_used.take() {
                Some(place) => usize::from(*input.get(place)? >> 4),
                None => {
                    half_used = Some(next);
                    next += 1;
                    usize::from(*input.get(next - 1)? & 15)
                }
            };
            if length == 15 {
                length = usize::from(*input.get(next)?);
                next += 1;
                if length == 255 {
                    length = usize::from(u16_at(input, next)?);
                    next += 2;
                    if length == 0 {
                        length = u32_at(input, next)? as usize;
                        next += 4;
                    }
                    // The long form holds the whole length; what the shorter forms would add below is taken off first.
                    length = length.checked_sub(15 + 7)?;
                }
                length += 15;
            }
            length += 7;
        }
        *end = copy_match(output, *end, distance, length + 3)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpack(input: &[u8], size: usize) -> Vec<u8> {
        let mut output = vec![0; size];
        let good = decompress(input, &mut output);
        output.truncate(good);
        output
    }

    // The two examples of MS-XCA 3.1.
    #[test]
    fn published_examples() {
        let alphabet = b"\x3f\0\0\0abcdefghijklmnopqrstuvwxyz";
        assert_eq!(unpack(alphabet, 26), b"abcdefghijklmnopqrstuvwxyz");
        let repeated = [0xff, 0xff, 0xff, 0x1f, 0x61, 0x62, 0x63, 0x17, 0x00, 0x0f, 0xff, 0x26, 0x01];
        assert_eq!(unpack(&repeated, 300), b"abc".repeat(100));
    }

    #[test]
    fn cut_input_gives_what_comes_before() {
        let repeated = [0xff, 0xff, 0xff, 0x1f, 0x61, 0x62, 0x63, 0x17, 0x00, 0x0f, 0xff, 0x26, 0x01];
        for cut in 0..repeated.len() {
            let good = unpack(&repeated[..cut], 300);
            assert!(good.len() <= 3 && b"abc".starts_with(&good), "cut at {cut}");
        }
    }

    #[test]
    fn match_from_before_the_start_stops() {
        assert_eq!(unpack(&[0, 0, 0, 0x40, b'x', 0x10, 0], 10), b"x");
    }

    #[test]
    fn two_long_matches_share_a_nibble_byte_and_lengths_reach_32_bits() {
        // literal a; match distance 1 nibble 2 (length 12); match nibble 3 (length 13); match of 70,003 by the 32-bit form.
        let mut input = vec![0, 0, 0, 0x70, b'a', 7, 0, 0x32, 7, 0, 7, 0, 0x0f, 255, 0, 0];
        input.extend_from_slice(&70_000u32.to_le_bytes());
        assert_eq!(unpack(&input, 1 << 20), vec![b'a'; 1 + 12 + 13 + 70_003]);
    }
}
