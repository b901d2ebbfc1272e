//! Accumulates all views in one pass over the requests.

use hashbrown::HashMap;
use onoff_trace::{DiskOperation, FileOperation, IoOrigin, StringId, Trace};

use super::cache::CacheModel;
use super::device::{DeviceFit, DeviceFitter, StorageDevice};
use super::filter;
use super::groups::{GroupAccesses, GroupKey, Groups, IoGroup, MAX_PAGES};
use super::histogram::HistogramBuilder;
use super::pages::{BlockSize, CHUNK_PAGES, PageNumber, PageNumbers};
use super::request::Request;
use super::table::RequestTable;
use super::{IoOptions, IoView};
use onoff_evidence::scope::Scope;

/// Images of each process id over time.
#[derive(Debug, Default)]
struct Images {
    lives: HashMap<u32, Vec<(i64, StringId)>>,
}

impl Images {
    fn new(trace: &Trace) -> Self {
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

    /// Returns the image of a process at a time.
    fn image_at(&self, pid: Option<u32>, time_ns: i64) -> StringId {
        let Some(lives) = pid.and_then(|pid| self.lives.get(&pid)) else { return StringId::EMPTY };
        let started = lives.partition_point(|&(start_ns, _)| start_ns <= time_ns);
        lives.get(started.saturating_sub(1)).map_or(StringId::EMPTY, |&(_, image)| image)
    }
}

/// Operations that are not data transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OtherOperation {
    AtEnd,
    Empty,
    Failed,
    Flush,
    Other,
}

const STATUS_END_OF_FILE: u32 = 0xC000_0011;

/// Iterator over the requests and other operations of a recording: file operations first, then disk requests.
#[derive(Debug)]
struct Requests<'t> {
    trace: &'t Trace,
    scope: &'t Scope,
    images: Images,
    /// Whether the scope includes each image.
    scope_matches: HashMap<StringId, bool>,
    next_file: usize,
    next_disk: usize,
}

impl<'t> Requests<'t> {
    fn new(trace: &'t Trace, scope: &'t Scope) -> Self {
        Self { trace, scope, images: Images::new(trace), scope_matches: HashMap::new(), next_file: 0, next_disk: 0 }
    }

    /// Returns the image of the process if the scope includes both the image and the time.
    fn image_in_scope(&mut self, pid: Option<u32>, time_ns: i64) -> Option<StringId> {
        let Self { trace, scope, images, scope_matches, .. } = self;
        if !scope.range.contains(time_ns) {
            return None;
        }
        let image = images.image_at(pid, time_ns);
        let matches = || scope.processes.iter().any(|pattern| pattern.matches(trace.text(image)));
        (scope.processes.is_empty() || *scope_matches.entry(image).or_insert_with(matches)).then_some(image)
    }
}

impl Iterator for Requests<'_> {
    type Item = Result<Request, (OtherOperation, Request)>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(io) = self.trace.file_ios.get(self.next_file) {
            self.next_file += 1;
            let Some(process) = self.image_in_scope(io.pid, io.start_ns) else { continue };
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
            let operation = match (io.operation, io.status) {
                (FileOperation::Flush, _) => OtherOperation::Flush,
                (FileOperation::Read, Some(STATUS_END_OF_FILE)) => OtherOperation::AtEnd,
                (FileOperation::Read | FileOperation::Write, Some(status)) if status >> 30 == 3 => {
                    OtherOperation::Failed
                }
                (FileOperation::Read | FileOperation::Write, _) if io.size == 0 => OtherOperation::Empty,
                (FileOperation::Read | FileOperation::Write, _) => return Some(Ok(request)),
                _ => OtherOperation::Other,
            };
            return Some(Err((operation, request)));
        }
        while let Some(io) = self.trace.disk_ios.get(self.next_disk) {
            self.next_disk += 1;
            let start_ns = io.issue_ns.unwrap_or(io.complete_ns);
            if io.operation == DiskOperation::Flush {
                continue;
            }
            let Some(process) = self.image_in_scope(io.pid, start_ns) else { continue };
            let request = Request {
                start_ns,
                duration_ns: Some(io.service_ns.max(0)),
                pid: io.pid,
                process,
                file: io.file,
                handle: u64::from(io.disk) + 1,
                offset: io.offset,
                length: io.size,
                level: IoOrigin::Device,
                is_write: io.operation == DiskOperation::Write,
                unbuffered: true,
            };
            return Some(if io.size == 0 { Err((OtherOperation::Empty, request)) } else { Ok(request) });
        }
        None
    }
}

