//! Events one by one in the order of time, each with everything named, as they are read.
//!
//! The recording is read twice: first for what explains events before it (processes that were there all along, what
//! keys of stacks and files stand for at which time), side by side and without describing anything, then event by
//! event. Memory does not grow with the events. Schemas are those at the end of each file and those met so far.

mod ahead;
mod follower;
mod kinds;
mod reliable;
mod side_by_side;
mod values;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hashbrown::HashSet;
use onoff_etl::{BufferSpace, ExtendedItem, Guid, HeaderKind, Record, Recording, Window};
use onoff_etw::kernel::{CounterConfiguration, KernelPayload, Stack};
use onoff_etw::{Fields, Schemas, Sid, Value};
use onoff_trace::{
    Derived, DescribedEvent, EventColumns, EventContext, EventOrigin, Losses, StreamHeader, Tables, Trace,
};

use rayon::prelude::*;

use super::names::kernel_hook;
use super::set_aside::SetAside;
use super::{counters, losses, schemas};
use ahead::LookAhead;
use follower::{Followed, Follower};
use kinds::Kinds;
use onoff_input::error::Error;
use onoff_input::event_filter::{EventFilter, StreamEnd};
use onoff_input::opened::Files;
use onoff_input::options::{Options, Progress};
use onoff_input::sniff::RecordingKind;
use reliable::Reliable;

pub use side_by_side::{EventWriter, STRETCH_EVENTS, writers_at_once};

/// Bytes of records at the end of each file that are searched for schemas before the first event.
const LOOK_AHEAD_BYTES: usize = 32 << 20;

/// Bytes of records after which memory is given back and progress told.
const STEP_BYTES: usize = 16 << 20;

/// Microsoft-Windows-Kernel-Process.
const KERNEL_PROCESS: Guid = Guid::from_u128(0x22fb2cd6_0e7b_422b_a0c7_2fad1fd0e716);

/// A recording as a stream of events.
pub struct EventStream<'f> {
    files: &'f Files,
    recording: Recording<'f>,
    schemas: Schemas,
    follower: Follower,
    looked_ahead: bool,
    stack_fields: bool,
    header: StreamHeader,
}

impl<'f> EventStream<'f> {
    /// Opens the stream of a recording whose files are open.
    ///
    /// # Errors
    /// Files that are no recording, or a schema of the user's that cannot be used.
    pub fn open(files: &'f Files, options: &Options) -> Result<Self, Error> {
        files.must_be(RecordingKind::EventTraceLog)?;
        let recording = Recording::open(&files.inputs())?;
        let schemas = schemas::known(options)?;
        let header = header(&recording, files);
        Ok(Self {
            files,
            recording,
            schemas,
            follower: Follower::new(),
            looked_ahead: false,
            stack_fields: true,
            header,
        })
    }

    /// The same with call stacks as [`Derived::frames`] alone, not as fields too: a stream of stacks takes a third less
    /// time so.
    #[must_use]
    pub fn without_stack_fields(mut self) -> Self {
        self.stack_fields = false;
        self
    }

    /// What is known before the first event.
    #[must_use]
    pub fn header(&self) -> &StreamHeader {
        &self.header
    }

    /// Reads through the recording for what it holds: which events, with which fields. All schemas are known
    /// afterwards, wherever they were notified. Gives the events that `filter` may choose, in the order of their names.
    pub fn survey(&mut self, filter: &EventFilter) -> Vec<EventColumns> {
        let mut surveyed = Surveyed::of(filter);
        self.read_ahead(Some(&mut surveyed));
        let counters = counter_columns(&self.follower.counter_names, surveyed.most_counters);
        surveyed.columns.into_values().chain(counters).collect()
    }

    fn look_ahead(&mut self) {
        if !self.looked_ahead {
            self.read_ahead(None);
        }
    }

