//! What to decode: worked out once from the tables a caller wants, asked once per record.

use hashbrown::{HashMap, HashSet};
use onoff_etl::{Guid, HeaderKind, Record};
use onoff_etw::kernel::{IMAGE_ID_CLASS, SYSTEM_CONFIG_EX_CLASS};
use onoff_trace::{TableName, Tables};

use super::kernel_events::{self, Subject, class_hook};
use super::phases;
use super::schemas::{EVENT_METADATA_CLASS, explains};

/// What is to be done with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Interest {
    /// Nothing.
    Skip,
    /// Decoded where it is met: its meaning depends on nothing else.
    ContextSwitch,
    /// The same.
    ReadyThread,
    /// The same.
    Sample,
    /// The same.
    DeferredProcedureCall,
    /// The same.
    InterruptServiceRoutine,
    /// The same.
    Stack,
    /// A stack by its key.
    StackReference,
    /// Set aside and seen in order: its meaning depends on what came before.
    Ordered,
    /// A row of the table of generic events.
    Generic,
}

const HOOKS: usize = 1 << 16;

/// What to do with each record.
#[derive(Debug)]
pub(super) struct Selection {
    hooks: Box<[Interest]>,
    classes: HashMap<Guid, Interest>,
    at_end: HashSet<(Guid, u16)>,
    others: Interest,
    /// Whether the switches themselves are wanted, and not only what they say of the running threads.
    pub(super) keeps_switches: bool,
    /// Whether to look for stacks beside manifest events.
    pub(super) event_stacks: bool,
    /// Whether records that explain others matter.
    explanations: bool,
    /// Whether the walk in time order is needed at all.
    pub(super) in_order: bool,
    /// Whether the whole recording is looked at in advance.
    pub(super) survey: bool,
}

impl Selection {
    pub(super) fn new(wanted: Tables) -> Selection {
        use TableName as T;
        let wants = |tables: &[TableName]| tables.iter().any(|&table| wanted.contains(table));
        let generic = if wants(&[T::Events]) { Interest::Generic } else { Interest::Skip };
        let mut hooks = vec![generic; HOOKS];
        for (hook, subject) in kernel_events::all() {
            let interest = match subject {
                _ if subject.is_generic() => generic,
                Subject::Machine => Interest::Ordered,
                // What describes the recording, and what other tables hold, is no generic event, wanted or not.
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
        let at_end = phases::wanted(wanted).collect();
        Selection {
            hooks: hooks.into_boxed_slice(),
            classes,
            at_end,
            others: generic,
            keeps_switches: wants(&[T::ContextSwitches]),
            event_stacks: wants(&[T::Stacks]),
            explanations: !wants(&[T::Events, T::Inventory]),
            survey: wanted == Tables::NONE || wants(&[T::Events, T::Inventory]),
            in_order: wanted.without(T::Inventory) != Tables::NONE,
        }
    }

    /// What to do with a record of the kernel.
    #[inline]
    pub(super) fn of_hook(&self, hook: u16) -> Interest {
        self.hooks.get(usize::from(hook)).copied().unwrap_or(Interest::Skip)
    }

    /// What to do with a record that has no hook, and the hook of its class if that is the kernel's.
    pub(super) fn of_other(&self, record: &Record<'_>) -> Interest {
        let Some(class) = record.class_guid() else { return self.others };
        match record.kind() {
            HeaderKind::Full | HeaderKind::Instance => match self.classes.get(&class) {
                Some(&interest) => interest,
                None => class_hook(class, record.opcode()).map_or(self.others, |hook| self.of_class_hook(hook)),
            },
            _ => self.others,
        }
    }

    /// Whether a manifest event is set aside to the end: its fields may be described there.
    pub(super) fn at_end(&self, provider: Guid, id: u16) -> bool {
        !self.at_end.is_empty() && self.at_end.contains(&(provider, id))
    }

    /// Whether a record that explains others is set aside: when a survey has not taken it already.
    #[inline]
    pub(super) fn explains(&self, record: &Record<'_>) -> bool {
        self.explanations && explains(record)
    }

    // Kernel events in a classic header are few, and have thread and process with them: all of them are seen in order.
    fn of_class_hook(&self, hook: u16) -> Interest {
        match self.of_hook(hook) {
            interest @ (Interest::Ordered | Interest::Generic) => interest,
            _ => Interest::Skip,
        }
    }
}
