//! Requests that share something.

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
use onoff_usage::drive_paths::DrivePaths;

/// What requests can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GroupKey {
    /// The process that made them.
    Process,
    /// The file.
    File,
    /// The extension of the file's name.
    Extension,
    /// The folder of the file.
    Folder,
    /// The open file.
    Handle,
    /// The slice of time.
    Slice,
    /// The phase of the recorded transition in which they began.
    Phase,
}

/// Requests of a group.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoGroup {
    /// Process id; `None` when it is not known or not grouped by.
    pub pid: Option<u32>,
    /// Image file name of the process; empty when it is not known or not grouped by.
    pub process: String,
    /// File; empty when not grouped by.
    pub file: String,
    /// Extension in lower case; empty when there is none or it is not grouped by.
    pub extension: String,
    /// Folder; empty when not grouped by.
    pub folder: String,
    /// Number of the open file as recorded; `None` when it is not known or not grouped by.
    pub handle: Option<u64>,
    /// Start of the slice of time, ns; `None` when not grouped by.
    pub slice_start_ns: Option<i64>,
    /// Phase of the recorded transition; empty outside of all, and when not grouped by.
    pub phase: String,
    /// Its requests.
    pub table: RequestTable,
    /// How they follow each other.
    pub patterns: Patterns,
    /// What a cache of its own pages would save; `None` beyond the groups with the most requests.
    pub cache: Option<CacheCurve>,
    /// The file as the recording has it; that of the first request where not grouped by file.
    #[serde(skip)]
    pub(super) recorded_file: StringId,
}

/// What a group shares, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct GroupId {
    pid: Option<u32>,
    process: StringId,
    /// File, folder or extension.
    path: usize,
    handle: u64,
    slice: i64,
    /// Number of the phase plus one.
    phase: usize,
}

/// Texts made from paths: folders and extensions, each once.
#[derive(Clone, Debug, Default)]
struct PathParts {
    of_file: HashMap<StringId, usize>,
    numbers: HashMap<String, usize>,
    texts: Vec<String>,
}

impl PathParts {
    fn of(&mut self, trace: &Trace, file: StringId, part: fn(&str) -> String) -> usize {
        if let Some(&number) = self.of_file.get(&file) {
            return number;
        }
        let text = part(&DrivePaths::of(trace).readable(trace.text(file)));
        let next = self.texts.len();
        let number = *self.numbers.entry(text.clone()).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        self.of_file.insert(file, number);
        number
    }
}

/// The last part of a path, of either notation.
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

/// A request as far as its group and its stream depend on it: who made it, where, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StreamKey {
    pid: Option<u32>,
    process: StringId,
    file: StringId,
    handle: u64,
    slice: i64,
    phase: usize,
}

/// Group and stream of requests with one key.
#[derive(Clone, Copy, Debug)]
struct Found {
    group: u32,
    stream: usize,
}

/// Keys that are found without a search when they come again soon.
const RECENT: usize = 256;

/// No group has touched the page yet.
const NOBODY: u32 = u32::MAX;

/// Requests in groups, as they grow.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    by: Vec<GroupKey>,
    slice_ns: i64,
    /// The phases that are grouped by.
    phases: Vec<TransitionPhase>,
    found: HashMap<StreamKey, Found>,
    /// Keys met lately, by a part of the file's number and the handle's.
    recent: Vec<Option<(StreamKey, Found)>>,
    rows: Vec<Row>,
    index: HashMap<GroupId, u32>,
    /// By page: the group that touched it first.
    owners: Vec<u32>,
    /// Groups that touched a page that is another's.
    others: HashSet<(u32, u32)>,
    files: HashSet<(u32, StringId)>,
    streams: HashMap<(u32, Option<u32>, StringId, u64), usize>,
    all_streams: Vec<Stream>,
    parts: PathParts,
    curves: HashMap<u32, CacheCurve>,
}

