//! What to decode: worked out once from the tables a caller wants, asked once per record.

use hashbrown::{HashMap, HashSet};
use onoff_etl::{Guid, HeaderKind, Record};
use onoff_etw::kernel::{
    CompactContextSwitches, ContextSwitch, FileOpen, FileOperationEnd, HardFault, IMAGE_ID_CLASS, Mark,
    PERF_INFO_CLASS, ReadyThread, SYSTEM_CONFIG_EX_CLASS, SampledProfile, Stack, ThreadName,
};
use onoff_trace::{TableName, Tables};

use super::schemas::{EVENT_METADATA_CLASS, explains};
use super::system::SystemTracker;
use super::{kernel_power, phase_events};

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
        let mut select = |interest, numbers: &[u16]| {
            for &hook in numbers {
                hooks[usize::from(hook)] = interest;
            }
        };
        // What describes the recording, and what other tables hold, is no generic event, wanted or not.
        select(Interest::Skip, OF_TABLES);
        select(Interest::Ordered, &SystemTracker::HOOKS);
        if wants(&[T::ContextSwitches, T::ReadyThreads]) {
            select(Interest::ContextSwitch, &[ContextSwitch::HOOK]);
        }
        if wants(&[T::ContextSwitches]) {
            select(Interest::Ordered, &[CompactContextSwitches::HOOK]);
        }
        if wants(&[T::ReadyThreads]) {
            select(Interest::ReadyThread, &[ReadyThread::HOOK]);
        }
        if wants(&[T::Samples]) {
            select(Interest::Sample, &[SampledProfile::HOOK]);
        }
        if wants(&[T::Interrupts]) {
            select(Interest::DeferredProcedureCall, DPC);
            select(Interest::InterruptServiceRoutine, ISR);
        }
        if wants(&[T::Stacks]) {
            select(Interest::Stack, &[Stack::HOOK]);
            select(Interest::StackReference, STACK_REFERENCES);
            select(Interest::Ordered, STACK_DEFINITIONS);
        }
        if wants(&[T::Processes, T::ServiceTransitions, T::Notifications]) {
            select(Interest::Ordered, PROCESS);
        }
        if wants(&[T::Threads, T::DiskIos, T::FileIos, T::HardFaults]) {
            select(Interest::Ordered, THREAD);
        }
        if wants(&[T::Images]) {
            select(Interest::Ordered, IMAGE);
        }
        if wants(&[T::DiskIos, T::FileIos, T::HardFaults]) {
            select(Interest::Ordered, FILE_NAME);
        }
        if wants(&[T::DiskIos]) {
            select(Interest::Ordered, DISK);
        }
        if wants(&[T::FileIos]) {
            select(Interest::Ordered, FILE_OPERATION);
        }
        if wants(&[T::HardFaults]) {
            select(Interest::Ordered, &[HardFault::HOOK]);
        }
        if wants(&[T::Milestones]) {
            select(Interest::Ordered, &[Mark::HOOK]);
        }
        if wants(&[T::Activities, T::PowerRequests]) {
            select(Interest::Ordered, kernel_power::HOOKS);
        }

        let mut classes = HashMap::from([(SYSTEM_CONFIG_EX_CLASS, Interest::Ordered)]);
        let image_ids = if wants(&[T::Images]) { Interest::Ordered } else { Interest::Skip };
        classes.insert(IMAGE_ID_CLASS, image_ids);
        classes.insert(EVENT_METADATA_CLASS, Interest::Skip);
        let at_end = phase_events::wanted(wanted).collect();
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
        let Some(class) = record.class_guid() else {
            return self.others;
        };
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

