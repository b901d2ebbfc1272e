//! Declarations of kernel events: hook, `xperf` name, and subject. All events of a subject are read by the same struct,
//! go to the same tracker and fill the same tables, so adding an event takes one line.
//!
//! | module | what it derives from a declaration |
//! | --- | --- |
//! | `selection` | the tables built from the event, and how it is processed |
//! | `assembly` | the tracker that receives the event |
//! | `event_stream` | the event's effect on later events |
//! | `names` | the event's name |

use onoff_etl::Guid;
use onoff_etw::kernel::PERF_INFO_CLASS;
use onoff_trace::TableName;

/// What a kernel event is about. Each subject has one struct in `onoff_etw::kernel` that reads it, and one tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Subject {
    /// Not declared, or declared only for its name: a generic event.
    Other,
    /// The recording itself; not in any table.
    Recorder,
    /// The computer; needed by every analysis.
    Machine,
    ContextSwitch,
    CompactContextSwitches,
    ReadyThread,
    SampledProfile,
    /// The interval between samples, also a generic event.
    SamplingInterval,
    DeferredProcedureCall,
    InterruptServiceRoutine,
    Stack,
    StackKeyReference,
    StackKeyDefinition,
    Process,
    Thread,
    ThreadName,
    Image,
    FileName,
    FileOpen,
    FileOperation,
    FileTransfer,
    FileInformation,
    DirectoryOperation,
    FileOperationEnd,
    FileMapping,
    DiskTransfer,
    DiskFlush,
    DiskRequestStart,
    HardFault,
    Mark,
    Power,
    NetworkTransfer,
    RegistryKeyOperation,
}

use Subject::{
    CompactContextSwitches, ContextSwitch, DeferredProcedureCall, DirectoryOperation, DiskFlush, DiskRequestStart,
    DiskTransfer, FileInformation, FileMapping, FileName, FileOpen, FileOperation, FileOperationEnd, FileTransfer,
    HardFault, Image, InterruptServiceRoutine, Machine, Mark, NetworkTransfer, Other, Power, Process, ReadyThread,
    Recorder, RegistryKeyOperation, SampledProfile, SamplingInterval, Stack, StackKeyDefinition, StackKeyReference,
    Thread, ThreadName,
};

