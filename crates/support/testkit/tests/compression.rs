//! Compares the encoders with simple decoders written from MS-XCA.

#![allow(clippy::unwrap_used)]

use onoff_testkit::compress::Compression;
use proptest::prelude::*;

/// Decodes MS-XCA 2.4.4.
fn expand_xpress(input: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut position, mut flags, mut flags_left) = (0, 0u32, 0);
    let mut nibble_position: Option<usize> = None;
    while out.len() < size {
        if flags_left == 0 {
            flags = u32::from_le_bytes(input[position..position + 4].try_into().unwrap());
            position += 4;
            flags_left = 32;
        }
        flags_left -= 1;
        if flags >> flags_left & 1 == 0 {
            out.push(input[position]);
            position += 1;
            continue;
        }
        let word = usize::from(u16::from_le_bytes([input[position], input[position + 1]]));
        position += 2;
        let distance = (word >> 3) + 1;
        let mut length = word & 7;
        if length == 7 {
            length = match nibble_position.take() {
                Some(index) => usize::from(input[index] >> 4),
                None => {
                    nibble_position = Some(position);
                    position += 1;
                    usize::from(input[position - 1] & 15)
                }
            };
            if length == 15 {
                length = usize::from(input[position]);
                position += 1;
                if length == 255 {
                    length = usize::from(u16::from_le_bytes([input[position], input[position + 1]]));
                    position += 2;
                    if length == 0 {
                        length = u32::from_le_bytes(input[position..position + 4].try_into().unwrap()) as usize;
                        position += 4;
                    }
                    length -= 22;
                }
                length += 15;
            }
            length += 7;
        }
        for _ in 0..length + 3 {
            out.push(out[out.len() - distance]);
        }
    }
    out
}

/// Decodes MS-XCA 2.2.4, bit by bit.
fn expand_huffman(input: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut position = 0;
    while out.len() < size {
        let lengths: Vec<u8> = input[position..position + 256].iter().flat_map(|pair| [pair & 15, pair >> 4]).collect();
        position += 256;
        let word = |position: usize| u32::from(u16::from_le_bytes([input[position], input[position + 1]]));
        let mut window = u64::from(word(position) << 16 | word(position + 2)) << 32;
        position += 4;
        let mut spare_bits: i32 = 16;
        let block_end = (out.len() + 0x1_0000).min(size);
        while out.len() < block_end {
            let take_bits = |count: u32, window: &mut u64, spare_bits: &mut i32, position: &mut usize| -> usize {
                let value = if count == 0 { 0 } else { (*window >> (64 - count)) as usize };
                *window <<= count;
                *spare_bits -= count as i32;
                if *spare_bits < 0 {
                    let next = if *position + 1 < input.len() { word(*position) } else { 0 };
                    *window |= u64::from(next) << (32 - *spare_bits) as u32;
                    *position += 2;
                    *spare_bits += 16;
                }
                value
            };
            // Canonical decoding: try lengths until the prefix is a symbol.
            let (mut code, mut first_code, mut symbol) = (0usize, 0usize, None);
            let mut count = 0u32;
            while symbol.is_none() {
                count += 1;
                assert!(count <= 15, "no symbol has this prefix");
                code = (window >> (64 - count)) as usize;
                first_code <<= 1;
                let symbols_of_length: Vec<usize> = (0..512).filter(|&s| u32::from(lengths[s]) == count).collect();
                if code < first_code + symbols_of_length.len() {
                    symbol = Some(symbols_of_length[code - first_code]);
                }
                first_code += symbols_of_length.len();
            }
            let _ = code;
            take_bits(count, &mut window, &mut spare_bits, &mut position);
            let symbol = symbol.unwrap();
            if symbol < 256 {
                out.push(symbol as u8);
                continue;
            }
            let mut length = (symbol - 256) & 15;
            let width = (symbol - 256) >> 4;
            if length == 15 {
                length = usize::from(input[position]) + 15;
                position += 1;
                if length == 270 {
                    length = usize::from(u16::from_le_bytes([input[position], input[position + 1]]));
                    position += 2;
                }
            }
            let distance = (1 << width) + take_bits(width as u32, &mut window, &mut spare_bits, &mut position);
            for _ in 0..length + 3 {
                out.push(out[out.len() - distance]);
            }
        }
    }
    out
}

fn round_trip(input: &[u8]) {
    let xpress = Compression::Xpress.compress(input);
    assert_eq!(expand_xpress(&xpress, input.len()), input, "plain XPRESS");
    let huffman = Compression::XpressHuffman.compress(input);
    assert_eq!(expand_huffman(&huffman, input.len()), input, "XPRESS Huffman");
    let mut lznt1 = Vec::new();
    lznt1::decompress(&Compression::Lznt1.compress(input), &mut lznt1).unwrap();
    assert_eq!(lznt1, input, "LZNT1");
}

#[test]
fn round_trips_every_length_class() {
    // Length classes of the formats: 3-bit, nibble, byte, 16-bit; with overlap (distance 1).
    for length in [3, 9, 10, 24, 25, 279, 280, 281, 70_000] {
        let mut input = b"abcdefgh".to_vec();
        input.resize(input.len() + length, b'h');
        input.extend_from_slice(b"abcdefgh and on");
        round_trip(&input);
    }
}

#[test]
fn compresses_repetitive_records() {
    let mut input = Vec::new();
    for event in 0..1500u32 {
        input.extend_from_slice(&[4, 0, 0x11, 0xC0, 0x28, 0, 0x24, 5]);
        input.extend_from_slice(&u64::from(event * 317).to_le_bytes());
        input.extend_from_slice(&(event % 7 * 4).to_le_bytes());
        input.extend_from_slice(&[0; 20]);
    }
    for compression in [Compression::Lznt1, Compression::Xpress, Compression::XpressHuffman] {
        let packed = compression.compress(&input).len();
        assert!(packed * 2 < input.len(), "{compression:?}: {packed} of {}", input.len());
    }
    round_trip(&input);
}

#[test]
fn round_trips_single_repeated_byte() {
    round_trip(&[0x55]);
    round_trip(&[0x55; 200_000]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn round_trips_any_bytes(input in proptest::collection::vec(0u8..6, 1..5000), noise in proptest::collection::vec(any::<u8>(), 1..3000)) {
        let mut bytes = input.clone();
        bytes.extend_from_slice(&noise);
        bytes.extend_from_slice(&input);
        round_trip(&bytes);
    }
}
