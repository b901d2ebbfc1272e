//! LZNT1 (MS-XCA 2.5), by the `lznt1` crate, fed chunk by chunk so that neither damage nor a small input that expands
//! without end costs more than one chunk.

use crate::field::u16_at;

const CHUNK: usize = 4096;

pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> usize {
    let mut end = 0;
    let mut rest = input;
    let mut chunk = Vec::with_capacity(2 * CHUNK);
    let mut cut = Vec::new();
    while end < output.len() {
        let Some(header) = u16_at(rest, 0).filter(|&header| header != 0) else {
            break;
        };
        let size = 2 + usize::from(header & 0x0FFF) + 1;
        let whole = rest.get(..size);
        let body = match whole {
            Some(body) => body,
            // The input ends inside the chunk: the same chunk, announced as short as it is.
            None if rest.len() > 2 => {
                let shortened = header & 0xF000 | u16::try_from(rest.len() - 3).unwrap_or(0x0FFF);
                cut.extend_from_slice(&shortened.to_le_bytes());
                cut.extend_from_slice(rest.get(2..).unwrap_or_default());
                &cut
            }
            None => break,
        };
        chunk.clear();
        let outcome = lznt1::decompress(body, &mut chunk);
        let room = output.get_mut(end..).unwrap_or_default();
        // A chunk stands for 4096 bytes of output, only the last for fewer; a damaged one may have given more.
        let good = chunk.len().min(room.len()).min(CHUNK);
        if let (Some(to), Some(from)) = (room.get_mut(..good), chunk.get(..good)) {
            to.copy_from_slice(from);
        }
        end += good;
        if outcome.is_err() || whole.is_none() || good < CHUNK {
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
    fn round_trip_and_cut_anywhere() {
        let plain = text();
        let mut packed = Vec::new();
        lznt1::compress(&plain, &mut packed);
        let mut output = vec![0; plain.len()];
        assert_eq!(decompress(&packed, &mut output), plain.len());
        assert_eq!(output, plain);
        for cut in (0..packed.len()).step_by(97) {
            let good = decompress(&packed[..cut], &mut output);
            assert!(good < plain.len());
            assert_eq!(output[..good], plain[..good], "cut at {cut}");
        }
    }

    #[test]
    fn asks_for_no_more_than_the_output() {
        let plain = text();
        let mut packed = Vec::new();
        lznt1::compress(&plain, &mut packed);
        let mut output = vec![0; 5000];
        assert_eq!(decompress(&packed, &mut output), 5000);
        assert_eq!(output, plain[..5000]);
    }
}
