//! Plain XPRESS: LZ77 with 32 flag bits before every 32 items (MS-XCA 2.3 and 2.4).

use super::copy_match;
use crate::field::{u16_at, u32_at};

pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> usize {
    let mut end = 0;
    // `None` means that the input ends inside an item, or that a match starts before the output. The bytes up to `end`
    // are valid.
    let _ = decode(input, output, &mut end);
    end
}

fn decode(input: &[u8], output: &mut [u8], end: &mut usize) -> Option<()> {
    let mut next = 0;
    let mut flags = 0u32;
    let mut remaining_flags = 0;
    // Longer lengths use nibbles, and two matches share a byte: the offset of the byte whose high nibble is unused.
    let mut half_used_byte: Option<usize> = None;
    while *end < output.len() {
        if remaining_flags == 0 {
            flags = u32_at(input, next)?;
            next += 4;
            remaining_flags = 32;
            // 32 literals at once: common in incompressible data.
            if flags == 0
                && let (Some(source), Some(target)) = (input.get(next..next + 32), output.get_mut(*end..*end + 32))
            {
                target.copy_from_slice(source);
                next += 32;
                *end += 32;
                remaining_flags = 0;
                continue;
            }
        }
        remaining_flags -= 1;
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
            length = match half_used_byte.take() {
                Some(index) => usize::from(*input.get(index)? >> 4),
                None => {
                    half_used_byte = Some(next);
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
                    // The long form is the full length, so subtract what is added below for the shorter forms.
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
        let valid = decompress(input, &mut output);
        output.truncate(valid);
        output
    }

    // The two examples in MS-XCA 3.1.
    #[test]
    fn decompresses_published_examples() {
        let alphabet = b"\x3f\0\0\0abcdefghijklmnopqrstuvwxyz";
        assert_eq!(unpack(alphabet, 26), b"abcdefghijklmnopqrstuvwxyz");
        let repeated = [0xff, 0xff, 0xff, 0x1f, 0x61, 0x62, 0x63, 0x17, 0x00, 0x0f, 0xff, 0x26, 0x01];
        assert_eq!(unpack(&repeated, 300), b"abc".repeat(100));
    }

    #[test]
    fn truncated_input_gives_valid_prefix() {
        let repeated = [0xff, 0xff, 0xff, 0x1f, 0x61, 0x62, 0x63, 0x17, 0x00, 0x0f, 0xff, 0x26, 0x01];
        for length in 0..repeated.len() {
            let valid = unpack(&repeated[..length], 300);
            assert!(valid.len() <= 3 && b"abc".starts_with(&valid), "truncated to {length}");
        }
    }

    #[test]
    fn stops_at_match_before_start() {
        assert_eq!(unpack(&[0, 0, 0, 0x40, b'x', 0x10, 0], 10), b"x");
    }

    #[test]
    fn reads_shared_nibbles_and_32_bit_lengths() {
        // Literal a; match at distance 1 with nibble 2 (length 12); match with nibble 3 (length 13); match with the
        // 32-bit length 70,003.
        let mut input = vec![0, 0, 0, 0x70, b'a', 7, 0, 0x32, 7, 0, 7, 0, 0x0f, 255, 0, 0];
        input.extend_from_slice(&70_000u32.to_le_bytes());
        assert_eq!(unpack(&input, 1 << 20), vec![b'a'; 1 + 12 + 13 + 70_003]);
    }
}
