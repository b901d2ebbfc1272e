//! One pass over the requests of a recording.

use hashbrown::HashMap;
use onoff_trace::{DiskOperation, FileOperation, IoLevel, StringId, Trace};

use super::cache::CacheModel;
use super::filter::{self, Fit, StorageDevice};
use super::groups::{GroupKey, Groups, MOST_PAGES};
use super::histogram::Sizes;
use super::pages::{PageNumbers, span};
use super::table::RequestTable;
use super::{IoOptions, IoView};
use crate::scope::Scope;

/// A read or write that moved something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) start_ns: i64,
    pub(super) duration_ns: Option<i64>,
    pub(super) pid: Option<u32>,
    pub(super) process: StringId,
    pub(super) file: StringId,
    pub(super) handle: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) level: IoLevel,
    pub(super) is_write: bool,
    /// Whether it passed the cache by.
    pub(super) unbuffered: bool,
}

/// The image of each process id over time.
#[derive(Debug, Default)]
struct Images {
    lives: HashMap<u32, Vec<(i64, StringId)>>,
}

impl Images {
    fn of(trace: &Trace) -> Self {
        let mut lives: HashMap<u32, Vec<(i64, StringId)>> = HashMap::new();
        for process in trace.processes.iter() {
            let start_ns = process.start_ns.unwrap_or(i64::MIN);
            lives.entry(process.pid).or_default().push((start_ns, process.image));
        }
        for lives in lives.values_mut() {
            lives.sort_by_key(|&(start_ns, _)| start_ns);
        }
        Self { lives }
    }

    fn at(&self, pid: Option<u32>, time_ns: i64) -> StringId {
        let Some(lives) = pid.and_then(|pid| self.lives.get(&pid)) else {
            return StringId::EMPTY;
        };
        let before = lives.partition_point(|&(start_ns, _)| start_ns <= time_ns);
        lives.get(before.saturating_sub(1)).map_or(StringId::EMPTY, |&(_, image)| image)
    }
}

/// What is not a request that moved something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    AtEnd,
    Failed,
    Flush,
    Other,
}

const STATUS_END_OF_FILE: u32 = 0xC000_0011;

/// The requests of a recording, or what else an operation is.
fn all<'t>(trace: &'t Trace, scope: &'t Scope) -> impl Iterator<Item = Result<Request, (Apart, Request)>> + 't {
    let images = Images::of(trace);
    let wanted = move |pid: Option<u32>, time_ns: i64| {
        let image = images.at(pid, time_ns);
        let fits =
            scope.processes.is_empty() || scope.processes.iter().any(|pattern| pattern.matches(trace.text(image)));
        (scope.range.contains(time_ns) && fits).then_some(image)
    };
    let wanted = std::rc::Rc::new(wanted);
    let of_disk = std::rc::Rc::clone(&wanted);
    let files = trace.file_ios.iter().filter_map(move |io| {
        let process = wanted(io.pid, io.start_ns)?;
        let request = Request {
            start_ns: io.start_ns,
            duration_ns: io.end_ns.map(|end_ns| end_ns.saturating_sub(io.start_ns).max(0)),
            pid: io.pid,
            process,
            file: io.file,
            handle: io.file_object,
            offset: io.offset,
            length: io.size,
            level: io.level,
            is_write: io.operation == FileOperation::Write,
            unbuffered: io.unbuffered,
        };
        let apart = match (io.operation, io.status) {
            (FileOperation::Flush, _) => Apart::Flush,
            (FileOperation::Read, Some(STATUS_END_OF_FILE)) => Apart::AtEnd,
            (FileOperation::Read | FileOperation::Write, Some(status)) if status >> 30 == 3 => Apart::Failed,
            (FileOperation::Read | FileOperation::Write, _) => return Some(Ok(request)),
            _ => Apart::Other,
        };
        Some(Err((apart, request)))
    });
    let disks = trace.disk_ios.iter().filter_map(move |io| {
        let start_ns = io.issue_ns.unwrap_or(io.complete_ns);
        let process = of_disk(io.pid, start_ns)?;
        (io.operation != DiskOperation::Flush).then_some(Ok(Request {
            start_ns,
            duration_ns: Some(io.service_ns.max(0)),
            pid: io.pid,
            process,
            file: io.file,
            handle: u64::from(io.disk) + 1,
            offset: io.offset,
            length: io.size,
            level: IoLevel::Device,
            is_write: io.operation == DiskOperation::Write,
            unbuffered: true,
        }))
    });
    files.chain(disks)
}

