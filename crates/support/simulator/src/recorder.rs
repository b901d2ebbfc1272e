//! Writes a simulated machine's events to one file, or to a kernel and a user file, and counts them by kind.

use std::collections::BTreeMap;
use std::io;

use hashbrown::HashMap;
use uuid::Uuid;

use onoff_testkit::assemble::{Header, Record, RecordSink};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Hook(u16),
    Manifest(Uuid, u16),
    Class(Uuid, u8),
}

/// Distributes records to the sinks and counts them.
pub(super) struct Recorder<'s> {
    kernel: &'s mut dyn RecordSink,
    user: Option<&'s mut dyn RecordSink>,
    start_ticks: u64,
    start_time: u64,
    kinds: HashMap<Kind, u64>,
    hooks: Vec<u64>,
    records: u64,
    /// Range of clock values in which every event is lost.
    lost_between: Option<(u64, u64)>,
    lost: u64,
    /// Resolution of the clock, ticks.
    clock_step: u64,
    failure: Option<io::Error>,
}

impl<'s> Recorder<'s> {
    pub(super) fn new(
        kernel: &'s mut dyn RecordSink,
        user: Option<&'s mut dyn RecordSink>,
        start_ticks: u64,
        start_time: u64,
    ) -> Self {
        Self {
            kernel,
            user,
            start_ticks,
            start_time,
            kinds: HashMap::new(),
            hooks: vec![0; 0x2000],
            records: 0,
            lost_between: None,
            lost: 0,
            clock_step: 1,
            failure: None,
        }
    }

    /// Loses every event in an interval, given as times since the recording began.
    pub(super) fn with_lost_interval(mut self, start: u64, end: u64) -> Self {
        self.lost_between = Some((self.clock(start), self.clock(end)));
        self
    }

    /// Sets the resolution of the clock, ticks.
    pub(super) fn with_clock_step(mut self, clock_step: u64) -> Self {
        self.clock_step = clock_step.max(1);
        self
    }

    pub(super) fn lost_events(&self) -> u64 {
        self.lost
    }

    /// Converts a time since the recording began to a clock value.
    pub(super) fn clock(&self, time: u64) -> u64 {
        self.start_ticks + time - time % self.clock_step
    }

    /// Returns the wall clock at the start of the recording (`FILETIME`).
    pub(super) fn start_time(&self) -> u64 {
        self.start_time
    }

    pub(super) fn record(&mut self, cpu: u16, record: &Record<'_>) {
        if self.lost_between.is_some_and(|(start, end)| (start..end).contains(&record.ticks)) {
            self.lost += 1;
            return;
        }
        let kind = match &record.header {
            Header::System(classic) | Header::Compact(classic) => Kind::Hook(classic.hook),
            Header::Perfinfo { hook, .. } => Kind::Hook(*hook),
            Header::Full(event) | Header::Instance { event, .. } => Kind::Class(event.class, event.opcode),
            Header::Event(event) => Kind::Manifest(event.provider, event.id),
            Header::Message(_) | Header::Raw => return,
        };
        match kind {
            Kind::Hook(hook) if usize::from(hook) < self.hooks.len() => {
                self.hooks[usize::from(hook)] += 1;
            }
            kind => *self.kinds.entry(kind).or_default() += 1,
        }
        self.records += 1;
        let sink = match (&mut self.user, kind) {
            (Some(user), Kind::Manifest(..)) => user,
            _ => &mut self.kernel,
        };
        if let Err(error) = sink.record(cpu, record) {
            self.failure.get_or_insert(error);
        }
    }

    /// Returns true if a sink has failed; recording more is then pointless.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns the number of records in total and by kind, or the first failure.
    pub(super) fn finish(self) -> io::Result<(u64, BTreeMap<String, u64>)> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let hooks = self
            .hooks
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(|(hook, &count)| (format!("{hook:04x}"), count));
        let other_kinds = self.kinds.iter().map(|(kind, &count)| {
            let name = match kind {
                Kind::Hook(hook) => format!("{hook:04x}"),
                Kind::Manifest(provider, id) => format!("{provider}/{id}"),
                Kind::Class(class, opcode) => format!("{class}:{opcode}"),
            };
            (name, count)
        });
        Ok((self.records, hooks.chain(other_kinds).collect()))
    }
}
