//! XPRESS Huffman on real data: prefetch files, which Windows stores as `MAM\x04`, the size and one compressed stream.

use crate::samples_folder;

use onoff_etl::CompressionFormat;

/// Splits a compressed file into the declared size and the compressed stream.
fn split_packed(file: &[u8]) -> Option<(usize, &[u8])> {
    let after_magic = file.strip_prefix(b"MAM\x04")?;
    let (size, stream) = after_magic.split_first_chunk()?;
    Some((u32::from_le_bytes(*size) as usize, stream))
}

#[test]
fn decompresses_prefetch_files_to_declared_size() {
    let Some(folder) = samples_folder::folder() else {
        return;
    };
    let paths = samples_folder::files_below(&folder.join("prefetch"), "pf");
    let mut unpacked = 0;
    let mut max_size = 0;
    for path in &paths {
        let file = std::fs::read(path).unwrap();
        let Some((size, stream)) = split_packed(&file) else {
            assert_eq!(file.get(4..8), Some(b"SCCA".as_slice()), "{}", path.display());
            continue;
        };
        let mut output = vec![0; size];
        let valid = CompressionFormat::XpressHuffman.decompress(stream, &mut output);
        assert_eq!(valid, size, "{}", path.display());
        assert_eq!(output.get(4..8), Some(b"SCCA".as_slice()), "{}", path.display());
        // A prefetch file starts with its own size.
        assert_eq!(output.get(12..16), Some((size as u32).to_le_bytes().as_slice()), "{}", path.display());
        unpacked += 1;
        max_size = max_size.max(size);
    }
    assert!(unpacked >= 10, "{unpacked} of {} files are compressed", paths.len());
    assert!(max_size > 1 << 16, "no file has more than one chunk");
}

#[test]
fn truncated_prefetch_files_give_valid_prefix() {
    let Some(folder) = samples_folder::folder() else {
        return;
    };
    let paths = samples_folder::files_below(&folder.join("prefetch"), "pf");
    for path in paths {
        let file = std::fs::read(&path).unwrap();
        let Some((size, stream)) = split_packed(&file) else {
            continue;
        };
        let mut expected = vec![0; size];
        assert_eq!(CompressionFormat::XpressHuffman.decompress(stream, &mut expected), size);
        let mut output = vec![0; size];
        for length in (0..stream.len()).step_by(stream.len() / 9 + 1) {
            let valid = CompressionFormat::XpressHuffman.decompress(&stream[..length], &mut output);
            assert!(valid <= size);
            assert!(output[..valid] == expected[..valid], "{} truncated at {length}", path.display());
        }
    }
}
