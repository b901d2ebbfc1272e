//! Manifests that .NET event sources send in band, in chunks (section 5.6 of the format reference).

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use hashbrown::{HashMap, HashSet};
use onoff_etl::Guid;

use crate::reader::Reader;
use crate::schema::{EventSchema, InType, Layout, Property};

/// Identifier of the event that carries a chunk.
pub(crate) const MANIFEST_EVENT: u16 = 0xfffe;
/// Its opcode.
pub(crate) const MANIFEST_OPCODE: u8 = 0xfe;

/// The event that carries a chunk: every event source has it, no manifest declares it.
pub(crate) fn manifest_event() -> &'static EventSchema {
    static EVENT: LazyLock<EventSchema> = LazyLock::new(|| {
        let fields = [
            ("Format", InType::UInt8),
            ("MajorVersion", InType::UInt8),
            ("MinorVersion", InType::UInt8),
            ("Magic", InType::UInt8),
            ("TotalChunks", InType::UInt16),
            ("ChunkNumber", InType::UInt16),
            ("Manifest", InType::UnterminatedAnsiString),
        ];
        let properties = fields.map(|(name, in_type)| Property::new(name, in_type)).into();
        EventSchema {
            id: MANIFEST_EVENT,
            name: "ManifestData".into(),
            task_name: "ManifestData".into(),
            layout: Layout::flat(properties).into(),
            ..EventSchema::default()
        }
    });
    &EVENT
}

/// Most bytes of unfinished manifests that are kept at once.
const MAX_PENDING: usize = 64 << 20;

/// Puts chunks together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    /// By provider and process: two processes may send different versions at the same time.
    pending: HashMap<(Guid, u32), Pending>,
    pending_bytes: usize,
    /// Manifests already returned: they are sent again when a session ends.
    done: HashSet<(Guid, u64)>,
}

#[derive(Clone, Debug)]
struct Pending {
    total: u16,
    chunks: BTreeMap<u16, Vec<u8>>,
}

/// What became of a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// More are needed, or this manifest is known.
    Nothing,
    /// The manifest is whole.
    Manifest(String),
    /// The chunk is malformed, or too much is pending.
    Refused,
}

impl Chunks {
    /// Takes the payload of one chunk.
    pub fn add(&mut self, provider: Guid, process: u32, payload: &[u8]) -> Added {
        self.try_add(provider, process, payload).unwrap_or(Added::Refused)
    }

    fn try_add(&mut self, provider: Guid, process: u32, payload: &[u8]) -> Option<Added> {
        const FORMAT: u8 = 1;
        const MAGIC: u8 = 0x5b;
        let mut reader = Reader::new(payload, 8);
        let [format, _major, _minor, magic] = *reader.array()?;
        let (total, number) = (reader.u16()?, reader.u16()?);
        if format != FORMAT || magic != MAGIC || number >= total {
            return None;
        }
        let key = (provider, process);
        let text = reader.rest();
        // A first chunk begins anew: what came before it was never finished.
        let begins = number == 0 || self.pending.get(&key).is_some_and(|old| old.total != total);
        if begins {
            self.forget(key);
        }
        if self.pending_bytes.saturating_add(text.len()) > MAX_PENDING {
            return None;
        }
        let pending = self.pending.entry(key).or_insert_with(|| Pending { total, chunks: BTreeMap::new() });
        let replaced = pending.chunks.insert(number, text.to_vec()).map_or(0, |old| old.len());
        self.pending_bytes += text.len();
        self.pending_bytes -= replaced;
        if pending.chunks.len() < usize::from(total) {
            return Some(Added::Nothing);
        }
        let manifest = pending.chunks.values().flatten().copied().collect::<Vec<u8>>();
        self.forget(key);
        let mut hasher = DefaultHasher::new();
        manifest.hash(&mut hasher);
        if !self.done.insert((provider, hasher.finish())) {
            return Some(Added::Nothing);
        }
        Some(Added::Manifest(String::from_utf8_lossy(&manifest).into_owned()))
    }

    fn forget(&mut self, key: (Guid, u32)) {
        if let Some(old) = self.pending.remove(&key) {
            self.pending_bytes -= old.chunks.values().map(Vec::len).sum::<usize>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(total: u16, number: u16, text: &str) -> Vec<u8> {
        let mut payload = vec![1, 1, 0, 0x5b];
        payload.extend(total.to_le_bytes());
        payload.extend(number.to_le_bytes());
        payload.extend(text.as_bytes());
        payload
    }

    #[test]
    fn chunks_of_two_processes_do_not_mix() {
        let mut chunks = Chunks::default();
        let provider = Guid::from_u128(1);
        assert_eq!(chunks.add(provider, 1, &chunk(2, 0, "<a")), Added::Nothing);
        assert_eq!(chunks.add(provider, 2, &chunk(2, 0, "<b")), Added::Nothing);
        assert_eq!(chunks.add(provider, 1, &chunk(2, 1, "/>")), Added::Manifest("<a/>".into()));
        assert_eq!(chunks.add(provider, 2, &chunk(2, 1, "/>")), Added::Manifest("<b/>".into()));
        assert_eq!(chunks.pending_bytes, 0);
        assert_eq!(chunks.add(provider, 3, &chunk(1, 0, "<a/>")), Added::Nothing, "known");
    }

    #[test]
    fn malformed_chunks_are_refused() {
        let mut chunks = Chunks::default();
        let provider = Guid::from_u128(1);
        assert_eq!(chunks.add(provider, 1, &chunk(1, 1, "x")), Added::Refused);
        assert_eq!(chunks.add(provider, 1, &[1, 0, 0]), Added::Refused);
        let mut other_magic = chunk(1, 0, "x");
        other_magic[3] = 0;
        assert_eq!(chunks.add(provider, 1, &other_magic), Added::Refused);
    }

    #[test]
    fn what_is_never_finished_is_bounded() {
        let mut chunks = Chunks::default();
        let text = "x".repeat(60_000);
        let refused = (0..2000u32)
            .filter(|&process| {
                let payload = chunk(9, 1, &text);
                chunks.add(Guid::from_u128(1), process, &payload) == Added::Refused
            })
            .count();
        assert!(refused > 0);
        assert!(chunks.pending_bytes <= MAX_PENDING);
    }
}
