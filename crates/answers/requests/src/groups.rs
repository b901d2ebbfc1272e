//! Groups requests by process, file and other keys.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{StringId, Trace};
use rayon::prelude::*;
use serde::Serialize;

use super::IoOptions;
use super::cache::{CacheCurve, CacheModel};
use super::pages::BlockSize;
use super::patterns::{Patterns, Stream};
use super::request::Request;
use super::table::RequestTable;
use onoff_blame::waits::TransitionPhase;

/// Grouping keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GroupKey {
    Process,
    File,
    /// File extension.
    Extension,
    Folder,
    /// Open file.
    Handle,
    /// Slice of time.
    Slice,
    /// Phase of the recorded transition in which the request started.
    Phase,
}

/// A group of requests.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoGroup {
    /// Process id; `None` if unknown or not grouped by process.
    pub pid: Option<u32>,
    /// Image file name of the process; empty if unknown or not grouped by process.
    pub process: String,
    /// File; empty if not grouped by file.
    pub file: String,
    /// Lower-case extension; empty if none or not grouped by extension.
    pub extension: String,
    /// Folder; empty if not grouped by folder.
    pub folder: String,
    /// Recorded number of the open file; `None` if unknown or not grouped by handle.
    pub handle: Option<u64>,
    /// Start of the slice, ns; `None` if not grouped by slice.
    pub slice_start_ns: Option<i64>,
    /// Phase; empty outside all phases or if not grouped by phase.
    pub phase: String,
    /// Request totals.
    pub table: RequestTable,
    /// Access patterns.
    pub patterns: Patterns,
    /// Cache curve of the group's page accesses; `None` except for the groups with the most requests.
    pub cache: Option<CacheCurve>,
    /// The file as recorded (of the first request if not grouped by file).
    #[serde(skip)]
    pub(super) recorded_file: StringId,
}

/// Numeric key of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct GroupId {
    pid: Option<u32>,
    process: StringId,
    /// File, folder or extension.
    path: usize,
    handle: u64,
    slice: i64,
    /// Phase number plus one; 0 for none.
    phase: usize,
}

/// Interned folders and extensions.
#[derive(Clone, Debug, Default)]
struct PathParts {
    /// Numbers by file.
    by_file: HashMap<StringId, usize>,
    /// Numbers by text.
    by_text: HashMap<String, usize>,
    /// Texts by number.
    texts: Vec<String>,
}

impl PathParts {
    fn intern(&mut self, trace: &Trace, file: StringId, part: fn(&str) -> String) -> usize {
        if let Some(&number) = self.by_file.get(&file) {
            return number;
        }
        let text = part(&trace.system.drive_paths.readable(trace.text(file)));
        let next = self.texts.len();
        let number = *self.by_text.entry(text.clone()).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        self.by_file.insert(file, number);
        number
    }
}

/// Returns the last component of a Windows or Unix path.
fn file_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

fn extension(path: &str) -> String {
    match file_name(path).rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    }
}

fn folder(path: &str) -> String {
    path.strip_suffix(file_name(path)).map(|folder| folder.trim_end_matches(['\\', '/'])).unwrap_or_default().to_owned()
}

#[derive(Clone, Debug, Default)]
struct Row {
    id: GroupId,
    file: StringId,
    table: RequestTable,
    streams: Vec<usize>,
}

/// The properties of a request that determine its group and stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StreamKey {
    pid: Option<u32>,
    process: StringId,
    file: StringId,
    handle: u64,
    slice: i64,
    phase: usize,
}

/// The group and stream of requests with one key.
#[derive(Clone, Copy, Debug)]
struct Assignment {
    group: u32,
    stream: usize,
}

/// Number of slots for recently used keys, which avoid hash lookups.
const RECENT_SLOTS: usize = 256;

/// Marks a page that no group has accessed yet.
const NO_GROUP: u32 = u32::MAX;

/// Accumulates requests in groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    by: Vec<GroupKey>,
    slice_ns: i64,
    /// The phases, if grouping by phase.
    phases: Vec<TransitionPhase>,
    assignments: HashMap<StreamKey, Assignment>,
    /// Recently used keys, by bits of file and handle.
    recent: Vec<Option<(StreamKey, Assignment)>>,
    rows: Vec<Row>,
    index: HashMap<GroupId, u32>,
    /// The first group that accessed each page.
    owners: Vec<u32>,
    /// (group, page) of accesses to pages first accessed by another group.
    shared_accesses: HashSet<(u32, u32)>,
    files: HashSet<(u32, StringId)>,
    streams: HashMap<(u32, Option<u32>, StringId, u64), usize>,
    all_streams: Vec<Stream>,
    parts: PathParts,
    curves: HashMap<u32, CacheCurve>,
}

