//! Where a simulated machine's events go: one file or a kernel and user pair, counted by kind.

use std::collections::BTreeMap;
use std::io;

use hashbrown::HashMap;
use uuid::Uuid;

use onoff_testkit::assemble::{Header, Record, RecordSink};

/// What kind of event a record is, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Hook(u16),
    Manifest(Uuid, u16),
    Class(Uuid, u8),
}

/// Splits records over the sinks and counts them.
pub(super) struct Recorder<'s> {
    kernel: &'s mut dyn RecordSink,
    user: Option<&'s mut dyn RecordSink>,
    start_ticks: u64,
    start_time: u64,
    kinds: HashMap<Kind, u64>,
    hooks: Vec<u64>,
    records: u64,
    /// Clock values between which every event is lost.
    lost_between: Option<(u64, u64)>,
    lost: u64,
    /// Ticks in which the clock goes on.
    step: u64,
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
            step: 1,
            failure: None,
        }
    }

    /// Loses every event between two times since the recording began.
    pub(super) fn lose(mut self, from: u64, to: u64) -> Self {
        self.lost_between = Some((self.clock(from), self.clock(to)));
        self
    }

    /// The clock goes on in steps of so many ticks.
    pub(super) fn in_steps(mut self, step: u64) -> Self {
        self.step = step.max(1);
        self
    }

    /// Events lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Clock value of a time since the recording began.
    pub(super) fn clock(&self, time: u64) -> u64 {
        self.start_ticks + time - time % self.step
    }

    /// The wall clock (`FILETIME`) when the recording began.
    pub(super) fn start_time(&self) -> u64 {
        self.start_time
    }

    /// Stores a record.
    pub(super) fn record(&mut self, cpu: u16, record: &Record<'_>) {
        if self.lost_between.is_some_and(|(from, to)| (from..to).contains(&record.ticks)) {
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
            other => *self.kinds.entry(other).or_default() += 1,
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

    /// Whether a sink failed; recording more is pointless then.
    pub(super) fn failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Number of records and their kinds, or the first failure.
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
        let others = self.kinds.iter().map(|(kind, &count)| {
            let name = match kind {
                Kind::Hook(hook) => format!("{hook:04x}"),
                Kind::Manifest(provider, id) => format!("{provider}/{id}"),
                Kind::Class(class, opcode) => format!("{class}:{opcode}"),
            };
            (name, count)
        });
        Ok((self.records, hooks.chain(others).collect()))
    }
}
