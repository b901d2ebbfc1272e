//! Reads a recording as a stream of events in time order, with names resolved.
//!
//! The recording is read twice. The first pass, parallel and without decoding, collects information about earlier
//! events: processes that existed from the beginning, and the meaning of stack and file keys over time. The second pass
//! visits the events one by one. Memory does not grow with the number of events. Schemas come from the end of each file
//! and from the events visited so far.

mod activities;
mod coverage;
mod dotnet_stacks;
mod follower;
mod kinds;
mod look_ahead;
mod parallel;
mod values;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hashbrown::HashSet;
use onoff_etl::{BufferScratch, ExtendedItem, Guid, HeaderKind, Record, Recording, Window};
use onoff_etw::kernel::{CounterConfiguration, KernelPayload, Stack};
use onoff_etw::{Fields, SchemaSource, Schemas, Sid, Value};
use onoff_trace::{
    DerivedValues, DescribedEvent, EventContext, EventOrigin, EventSchema, Losses, StreamHeader, TableSet, Trace,
};

use rayon::prelude::*;

use super::deferred_records::DeferredRecords;
use super::names::kernel_hook;
use super::{counters, losses, schemas};
use activities::SelectedActivities;
use coverage::Coverage;
use follower::{Attribution, Follower};
use kinds::Kinds;
use look_ahead::LookAhead;
use onoff_input::error::Error;
use onoff_input::event_filter::{EventFilter, StreamResult};
use onoff_input::opened::Files;
use onoff_input::options::{Options, Progress};
use onoff_input::sniff::RecordingKind;

pub use parallel::{BATCH_EVENTS, EventWriter, parallel_writers};

/// Bytes at the end of each file that are searched for schemas before the first event.
const LOOK_AHEAD_BYTES: usize = 32 << 20;

/// Bytes between two releases of file memory and progress reports.
const STEP_BYTES: usize = 16 << 20;

/// Microsoft-Windows-Kernel-Process.
const KERNEL_PROCESS: Guid = Guid::from_u128(0x22fb2cd6_0e7b_422b_a0c7_2fad1fd0e716);

/// A recording as a stream of events.
pub struct EventStream<'f> {
    files: &'f Files,
    recording: Recording<'f>,
    schemas: Schemas,
    follower: Follower,
    has_looked_ahead: bool,
    stack_fields: bool,
    selection: SelectedEvents,
    header: StreamHeader,
}

impl<'f> EventStream<'f> {
    /// Opens the stream of a recording whose files are open.
    ///
    /// # Errors
    /// Files that are not a recording, or a user-supplied schema that is invalid.
    pub fn open(files: &'f Files, options: &Options) -> Result<Self, Error> {
        files.require_kind(RecordingKind::EventTraceLog)?;
        let recording = Recording::open(&files.inputs())?;
        let schemas = schemas::initial(&recording, options)?;
        let header = header(&recording, files);
        Ok(Self {
            files,
            recording,
            schemas,
            follower: Follower::new(),
            has_looked_ahead: false,
            stack_fields: true,
            selection: SelectedEvents::default(),
            header,
        })
    }

    /// Returns call stacks only as [`DerivedValues::frames`] and not as fields, which makes a stream of stacks a third
    /// faster.
    #[must_use]
    pub fn without_stack_fields(mut self) -> Self {
        self.stack_fields = false;
        self
    }

    #[must_use]
    pub fn header(&self) -> &StreamHeader {
        &self.header
    }

    /// Reads the whole recording to find its events and their fields. Afterwards all schemas are known, wherever they
    /// are in the file. Returns the events that `filter` may select, sorted by name. Read the stream with the same filter.
    pub fn survey(&mut self, filter: &EventFilter) -> Vec<EventSchema> {
        let mut survey = KindSurvey::new(filter);
        self.read_ahead(Some(&mut survey));
        let is_complete = survey.columns.len() < MAX_KINDS;
        if is_complete && !survey.columns.values().any(|schema| may_need_state(schema.origin)) {
            self.selection = SelectedEvents::WithoutState { count: survey.selected_events };
        }
        let counters = counter_columns(&self.follower.counter_names, survey.max_counters);
        survey.columns.into_values().chain(counters).collect()
    }