/// An access of a request to a page.
#[derive(Clone, Copy, Debug)]
struct Access {
    page: u32,
    /// Group of the request.
    group: u32,
    /// Group of the request by process and file, if the requested keys differ.
    subject: u32,
    /// Number of the read-ahead unit that contains the page.
    unit: u32,
    /// Number of the file, which is also the number of its key block.
    file: u32,
    /// True for the first page of a request.
    is_first: bool,
}

/// Accesses per batch for the cache models, which process one batch while the next is collected.
const BATCH_LEN: usize = 1 << 18;

/// Accesses prefetched at a time: their data fits in the CPU caches.
const PREFETCHED_ACCESSES: usize = 1 << 11;

/// Requests prefetched at a time.
const PREFETCHED_REQUESTS: usize = 1 << 8;

/// Maximum number of accesses per view that are recorded for the curves of its groups; with more accesses, groups have
/// no curves.
const MAX_RECORDED_ACCESSES: u64 = 1 << 24;

/// Number of views: three levels, each with reads and writes.
const VIEWS: usize = 6;

/// Returns the index of the view of a request.
const fn view_index(level: IoOrigin, is_write: bool) -> usize {
    level as usize * 2 + is_write as usize
}

/// Returns the number of individually counted pages of a request.
fn counted_pages(page: BlockSize, offset: u64, length: u64) -> u64 {
    page.first_and_last(offset, length).map_or(0, |(first, last)| (last - first).saturating_add(1).min(MAX_PAGES))
}

/// Returns an upper bound of the number of page accesses in each view.
fn accesses_by_view(trace: &Trace, scope: &Scope, options: &IoOptions) -> [u64; VIEWS] {
    let page = BlockSize::new(options.page_bytes);
    let files = trace.file_ios.offset.iter().zip(&trace.file_ios.size);
    let disks = trace.disk_ios.offset.iter().zip(&trace.disk_ios.size);
    let total =
        files.chain(disks).fold(0_u64, |sum, (&offset, &size)| sum.saturating_add(counted_pages(page, offset, size)));
    if total <= MAX_RECORDED_ACCESSES.min(options.exact_accesses) {
        // Few enough, however they are distributed over the views.
        return [total; VIEWS];
    }
    let mut counts = [0_u64; VIEWS];
    for request in Requests::new(trace, scope).filter_map(Result::ok) {
        if let Some(count) = counts.get_mut(view_index(request.level, request.is_write)) {
            *count = count.saturating_add(counted_pages(page, request.offset, request.length));
        }
    }
    counts
}

/// Cache models for the accesses of a view.
#[derive(Debug)]
struct CacheModels {
    /// Accesses by group, for the curves of groups; `None` if there are too many.
    group_accesses: Option<GroupAccesses>,
    /// Accesses by process and file, if the requested keys differ.
    subject_accesses: Option<GroupAccesses>,
    /// Model of a page cache, and of a cache of pages and key blocks.
    pages: CacheModel,
    /// Number of key blocks per file; 0 without a curve for them.
    key_blocks: u32,
    read_ahead: Option<CacheModel>,
}

/// Maximum number of key blocks per file for a cache curve. Each request accesses all of them.
const MAX_KEY_BLOCKS: u64 = 64;

impl CacheModels {
    fn new(level: IoOrigin, is_write: bool, has_subjects: bool, options: &IoOptions, accesses: u64) -> Self {
        let is_application = level == IoOrigin::Application;
        let has_group_curves = is_application && accesses <= MAX_RECORDED_ACCESSES;
        let model = || CacheModel::new(accesses, options.exact_accesses);
        Self {
            group_accesses: has_group_curves.then(GroupAccesses::default),
            subject_accesses: (has_group_curves && has_subjects).then(GroupAccesses::default),
            pages: model(),
            key_blocks: match u32::try_from(options.key_blocks) {
                Ok(key_blocks) if is_application && options.key_blocks <= MAX_KEY_BLOCKS => key_blocks,
                _ => 0,
            },
            read_ahead: (is_application && !is_write && options.read_ahead_pages > 1).then(model),
        }
    }