/// The requests of one level and direction, for a second look.
pub(super) fn requests<'t>(
    trace: &'t Trace,
    scope: &'t Scope,
    level: IoLevel,
    is_write: bool,
) -> impl Iterator<Item = Request> + 't {
    let found = all(trace, scope).filter_map(Result::ok);
    found.filter(move |request| request.level == level && request.is_write == is_write)
}

/// Requests of one level and direction.
#[derive(Debug)]
pub(super) struct View {
    pub(super) level: IoLevel,
    pub(super) is_write: bool,
    pub(super) table: RequestTable,
    sizes: Sizes,
    pages: PageNumbers,
    files: HashMap<StringId, u32>,
    cache: CacheModel,
    ahead: Option<(PageNumbers, CacheModel)>,
    with_keys: Option<CacheModel>,
    /// By what was asked for.
    groups: Groups,
    /// By process and file, for the findings; `None` when that is what was asked for.
    subjects: Option<Groups>,
    /// Accesses to pages, for the second look.
    accesses: u64,
}

/// The by of the findings.
const SUBJECTS: [GroupKey; 2] = [GroupKey::Process, GroupKey::File];

/// Requests above which the second look at the groups' own caches is left out.
pub(super) const MOST_FOR_CURVES: u64 = 20_000_000;

/// Pages that are followed one by one in a whole recording.
const MOST_ACCESSES: u64 = 1 << 32;

impl View {
    fn new(level: IoLevel, is_write: bool, options: &IoOptions) -> Self {
        let application = level == IoLevel::Application;
        let model = || CacheModel::new(options.exact_accesses);
        let ahead =
            (application && !is_write && options.read_ahead_pages > 1).then(|| (PageNumbers::default(), model()));
        let subjects = options.by != SUBJECTS && application;
        Self {
            level,
            is_write,
            table: RequestTable::default(),
            sizes: Sizes::default(),
            pages: PageNumbers::default(),
            files: HashMap::new(),
            cache: model(),
            ahead,
            with_keys: (application && options.key_blocks > 0).then(model),
            groups: Groups::new(&options.by, options.slice_ns),
            subjects: subjects.then(|| Groups::new(&SUBJECTS, options.slice_ns)),
            accesses: 0,
        }
    }

    /// Counts a request; answers the pages that were not followed.
    fn add(&mut self, trace: &Trace, request: &Request, options: &IoOptions) -> u64 {
        let page_bytes = options.page_bytes.max(1);
        let sizes = (page_bytes, options.buffer_bytes.max(1));
        let pages = span(request.offset, request.length, page_bytes);
        let count = pages.map_or(0, |(first, last)| (last - first).saturating_add(1));
        self.table.add(request, count, page_bytes);
        self.sizes.add(request.length);
        let next = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        let file = *self.files.entry(request.file).or_insert(next);
        let group = self.groups.add(trace, request, count, sizes);
        let subject = self.subjects.as_mut().map(|subjects| subjects.add(trace, request, count, sizes));
        let Some((first, last)) = pages else { return 0 };
        if let Some(with_keys) = &mut self.with_keys {
            with_keys.access(file.saturating_mul(2));
        }
        let followed = count.min(MOST_PAGES).min(MOST_ACCESSES.saturating_sub(self.accesses));
        self.accesses += followed;
        let mut ahead_last = None;
        for page in (first..=last).take(usize::try_from(followed).unwrap_or(0)) {
            let Some((number, _)) = self.pages.of(request.file, page) else { continue };
            self.cache.access(number);
            self.groups.touch(group, number);
            if let (Some(subjects), Some(subject)) = (&mut self.subjects, subject) {
                subjects.touch(subject, number);
            }
            if let Some(with_keys) = &mut self.with_keys {
                with_keys.access(number.saturating_mul(2).saturating_add(1));
            }
            if let Some((numbers, model)) = &mut self.ahead {
                let unit = page / options.read_ahead_pages;
                if ahead_last != Some(unit)
                    && let Some((number, _)) = numbers.of(request.file, unit)
                {
                    model.access(number);
                    ahead_last = Some(unit);
                }
            }
        }
        count - followed
    }