/// Hook, `xperf` name (empty if there is none), subject.
type Declaration = (u16, &'static str, Subject);

const DECLARED: &[Declaration] = &[
    (0x0000, "", Recorder),
    (0x0005, "GroupMasks", Recorder),
    (0x0008, "", Recorder),
    (0x0020, "GroupMasks", Recorder),
    (0x0040, "", Recorder),
    (0x0042, "", Machine),
    (0x0043, "", Recorder),
    (0x0050, "", Recorder),
    (0x0052, "", Recorder),
    (0x010a, "DiskRead", DiskTransfer),
    (0x010b, "DiskWrite", DiskTransfer),
    (0x010c, "DiskReadInit", DiskRequestStart),
    (0x010d, "DiskWriteInit", DiskRequestStart),
    (0x010e, "DiskFlush", DiskFlush),
    (0x010f, "DiskFlushInit", DiskRequestStart),
    // The same for optical drives.
    (0x0137, "DiskRead", DiskTransfer),
    (0x0138, "DiskWrite", DiskTransfer),
    (0x0139, "DiskFlush", DiskFlush),
    (0x013a, "DiskReadInit", DiskRequestStart),
    (0x013b, "DiskWriteInit", DiskRequestStart),
    (0x013c, "DiskFlushInit", DiskRequestStart),
    (0x020a, "PageFault", Other),
    (0x020b, "PageFault", Other),
    (0x020c, "PageFault", Other),
    (0x020d, "PageFault", Other),
    (0x020e, "PageFault", Other),
    (0x020f, "PageFault", Other),
    (0x0220, "HardFault", HardFault),
    (0x0262, "VirtualAlloc", Other),
    (0x0263, "VirtualFree", Other),
    (0x0301, "P-Start", Process),
    (0x0302, "P-End", Process),
    (0x0303, "P-DCStart", Process),
    (0x0304, "P-DCEnd", Process),
    (0x030a, "I-Start", Image),
    (0x0320, "ProcessPerfCtr", Other),
    (0x0321, "ProcessPerfCtrRundown", Other),
    (0x0327, "P-Zombie", Process),
    (0x0400, "", FileName),
    (0x0420, "FileNameCreate", FileName),
    (0x0423, "FileNameDelete", FileName),
    (0x0424, "FileNameRundown", FileName),
    (0x0425, "", FileMapping),
    (0x0440, "FileIoCreate", FileOpen),
    (0x0441, "FileIoCleanup", FileOperation),
    (0x0442, "FileIoClose", FileOperation),
    (0x0443, "FileIoRead", FileTransfer),
    (0x0444, "FileIoWrite", FileTransfer),
    (0x0445, "FileIoSetInfo", FileInformation),
    (0x0446, "FileIoDelete", FileInformation),
    (0x0447, "FileIoRename", FileInformation),
    (0x0448, "FileIoDirEnum", DirectoryOperation),
    (0x0449, "FileIoFlush", FileOperation),
    (0x044a, "FileIoQueryInfo", FileInformation),
    (0x044b, "FileIoFSCTL", FileInformation),
    (0x044c, "FileIoOpEnd", FileOperationEnd),
    (0x044d, "FileIoDirNotify", DirectoryOperation),
    (0x044f, "", FileInformation),
    (0x0450, "", FileInformation),
    (0x0451, "", FileInformation),
    (0x0501, "T-Start", Thread),
    (0x0502, "T-End", Thread),
    (0x0503, "T-DCStart", Thread),
    (0x0504, "T-DCEnd", Thread),
    (0x0524, "CSwitch", ContextSwitch),
    (0x0525, "", CompactContextSwitches),
    (0x0532, "ReadyThread", ReadyThread),
    (0x0548, "", ThreadName),
    (0x060a, "TcpSend", NetworkTransfer),
    (0x060b, "TcpRecv", NetworkTransfer),
    (0x060c, "TcpConnect", NetworkTransfer),
    (0x060d, "TcpDisconnect", NetworkTransfer),
    (0x060e, "TcpRetransmit", NetworkTransfer),
    (0x060f, "TcpAccept", NetworkTransfer),
    (0x0610, "TcpReconnect", NetworkTransfer),
    (0x0612, "", NetworkTransfer),
    (0x061a, "TcpSendIPV6", NetworkTransfer),
    (0x061b, "TcpRecvIPV6", NetworkTransfer),
    (0x061c, "TcpConnectIPV6", NetworkTransfer),
    (0x061d, "TcpDisconnectIPV6", NetworkTransfer),
    (0x061e, "TcpRetransmitIPV6", NetworkTransfer),
    (0x061f, "TcpAcceptIPV6", NetworkTransfer),
    (0x0620, "TcpReconnectIPV6", NetworkTransfer),
    (0x0622, "", NetworkTransfer),
    (0x080a, "UdpSend", NetworkTransfer),
    (0x080b, "UdpRecv", NetworkTransfer),
    (0x081a, "UdpSendIPV6", NetworkTransfer),
    (0x081b, "UdpRecvIPV6", NetworkTransfer),
    (0x090a, "RegCreateKey", RegistryKeyOperation),
    (0x090b, "RegOpenKey", RegistryKeyOperation),
    (0x090c, "RegDeleteKey", RegistryKeyOperation),
    (0x090d, "RegQueryKey", RegistryKeyOperation),
    (0x090e, "RegSetValue", RegistryKeyOperation),
    (0x090f, "RegDeleteValue", RegistryKeyOperation),
    (0x0910, "RegQueryValue", RegistryKeyOperation),
    (0x0911, "RegEnumerateKey", RegistryKeyOperation),
    (0x0912, "RegEnumerateValueKey", RegistryKeyOperation),
    (0x0913, "RegQueryMultipleValue", RegistryKeyOperation),
    (0x0914, "RegSetInformation", RegistryKeyOperation),
    (0x0915, "RegFlush", RegistryKeyOperation),
    (0x0916, "RegKcbCreate", RegistryKeyOperation),
    (0x0917, "RegKcbDelete", RegistryKeyOperation),
    (0x0918, "RegKcbBeginRundown", RegistryKeyOperation),
    (0x0919, "RegKcbEndRundown", RegistryKeyOperation),
    (0x091a, "RegVirtualize", RegistryKeyOperation),
    (0x091b, "RegCloseKey", RegistryKeyOperation),
    (0x091c, "", RegistryKeyOperation),
    (0x091d, "", RegistryKeyOperation),
    (0x0b0a, "", Machine),
    (0x0b0b, "", Machine),
    (0x0b0c, "", Machine),
    (0x0b0d, "", Machine),
    (0x0b0e, "", Machine),
    (0x0b0f, "", Machine),
    (0x0b10, "", Machine),
    (0x0b16, "", Machine),
    (0x0b19, "", Machine),
    (0x0b23, "", Machine),
    (0x0f22, "Mark", Mark),
    (0x0f2e, "SampledProfile", SampledProfile),
    (0x0f2f, "PmcInterrupt", Other),
    (0x0f32, "Interrupt", InterruptServiceRoutine),
    (0x0f33, "SysCallEnter", Other),
    (0x0f34, "SysCallExit", Other),
    (0x0f42, "DPC", DeferredProcedureCall),
    (0x0f43, "Interrupt", InterruptServiceRoutine),
    (0x0f44, "DPC", DeferredProcedureCall),
    (0x0f45, "DPCTmr", DeferredProcedureCall),
    (0x0f46, "", DeferredProcedureCall),
    (0x0f48, "ProfileFreq-SetInterval", SamplingInterval),
    (0x0f49, "ProfileFreq-DCStart", SamplingInterval),
    (0x0f4a, "ProfileFreq-DCEnd", SamplingInterval),
    (0x0f5f, "", InterruptServiceRoutine),
    (0x1222, "", Power),
    (0x1223, "", Power),
    (0x1224, "", Power),
    (0x1225, "", Power),
    (0x1226, "", Power),
    (0x1227, "", Power),
    (0x1402, "I-End", Image),
    (0x1403, "I-DCStart", Image),
    (0x1404, "I-DCEnd", Image),
    (0x1820, "Stack", Stack),
    (0x1822, "", StackKeyDefinition),
    (0x1823, "", StackKeyDefinition),
    (0x1824, "", StackKeyDefinition),
    (0x1825, "Stack", StackKeyReference),
    (0x1826, "Stack", StackKeyReference),
];

impl Subject {
    #[inline]
    pub(super) fn from_hook(hook: u16) -> Subject {
        match BY_HOOK.get(usize::from(hook)) {
            Some(&index) => DECLARED.get(usize::from(index)).map_or(Other, |&(.., subject)| subject),
            None => Other,
        }
    }

    /// Returns the tables that are built from the subject or need it. Some need only process names or thread owners.
    pub(super) fn tables(self) -> &'static [TableName] {
        use TableName as T;
        match self {
            Other | Recorder | Machine | NetworkTransfer | RegistryKeyOperation => &[],
            ContextSwitch => &[T::ContextSwitches, T::ReadyThreads],
            CompactContextSwitches => &[T::ContextSwitches],
            ReadyThread => &[T::ReadyThreads],
            SampledProfile | SamplingInterval => &[T::Samples],
            DeferredProcedureCall | InterruptServiceRoutine => &[T::Interrupts],
            Stack | StackKeyReference | StackKeyDefinition => &[T::Stacks],
            Process => &[T::Processes, T::ServiceTransitions, T::Notifications],
            Thread | ThreadName => &[T::Threads, T::DiskIos, T::FileIos, T::HardFaults],
            Image => &[T::Images],
            FileName => &[T::DiskIos, T::FileIos, T::HardFaults],
            DiskTransfer | DiskFlush | DiskRequestStart => &[T::DiskIos],
            FileOpen | FileOperation | FileTransfer | FileInformation | DirectoryOperation | FileOperationEnd
            | FileMapping => &[T::FileIos],
            HardFault => &[T::HardFaults],
            Mark => &[T::Milestones],
            Power => &[T::Activities, T::PowerRequests],
        }
    }

    /// True if the subject's events are rows of the generic events table: not in a dedicated table, and not about the
    /// recording.
    pub(super) fn is_generic(self) -> bool {
        matches!(self, Other | NetworkTransfer | RegistryKeyOperation)
    }
}

