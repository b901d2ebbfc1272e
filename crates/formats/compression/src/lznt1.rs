//! LZNT1 (MS-XCA 2.5), decoded by the `lznt1` crate chunk by chunk, so that damage affects one chunk only and a small
//! input cannot expand without limit.

use crate::field::u16_at;

const CHUNK: usize = 4096;

pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> usize {
    let mut end = 0;
    let mut rest = input;
    let mut chunk = Vec::with_capacity(2 * CHUNK);
    let mut truncated = Vec::new();
    while end < output.len() {
        let Some(header) = u16_at(rest, 0).filter(|&header| header != 0) else {
            break;
        };
        let size = 2 + usize::from(header & 0x0FFF) + 1;
        let complete_chunk = rest.get(..size);
        let body = match complete_chunk {
            Some(body) => body,
            // The input ends inside the chunk: decode the present part with an adjusted size.
            None if rest.len() > 2 => {
                let shortened = header & 0xF000 | u16::try_from(rest.len() - 3).unwrap_or(0x0FFF);
                truncated.extend_from_slice(&shortened.to_le_bytes());
                truncated.extend_from_slice(rest.get(2..).unwrap_or_default());
                &truncated
            }
            None => break,
        };
        chunk.clear();
        let outcome = lznt1::decompress(body, &mut chunk);
        let remaining = output.get_mut(end..).unwrap_or_default();
        // A chunk expands to 4096 bytes, the last one possibly to fewer. A damaged one may have given more.
        let valid = chunk.len().min(remaining.len()).min(CHUNK);
        if let (Some(to), Some(from)) = (remaining.get_mut(..valid), chunk.get(..valid)) {
            to.copy_from_slice(from);
        }
        end += valid;
        if outcome.is_err() || complete_chunk.is_none() || valid < CHUNK {
            break;
        }
        rest = rest.get(size..).unwrap_or_default();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Vec<u8> {
        (0..20_000u32).flat_map(|number| (number / 7).to_string().into_bytes()).collect()
    }

    #[test]
    fn decompresses_complete_and_truncated_input() {
        let plain = text();
        let mut packed = Vec::new();
        lznt1::compress(&plain, &mut packed);
        let mut output = vec![0; plain.len()];
        assert_eq!(decompress(&packed, &mut output), plain.len());
        assert_eq!(output, plain);
        for length in (0..packed.len()).step_by(97) {
            let valid = decompress(&packed[..length], &mut output);
            assert!(valid < plain.len());
            assert_eq!(output[..valid], plain[..valid], "truncated to {length}");
        }
    }

    #[test]
    fn stops_at_end_of_output() {
        let plain = text();
        let mut packed = Vec::new();
        lznt1::compress(&plain, &mut packed);
        let mut output = vec![0; 5000];
        assert_eq!(decompress(&packed, &mut output), 5000);
        assert_eq!(output, plain[..5000]);
    }
}