    /// True unless a survey found so few events to describe that several threads are not worth it.
    #[must_use]
    pub fn has_many_events(&self) -> bool {
        match self.selection {
            SelectedEvents::Any => true,
            SelectedEvents::WithoutState { count } => count > BATCH_EVENTS,
        }
    }

    fn look_ahead(&mut self) {
        if !self.has_looked_ahead {
            self.read_ahead(None);
        }
    }

    /// Runs the first pass: collects schemas from the last buffers of each file, and key definitions and long-lived
    /// processes from the whole recording. Windows are scanned in parallel, and their deferred records are processed in
    /// order.
    fn read_ahead(&mut self, mut survey: Option<&mut KindSurvey<'_>>) {
        self.has_looked_ahead = true;
        let Self { files, recording, schemas, follower, .. } = self;
        read_file_ends(recording, schemas, follower);
        let mut ahead = LookAhead::default();
        let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
        let windows = recording.windows((bytes / STEP_BYTES).max(1));
        for window_batch in windows.chunks(rayon::current_num_threads().max(1)) {
            let every_kind = survey.is_some();
            let scans: Vec<WindowScan> =
                window_batch.par_iter().map(|window| WindowScan::new(window, every_kind)).collect();
            for (window, scan) in window_batch.iter().zip(scans) {
                for record in scan.deferred.iter() {
                    match kernel_hook(&record) {
                        Some(hook) if look_ahead::needs(hook) => follower.look_ahead(hook, &record, &mut ahead),
                        Some(_) => {}
                        None => {
                            schemas.observe(&record);
                            if let Some((step, pid, image)) = provider_process(&record, schemas) {
                                ahead.on_process(pid, step == ProcessStep::Start, &image, &mut follower.directory);
                            }
                        }
                    }
                    if let Some(survey) = &mut survey {
                        survey.on_record(&record, schemas);
                    }
                }
                if let Some(survey) = &mut survey {
                    survey.max_counters = survey.max_counters.max(scan.max_counters);
                }
                for range in window.releasable_ranges() {
                    files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
                }
            }
        }
        follower.define(ahead.definitions);
    }

    /// Calls `visit` with every event selected by `filter`, in time order, until it breaks.
    pub fn for_each<B>(
        mut self,
        filter: &EventFilter,
        options: &Options,
        mut visit: impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> StreamResult<B> {
        self.look_ahead();
        let Self { files, recording, schemas, follower, stack_fields, selection, .. } = self;
        let mut walker = Walker::new(&recording, schemas, follower, filter, stack_fields, selection);
        let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
        let windows = recording.windows((bytes / STEP_BYTES).max(1));
        let total_bytes = windows.iter().map(|window| window.size() as u64).sum();
        let mut done_bytes = 0;
        let mut walk_losses = onoff_etl::Losses::default();
        let mut outcome = ControlFlow::Continue(());
        for window in windows {
            let walk = window.for_each(|record| walker.visit(record, &mut visit));
            walk_losses.merge(&walk.losses);
            match walk.outcome {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(End::Range) => break,
                ControlFlow::Break(End::Visitor(value)) => {
                    outcome = ControlFlow::Break(value);
                    break;
                }
            }
            done_bytes += window.size() as u64;
            for range in window.releasable_ranges() {
                files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
            }
            options.report(Progress { done_bytes, total_bytes });
        }
        let mut losses = Losses::new();
        losses::count(&recording, &walk_losses, &mut losses);
        schemas::count(&walker.schemas, &mut losses);
        losses.merge(walker.losses);
        StreamResult { outcome, visited: walker.visited, losses }
    }

    /// Visits events like [`Self::for_each`], but also reads the `wanted` tables in the same pass. Reading continues to
    /// the end of the recording after `visit` breaks. The losses are the losses of the tables.
    ///
    /// # Errors
    /// A user-supplied schema that is invalid.
    pub fn for_each_with_tables<B>(
        mut self,
        wanted: TableSet,
        filter: &EventFilter,
        options: &Options,
        mut visit: impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> Result<(StreamResult<B>, Trace), Error> {
        self.look_ahead();
        let Self { files, recording, schemas, follower, stack_fields, selection, .. } = self;
        let mut walker = Walker::new(&recording, schemas, follower, filter, stack_fields, selection);
        let mut end = None;
        let mut observe = |record: &Record<'_>| {
            if end.is_none()
                && let ControlFlow::Break(reason) = walker.visit(record, &mut visit)
            {
                end = Some(reason);
            }
        };
        let schemas = schemas::initial(&recording, options)?;
        let trace = super::read(&recording, files, wanted, schemas, options, Some(&mut observe));
        let outcome = match end {
            Some(End::Visitor(value)) => ControlFlow::Break(value),
            Some(End::Range) | None => ControlFlow::Continue(()),
        };
        Ok((StreamResult { outcome, visited: walker.visited, losses: trace.losses.clone() }, trace))
    }
}

impl std::fmt::Debug for EventStream<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EventStream").field("header", &self.header).finish_non_exhaustive()
    }
}

