//! In-band manifests, which .NET event sources send in chunks (section 5.6 of the format reference).

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use hashbrown::{HashMap, HashSet};
use onoff_etl::Guid;

use crate::reader::Reader;
use crate::schema::{EventSchema, InType, Layout, Property};

/// Id of the event that contains a chunk.
pub(crate) const MANIFEST_EVENT: u16 = 0xfffe;
/// Opcode of that event.
pub(crate) const MANIFEST_OPCODE: u8 = 0xfe;

/// Returns the schema of the event that contains a chunk: every event source sends it, but no manifest declares it.
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

/// Maximum size of all incomplete manifests, in bytes.
const MAX_PENDING: usize = 64 << 20;

/// Reassembles manifests from chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    /// By provider and process: two processes may send different versions at the same time.
    pending: HashMap<(Guid, u32), PendingManifest>,
    pending_bytes: usize,
    /// Manifests already returned. They are sent again when a session ends.
    returned: HashSet<(Guid, u64)>,
}

#[derive(Clone, Debug)]
struct PendingManifest {
    total: u16,
    chunks: BTreeMap<u16, Vec<u8>>,
}

/// Result of adding a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChunkResult {
    /// More chunks are needed, or the manifest is already known.
    Pending,
    /// The manifest is complete.
    Manifest(String),
    /// The chunk is malformed, or the size limit is reached.
    Rejected,
}

impl Chunks {
    /// Adds the payload of one chunk.
    pub fn add(&mut self, provider: Guid, process: u32, payload: &[u8]) -> ChunkResult {
        self.try_add(provider, process, payload).unwrap_or(ChunkResult::Rejected)
    }

    fn try_add(&mut self, provider: Guid, process: u32, payload: &[u8]) -> Option<ChunkResult> {
        const FORMAT: u8 = 1;
        const MAGIC: u8 = 0x5b;
        let mut reader = Reader::new(payload, 8);
        let [format, _major, _minor, magic] = *reader.array()?;
        let (total, number) = (reader.u16()?, reader.u16()?);
        if format != FORMAT || magic != MAGIC || number >= total {
            return None;
        }
        let key = (provider, process);
        let text = reader.unread();
        // A first chunk starts a new manifest; the previous manifest was never completed.
        let is_first = number == 0 || self.pending.get(&key).is_some_and(|previous| previous.total != total);
        if is_first {
            self.remove(key);
        }
        if self.pending_bytes.saturating_add(text.len()) > MAX_PENDING {
            return None;
        }
        let pending = self.pending.entry(key).or_insert_with(|| PendingManifest { total, chunks: BTreeMap::new() });
        let replaced = pending.chunks.insert(number, text.to_vec()).map_or(0, |previous| previous.len());
        self.pending_bytes += text.len();
        self.pending_bytes -= replaced;
        if pending.chunks.len() < usize::from(total) {
            return Some(ChunkResult::Pending);
        }
        let manifest = pending.chunks.values().flatten().copied().collect::<Vec<u8>>();
        self.remove(key);
        let mut hasher = DefaultHasher::new();
        manifest.hash(&mut hasher);
        if !self.returned.insert((provider, hasher.finish())) {
            return Some(ChunkResult::Pending);
        }
        Some(ChunkResult::Manifest(String::from_utf8_lossy(&manifest).into_owned()))
    }

    fn remove(&mut self, key: (Guid, u32)) {
        if let Some(previous) = self.pending.remove(&key) {
            self.pending_bytes -= previous.chunks.values().map(Vec::len).sum::<usize>();
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
        assert_eq!(chunks.add(provider, 1, &chunk(2, 0, "<a")), ChunkResult::Pending);
        assert_eq!(chunks.add(provider, 2, &chunk(2, 0, "<b")), ChunkResult::Pending);
        assert_eq!(chunks.add(provider, 1, &chunk(2, 1, "/>")), ChunkResult::Manifest("<a/>".into()));
        assert_eq!(chunks.add(provider, 2, &chunk(2, 1, "/>")), ChunkResult::Manifest("<b/>".into()));
        assert_eq!(chunks.pending_bytes, 0);
        assert_eq!(chunks.add(provider, 3, &chunk(1, 0, "<a/>")), ChunkResult::Pending, "known");
    }

    #[test]
    fn rejects_malformed_chunks() {
        let mut chunks = Chunks::default();
        let provider = Guid::from_u128(1);
        assert_eq!(chunks.add(provider, 1, &chunk(1, 1, "x")), ChunkResult::Rejected);
        assert_eq!(chunks.add(provider, 1, &[1, 0, 0]), ChunkResult::Rejected);
        let mut other_magic = chunk(1, 0, "x");
        other_magic[3] = 0;
        assert_eq!(chunks.add(provider, 1, &other_magic), ChunkResult::Rejected);
    }

    #[test]
    fn limits_incomplete_manifests() {
        let mut chunks = Chunks::default();
        let text = "x".repeat(60_000);
        let rejected = (0..2000u32)
            .filter(|&process| {
                let payload = chunk(9, 1, &text);
                chunks.add(Guid::from_u128(1), process, &payload) == ChunkResult::Rejected
            })
            .count();
        assert!(rejected > 0);
        assert!(chunks.pending_bytes <= MAX_PENDING);
    }
}