/// Returns all declared hooks with their subjects.
pub(super) fn all() -> impl Iterator<Item = (u16, Subject)> {
    DECLARED.iter().map(|&(hook, _, subject)| (hook, subject))
}

/// Returns the name of a hook in `xperf`'s text dump, such as `CSwitch` or `DiskRead`; `None` if no name is known.
pub(super) fn xperf_name(hook: u16) -> Option<&'static str> {
    let index = *BY_HOOK.get(usize::from(hook))?;
    let &(_, name, _) = DECLARED.get(usize::from(index))?;
    Some(name).filter(|name| !name.is_empty())
}

/// Returns the hooks that have a name in `xperf`'s text dump, with the name.
pub fn xperf_event_names() -> impl Iterator<Item = (u16, &'static str)> {
    DECLARED.iter().filter(|(_, name, _)| !name.is_empty()).map(|&(hook, name, _)| (hook, name))
}

/// One more than the highest declared hook.
const HOOK_COUNT: usize = DECLARED[DECLARED.len() - 1].0 as usize + 1;

/// Marks an undeclared hook in [`BY_HOOK`].
const UNDECLARED: u8 = u8::MAX;

/// Index into [`DECLARED`] by hook. The initializer checks that the declarations are sorted and unique.
static BY_HOOK: [u8; HOOK_COUNT] = {
    assert!(DECLARED.len() < UNDECLARED as usize);
    let mut by_hook = [UNDECLARED; HOOK_COUNT];
    let mut index = 0;
    while index < DECLARED.len() {
        let hook = DECLARED[index].0;
        assert!(index == 0 || DECLARED[index - 1].0 < hook, "declarations must be sorted by hook");
        by_hook[hook as usize] = index as u8;
        index += 1;
    }
    by_hook
};

