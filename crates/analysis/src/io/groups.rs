//! Requests that share something.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{StringId, Trace};
use serde::Serialize;

use super::accumulate::Request;
use super::cache::{CacheCurve, CacheModel};
use super::pages::{PageNumbers, span};
use super::patterns::{Patterns, Stream};
use super::table::RequestTable;

/// What requests can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
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
}

/// Requests of a group.
#[derive(Clone, Debug, Default, Serialize)]
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
    /// Its requests.
    pub table: RequestTable,
    /// How they follow each other.
    pub patterns: Patterns,
    /// What a cache of its own pages would save; `None` beyond the groups with the most requests.
    pub cache: Option<CacheCurve>,
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
}

impl GroupId {
    /// The file, of groups by file.
    pub(super) const fn file(&self) -> usize {
        self.path
    }
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
        let text = part(trace.text(file));
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

/// Group, process, file and open file of a request.
type StreamId = (u32, Option<u32>, StringId, u64);

/// Requests in groups, as they grow.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    by: Vec<GroupKey>,
    slice_ns: i64,
    index: HashMap<GroupId, usize>,
    rows: Vec<Row>,
    last: Option<(GroupId, usize)>,
    pages: HashSet<(u32, u32)>,
    files: HashSet<(u32, StringId)>,
    streams: HashMap<StreamId, usize>,
    all_streams: Vec<Stream>,
    last_stream: Option<(StreamId, usize)>,
    parts: PathParts,
}

impl Groups {
    pub(super) fn new(by: &[GroupKey], slice_ns: i64) -> Self {
        Self {
            by: by.to_vec(),
            slice_ns: slice_ns.max(1),
            index: HashMap::new(),
            rows: Vec::new(),
            last: None,
            pages: HashSet::new(),
            files: HashSet::new(),
            streams: HashMap::new(),
            all_streams: Vec::new(),
            last_stream: None,
            parts: PathParts::default(),
        }
    }

    fn id(&mut self, trace: &Trace, request: &Request) -> GroupId {
        let mut id = GroupId::default();
        for key in &self.by {
            match key {
                GroupKey::Process => (id.pid, id.process) = (request.pid, request.process),
                GroupKey::File => id.path = request.file.index(),
                GroupKey::Extension => id.path = self.parts.of(trace, request.file, extension),
                GroupKey::Folder => id.path = self.parts.of(trace, request.file, folder),
                GroupKey::Handle => id.handle = request.handle,
                GroupKey::Slice => id.slice = request.start_ns.div_euclid(self.slice_ns),
            }
        }
        id
    }

    /// Counts a request; answers the number of its group.
    pub(super) fn add(&mut self, trace: &Trace, request: &Request, span: u64, sizes: (u64, u64)) -> u32 {
        let id = self.id(trace, request);
        let at = match self.last {
            Some((last, at)) if last == id => at,
            _ => {
                let next = self.rows.len();
                let at = *self.index.entry(id).or_insert(next);
                if at == next {
                    self.rows.push(Row { id, file: request.file, ..Row::default() });
                }
                self.last = Some((id, at));
                at
            }
        };
        let group = u32::try_from(at).unwrap_or(u32::MAX);
        let key = (group, request.pid, request.file, request.handle);
        let stream = match self.last_stream {
            Some((last, stream)) if last == key => stream,
            _ => {
                let next = self.all_streams.len();
                let stream = *self.streams.entry(key).or_insert(next);
                if stream == next {
                    self.all_streams.push(Stream::default());
                    if let Some(row) = self.rows.get_mut(at) {
                        row.streams.push(stream);
                    }
                }
                self.last_stream = Some((key, stream));
                stream
            }
        };
        let (page_bytes, buffer_bytes) = sizes;
        if let Some(stream) = self.all_streams.get_mut(stream) {
            stream.add(request.offset, request.length, page_bytes, buffer_bytes);
        }
        let new_file = self.files.insert((group, request.file));
        if let Some(row) = self.rows.get_mut(at) {
            row.table.add(request, span, page_bytes);
            row.table.files += u64::from(new_file);
        }
        group
    }

    /// Counts a page of a request of `group`.
    pub(super) fn touch(&mut self, group: u32, page: u32) {
        if self.pages.insert((group, page))
            && let Some(row) = self.rows.get_mut(group as usize)
        {
            row.table.unique_pages += 1;
        }
    }

    /// The groups, those with the most requests first.
    pub(super) fn finish(&mut self, trace: &Trace, page_bytes: u64, key_blocks: u64) -> Vec<(GroupId, IoGroup)> {
        let has = |key| self.by.contains(&key);
        let mut groups: Vec<(GroupId, IoGroup)> = self
            .rows
            .iter()
            .map(|row| {
                let mut table = row.table;
                table.finish(page_bytes, key_blocks);
                let part = |wanted: bool| {
                    let text = wanted.then(|| self.parts.texts.get(row.id.path)).flatten();
                    text.cloned().unwrap_or_default()
                };
                let group = IoGroup {
                    pid: row.id.pid,
                    process: trace.text(row.id.process).to_owned(),
                    file: if has(GroupKey::File) { trace.text(row.file).to_owned() } else { String::new() },
                    extension: part(has(GroupKey::Extension)),
                    folder: part(has(GroupKey::Folder)),
                    handle: has(GroupKey::Handle).then_some(row.id.handle).filter(|&handle| handle != 0),
                    slice_start_ns: has(GroupKey::Slice).then(|| row.id.slice.saturating_mul(self.slice_ns)),
                    table,
                    patterns: merged(row.streams.iter().filter_map(|&at| self.all_streams.get(at))),
                    cache: None,
                };
                (row.id, group)
            })
            .collect();
        groups.sort_by(|(_, a), (_, b)| {
            let order = |group: &IoGroup| (group.table.requests, group.table.bytes);
            let names = |group: &IoGroup| {
                (group.slice_start_ns, group.process.clone(), group.pid, group.file.clone(), group.handle)
            };
            order(b).cmp(&order(a)).then_with(|| names(a).cmp(&names(b)))
        });
        groups
    }

    /// The patterns of all requests.
    pub(super) fn patterns(&self) -> Patterns {
        merged(self.all_streams.iter())
    }

    /// The curves of the groups with the most requests, which needs a second look at the requests.
    pub(super) fn curves<'r>(
        &mut self,
        trace: &Trace,
        groups: &mut [(GroupId, IoGroup)],
        requests: impl Iterator<Item = Request> + 'r,
        page_bytes: u64,
    ) {
        let mut models: HashMap<GroupId, (PageNumbers, CacheModel)> = groups
            .iter()
            .take(GROUPS_WITH_CURVES)
            .map(|&(id, _)| (id, (PageNumbers::default(), CacheModel::new(u64::MAX))))
            .collect();
        for request in requests {
            let id = self.id(trace, &request);
            let Some((numbers, model)) = models.get_mut(&id) else { continue };
            let Some((first, last)) = span(request.offset, request.length, page_bytes) else { continue };
            for page in first..=last.min(first.saturating_add(MOST_PAGES)) {
                if let Some((number, _)) = numbers.of(request.file, page) {
                    model.access(number);
                }
            }
        }
        for (id, group) in groups {
            group.cache = models.get(id).map(|(_, model)| model.finish());
        }
    }
}

/// Groups whose cache curve is found.
const GROUPS_WITH_CURVES: usize = 16;

/// Pages of one request that are followed one by one: 1 GiB of 4 KiB pages.
pub(super) const MOST_PAGES: u64 = 1 << 18;

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
