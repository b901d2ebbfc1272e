//! Decides which records to decode: computed once from the requested tables, queried once per record.

use hashbrown::{HashMap, HashSet};
use onoff_etl::{Guid, HeaderKind, Record};
use onoff_etw::kernel::{IMAGE_ID_CLASS, SYSTEM_CONFIG_EX_CLASS};
use onoff_trace::{TableName, TableSet};

use super::kernel_events::{self, Subject, class_hook};
use super::phases;
use super::schemas::{EVENT_METADATA_CLASS, describes_others};

/// How a record is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Interest {
    /// Ignored.
    Skip,
    /// Decoded immediately, because the record does not depend on other records.
    ContextSwitch,
    ReadyThread,
    Sample,
    /// Processed in order, and a row of the generic events table if that is wanted.
    SamplingInterval,
    DeferredProcedureCall,
    InterruptServiceRoutine,
    Stack,
    /// A stack that is given by a key.
    StackReference,
    /// Deferred and processed in order, because the record depends on earlier records.
    Ordered,
    /// A row of the generic events table.
    Generic,
}

const HOOK_COUNT: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Selection {
    hooks: Box<[Interest]>,
    classes: HashMap<Guid, Interest>,
    end_events: HashSet<(Guid, u16)>,
    others: Interest,
    /// True if context switches are requested, not just needed to find the running threads.
    pub(super) keeps_switches: bool,
    /// True if stacks attached to manifest events are needed.
    pub(super) needs_event_stacks: bool,
    /// True if records that describe events are needed.
    needs_schemas: bool,
    /// True if the pass in time order is needed.
    pub(super) needs_ordered_pass: bool,
    /// True if a survey of the whole recording is needed first.
    pub(super) needs_survey: bool,
}

impl Selection {
    pub(super) fn new(wanted: TableSet) -> Selection {
        use TableName as T;
        let wants = |tables: &[TableName]| tables.iter().any(|&table| wanted.contains(table));
        let generic = if wants(&[T::Events]) { Interest::Generic } else { Interest::Skip };
        let mut hooks = vec![generic; HOOK_COUNT];
        for (hook, subject) in kernel_events::all() {
            let interest = match subject {
                _ if subject.is_generic() => generic,
                Subject::Machine => Interest::Ordered,
                Subject::SamplingInterval => Interest::SamplingInterval,
                // Records that describe the recording, and records of other tables, are never generic events.
                _ if !wants(subject.tables()) => Interest::Skip,
                Subject::ContextSwitch => Interest::ContextSwitch,
                Subject::ReadyThread => Interest::ReadyThread,
                Subject::SampledProfile => Interest::Sample,
                Subject::DeferredProcedureCall => Interest::DeferredProcedureCall,
                Subject::InterruptServiceRoutine => Interest::InterruptServiceRoutine,
                Subject::Stack => Interest::Stack,
                Subject::StackKeyReference => Interest::StackReference,
                _ => Interest::Ordered,
            };
            hooks[usize::from(hook)] = interest;
        }

        let mut classes = HashMap::from([(SYSTEM_CONFIG_EX_CLASS, Interest::Ordered)]);
        let image_ids = if wants(&[T::Images]) { Interest::Ordered } else { Interest::Skip };
        classes.insert(IMAGE_ID_CLASS, image_ids);
        classes.insert(EVENT_METADATA_CLASS, Interest::Skip);
        let end_events = phases::wanted_events(wanted).collect();
        Selection {
            hooks: hooks.into_boxed_slice(),
            classes,
            end_events,
            others: generic,
            keeps_switches: wants(&[T::ContextSwitches]),
            needs_event_stacks: wants(&[T::Stacks]),
            needs_schemas: !wants(&[T::Events, T::Inventory]),
            needs_survey: wanted == TableSet::NONE || wants(&[T::Events, T::Inventory]),
            needs_ordered_pass: wanted.without(T::Inventory) != TableSet::NONE,
        }
    }

    /// Returns how to process a record that has no other use.
    pub(super) fn others(&self) -> Interest {
        self.others
    }

    /// Returns how to process a kernel record.
    #[inline]
    pub(super) fn hook_interest(&self, hook: u16) -> Interest {
        self.hooks.get(usize::from(hook)).copied().unwrap_or(Interest::Skip)
    }

    /// Returns how to process a record without a hook. Kernel events are recognized by their class.
    pub(super) fn record_interest(&self, record: &Record<'_>) -> Interest {
        let Some(class) = record.class_guid() else { return self.others };
        match record.kind() {
            HeaderKind::Full | HeaderKind::Instance => match self.classes.get(&class) {
                Some(&interest) => interest,
                None => class_hook(class, record.opcode()).map_or(self.others, |hook| self.class_hook_interest(hook)),
            },
            _ => self.others,
        }
    }

    /// True if a manifest event is deferred to the end, where its schema may be.
    pub(super) fn is_deferred_to_end(&self, provider: Guid, id: u16) -> bool {
        !self.end_events.is_empty() && self.end_events.contains(&(provider, id))
    }

    /// True if a record that describes events is deferred, because no survey has read it.
    #[inline]
    pub(super) fn describes_others(&self, record: &Record<'_>) -> bool {
        self.needs_schemas && describes_others(record)
    }

    // Kernel events with a classic header are few and have process and thread in the header. All are processed in
    // order.
    fn class_hook_interest(&self, hook: u16) -> Interest {
        match self.hook_interest(hook) {
            interest @ (Interest::Ordered | Interest::Generic) => interest,
            Interest::SamplingInterval => self.others,
            _ => Interest::Skip,
        }
    }
}