    /// Reads through the recording for what explains its events: schemas in the last buffers of each file, and wherever
    /// they are what was there all the time and what keys stand for. Windows are read side by side, and what they set
    /// aside is looked at in order.
    fn read_ahead(&mut self, mut surveyed: Option<&mut Surveyed<'_>>) {
        self.looked_ahead = true;
        let Self { files, recording, schemas, follower, .. } = self;
        look_at_ends(recording, schemas, follower);
        let mut ahead = LookAhead::default();
        let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
        let windows = recording.windows((bytes / STEP_BYTES).max(1));
        for wave in windows.chunks(rayon::current_num_threads().max(1)) {
            let of_every_kind = surveyed.is_some();
            let pieces: Vec<WindowAhead> =
                wave.par_iter().map(|window| WindowAhead::of(window, of_every_kind)).collect();
            for (window, piece) in wave.iter().zip(pieces) {
                for record in piece.aside.iter() {
                    match kernel_hook(&record) {
                        Some(hook) if ahead::needs(hook) => follower.look_ahead(hook, &record, &mut ahead),
                        Some(_) => {}
                        None => {
                            schemas.observe(&record);
                            if let Some((step, pid, image)) = provider_process(&record, schemas) {
                                ahead.process(pid, step == ProcessStep::Start, &image, &mut follower.directory);
                            }
                        }
                    }
                    if let Some(surveyed) = &mut surveyed {
                        surveyed.take(&record, schemas);
                    }
                }
                if let Some(surveyed) = &mut surveyed {
                    surveyed.most_counters = surveyed.most_counters.max(piece.most_counters);
                }
                for range in window.finished_ranges() {
                    files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
                }
            }
        }
        follower.define(ahead.definitions);
    }

    /// Gives every event that `filter` chooses to `visit`, in the order of time, until it breaks.
    pub fn for_each<B>(
        mut self,
        filter: &EventFilter,
        options: &Options,
        mut visit: impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> StreamEnd<B> {
        self.look_ahead();
        let Self { files, recording, schemas, follower, stack_fields, .. } = self;
        let mut walker = Walker::new(&recording, schemas, follower, filter, stack_fields);
        let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
        let windows = recording.windows((bytes / STEP_BYTES).max(1));
        let total_bytes = windows.iter().map(|window| window.size() as u64).sum();
        let mut done_bytes = 0;
        let mut walked = onoff_etl::Losses::default();
        let mut outcome = ControlFlow::Continue(());
        for window in windows {
            let walk = window.for_each(|record| walker.visit(record, &mut visit));
            walked.merge(&walk.losses);
            match walk.outcome {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(End::OfRange) => break,
                ControlFlow::Break(End::Visitor(value)) => {
                    outcome = ControlFlow::Break(value);
                    break;
                }
            }
            done_bytes += window.size() as u64;
            for range in window.finished_ranges() {
                files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
            }
            options.report(Progress { done_bytes, total_bytes });
        }
        let mut losses = Losses::new();
        losses::count(&recording, &walked, &mut losses);
        schemas::count(&walker.schemas, &mut losses);
        losses.add(&counters::STACK_KEY_UNKNOWN, walker.unknown_stacks);
        StreamEnd { outcome, shown: walker.shown, losses }
    }

    /// As [`Self::for_each`], and reads the wanted tables on the way, so that whoever needs both reads once. The
    /// reading goes on to the recording's end when `visit` has broken off; the losses are those of the tables.
    ///
    /// # Errors
    /// A schema of the user's that cannot be used.
    pub fn for_each_with_tables<B>(
        mut self,
        wanted: Tables,
        filter: &EventFilter,
        options: &Options,
        mut visit: impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> Result<(StreamEnd<B>, Trace), Error> {
        self.look_ahead();
        let Self { files, recording, schemas, follower, stack_fields, .. } = self;
        let mut walker = Walker::new(&recording, schemas, follower, filter, stack_fields);
        let mut end = None;
        let mut observe = |record: &Record<'_>| {
            if end.is_none()
                && let ControlFlow::Break(why) = walker.visit(record, &mut visit)
            {
                end = Some(why);
            }
        };
        let schemas = schemas::known(options)?;
        let trace = super::read(&recording, files, wanted, schemas, options, Some(&mut observe));
        let outcome = match end {
            Some(End::Visitor(value)) => ControlFlow::Break(value),
            Some(End::OfRange) | None => ControlFlow::Continue(()),
        };
        Ok((StreamEnd { outcome, shown: walker.shown, losses: trace.losses.clone() }, trace))
    }
}

impl std::fmt::Debug for EventStream<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EventStream").field("header", &self.header).finish_non_exhaustive()
    }
}