    /// Feeds a batch to the models, in parallel.
    fn process(&mut self, batch: &mut Vec<Access>) {
        let accesses = batch.as_slice();
        let Self { group_accesses, subject_accesses, pages, key_blocks, read_ahead } = self;
        let key_blocks = *key_blocks;
        let process_pages = || {
            for accesses in accesses.chunks(PREFETCHED_ACCESSES) {
                pages.prepare(accesses.iter().map(|access| access.page));
                for access in accesses {
                    if access.is_first {
                        let first_key = access.file.wrapping_mul(key_blocks);
                        (0..key_blocks).for_each(|key| pages.access_key(first_key.wrapping_add(key)));
                    }
                    pages.access(access.page);
                }
            }
        };
        let process_read_ahead = || {
            let Some(model) = read_ahead else { return };
            let mut last_unit = None;
            for accesses in accesses.chunks(PREFETCHED_ACCESSES) {
                model.prepare(accesses.iter().map(|access| access.unit));
                for access in accesses {
                    if access.is_first || last_unit != Some(access.unit) {
                        model.access(access.unit);
                        last_unit = Some(access.unit);
                    }
                }
            }
        };
        rayon::join(process_pages, process_read_ahead);
        if let Some(group_accesses) = group_accesses {
            accesses.iter().for_each(|access| group_accesses.add(access.group, access.page));
        }
        if let Some(subject_accesses) = subject_accesses {
            accesses.iter().for_each(|access| subject_accesses.add(access.subject, access.page));
        }
        batch.clear();
    }
}

/// Requests of one level and direction.
#[derive(Debug)]
pub(super) struct View {
    pub(super) level: IoOrigin,
    pub(super) is_write: bool,
    pub(super) table: RequestTable,
    histogram: HistogramBuilder,
    pages: PageNumbers,
    units: PageNumbers,
    /// Read-ahead unit of each page.
    unit_of_page: Vec<u32>,
    has_read_ahead: bool,
    next_unit: u32,
    /// Next page number.
    next_number: u32,
    /// Number of each recorded file in this view, plus one.
    files: Vec<u32>,
    batch: Vec<Access>,
    /// Groups by the requested keys.
    groups: Groups,
    /// Groups by process and file, for the findings; `None` if these are the requested keys.
    subjects: Option<Groups>,
    /// Number of accesses to pages.
    accesses: u64,
}

/// Grouping keys of the findings.
const FINDING_KEYS: [GroupKey; 2] = [GroupKey::Process, GroupKey::File];

/// Maximum number of individually counted pages per recording; page numbers have 32 bits.
const MAX_ACCESSES: u64 = u32::MAX as u64 - 1;

impl View {
    fn new(level: IoOrigin, is_write: bool, options: &IoOptions) -> Self {
        let is_application = level == IoOrigin::Application;
        let has_subjects = is_application && options.group_by != FINDING_KEYS;
        Self {
            level,
            is_write,
            table: RequestTable::default(),
            histogram: HistogramBuilder::default(),
            pages: PageNumbers::default(),
            units: PageNumbers::default(),
            unit_of_page: Vec::new(),
            has_read_ahead: is_application && !is_write && options.read_ahead_pages > 1,
            next_unit: 0,
            next_number: 0,
            files: Vec::new(),
            batch: Vec::new(),
            groups: Groups::new(options),
            subjects: has_subjects
                .then(|| Groups::new(&IoOptions { group_by: FINDING_KEYS.to_vec(), ..options.clone() })),
            accesses: 0,
        }
    }

    fn file(&mut self, file: StringId) -> u32 {
        let index = file.index();
        if index >= self.files.len() {
            self.files.resize(index + 1, 0);
        }
        let Some(number) = self.files.get_mut(index) else { return 0 };
        if *number == 0 {
            self.table.files += 1;
            *number = u32::try_from(self.table.files).unwrap_or(u32::MAX);
        }
        *number - 1
    }

    /// Prefetches the data for counting `requests` of this view into the CPU caches. In a separate loop the processor
    /// overlaps the cache misses.
    fn prepare(&self, requests: &[Request], page: BlockSize) {
        if !self.pages.is_large() {
            return;
        }
        let view_requests =
            requests.iter().filter(|request| (request.level, request.is_write) == (self.level, self.is_write));
        let chunks = view_requests.filter_map(|request| {
            let file = self.files.get(request.file.index())?.checked_sub(1)?;
            let (first, last) = page.first_and_last(request.offset, request.length)?;
            Some([first, last].map(|page| self.pages.chunk_of(file, page)))
        });
        let chunks: Vec<u32> = chunks.flatten().flatten().collect();
        let first_pages = chunks.into_iter().filter_map(|chunk| self.pages.first_page_number(chunk));
        std::hint::black_box(first_pages.fold(0, |sum, page| sum ^ page));
    }