/// What a survey found about the events that a filter selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SelectedEvents {
    /// Events of any kind, or no survey.
    #[default]
    Any,
    /// Only events that do not depend on earlier kernel events, except for the names of processes, threads and modules.
    WithoutState { count: u64 },
}

/// True if events of an origin can have values that are derived from earlier kernel events.
fn may_need_state(origin: EventOrigin) -> bool {
    !matches!(origin, EventOrigin::Manifest | EventOrigin::TraceLogging | EventOrigin::Message)
}

/// Reason why a walk ended early.
enum End<B> {
    Range,
    Visitor(B),
}

struct Walker<'w> {
    clock: &'w onoff_etl::Clock,
    schemas: Schemas,
    follower: Follower,
    kinds: Kinds,
    filter: &'w EventFilter,
    activities: SelectedActivities,
    stack_fields: bool,
    /// False if no selected event depends on earlier kernel events.
    tracks_state: bool,
    /// Buffer for decoded fields, reused for every event.
    scratch: Fields<'static>,
    /// Buffer for displayed fields, reused for every event.
    shown_fields: values::FieldBuffer<'static>,
    /// Buffer for return addresses.
    frames: Vec<u64>,
    /// Buffer for hardware counter values.
    counters: Vec<u64>,
    visited: u64,
    /// Events that could not be described in full.
    losses: Losses,
}

/// Result of a survey.
struct KindSurvey<'q> {
    filter: &'q EventFilter,
    kinds: Kinds,
    /// Hooks and versions of kernel events seen.
    hooks: HashSet<(u16, u16)>,
    /// Schemas by kind of event: a better name found later replaces an earlier one.
    columns: BTreeMap<(String, u16, u16, usize), EventSchema>,
    scratch: Fields<'static>,
    /// Maximum number of hardware counters in an event.
    max_counters: usize,
    /// Number of selected events, without kernel events.
    selected_events: u64,
}

/// Deferred records of a window in the first pass.
#[derive(Debug, Default)]
struct WindowScan {
    /// Kernel events needed for the first pass. For a survey, also the first event of every other kind of kernel event,
    /// and all other events.
    deferred: DeferredRecords,
    max_counters: usize,
}