/// Why a walk was broken off.
enum End<B> {
    OfRange,
    Visitor(B),
}

struct Walker<'w> {
    clock: &'w onoff_etl::Clock,
    schemas: Schemas,
    follower: Follower,
    kinds: Kinds,
    filter: &'w EventFilter,
    /// Whether call stacks are fields too.
    stack_fields: bool,
    /// Room for fields as they are decoded and as they are shown, kept from event to event.
    spare: Fields<'static>,
    shown_fields: values::Room<'static>,
    /// Room for return addresses.
    frames: Vec<u64>,
    /// Room for the values of hardware counters.
    counters: Vec<u64>,
    shown: u64,
    /// Stacks whose keys the recording never explains.
    unknown_stacks: u64,
}

/// What a survey has found.
struct Surveyed<'q> {
    filter: &'q EventFilter,
    kinds: Kinds,
    /// Hooks and versions of kernel events.
    hooks: HashSet<(u16, u16)>,
    /// By kind of event, so that a better name found later takes the place of one found before.
    columns: BTreeMap<(String, u16, u16, usize), EventColumns>,
    spare: Fields<'static>,
    /// Most hardware counters that any event has.
    most_counters: usize,
}

/// What is looked at in order of a window that is read ahead.
#[derive(Debug, Default)]
struct WindowAhead {
    /// Events of the kernel that a look ahead needs; for a survey the first of each other kind too, and all that is not
    /// the kernel's.
    aside: SetAside,
    most_counters: usize,
}

impl WindowAhead {
    fn of(window: &Window<'_>, of_every_kind: bool) -> Self {
        let mut piece = Self::default();
        let mut hooks = HashSet::new();
        // What is lost here is counted when the events themselves are read.
        let _ = window.for_each(|record| {
            piece.most_counters = piece.most_counters.max(record.hardware_counters().len());
            let is_kept = match kernel_hook(record) {
                Some(hook) => ahead::needs(hook) || of_every_kind && hooks.insert((hook, record.version())),
                None => of_every_kind || process_step(record).is_some(),
            };
            if is_kept {
                piece.aside.push(record);
            }
            ControlFlow::<()>::Continue(())
        });
        piece
    }
}

/// The columns of the rows about hardware counters, as those of the event that names them; none where there is none.
fn counter_columns(names: &[Box<str>], most: usize) -> Option<EventColumns> {
    let fields: Vec<String> = (0..names.len().max(most))
        .map(|at| names.get(at).map_or_else(|| format!("Counter {}", at + 1), |name| name.to_string()))
        .collect();
    let origin = EventOrigin::Kernel { hook: CounterConfiguration::HOOK };
    (!fields.is_empty()).then(|| EventColumns { name: "Pmc".to_owned(), origin, described: true, fields })
}

/// Most kinds of event that a survey describes; others are announced when they are met.
const MAX_KINDS: usize = 1 << 16;

impl<'q> Surveyed<'q> {
    fn of(filter: &'q EventFilter) -> Self {
        let (kinds, hooks, columns, spare) = (Kinds::default(), HashSet::new(), BTreeMap::new(), Fields::new());
        Self { filter, kinds, hooks, columns, spare, most_counters: 0 }
    }