    /// Counts the page accesses of groups in the batch from `first_access` on.
    fn touch(&mut self, first_access: usize) {
        let batch = self.batch.get(first_access..).unwrap_or_default();
        for access in batch {
            self.groups.touch(access.group, access.page);
        }
        if let Some(subjects) = &mut self.subjects {
            for access in batch {
                subjects.touch(access.subject, access.page);
            }
        }
    }

    /// Returns the number of a page of a file, and the number of its read-ahead unit.
    fn page(&mut self, file: u32, page: u64, read_ahead_pages: u64) -> (u32, u32) {
        let PageNumber { number, chunk, is_new } = self.pages.get_or_insert(file, page, self.next_number);
        if is_new {
            self.next_number = self.next_number.saturating_add(1);
            self.table.unique_pages += 1;
        }
        if read_ahead_pages == CHUNK_PAGES {
            return (number, chunk);
        }
        if is_new && self.has_read_ahead {
            let unit = self.units.get_or_insert(file, page / read_ahead_pages.max(1), self.next_unit);
            self.next_unit = self.next_unit.saturating_add(u32::from(unit.is_new));
            self.unit_of_page.resize(number as usize, 0);
            self.unit_of_page.push(unit.number);
        }
        (number, self.unit_of_page.get(number as usize).copied().unwrap_or(0))
    }

    /// Counts a request and returns the number of pages not counted individually.
    fn add(&mut self, trace: &Trace, request: &Request, options: &IoOptions, sizes: (BlockSize, BlockSize)) -> u64 {
        let pages = sizes.0.first_and_last(request.offset, request.length);
        let count = pages.map_or(0, |(first, last)| (last - first).saturating_add(1));
        self.table.add(request, count, sizes.0);
        self.histogram.add(request.length);
        let file = self.file(request.file);
        let group = self.groups.add(trace, request, count, sizes);
        let subject = self.subjects.as_mut().map_or(0, |subjects| subjects.add(trace, request, count, sizes));
        let Some((first, last)) = pages else { return 0 };
        let remaining = MAX_ACCESSES.saturating_sub(self.accesses.max(u64::from(self.next_number)));
        let counted = count.min(MAX_PAGES).min(remaining);
        self.accesses += counted;
        let mut is_first = true;
        for page in (first..=last).take(usize::try_from(counted).unwrap_or(0)) {
            let (page, unit) = self.page(file, page, options.read_ahead_pages);
            self.batch.push(Access { page, group, subject, unit, file, is_first });
            is_first = false;
        }
        count - counted
    }
}

/// All views of a recording.
#[derive(Debug)]
pub(super) struct Accumulation {
    pub(super) views: Vec<View>,
    caches: Vec<CacheModels>,
    pub(super) flushes: HashMap<(Option<u32>, StringId), (u64, i64)>,
    pub(super) reads_at_end: u64,
    pub(super) empty_requests: u64,
    pub(super) failed: u64,
    pub(super) uncounted_pages: u64,
    device: DeviceFitter,
}

impl Accumulation {
    pub(super) fn new(trace: &Trace, scope: &Scope, options: &IoOptions) -> Self {
        let kinds = [IoOrigin::Application, IoOrigin::Paging, IoOrigin::Device]
            .into_iter()
            .flat_map(|level| [(level, false), (level, true)]);
        let views: Vec<View> = kinds.map(|(level, is_write)| View::new(level, is_write, options)).collect();
        let accesses = accesses_by_view(trace, scope, options);
        let caches = views.iter().zip(accesses).map(|(view, accesses)| {
            CacheModels::new(view.level, view.is_write, view.subjects.is_some(), options, accesses)
        });
        let caches = caches.collect();
        let mut accumulation = Self {
            views,
            caches,
            flushes: HashMap::new(),
            reads_at_end: 0,
            empty_requests: 0,
            failed: 0,
            uncounted_pages: 0,
            device: DeviceFitter::default(),
        };
        let mut requests = Requests::new(trace, scope);
        let mut batch: Vec<Vec<Access>> = accumulation.views.iter().map(|_| Vec::new()).collect();
        loop {
            // The models process the previous batch at the same time.
            let mut caches = std::mem::take(&mut accumulation.caches);
            let process_batch = || {
                for (caches, batch) in caches.iter_mut().zip(&mut batch) {
                    caches.process(batch);
                }
            };
            let (has_more, ()) =
                rayon::join(|| accumulation.collect_batch(trace, &mut requests, options), process_batch);
            accumulation.caches = caches;
            for (view, batch) in accumulation.views.iter_mut().zip(&mut batch) {
                std::mem::swap(&mut view.batch, batch);
            }
            if !has_more && batch.iter().all(Vec::is_empty) {
                return accumulation;
            }
        }
    }