impl WindowScan {
    fn new(window: &Window<'_>, every_kind: bool) -> Self {
        let mut scan = Self::default();
        let mut hooks = HashSet::new();
        // Losses are counted in the second pass.
        let _ = window.for_each(|record| {
            scan.max_counters = scan.max_counters.max(record.hardware_counters().len());
            let is_kept = match kernel_hook(record) {
                Some(hook) => look_ahead::needs(hook) || every_kind && hooks.insert((hook, record.version())),
                None => every_kind || process_step(record).is_some(),
            };
            if is_kept {
                scan.deferred.push(record);
            }
            ControlFlow::<()>::Continue(())
        });
        scan
    }
}

/// Returns the columns of hardware counter rows, named as in the configuration event; `None` without counters.
fn counter_columns(names: &[Box<str>], min_columns: usize) -> Option<EventSchema> {
    let fields: Vec<String> = (0..names.len().max(min_columns))
        .map(|index| names.get(index).map_or_else(|| format!("Counter {}", index + 1), |name| name.to_string()))
        .collect();
    let origin = EventOrigin::Kernel { hook: CounterConfiguration::HOOK };
    (!fields.is_empty()).then(|| EventSchema { name: "Pmc".to_owned(), origin, described: true, fields })
}

/// Maximum number of kinds in a survey; further kinds are announced when they occur.
const MAX_KINDS: usize = 1 << 16;

impl<'q> KindSurvey<'q> {
    fn new(filter: &'q EventFilter) -> Self {
        let (kinds, hooks, columns, scratch) = (Kinds::default(), HashSet::new(), BTreeMap::new(), Fields::new());
        Self { filter, kinds, hooks, columns, scratch, max_counters: 0, selected_events: 0 }
    }

    fn on_record(&mut self, record: &Record<'_>, schemas: &Schemas) {
        match kernel_hook(record) {
            Some(hook) if !self.hooks.insert((hook, record.version())) => return,
            Some(_) => {}
            None if schemas::describes_others(record) => self.kinds.clear(),
            None => {}
        }
        let kind = self.kinds.kind_of(record, schemas, self.filter);
        if !kind.selected || self.columns.len() >= MAX_KINDS {
            return;
        }
        self.selected_events += 1;
        let (name, origin, id, described) = (&*kind.name, kind.origin, kind.id, kind.described);
        // Nearly all records are of a known kind; this check avoids building its names.
        if kind.surveyed.replace(true) {
            return;
        }
        let mut decoded = std::mem::take(&mut self.scratch).reuse();
        schemas.decode(record, &mut decoded);
        let fields: Vec<String> =
            decoded.iter().map(|field| title(&field, schemas.count_field(record, field.name()))).collect();
        let key = (name.to_owned(), id, record.version(), fields.len());
        self.columns.insert(key, EventSchema { name: name.to_owned(), origin, described, fields });
        self.scratch = decoded.reuse();
    }
}

/// Returns the title of a field: its name, the field with the number of elements if it is an array, and the names of the
/// members if it is a structure.
fn title(field: &onoff_etw::Field<'_, '_>, count_field: Option<&str>) -> String {
    let structure = match field.value() {
        Value::Array => field.children().next(),
        _ => Some(*field),
    };
    let structure = structure.filter(|structure| matches!(structure.value(), Value::Struct));
    let members: Vec<&str> =
        structure.iter().flat_map(onoff_etw::Field::children).map(|member| member.name()).collect();
    let count = count_field.map(|count| format!("[{count}]")).unwrap_or_default();
    let members = if members.is_empty() { String::new() } else { format!(" {{{}}}", members.join("; ")) };
    format!("{}{count}{members}", field.name())
}

/// Reads the last buffers of each file, where recorders write schemas and drive letters.
fn read_file_ends(recording: &Recording<'_>, schemas: &mut Schemas, follower: &mut Follower) {
    let mut scratch = BufferScratch::default();
    for file in 0..recording.files().len() {
        let mut budget = LOOK_AHEAD_BYTES;
        let file_buffers = recording.buffers().iter().rev().filter(|buffer| buffer.file == file);
        for buffer in file_buffers {
            let Some(remaining) = budget.checked_sub(buffer.fill) else { break };
            budget = remaining;
            // Losses are counted in the second pass.
            let _ = recording.for_each_in_buffer(buffer, &mut scratch, |record| {
                schemas.observe(record);
                if kernel_hook(record).is_none() {
                    follower.on_other_record(record);
                }
                ControlFlow::<()>::Continue(())
            });
        }
    }
}