impl Groups {
    pub(super) fn new(options: &IoOptions) -> Self {
        let by_phase = options.by.contains(&GroupKey::Phase);
        Self {
            by: options.by.clone(),
            slice_ns: options.slice_ns.max(1),
            phases: if by_phase { options.phases.clone() } else { Vec::new() },
            found: HashMap::new(),
            recent: vec![None; RECENT],
            rows: Vec::new(),
            index: HashMap::new(),
            owners: Vec::new(),
            others: HashSet::new(),
            files: HashSet::new(),
            streams: HashMap::new(),
            all_streams: Vec::new(),
            parts: PathParts::default(),
            curves: HashMap::new(),
        }
    }

    /// The first phase that holds a moment: its number plus one.
    fn phase(&self, time_ns: i64) -> usize {
        self.phases.iter().position(|phase| phase.range.contains(time_ns)).map_or(0, |at| at + 1)
    }

    fn id(&mut self, trace: &Trace, key: &StreamKey) -> GroupId {
        let mut id = GroupId::default();
        for by in &self.by {
            match by {
                GroupKey::Process => (id.pid, id.process) = (key.pid, key.process),
                GroupKey::File => id.path = key.file.index(),
                GroupKey::Extension => id.path = self.parts.of(trace, key.file, extension),
                GroupKey::Folder => id.path = self.parts.of(trace, key.file, folder),
                GroupKey::Handle => id.handle = key.handle,
                GroupKey::Slice => id.slice = key.slice,
                GroupKey::Phase => id.phase = key.phase,
            }
        }
        id
    }

    /// Group and stream of requests with a key that was not met yet.
    fn open(&mut self, trace: &Trace, key: &StreamKey) -> Found {
        let id = self.id(trace, key);
        let next = u32::try_from(self.rows.len()).unwrap_or(NOBODY - 1);
        let group = *self.index.entry(id).or_insert(next);
        if group == next {
            self.rows.push(Row { id, file: key.file, ..Row::default() });
        }
        let next = self.all_streams.len();
        let stream = *self.streams.entry((group, key.pid, key.file, key.handle)).or_insert(next);
        let new_file = self.files.insert((group, key.file));
        if let Some(row) = self.rows.get_mut(group as usize) {
            row.table.files += u64::from(new_file);
            if stream == next {
                row.streams.push(stream);
            }
        }
        if stream == next {
            self.all_streams.push(Stream::default());
        }
        Found { group, stream }
    }

    /// Counts a request; answers the number of its group.
    pub(super) fn add(
        &mut self,
        trace: &Trace,
        request: &Request,
        span: u64,
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
        let slot = (request.file.index() ^ (request.handle >> 4) as usize) % RECENT;
        let found = match self.recent.get(slot).copied().flatten() {
            Some((recent, found)) if recent == key => found,
            _ => {
                let found = match self.found.get(&key) {
                    Some(&found) => found,
                    None => {
                        let found = self.open(trace, &key);
                        self.found.insert(key, found);
                        found
                    }
                };
                if let Some(recent) = self.recent.get_mut(slot) {
                    *recent = Some((key, found));
                }
                found
            }
        };
        if let Some(stream) = self.all_streams.get_mut(found.stream) {
            stream.add(request.offset, request.length, page, buffer);
        }
        if let Some(row) = self.rows.get_mut(found.group as usize) {
            row.table.add(request, span, page);
        }
        found.group
    }

    /// Counts a page of a request of `group`.
    pub(super) fn touch(&mut self, group: u32, page: u32) {
        let index = page as usize;
        if index >= self.owners.len() {
            self.owners.resize(index + 1, NOBODY);
        }
        let Some(owner) = self.owners.get_mut(index) else { return };
        let is_new = if *owner == NOBODY {
            *owner = group;
            true
        } else {
            *owner != group && self.others.insert((group, page))
        };
        if is_new && let Some(row) = self.rows.get_mut(group as usize) {
            row.table.unique_pages += 1;
        }
    }