    /// Counts the next requests and returns true if there are more.
    fn collect_batch(&mut self, trace: &Trace, requests: &mut Requests<'_>, options: &IoOptions) -> bool {
        let sizes = (BlockSize::new(options.page_bytes), BlockSize::new(options.buffer_bytes));
        let mut batch = Vec::with_capacity(PREFETCHED_REQUESTS);
        loop {
            batch.clear();
            let mut pages = 0;
            while batch.len() < PREFETCHED_REQUESTS
                && pages < BATCH_LEN as u64
                && let Some(item) = requests.next()
            {
                match item {
                    Ok(request) => {
                        pages += counted_pages(sizes.0, request.offset, request.length);
                        batch.push(request);
                    }
                    Err((OtherOperation::AtEnd, _)) => self.reads_at_end += 1,
                    Err((OtherOperation::Empty, _)) => self.empty_requests += 1,
                    Err((OtherOperation::Failed, _)) => self.failed += 1,
                    Err((OtherOperation::Flush, flush)) => {
                        let (count, time_ns) = self.flushes.entry((flush.pid, flush.file)).or_default();
                        *count += 1;
                        *time_ns = time_ns.saturating_add(flush.duration_ns.unwrap_or(0));
                    }
                    Err((OtherOperation::Other, _)) => {}
                }
            }
            if batch.is_empty() {
                return false;
            }
            let first_accesses: Vec<usize> = self.views.iter().map(|view| view.batch.len()).collect();
            self.views.iter().for_each(|view| view.prepare(&batch, sizes.0));
            batch.iter().for_each(|request| self.add(trace, request, options, sizes));
            self.views.iter_mut().zip(first_accesses).for_each(|(view, first_access)| view.touch(first_access));
            if self.views.iter().any(|view| view.batch.len() >= BATCH_LEN) {
                return true;
            }
        }
    }

    fn add(&mut self, trace: &Trace, request: &Request, options: &IoOptions, sizes: (BlockSize, BlockSize)) {
        let Some(view) = self.views.get_mut(view_index(request.level, request.is_write)) else { return };
        self.uncounted_pages += view.add(trace, request, options, sizes);
        self.device.add(request);
    }

    /// Returns the device model fitted to the reads of the device.
    pub(super) fn fit_device(&mut self) -> Option<DeviceFit> {
        std::mem::take(&mut self.device).finish()
    }

    /// Returns the groups of application requests in one direction by process and file, most requests first, with the
    /// curves of the first groups.
    pub(super) fn subjects(&mut self, trace: &Trace, options: &IoOptions, is_write: bool) -> Vec<IoGroup> {
        let views = self.views.iter_mut().zip(&self.caches);
        let view = views.into_iter().find(|(view, _)| (view.level, view.is_write) == (IoOrigin::Application, is_write));
        let Some((view, caches)) = view else { return Vec::new() };
        let groups = match &mut view.subjects {
            Some(subjects) => {
                subjects.compute_curves(trace, caches.subject_accesses.as_ref());
                subjects
            }
            None => {
                view.groups.compute_curves(trace, caches.group_accesses.as_ref());
                &mut view.groups
            }
        };
        groups.finish(trace, options)
    }

    pub(super) fn finish(self, trace: &Trace, options: &IoOptions, device: Option<StorageDevice>) -> Vec<IoView> {
        let page_bytes = options.page_bytes.max(1);
        let views = self.views.into_iter().zip(self.caches).filter(|(view, _)| view.table.requests > 0);
        views
            .map(|(mut view, caches)| {
                let mut table = view.table;
                table.finish(page_bytes, options.key_blocks);
                let (cache, with_keys) = caches.pages.finish();
                let is_application = view.level == IoOrigin::Application;
                if is_application {
                    view.groups.compute_curves(trace, caches.group_accesses.as_ref());
                }
                IoView {
                    level: view.level.as_str(),
                    direction: if view.is_write { "write" } else { "read" },
                    histogram: view.histogram.finish(),
                    patterns: view.groups.patterns(),
                    filter: is_application
                        .then(|| filter::costs(&table, &cache, page_bytes, options.key_blocks, device)),
                    cache_with_read_ahead: caches
                        .read_ahead
                        .map(|model| model.finish().0.in_pages(options.read_ahead_pages)),
                    cache_with_key_blocks: (caches.key_blocks > 0).then_some(with_keys),
                    cache,
                    table,
                    groups: view.groups.finish(trace, options),
                }
            })
            .collect()
    }
}