impl<'w> Walker<'w> {
    fn new(
        recording: &'w Recording<'_>,
        schemas: Schemas,
        follower: Follower,
        filter: &'w EventFilter,
        stack_fields: bool,
        selection: SelectedEvents,
    ) -> Self {
        let (clock, kinds, scratch) = (recording.clock(), Kinds::default(), Fields::new());
        let (shown_fields, frames, counters) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            clock,
            schemas,
            follower,
            kinds,
            filter,
            activities: SelectedActivities::new(&filter.activities),
            stack_fields,
            tracks_state: selection == SelectedEvents::Any,
            scratch,
            shown_fields,
            frames,
            counters,
            visited: 0,
            losses: Losses::new(),
        }
    }

    fn visit<B>(
        &mut self,
        record: &Record<'_>,
        visit: &mut impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<End<B>> {
        match self.follow(record)? {
            Some(attribution) => self.describe(record, &attribution, visit),
            None => ControlFlow::Continue(()),
        }
    }

    /// Updates the tracked state from the record. Returns its attribution if the filter selects its time and process.
    fn follow<B>(&mut self, record: &Record<'_>) -> ControlFlow<End<B>, Option<Attribution>> {
        let time_ns = record.time_ns();
        if self.filter.until_ns.is_some_and(|until| time_ns >= until) {
            return ControlFlow::Break(End::Range);
        }
        let hook = kernel_hook(record);
        if !self.tracks_state && hook.is_some_and(|hook| !Follower::changes_names(hook)) {
            return ControlFlow::Continue(None);
        }
        let attribution = self.follower.follow(hook, record, self.clock);
        if hook.is_none() {
            self.learn(record);
        }
        // An activity can start before the time range, so every event has to be looked at.
        let is_of_activity = self.activities.includes(record);
        let is_wanted = is_of_activity
            && self.filter.from_ns.is_none_or(|from| time_ns >= from)
            && self.is_about_selected_process(&attribution);
        ControlFlow::Continue(is_wanted.then_some(attribution))
    }

    /// Updates the tracked state from a record that a different thread describes.
    fn follow_only<B>(&mut self, record: &Record<'_>) -> ControlFlow<End<B>> {
        if kernel_hook(record).is_some_and(|hook| !Follower::changes_state(hook)) {
            let is_over = self.filter.until_ns.is_some_and(|until| record.time_ns() >= until);
            return if is_over { ControlFlow::Break(End::Range) } else { ControlFlow::Continue(()) };
        }
        self.follow(record).map_continue(|_| ())
    }

    /// Calls `visit` with the event if the filter selects its kind.
    fn describe<B>(
        &mut self,
        record: &Record<'_>,
        attribution: &Attribution,
        visit: &mut impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<End<B>> {
        let time_ns = record.time_ns();
        let kind = self.kinds.kind_of(record, &self.schemas, self.filter);
        if !kind.selected {
            return ControlFlow::Continue(());
        }
        self.visited += 1;
        let stack = stack(record);
        let (payload, pointer_size) = (record.payload(), record.pointer_size());
        let digits = if pointer_size == 4 { 8 } else { 16 };
        self.frames.clear();
        if let Some(stack) = &stack {
            self.frames.extend(stack.frames.iter());
        }
        let frames = match stack {
            Some(_) => Some(&*self.frames),
            None => attribution.stack_key.and_then(|key| {
                let frames = self.follower.stack(key, time_ns);
                self.losses.add(&counters::STACK_KEY_UNKNOWN, u64::from(frames.is_none()));
                frames
            }),
        };
        let mut decoded = std::mem::take(&mut self.scratch).reuse();
        let mut fields = values::reuse(std::mem::take(&mut self.shown_fields));
        let is_exact = match (&stack, &kind.fixed) {
            (Some(_), _) if !self.stack_fields => true,
            (Some(stack), _) if is_complete_stack(record, stack) => {
                values::add_stack(stack, &self.frames, digits, &mut fields);
                true
            }
            (None, Some(fixed)) if fixed.fits(payload, pointer_size) => {
                values::add_numbers(fixed, payload, digits, &mut fields);
                true
            }
            _ => {
                let result = self.schemas.decode(record, &mut decoded);
                if result.source == SchemaSource::Wpp {
                    schemas::count_unknown_message(record, 1, &self.schemas, &mut self.losses);
                }
                values::add_fields(&decoded, pointer_size, &mut fields);
                result.is_exact()
            }
        };
        self.counters.clear();
        self.counters.extend(record.hardware_counters());
        let directory = &self.follower.directory;
        let event = DescribedEvent {
            time_ns,
            unix_ns: Some(self.clock.unix_ns(time_ns)),
            cpu: record.cpu(),
            pid: attribution.pid,
            tid: attribution.tid,
            origin: kind.origin,
            provider: &kind.provider,
            guid: &kind.guid,
            name: &kind.name,
            task: &kind.task,
            opcode_name: &kind.opcode_name,
            id: kind.id,
            opcode: record.opcode(),
            version: record.version(),
            level: kind.level.unwrap_or(record.level()),
            keyword: record.descriptor().map_or(0, |descriptor| descriptor.keyword),
            task_number: record.descriptor().map_or(0, |descriptor| descriptor.task),
            channel: record.descriptor().map_or(0, |descriptor| descriptor.channel),
            size: u32::try_from(record.size()).unwrap_or(u32::MAX),
            payload_size: u32::try_from(record.payload().len()).unwrap_or(u32::MAX),
            fields: &fields,
            described: kind.described,
            complete: is_exact,
            derived: DerivedValues {
                elapsed_ns: attribution.elapsed_ns,
                service_ns: attribution.service_ns,
                since_last_ns: attribution.since_last_ns,
                ran_ns: attribution.ran_ns,
                old_state: attribution.old_state,
                old_wait_reason: attribution.old_wait_reason,
                stack_event_ns: attribution.stack_of_ns,
                file: [attribution.file_key, attribution.file_object]
                    .into_iter()
                    .flatten()
                    .find_map(|key| directory.file(key)),
                logging_pid: attribution.logging_pid,
                logging_tid: attribution.logging_tid,
                operation: attribution.operation,
                file_object: attribution.file_object,
                frames,
                frame_digits: frames.map_or(0, |_| digits),
                counters: &self.counters,
                counter_names: &self.follower.counter_names,
            },
            context: match record.kind() {
                HeaderKind::Event => context(record),
                _ => EventContext::default(),
            },
            directory,
        };
        let outcome = visit(&event);
        self.shown_fields = values::reuse(fields);
        self.scratch = decoded.reuse();
        match outcome {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(value) => ControlFlow::Break(End::Visitor(value)),
        }
    }

    /// Learns schemas, drive letters, and processes of the Kernel-Process provider.
    fn learn(&mut self, record: &Record<'_>) {
        self.schemas.observe(record);
        self.follower.on_other_record(record);
        if schemas::describes_others(record) {
            self.kinds.clear();
        }
        if let Some((step, pid, image)) = provider_process(record, &self.schemas)
            // An end event has only the first 14 characters of the name, so it is used only if there is no other name.
            && (step != ProcessStep::End || self.follower.directory.process(pid).is_none())
        {
            self.follower.directory.set_process(pid, &image);
        }
    }

    fn is_about_selected_process(&self, attribution: &Attribution) -> bool {
        let patterns = &self.filter.processes;
        patterns.is_empty()
            || [attribution.pid, attribution.other_pid].into_iter().flatten().any(|pid| {
                let name = self.follower.directory.process(pid);
                patterns.iter().any(|pattern| pattern.is_number(pid) || name.is_some_and(|name| pattern.matches(name)))
            })
    }
}

/// Kind of a Microsoft-Windows-Kernel-Process event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessStep {
    Start,
    End,
    Rundown,
}