/// Returns the hook of a kernel event that was logged with its class in a classic header.
///
/// Windows Vista and older user-mode replays log kernel events this way, and marks are still logged this way today.
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

#[cfg(test)]
mod tests {
    use onoff_etw::kernel::{self, KernelPayload};

    use super::*;

    /// True if the struct of `subject` reads events with `hook`.
    fn reads(subject: Subject, hook: u16) -> bool {
        // Large enough for every field and text, none of them absent.
        let bytes = [1; 4096];
        let payload = KernelPayload::new(hook, 2, &bytes, 8);
        match subject {
            // Subjects that only have a name, or that several structs or none read.
            Other | Recorder | Machine | Power => true,
            ContextSwitch => kernel::ContextSwitch::read(payload).is_some(),
            CompactContextSwitches => kernel::CompactContextSwitches::read(payload).is_some(),
            ReadyThread => kernel::ReadyThread::read(payload).is_some(),
            SampledProfile => kernel::SampledProfile::read(payload).is_some(),
            SamplingInterval => kernel::ProfileInterval::read(payload).is_some(),
            DeferredProcedureCall => kernel::DeferredProcedureCall::read(payload).is_some(),
            InterruptServiceRoutine => kernel::InterruptServiceRoutine::read(payload).is_some(),
            Stack => kernel::Stack::read(payload).is_some(),
            StackKeyReference => kernel::StackKeyReference::read(payload).is_some(),
            StackKeyDefinition => kernel::StackKeyDefinition::read(payload).is_some(),
            Process => kernel::Process::read(payload).is_some(),
            Thread => kernel::Thread::read(payload).is_some(),
            ThreadName => kernel::ThreadName::read(payload).is_some(),
            Image => kernel::Image::read(payload).is_some(),
            FileName => kernel::FileName::read(payload).is_some(),
            FileOpen => kernel::FileOpen::read(payload).is_some(),
            FileOperation => kernel::FileOperation::read(payload).is_some(),
            FileTransfer => kernel::FileTransfer::read(payload).is_some(),
            FileInformation => kernel::FileInformation::read(payload).is_some(),
            DirectoryOperation => kernel::DirectoryOperation::read(payload).is_some(),
            FileOperationEnd => kernel::FileOperationEnd::read(payload).is_some(),
            FileMapping => kernel::FileMapping::read(payload).is_some(),
            DiskTransfer => kernel::DiskTransfer::read(payload).is_some(),
            DiskFlush => kernel::DiskFlush::read(payload).is_some(),
            DiskRequestStart => kernel::DiskRequestStart::read(payload).is_some(),
            HardFault => kernel::HardFault::read(payload).is_some(),
            Mark => kernel::Mark::read(payload).is_some(),
            NetworkTransfer => kernel::NetworkTransfer::read(payload).is_some(),
            RegistryKeyOperation => kernel::RegistryKeyOperation::read(payload).is_some(),
        }
    }

    #[test]
    fn subject_structs_read_all_declared_hooks() {
        let unread: Vec<_> = all().filter(|&(hook, subject)| !reads(subject, hook)).collect();
        assert!(unread.is_empty(), "{unread:04x?}");
    }

    #[test]
    fn all_readable_hooks_are_declared() {
        let subjects: hashbrown::HashSet<Subject> = all().map(|(_, subject)| subject).collect();
        // File unmappings and their rundowns, which have no rows in the table, and events that TCP has but UDP does
        // not.
        let is_excluded = |hook: u16| matches!(hook, 0x0426..=0x0428 | 0x080c..=0x0812 | 0x081c..=0x0822);
        for &subject in subjects.iter().filter(|subject| !matches!(subject, Other | Recorder | Machine | Power)) {
            let missed: Vec<u16> = (0..0x2000)
                .filter(|hook| reads(subject, *hook) && Subject::from_hook(*hook) != subject)
                .filter(|&hook| !is_excluded(hook))
                .collect();
            assert!(missed.is_empty(), "{subject:?}: {missed:04x?}");
        }
    }

    #[test]
    fn image_load_is_not_a_process_event() {
        assert_eq!((xperf_name(0x030a), Subject::from_hook(0x030a)), (Some("I-Start"), Image));
        assert_eq!((xperf_name(0x0303), Subject::from_hook(0x0303)), (Some("P-DCStart"), Process));
        assert_eq!((xperf_name(0x0400), xperf_name(0x7fff), xperf_name(0xffff)), (None, None, None));
        assert_eq!(Subject::from_hook(0xffff), Other);
    }
}