impl Groups {
    pub(super) fn new(options: &IoOptions) -> Self {
        let by_phase = options.group_by.contains(&GroupKey::Phase);
        Self {
            by: options.group_by.clone(),
            slice_ns: options.slice_ns.max(1),
            phases: if by_phase { options.phases.clone() } else { Vec::new() },
            assignments: HashMap::new(),
            recent: vec![None; RECENT_SLOTS],
            rows: Vec::new(),
            index: HashMap::new(),
            owners: Vec::new(),
            shared_accesses: HashSet::new(),
            files: HashSet::new(),
            streams: HashMap::new(),
            all_streams: Vec::new(),
            parts: PathParts::default(),
            curves: HashMap::new(),
        }
    }

    /// Returns the number plus one of the first phase that contains a time; 0 if no phase does.
    fn phase(&self, time_ns: i64) -> usize {
        self.phases.iter().position(|phase| phase.range.contains(time_ns)).map_or(0, |index| index + 1)
    }

    fn id(&mut self, trace: &Trace, key: &StreamKey) -> GroupId {
        let mut id = GroupId::default();
        for by in &self.by {
            match by {
                GroupKey::Process => (id.pid, id.process) = (key.pid, key.process),
                GroupKey::File => id.path = key.file.index(),
                GroupKey::Extension => id.path = self.parts.intern(trace, key.file, extension),
                GroupKey::Folder => id.path = self.parts.intern(trace, key.file, folder),
                GroupKey::Handle => id.handle = key.handle,
                GroupKey::Slice => id.slice = key.slice,
                GroupKey::Phase => id.phase = key.phase,
            }
        }
        id
    }

    /// Assigns a new key to a group and stream.
    fn assign(&mut self, trace: &Trace, key: &StreamKey) -> Assignment {
        let id = self.id(trace, key);
        let next_group = u32::try_from(self.rows.len()).unwrap_or(NO_GROUP - 1);
        let group = *self.index.entry(id).or_insert(next_group);
        if group == next_group {
            self.rows.push(Row { id, file: key.file, ..Row::default() });
        }
        let next_stream = self.all_streams.len();
        let stream = *self.streams.entry((group, key.pid, key.file, key.handle)).or_insert(next_stream);
        let is_new_file = self.files.insert((group, key.file));
        if let Some(row) = self.rows.get_mut(group as usize) {
            row.table.files += u64::from(is_new_file);
            if stream == next_stream {
                row.streams.push(stream);
            }
        }
        if stream == next_stream {
            self.all_streams.push(Stream::default());
        }
        Assignment { group, stream }
    }

    /// Counts a request and returns its group.
    pub(super) fn add(
        &mut self,
        trace: &Trace,
        request: &Request,
        touched_pages: u64,
        (page, buffer): (BlockSize, BlockSize),
    ) -> u32 {
        let by_slice = self.by.contains(&GroupKey::Slice);
        let key = StreamKey {
            pid: request.pid,
            process: request.process,
            file: request.file,
            handle: request.handle,
            slice: if by_slice { request.start_ns.div_euclid(self.slice_ns) } else { 0 },
            phase: if self.phases.is_empty() { 0 } else { self.phase(request.start_ns) },
        };
        let slot = (request.file.index() ^ (request.handle >> 4) as usize) % RECENT_SLOTS;
        let assignment = match self.recent.get(slot).copied().flatten() {
            Some((recent_key, assignment)) if recent_key == key => assignment,
            _ => {
                let assignment = match self.assignments.get(&key) {
                    Some(&assignment) => assignment,
                    None => {
                        let assignment = self.assign(trace, &key);
                        self.assignments.insert(key, assignment);
                        assignment
                    }
                };
                if let Some(recent) = self.recent.get_mut(slot) {
                    *recent = Some((key, assignment));
                }
                assignment
            }
        };
        if let Some(stream) = self.all_streams.get_mut(assignment.stream) {
            stream.add(request.offset, request.length, page, buffer);
        }
        if let Some(row) = self.rows.get_mut(assignment.group as usize) {
            row.table.add(request, touched_pages, page);
        }
        assignment.group
    }

    /// Counts an access of `group` to a page.
    pub(super) fn touch(&mut self, group: u32, page: u32) {
        let index = page as usize;
        if index >= self.owners.len() {
            self.owners.resize(index + 1, NO_GROUP);
        }
        let Some(owner) = self.owners.get_mut(index) else { return };
        let is_new = if *owner == NO_GROUP {
            *owner = group;
            true
        } else {
            *owner != group && self.shared_accesses.insert((group, page))
        };
        if is_new && let Some(row) = self.rows.get_mut(group as usize) {
            row.table.unique_pages += 1;
        }
    }

    /// Returns the group numbers, most requests first.
    fn order(&self, trace: &Trace) -> Vec<u32> {
        let has_file = self.by.contains(&GroupKey::File);
        let paths = &trace.system.drive_paths;
        let row = |number: &u32| self.rows.get(*number as usize);
        let counts = |row: &Row| (row.table.requests, row.table.bytes);
        let names = |row: &Row| {
            let file = if has_file { paths.readable(trace.text(row.file)).into_owned() } else { String::new() };
            (row.id.phase, row.id.slice, trace.text(row.id.process).to_owned(), row.id.pid, file, row.id.handle)
        };
        let mut order: Vec<u32> = (0..u32::try_from(self.rows.len()).unwrap_or(u32::MAX)).collect();
        order.sort_by(|a, b| {
            let count_order = row(b).map(counts).cmp(&row(a).map(counts));
            count_order.then_with(|| row(a).map(names).cmp(&row(b).map(names)))
        });
        order
    }