/// Returns the kind of the record if it is a process event of Microsoft-Windows-Kernel-Process.
fn process_step(record: &Record<'_>) -> Option<ProcessStep> {
    let id = record.descriptor().filter(|_| record.class_guid() == Some(KERNEL_PROCESS))?.id;
    match id {
        1 => Some(ProcessStep::Start),
        2 => Some(ProcessStep::End),
        15 => Some(ProcessStep::Rundown),
        _ => None,
    }
}

/// Returns the kind, the process id and the image file name of a Microsoft-Windows-Kernel-Process event.
fn provider_process(record: &Record<'_>, schemas: &Schemas) -> Option<(ProcessStep, u32, String)> {
    let step = process_step(record)?;
    let mut fields = Fields::new();
    schemas.decode(record, &mut fields);
    let pid = fields.get("ProcessID")?.as_u32()?;
    let image = fields.get("ImageName")?.as_text()?;
    Some((step, pid, image.rsplit('\\').next().unwrap_or(&image).to_owned()))
}

/// Reads the record as a call stack.
fn stack<'b>(record: &Record<'b>) -> Option<Stack<'b>> {
    let hook = kernel_hook(record).filter(|&hook| hook == Stack::HOOK)?;
    Stack::read(KernelPayload::new(hook, record.version(), record.payload(), record.pointer_size()))
}

