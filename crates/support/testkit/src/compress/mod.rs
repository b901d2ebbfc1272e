//! Encoders for the three formats of compressed buffers, written from the specifications and independent of the
//! decoders they test.

mod huffman;
mod matches;
mod xpress;
mod xpress_huffman;

/// Compression of event buffers (Windows `COMPRESSION_FORMAT` values).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// LZNT1, format 2.
    Lznt1,
    /// Plain XPRESS (LZ77), format 3, which Windows' tools write.
    Xpress,
    /// XPRESS with Huffman codes, format 4.
    XpressHuffman,
}

impl Compression {
    /// Compresses one buffer's records.
    #[must_use]
    pub fn compress(self, input: &[u8]) -> Vec<u8> {
        match self {
            Self::Lznt1 => {
                let mut out = Vec::new();
                lznt1::compress(input, &mut out);
                out
            }
            Self::Xpress => xpress::compress(input),
            Self::XpressHuffman => xpress_huffman::compress(input),
        }
    }
}
