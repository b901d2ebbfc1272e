//! Builds the table of modules from loads, unloads and rundowns, and adds the identities that merging writes into a
//! recording (ImageID records).

use hashbrown::HashMap;
use onoff_etw::kernel::{self, ImageEventKind, ImageIdentification};
use onoff_trace::{Image, Images, Losses, StringId};

use super::counters;
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct ImageTracker {
    rows: Vec<TrackedImage>,
    alive: HashMap<(u32, u64), usize>,
    debug_ids: HashMap<(u32, u64), Vec<DebugId>>,
    /// Link time by process and base address, for images whose image event has none.
    time_stamps: HashMap<(u32, u64), u32>,
    /// Versions by size and link time.
    versions: HashMap<(u64, u32), StringId>,
}

#[derive(Debug)]
struct TrackedImage {
    image: Image,
    /// Time of the first event of the image. Identity records have the times of image events.
    first_ns: i64,
    /// Time of the last event of the image.
    last_ns: i64,
}

#[derive(Debug)]
struct DebugId {
    time_ns: i64,
    managed: bool,
    pdb_name: StringId,
    pdb_id: StringId,
}

impl ImageTracker {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn on_image(&mut self, time_ns: i64, event: &kernel::Image<'_>, texts: &mut Texts, losses: &mut Losses) {
        let image = Image {
            pid: event.process_id,
            base: event.image_base,
            size: event.image_size,
            path: texts.utf16(event.file_name),
            time_stamp: event.time_date_stamp,
            checksum: event.image_checksum,
            default_base: event.default_base,
            ..Image::UNKNOWN
        };
        match event.kind {
            ImageEventKind::Load => self.load(time_ns, image, losses),
            ImageEventKind::Unload => self.unload(time_ns, image),
            ImageEventKind::RundownStart | ImageEventKind::RundownEnd => {
                self.alive_row(time_ns, image);
            }
        }
    }

    pub(super) fn on_identification(&mut self, time_ns: i64, event: &ImageIdentification<'_>, texts: &mut Texts) {
        match event {
            ImageIdentification::Info(info) => {
                let key = (info.process_id, info.image_base);
                self.time_stamps.insert(key, info.time_date_stamp);
            }
            ImageIdentification::DebugId(id) => {
                let pdb_name = texts.ansi(id.pdb_file_name);
                let pdb_id = symbol_identity(id.guid, id.age, texts);
                let ids = self.debug_ids.entry((id.process_id, id.image_base));
                ids.or_default().push(DebugId { time_ns, managed: id.managed, pdb_name, pdb_id });
            }
            ImageIdentification::FileVersion(version) => {
                let text = texts.utf16(version.file_version);
                let key = (u64::from(version.image_size), version.time_date_stamp);
                self.versions.entry(key).or_insert(text);
            }
            _ => {}
        }
    }

    /// Records the load of a module.
    pub(super) fn load(&mut self, time_ns: i64, image: Image, losses: &mut Losses) {
        let key = (image.pid, image.base);
        if let Some(&index) = self.alive.get(&key) {
            let row = &mut self.rows[index];
            if row.image.load_ns == Some(time_ns) {
                return;
            }
            row.image.unload_ns = Some(time_ns);
            losses.add(&counters::IMAGE_UNLOAD_MISSING, 1);
        }
        self.alive.insert(key, self.rows.len());
        self.rows.push(TrackedImage {
            image: Image { load_ns: Some(time_ns), ..image },
            first_ns: time_ns,
            last_ns: time_ns,
        });
    }

    /// Records the unload of a module.
    pub(super) fn unload(&mut self, time_ns: i64, image: Image) {
        let key = (image.pid, image.base);
        let index = self.alive_row(time_ns, image);
        self.rows[index].image.unload_ns = Some(time_ns);
        self.alive.remove(&key);
    }

    fn alive_row(&mut self, time_ns: i64, image: Image) -> usize {
        let index = *self.alive.entry((image.pid, image.base)).or_insert_with(|| {
            self.rows.push(TrackedImage { image, first_ns: time_ns, last_ns: time_ns });
            self.rows.len() - 1
        });
        let row = &mut self.rows[index];
        row.last_ns = time_ns;
        if row.image.path.is_empty() {
            row.image.path = image.path;
        }
        index
    }

    /// Builds the table, sorted by load.
    pub(super) fn finish(self) -> Images {
        let Self { rows, debug_ids, time_stamps, versions, .. } = self;
        let mut images: Vec<Image> = rows
            .into_iter()
            .map(|tracked| {
                let mut image = tracked.image;
                let key = (image.pid, image.base);
                if image.time_stamp == 0 {
                    image.time_stamp = time_stamps.get(&key).copied().unwrap_or(0);
                }
                if let Some(&version) = versions.get(&(image.size, image.time_stamp)) {
                    image.version = version;
                }
                if let Some(id) = debug_ids.get(&key).and_then(|ids| closest(ids, tracked.first_ns, tracked.last_ns)) {
                    image.pdb_name = id.pdb_name;
                    image.pdb_id = id.pdb_id;
                }
                image
            })
            .collect();
        images.sort_by_key(|image| image.load_ns);
        images.into_iter().collect()
    }
}

/// Returns the identity recorded nearest to the image's events. A precompiled managed image has two identities: one for
/// its machine code and one for the managed code.
fn closest(ids: &[DebugId], first_ns: i64, last_ns: i64) -> Option<&DebugId> {
    ids.iter().min_by_key(|id| {
        let distance_ns = if id.time_ns < first_ns { first_ns - id.time_ns } else { (id.time_ns - last_ns).max(0) };
        (distance_ns, id.managed)
    })
}

/// Formats a symbol file identity as in symbol stores: GUID digits in upper case, then the age in hexadecimal.
pub(super) fn symbol_identity(guid: onoff_etl::Guid, age: u32, texts: &mut Texts) -> StringId {
    let mut digits = [0; uuid::fmt::Simple::LENGTH];
    let digits = guid.simple().encode_upper(&mut digits);
    texts.display(format_args!("{digits}{age:X}"))
}
