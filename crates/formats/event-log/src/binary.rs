//! `.evtx` files: a header of 4 KiB, then chunks of 64 KiB.

use std::sync::Arc;

use evtx::{EvtxChunkData, ParserSettings};

use crate::record::Record;
use crate::xml;
use crate::{Error, Summary, Wanted};

const HEADER_SIZE: usize = 4096;
const CHUNK_SIZE: usize = 65_536;
const CHUNK_SIGNATURE: &[u8; 8] = b"ElfChnk\0";
/// Offset of the flags in the header.
const FLAGS_OFFSET: usize = 120;
/// Flag of a file that is open for writing.
const DIRTY: u8 = 1;

pub(crate) fn read(bytes: &[u8], wanted: Wanted<'_>, each: &mut dyn FnMut(Record)) -> Result<Summary, Error> {
    let Some(chunks) = bytes.get(HEADER_SIZE..) else {
        return Err(Error::Truncated { length: bytes.len() as u64 });
    };
    let mut summary =
        Summary { is_dirty: bytes.get(FLAGS_OFFSET).is_some_and(|flags| flags & DIRTY != 0), ..Summary::default() };
    let settings = Arc::new(ParserSettings::new().indent(false));
    for (index, chunk) in chunks.chunks(CHUNK_SIZE).enumerate() {
        let offset = HEADER_SIZE + index * CHUNK_SIZE;
        if chunk.starts_with(CHUNK_SIGNATURE) {
            read_chunk(chunk, offset, &settings, &mut summary, wanted, each);
        } else if chunk.iter().any(|&byte| byte != 0) {
            summary.damaged_chunks += 1;
            summary.note_damage(offset);
        }
    }
    Ok(summary)
}

fn read_chunk(
    bytes: &[u8],
    offset: usize,
    settings: &Arc<ParserSettings>,
    summary: &mut Summary,
    wanted: Wanted<'_>,
    each: &mut dyn FnMut(Record),
) {
    let mut data = match EvtxChunkData::new(bytes.to_vec(), false) {
        Ok(data) => data,
        Err(_) => {
            summary.damaged_chunks += 1;
            summary.note_damage(offset);
            return;
        }
    };
    let Ok(mut chunk) = data.parse(Arc::clone(settings)) else {
        summary.damaged_chunks += 1;
        summary.note_damage(offset);
        return;
    };
    for record in chunk.iter() {
        let text = record.and_then(|record| record.into_xml());
        match text {
            Ok(text) => xml::read_text(&text.data, offset, summary, wanted, each),
            Err(_) => {
                summary.unreadable_records += 1;
                summary.note_damage(offset);
            }
        }
    }
}
