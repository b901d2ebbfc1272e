//! LZNT1 (MS-XCA 2.5), decoded by the `lznt1` crate chunk by chunk, so that damage affects one chunk only and a small
//! input cannot expand without limit.

use crate::field::u16_at;

const CHUNK_SIZE: usize = 4096;

pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> usize {
    let mut end = 0;
    let mut remaining = input;
    let mut chunk = Vec::with_capacity(2 * CHUNK_SIZE);
    let mut truncated = Vec::new();
    while end < output.len() {
        let Some(header) = u16_at(remaining, 0).filter(|&header| header != 0) else {
            break;
        };
        let size = 2 + usize::from(header & 0x0FFF) + 1;
        let complete_chunk = remaining.get(..size);
        let body = match complete_chunk {
            Some(body) => body,
            // The input ends inside the chunk: decode what is present, with an adjusted size.
            None if remaining.len() > 2 => {
                let shortened = header & 0xF000 | u16::try_from(remaining.len() - 3).unwrap_or(0x0FFF);
                truncated.extend_from_slice(&shortened.to_le_bytes());
                truncated.extend_from_slice(remaining.get(2..).unwrap_or_default());
                &truncated
            }
            None => break,
        };
        chunk.clear();
        let result = lznt1::decompress(body, &mut chunk);
        let space = output.get_mut(end..).unwrap_or_default();
        // A chunk expands to 4096 bytes, the last chunk possibly to fewer. A damaged chunk may expand to more.
        let valid = chunk.len().min(space.len()).min(CHUNK_SIZE);
        if let (Some(target), Some(source)) = (space.get_mut(..valid), chunk.get(..valid)) {
            target.copy_from_slice(source);
        }
        end += valid;
        if result.is_err() || complete_chunk.is_none() || valid < CHUNK_SIZE {
            break;
        }
        remaining = remaining.get(size..).unwrap_or_default();
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