    /// The groups' numbers, those with the most requests first.
    fn order(&self, trace: &Trace) -> Vec<u32> {
        let has_file = self.by.contains(&GroupKey::File);
        let paths = DrivePaths::of(trace);
        let row = |number: &u32| self.rows.get(*number as usize);
        let counts = |row: &Row| (row.table.requests, row.table.bytes);
        let names = |row: &Row| {
            let file = if has_file { paths.readable(trace.text(row.file)).into_owned() } else { String::new() };
            (row.id.phase, row.id.slice, trace.text(row.id.process).to_owned(), row.id.pid, file, row.id.handle)
        };
        let mut order: Vec<u32> = (0..u32::try_from(self.rows.len()).unwrap_or(u32::MAX)).collect();
        order.sort_by(|a, b| {
            let by_counts = row(b).map(counts).cmp(&row(a).map(counts));
            by_counts.then_with(|| row(a).map(names).cmp(&row(b).map(names)))
        });
        order
    }

    /// The groups, those with the most requests first.
    pub(super) fn finish(&self, trace: &Trace, options: &IoOptions) -> Vec<IoGroup> {
        let has = |key| self.by.contains(&key);
        let paths = DrivePaths::of(trace);
        let group = |number: u32| {
            let row = self.rows.get(number as usize)?;
            let mut table = row.table;
            table.finish(options.page_bytes.max(1), options.key_blocks);
            let part = |wanted: bool| {
                let text = wanted.then(|| self.parts.texts.get(row.id.path)).flatten();
                text.cloned().unwrap_or_default()
            };
            let phase = row.id.phase.checked_sub(1).and_then(|at| self.phases.get(at));
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
                patterns: merged(row.streams.iter().filter_map(|&at| self.all_streams.get(at))),
                cache: self.curves.get(&number).cloned(),
            })
        };
        self.order(trace).into_iter().filter_map(group).collect()
    }

    /// The patterns of all requests.
    pub(super) fn patterns(&self) -> Patterns {
        merged(self.all_streams.iter())
    }

    /// Finds the curves of the groups with the most requests, from group and page of each access. Other groups may be meant: then
    /// `numbers` has the group of each. Without accesses there are none.
    pub(super) fn curves(&mut self, trace: &Trace, accesses: Option<&[(u32, u32)]>, numbers: Option<&[u32]>) {
        let Some(accesses) = accesses.filter(|_| self.curves.is_empty()) else { return };
        let mut first = self.order(trace);
        first.truncate(GROUPS_WITH_CURVES);
        let curve = |&group: &u32| {
            let mut model = CacheModel::new(0, u64::MAX);
            match numbers {
                Some(numbers) => {
                    let own = accesses.iter().zip(numbers).filter(|&(_, &number)| number == group);
                    own.for_each(|(access, _)| model.access(access.1));
                }
                None => accesses.iter().filter(|access| access.0 == group).for_each(|access| model.access(access.1)),
            }
            (group, model.finish().0)
        };
        self.curves = first.par_iter().map(curve).collect::<Vec<_>>().into_iter().collect();
    }
}

/// Groups whose cache curve is found.
const GROUPS_WITH_CURVES: usize = 16;

/// Pages of one request that are followed one by one: 1 GiB of 4 KiB pages.
pub(super) const MAX_PAGES: u64 = 1 << 18;

fn merged<'s>(streams: impl Iterator<Item = &'s Stream>) -> Patterns {
    let mut patterns = Patterns::default();
    let mut strides: HashMap<i64, u64> = HashMap::new();
    for stream in streams {
        let (counts, stride) = stream.finish();
        patterns.merge(&counts);
        if let Some((stride, count)) = stride {
            *strides.entry(stride).or_insert(0) += count;
        }
    }
    let most = strides.into_iter().max_by_key(|&(stride, count)| (count, std::cmp::Reverse(stride)));
    patterns.stride_bytes = most.map(|(stride, _)| stride);
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_paths_of_either_notation() {
        assert_eq!((extension(r"C:\a.b\File.DLL").as_str(), folder(r"C:\a.b\File.DLL").as_str()), ("dll", r"C:\a.b"));
        assert_eq!((extension("/usr/lib/.hidden").as_str(), folder("/usr/lib/.hidden").as_str()), ("", "/usr/lib"));
        assert_eq!((extension("name").as_str(), folder("name").as_str()), ("", ""));
    }
}