    /// The groups by process and file.
    pub(super) fn subjects(&mut self) -> &mut Groups {
        self.subjects.as_mut().unwrap_or(&mut self.groups)
    }
}

/// Everything of a recording.
#[derive(Debug)]
pub(super) struct Accumulation<'t> {
    trace: &'t Trace,
    pub(super) scope: &'t Scope,
    pub(super) views: Vec<View>,
    pub(super) flushes: HashMap<(Option<u32>, usize), (u64, i64)>,
    pub(super) reads_at_end: u64,
    pub(super) failed: u64,
    pub(super) pages_not_followed: u64,
    fit: Fit,
}

impl<'t> Accumulation<'t> {
    pub(super) fn of(trace: &'t Trace, scope: &'t Scope, options: &IoOptions) -> Self {
        let views = [IoLevel::Application, IoLevel::Paging, IoLevel::Device]
            .into_iter()
            .flat_map(|level| [false, true].map(|is_write| View::new(level, is_write, options)))
            .collect();
        let mut all_of = Self {
            trace,
            scope,
            views,
            flushes: HashMap::new(),
            reads_at_end: 0,
            failed: 0,
            pages_not_followed: 0,
            fit: Fit::default(),
        };
        for found in all(trace, scope) {
            match found {
                Ok(request) => all_of.add(&request, options),
                Err((Apart::AtEnd, _)) => all_of.reads_at_end += 1,
                Err((Apart::Failed, _)) => all_of.failed += 1,
                Err((Apart::Flush, flush)) => {
                    let (count, time_ns) = all_of.flushes.entry((flush.pid, flush.file.index())).or_default();
                    *count += 1;
                    *time_ns = time_ns.saturating_add(flush.duration_ns.unwrap_or(0));
                }
                Err((Apart::Other, _)) => {}
            }
        }
        all_of
    }

    fn add(&mut self, request: &Request, options: &IoOptions) {
        let at = request.level as usize * 2 + usize::from(request.is_write);
        let Some(view) = self.views.get_mut(at) else { return };
        self.pages_not_followed += view.add(self.trace, request, options);
        if request.level == IoLevel::Device
            && !request.is_write
            && let Some(duration_ns) = request.duration_ns
        {
            self.fit.add(request.length, duration_ns);
        }
    }

    /// The device as its own reads show it.
    pub(super) fn fit_device(&self) -> Option<StorageDevice> {
        self.fit.device()
    }

    pub(super) fn finish(self, trace: &Trace, options: &IoOptions, device: Option<StorageDevice>) -> Vec<IoView> {
        let page_bytes = options.page_bytes.max(1);
        let scope = self.scope;
        let views = self.views.into_iter().filter(|view| view.table.requests > 0);
        views
            .map(|mut view| {
                let mut table = view.table;
                table.unique_pages = view.pages.len();
                table.files = view.files.len() as u64;
                table.finish(page_bytes, options.key_blocks);
                let cache = view.cache.finish();
                let application = view.level == IoLevel::Application;
                let mut groups = view.groups.finish(trace, page_bytes, options.key_blocks);
                if application && table.requests <= MOST_FOR_CURVES {
                    let requests = requests(trace, scope, view.level, view.is_write);
                    view.groups.curves(trace, &mut groups, requests, page_bytes);
                }
                IoView {
                    level: view.level.as_str(),
                    direction: if view.is_write { "write" } else { "read" },
                    histogram: view.sizes.finish(),
                    patterns: view.groups.patterns(),
                    filter: application.then(|| filter::costs(&table, &cache, page_bytes, options.key_blocks, device)),
                    cache_with_read_ahead: view
                        .ahead
                        .map(|(_, model)| model.finish().in_pages(options.read_ahead_pages)),
                    cache_with_key_blocks: view.with_keys.map(|model| model.finish()),
                    cache,
                    table,
                    groups: groups.into_iter().map(|(_, group)| group).collect(),
                }
            })
            .collect()
    }
}