    fn take(&mut self, record: &Record<'_>, schemas: &Schemas) {
        match kernel_hook(record) {
            Some(hook) if !self.hooks.insert((hook, record.version())) => return,
            Some(_) => {}
            None if schemas::explains(record) => self.kinds.forget(),
            None => {}
        }
        let kind = self.kinds.of(record, schemas, self.filter);
        if !kind.chosen || self.columns.len() >= MAX_KINDS {
            return;
        }
        let (name, origin, id, described) = (&*kind.name, kind.origin, kind.id, kind.described);
        // Kinds met before are nearly all records: they are told by what their names do not need.
        if kind.surveyed.replace(true) {
            return;
        }
        let mut decoded = std::mem::take(&mut self.spare).reuse();
        schemas.decode(record, &mut decoded);
        let fields: Vec<String> = decoded.iter().map(|field| title(&field)).collect();
        let key = (name.to_owned(), id, record.version(), fields.len());
        self.columns.insert(key, EventColumns { name: name.to_owned(), origin, described, fields });
        self.spare = decoded.reuse();
    }
}

/// A field's name; that of a structure with the names of its members.
fn title(field: &onoff_etw::Field<'_, '_>) -> String {
    let members: Vec<String> = match field.value() {
        Value::Struct => field.children().map(|child| child.name().to_owned()).collect(),
        Value::Array => {
            let first = field.children().next().filter(|first| matches!(first.value(), Value::Struct));
            first.map(|first| first.children().map(|child| child.name().to_owned()).collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    match members.is_empty() {
        true => field.name().to_owned(),
        false => format!("{} {{{}}}", field.name(), members.join("; ")),
    }
}

/// Reads the last buffers of each file for the schemas and drive letters that recorders tell there.
fn look_at_ends(recording: &Recording<'_>, schemas: &mut Schemas, follower: &mut Follower) {
    let mut space = BufferSpace::default();
    for file in 0..recording.files().len() {
        let mut left = LOOK_AHEAD_BYTES;
        let of_file = recording.buffers().iter().rev().filter(|buffer| buffer.file == file);
        for buffer in of_file {
            let Some(rest) = left.checked_sub(buffer.fill) else { break };
            left = rest;
            // What is lost here is counted when the events themselves are read.
            let _ = recording.for_each_in_buffer(buffer, &mut space, |record| {
                schemas.observe(record);
                if kernel_hook(record).is_none() {
                    follower.other(record);
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
    ) -> Self {
        let (clock, kinds, spare) = (recording.clock(), Kinds::default(), Fields::new());
        let (shown_fields, frames, counters) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            clock,
            schemas,
            follower,
            kinds,
            filter,
            stack_fields,
            spare,
            shown_fields,
            frames,
            counters,
            shown: 0,
            unknown_stacks: 0,
        }
    }

    fn visit<B>(
        &mut self,
        record: &Record<'_>,
        visit: &mut impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<End<B>> {
        match self.follow(record)? {
            Some(followed) => self.describe(record, &followed, visit),
            None => ControlFlow::Continue(()),
        }
    }

    /// Takes from the record what it says about others; gives whom it is about if its time and process are wanted.
    fn follow<B>(&mut self, record: &Record<'_>) -> ControlFlow<End<B>, Option<Followed>> {
        let time_ns = record.time_ns();
        if self.filter.until_ns.is_some_and(|until| time_ns >= until) {
            return ControlFlow::Break(End::OfRange);
        }
        let hook = kernel_hook(record);
        let followed = self.follower.follow(hook, record, self.clock);
        if hook.is_none() {
            self.learn(record);
        }
        let is_wanted =
            self.filter.from_ns.is_none_or(|from| time_ns >= from) && self.is_about_chosen_process(&followed);
        ControlFlow::Continue(is_wanted.then_some(followed))
    }

    /// Takes from a record that another describes what it says about others.
    fn pass<B>(&mut self, record: &Record<'_>) -> ControlFlow<End<B>> {
        if kernel_hook(record).is_some_and(|hook| !Follower::keeps(hook)) {
            let is_over = self.filter.until_ns.is_some_and(|until| record.time_ns() >= until);
            return if is_over { ControlFlow::Break(End::OfRange) } else { ControlFlow::Continue(()) };
        }
        self.follow(record).map_continue(|_| ())
    }

    /// Gives the event to `visit` if it is of a kind that is wanted.
    fn describe<B>(
        &mut self,
        record: &Record<'_>,
        followed: &Followed,
        visit: &mut impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<End<B>> {
        let time_ns = record.time_ns();
        let kind = self.kinds.of(record, &self.schemas, self.filter);
        if !kind.chosen {
            return ControlFlow::Continue(());
        }
        self.shown += 1;
        let stack = stack(record);
        let (payload, pointer_size) = (record.payload(), record.pointer_size());
        let digits = if pointer_size == 4 { 8 } else { 16 };
        self.frames.clear();
        if let Some(stack) = &stack {
            self.frames.extend(stack.frames.iter());
        }
        let frames = match stack {
            Some(_) => Some(&*self.frames),
            None => followed.stack_key.and_then(|key| {
                let frames = self.follower.stack(key, time_ns);
                self.unknown_stacks += u64::from(frames.is_none());
                frames
            }),
        };
        let mut decoded = std::mem::take(&mut self.spare).reuse();
        let mut fields = values::reuse(std::mem::take(&mut self.shown_fields));
        let is_exact = match (&stack, &kind.fixed) {
            (Some(_), _) if !self.stack_fields => true,
            (Some(stack), _) if is_whole(record, stack) => {
                values::of_stack(stack, &self.frames, digits, &mut fields);
                true
            }
            (None, Some(fixed)) if fixed.fits(payload, pointer_size) => {
                values::of_numbers(fixed, payload, digits, &mut fields);
                true
            }
            _ => {
                let is_exact = self.schemas.decode(record, &mut decoded).is_exact();
                values::fields(&decoded, pointer_size, &mut fields);
                is_exact
            }
        };
        self.counters.clear();
        self.counters.extend(record.hardware_counters());
        let directory = &self.follower.directory;
        let event = DescribedEvent {
            time_ns,
            unix_ns: Some(self.clock.unix_ns(time_ns)),
            cpu: record.cpu(),
            pid: followed.pid,
            tid: followed.tid,
            origin: kind.origin,
            provider: &kind.provider,
            guid: &kind.guid,
            name: &kind.name,
            task: &kind.task,
            opcode_name: &kind.opcode_name,
            id: kind.id,
            opcode: record.opcode(),
            version: record.version(),
            level: record.level(),
            keyword: record.descriptor().map_or(0, |descriptor| descriptor.keyword),
            task_number: record.descriptor().map_or(0, |descriptor| descriptor.task),
            channel: record.descriptor().map_or(0, |descriptor| descriptor.channel),
            size: u32::try_from(record.size()).unwrap_or(u32::MAX),
            payload_size: u32::try_from(record.payload().len()).unwrap_or(u32::MAX),
            fields: &fields,
            described: kind.described,
            complete: is_exact,
            derived: Derived {
                elapsed_ns: followed.elapsed_ns,
                service_ns: followed.service_ns,
                since_last_ns: followed.since_last_ns,
                ran_ns: followed.ran_ns,
                old_state: followed.old_state,
                old_wait_reason: followed.old_wait_reason,
                stack_of_ns: followed.stack_of_ns,
                file: [followed.file_key, followed.file_object]
                    .into_iter()
                    .flatten()
                    .find_map(|key| directory.file(key)),
                logging_pid: followed.logging_pid,
                logging_tid: followed.logging_tid,
                operation: followed.operation,
                file_object: followed.file_object,
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
        let answer = visit(&event);
        self.shown_fields = values::reuse(fields);
        self.spare = decoded.reuse();
        match answer {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(value) => ControlFlow::Break(End::Visitor(value)),
        }
    }

    /// Learns schemas, and processes from the provider that reports them outside the kernel's own events.
    fn learn(&mut self, record: &Record<'_>) {
        self.schemas.observe(record);
        self.follower.other(record);
        if schemas::explains(record) {
            self.kinds.forget();
        }
        if let Some((step, pid, image)) = provider_process(record, &self.schemas)
            // An end has the first 14 characters only: they are for what nothing else has named.
            && (step != ProcessStep::End || self.follower.directory.process(pid).is_none())
        {
            self.follower.directory.set_process(pid, &image);
        }
    }

    fn is_about_chosen_process(&self, followed: &Followed) -> bool {
        let patterns = &self.filter.processes;
        patterns.is_empty()
            || [followed.pid, followed.other_pid].into_iter().flatten().any(|pid| {
                let name = self.follower.directory.process(pid);
                patterns.iter().any(|pattern| pattern.is_number(pid) || name.is_some_and(|name| pattern.matches(name)))
            })
    }
}

/// What an event of Microsoft-Windows-Kernel-Process says of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessStep {
    Start,
    End,
    Rundown,
}

/// What the record says of a process if it is an event of Microsoft-Windows-Kernel-Process.
fn process_step(record: &Record<'_>) -> Option<ProcessStep> {
    let id = record.descriptor().filter(|_| record.class_guid() == Some(KERNEL_PROCESS))?.id;
    match id {
        1 => Some(ProcessStep::Start),
        2 => Some(ProcessStep::End),
        15 => Some(ProcessStep::Rundown),
        _ => None,
    }
}

/// The same with the process's id and the file name of its image.
fn provider_process(record: &Record<'_>, schemas: &Schemas) -> Option<(ProcessStep, u32, String)> {
    let step = process_step(record)?;
    let mut fields = Fields::new();
    schemas.decode(record, &mut fields);
    let pid = fields.get("ProcessID")?.as_u32()?;
    let image = fields.get("ImageName")?.as_text()?;
    Some((step, pid, image.rsplit('\\').next().unwrap_or(&image).to_owned()))
}

/// The call stack that the record is.
fn stack<'b>(record: &Record<'b>) -> Option<Stack<'b>> {
    let hook = kernel_hook(record).filter(|&hook| hook == Stack::HOOK)?;
    Stack::read(KernelPayload::new(hook, record.version(), record.payload(), record.pointer_size()))
}

/// Version of call stacks that [`values::of_stack`] knows the fields of.
const STACK_VERSION: u16 = 2;

/// Whether the record is `stack` by its schema too, with nothing left of it: not if its last address was cut.
fn is_whole(record: &Record<'_>, stack: &Stack<'_>) -> bool {
    const HEADER_BYTES: usize = 16;
    let size = stack.frames.len().saturating_mul(record.pointer_size()).saturating_add(HEADER_BYTES);
    record.hook().is_some() && record.version() == STACK_VERSION && record.payload().len() == size
}

/// What the header of a manifest event and its extended items say.
fn context(record: &Record<'_>) -> EventContext {
    let activity = |guid: Guid| (guid != Guid::default()).then(|| guid.as_u128());
    let mut context = EventContext { activity: record.activity_id().and_then(activity), ..EventContext::default() };
    for item in record.extended_items() {
        match item.kind {
            ExtendedItem::RELATED_ACTIVITY_ID => {
                let bytes = item.data.first_chunk::<16>();
                context.related_activity = bytes.and_then(|bytes| activity(Guid::from_bytes_le(*bytes)));
            }
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
    let finished = recording.files().iter().all(|file| file.finished);
    let reliable = Reliable::of(recording);
    StreamHeader {
        os_version: (header.os_version.0, header.os_version.1, header.os_build),
        pointer_bytes: u8::try_from(header.pointer_size).unwrap_or(0),
        bytes: files.iter().map(|file| file.bytes().len() as u64).sum(),
        events_lost: super::total(recording, |header| header.events_lost),
        buffers_lost: super::total(recording, |header| header.buffers_lost),
        start_unix_ns: Some(clock.start_unix_ns()),
        utc_bias_minutes: Some(header.time_zone.bias_minutes),
        duration_ns: finished.then(|| recording.duration_ns()),
        reliable_ns: reliable.events_ns,
        reliable_switches_ns: reliable.switches_ns,
        name: recording.files().first().map(|file| file.name.clone()).unwrap_or_default(),
    }
}