const DPC: &[u16] = &[0x0f42, 0x0f44, 0x0f45, 0x0f46];
const ISR: &[u16] = &[0x0f32, 0x0f43, 0x0f5f];
const STACK_REFERENCES: &[u16] = &[0x1825, 0x1826];
const STACK_DEFINITIONS: &[u16] = &[0x1822, 0x1823, 0x1824];
const PROCESS: &[u16] = &[0x0301, 0x0302, 0x0303, 0x0304, 0x0327];
const THREAD: &[u16] = &[0x0501, 0x0502, 0x0503, 0x0504, ThreadName::HOOK];
const IMAGE: &[u16] = &[0x030a, 0x1402, 0x1403, 0x1404];
const FILE_NAME: &[u16] = &[0x0400, 0x0420, 0x0423, 0x0424];
const DISK: &[u16] = &[0x010a, 0x010b, 0x010c, 0x010d, 0x010e, 0x010f, 0x0137, 0x0138, 0x0139, 0x013a, 0x013b, 0x013c];
const FILE_OPERATION: &[u16] = &[
    FileOpen::HOOK,
    0x0441,
    0x0442,
    0x0443,
    0x0444,
    0x0445,
    0x0446,
    0x0447,
    0x0448,
    0x0449,
    0x044a,
    0x044b,
    FileOperationEnd::HOOK,
    0x044d,
    0x044f,
    0x0450,
    0x0451,
    0x0425,
];

/// Hooks whose events are rows of a table of their own, or describe the recording itself.
const OF_TABLES: &[u16] = &{
    const GROUPS: [&[u16]; 13] = [
        &[0x0000, 0x0005, 0x0008, 0x0020, 0x0040, 0x0042, 0x0043, 0x0050, 0x0052],
        &[0x0524, 0x0525, 0x0532, 0x0f2e, 0x0f22, 0x0220],
        DPC,
        ISR,
        &[0x1820],
        STACK_REFERENCES,
        STACK_DEFINITIONS,
        PROCESS,
        THREAD,
        IMAGE,
        FILE_NAME,
        DISK,
        kernel_power::HOOKS,
    ];
    const LENGTH: usize = {
        let (mut total, mut group) = (FILE_OPERATION.len(), 0);
        while group < GROUPS.len() {
            total += GROUPS[group].len();
            group += 1;
        }
        total
    };
    let mut all = [0; LENGTH];
    let (mut place, mut group) = (0, 0);
    while group <= GROUPS.len() {
        let numbers = if group < GROUPS.len() { GROUPS[group] } else { FILE_OPERATION };
        let mut index = 0;
        while index < numbers.len() {
            all[place] = numbers[index];
            place += 1;
            index += 1;
        }
        group += 1;
    }
    all
};

/// The hook of a kernel event that was logged with its class in a classic header instead.
///
/// Windows Vista's and older user-mode replays of kernel events are like this, and marks are to this day.
pub(super) fn class_hook(class: Guid, opcode: u8) -> Option<u16> {
    const IMAGE_LOAD: u8 = 10;
    let group: u16 = match class.as_u128() {
        0x3d6fa8d4_fe05_11d0_9dda_00c04fd7ba7c => 0x01,
        0x3d6fa8d3_fe05_11d0_9dda_00c04fd7ba7c => 0x02,
        0x3d6fa8d0_fe05_11d0_9dda_00c04fd7ba7c => 0x03,
        0x90cbdc39_4a3e_11d1_84f4_0000f80464e3 => 0x04,
        0x3d6fa8d1_fe05_11d0_9dda_00c04fd7ba7c => 0x05,
        0x01853a65_418f_4f36_aefc_dc0f1d2fd235 => 0x0b,
        _ if class == PERF_INFO_CLASS => 0x0f,
        0x2cb15d1d_5fc1_11d2_abe1_00a0c911f518 if opcode == IMAGE_LOAD => 0x03,
        0x2cb15d1d_5fc1_11d2_abe1_00a0c911f518 => 0x14,
        0xb2d14872_7c5b_463d_8419_ee9bf7d23e04 => 0x15,
        0xdef2fe46_7bd6_4b80_bd94_f57fe20d0ce3 => 0x18,
        _ => return None,
    };
    Some(group << 8 | u16::from(opcode))
}