/// Version of the call stack event that [`values::add_stack`] supports.
const STACK_VERSION: u16 = 2;

/// True if `stack` covers the whole record according to its schema, i.e. the last address is not truncated.
fn is_complete_stack(record: &Record<'_>, stack: &Stack<'_>) -> bool {
    const HEADER_BYTES: usize = 16;
    let size = stack.frames.len().saturating_mul(record.pointer_size()).saturating_add(HEADER_BYTES);
    record.hook().is_some() && record.version() == STACK_VERSION && record.payload().len() == size
}

/// Reads the context from the header and the extended items of a manifest event.
fn context(record: &Record<'_>) -> EventContext {
    let (activity, related_activity) = activities::of(record);
    let mut context = EventContext { activity, related_activity, ..EventContext::default() };
    for item in record.extended_items() {
        match item.kind {
            ExtendedItem::SID => {
                context.user_sid = Sid::split(item.data).map(|(user, _)| user.to_string());
            }
            ExtendedItem::TERMINAL_SESSION_ID => {
                context.session = item.data.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
            }
            _ => {}
        }
    }
    context
}

fn header(recording: &Recording<'_>, files: &Files) -> StreamHeader {
    let header = recording.header();
    let clock = recording.clock();
    let finished = recording.files().iter().all(|file| file.is_finished);
    let coverage = Coverage::from_recording(recording);
    StreamHeader {
        os_version: (header.os_version.0, header.os_version.1, header.os_build),
        pointer_bytes: u8::try_from(header.pointer_size).unwrap_or(0),
        bytes: files.iter().map(|file| file.bytes().len() as u64).sum(),
        events_lost: super::total(recording, |header| header.events_lost),
        buffers_lost: super::total(recording, |header| header.buffers_lost),
        start_unix_ns: Some(clock.start_unix_ns()),
        utc_bias_minutes: Some(header.time_zone.bias_minutes),
        duration_ns: finished.then(|| recording.duration_ns()),
        complete_from_ns: coverage.events_ns,
        switches_complete_from_ns: coverage.switches_ns,
        name: recording.files().first().map(|file| file.name.clone()).unwrap_or_default(),
    }
}