    /// Returns the groups, most requests first.
    pub(super) fn finish(&self, trace: &Trace, options: &IoOptions) -> Vec<IoGroup> {
        let has = |key| self.by.contains(&key);
        let paths = &trace.system.drive_paths;
        let group = |number: u32| {
            let row = self.rows.get(number as usize)?;
            let mut table = row.table;
            table.finish(options.page_bytes.max(1), options.key_blocks);
            let part = |is_grouped: bool| {
                let text = is_grouped.then(|| self.parts.texts.get(row.id.path)).flatten();
                text.cloned().unwrap_or_default()
            };
            let phase = row.id.phase.checked_sub(1).and_then(|index| self.phases.get(index));
            Some(IoGroup {
                pid: row.id.pid,
                process: trace.text(row.id.process).to_owned(),
                file: if has(GroupKey::File) {
                    paths.readable(trace.text(row.file)).into_owned()
                } else {
                    String::new()
                },
                recorded_file: row.file,
                extension: part(has(GroupKey::Extension)),
                folder: part(has(GroupKey::Folder)),
                handle: has(GroupKey::Handle).then_some(row.id.handle).filter(|&handle| handle != 0),
                slice_start_ns: has(GroupKey::Slice).then(|| row.id.slice.saturating_mul(self.slice_ns)),
                phase: phase.map(|phase| phase.name.clone()).unwrap_or_default(),
                table,
                patterns: merge_streams(row.streams.iter().filter_map(|&stream| self.all_streams.get(stream))),
                cache: self.curves.get(&number).cloned(),
            })
        };
        self.order(trace).into_iter().filter_map(group).collect()
    }

    pub(super) fn patterns(&self) -> Patterns {
        merge_streams(self.all_streams.iter())
    }

    /// Computes the cache curves of the groups with the most requests. Without accesses there are no curves.
    pub(super) fn compute_curves(&mut self, trace: &Trace, accesses: Option<&GroupAccesses>) {
        let Some(accesses) = accesses.filter(|_| self.curves.is_empty()) else { return };
        let mut top_groups = self.order(trace);
        top_groups.truncate(MAX_CURVES);
        let curve = |&group: &u32| (group, accesses.curve(group));
        self.curves = top_groups.par_iter().map(curve).collect::<Vec<_>>().into_iter().collect();
    }
}

/// The page accesses of each group, in order. Accesses that repeat the previous page of a group are only counted: they
/// hit in every cache.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupAccesses {
    groups: Vec<PageAccesses>,
}

#[derive(Clone, Debug, Default)]
struct PageAccesses {
    pages: Vec<u32>,
    repeats: u64,
}

impl GroupAccesses {
    #[inline]
    pub(super) fn add(&mut self, group: u32, page: u32) {
        let index = group as usize;
        if index >= self.groups.len() {
            self.groups.resize_with(index + 1, PageAccesses::default);
        }
        let Some(accesses) = self.groups.get_mut(index) else { return };
        if accesses.pages.last() == Some(&page) {
            accesses.repeats += 1;
        } else {
            accesses.pages.push(page);
        }
    }

    fn curve(&self, group: u32) -> CacheCurve {
        let mut model = CacheModel::new(0, u64::MAX);
        if let Some(accesses) = self.groups.get(group as usize) {
            accesses.pages.iter().for_each(|&page| model.access(page));
            model.add_repeats(accesses.repeats);
        }
        model.finish().0
    }
}

/// Number of groups with a cache curve.
const MAX_CURVES: usize = 16;

/// Maximum number of individually counted pages per request: 1 GiB of 4 KiB pages.
pub(super) const MAX_PAGES: u64 = 1 << 18;

fn merge_streams<'s>(streams: impl Iterator<Item = &'s Stream>) -> Patterns {
    let mut patterns = Patterns::default();
    let mut strides: HashMap<i64, u64> = HashMap::new();
    for stream in streams {
        let (counts, stride) = stream.finish();
        patterns.merge(&counts);
        if let Some((stride, count)) = stride {
            *strides.entry(stride).or_insert(0) += count;
        }
    }
    let most_frequent = strides.into_iter().max_by_key(|&(stride, count)| (count, std::cmp::Reverse(stride)));
    patterns.stride_bytes = most_frequent.map(|(stride, _)| stride);
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_windows_and_unix_paths() {
        assert_eq!((extension(r"C:\a.b\File.DLL").as_str(), folder(r"C:\a.b\File.DLL").as_str()), ("dll", r"C:\a.b"));
        assert_eq!((extension("/usr/lib/.hidden").as_str(), folder("/usr/lib/.hidden").as_str()), ("", "/usr/lib"));
        assert_eq!((extension("name").as_str(), folder("name").as_str()), ("", ""));
    }
}
