//! Group 0x0F: samples, interrupts, deferred procedure calls, system calls, marks.

use onoff_etl::{Guid, Record};

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::text::{Ansi, Utf16};

events! {
    /// The profiling interrupt found this instruction running. Hook 0x0F2E.
    0x0f2e => SampledProfile {
        /// The instruction.
        instruction_pointer: u64 as pointer,
        /// The thread.
        thread_id: u32,
        /// How many samples the event stands for.
        count: u16,
        /// 1 and 2: a DPC or an interrupt service routine was running. Other bits undocumented; zero in
        /// version 1.
        flags: u8 [since 2],
        /// Undocumented; zero in version 1.
        rank: u8 [since 2],
    }
}

impl SampledProfile {
    /// Whether the processor was running a DPC or an interrupt service routine, so that the thread is only
    /// the one it interrupted. Source of the fact: with it the samples of idle processors in two recordings
    /// are as many as another reader counts.
    #[inline]
    #[must_use]
    pub fn in_dpc_or_isr(&self) -> bool {
        self.flags & 3 != 0
    }
}

events! {
    /// A hardware counter reached its limit: what the processor executed then. Hook 0x0F2F.
    0x0f2f => CounterInterrupt {
        /// The instruction.
        instruction_pointer: u64 as pointer,
        /// The thread.
        thread_id: u32,
        /// Number of the counter's kind on the recorded computer (`KPROFILE_SOURCE`).
        profile_source: u16,
    }
}

/// Names of the hardware counters whose values are kept with events, in their order. Hook 0x0F30.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterConfiguration<'b> {
    /// The names.
    pub names: Vec<Utf16<'b>>,
}

impl<'b> CounterConfiguration<'b> {
    /// Its hook.
    pub const HOOK: u16 = 0x0f30;
    /// Most names that are read; recorders keep seven values at most.
    const MAX_NAMES: usize = 64;

    /// Reads the payload: how many, then as many texts.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        let count = fields.u32()? as usize;
        let mut names = Vec::new();
        while names.len() < count.min(Self::MAX_NAMES) && fields.remaining() > 0 {
            names.push(fields.utf16_z());
        }
        Some(Self { names })
    }
}
parse_from_record!(CounterConfiguration<'b>);

kinds! {
    /// Which kind of deferred routine a [`DeferredProcedureCall`] ran.
    DeferredProcedureCallKind {
        /// In a thread of its own (0x0F42).
        Threaded = 0x0f42,
        /// An ordinary one (0x0F44).
        Ordinary = 0x0f44,
        /// Because a timer expired (0x0F45).
        Timer = 0x0f45,
        /// The I/O timer of a device (0x0F46).
        IoTimer = 0x0f46,
    }
}

events! {
    /// A deferred procedure call (DPC) has run. Hooks 0x0F42, 0x0F44 to 0x0F46.
    DeferredProcedureCall {
        /// Which kind.
        kind: DeferredProcedureCallKind = hook,
        /// When it began, in ticks of the log's clock; it ended when the event was logged.
        start_ticks: u64,
        /// Address of the routine: its image is the driver.
        routine: u64 as pointer,
    }
}

kinds! {
    /// Which kind of interrupt an [`InterruptServiceRoutine`] served.
    InterruptKind {
        /// Signaled by a message (0x0F32).
        Message = 0x0f32,
        /// Signaled by a line (0x0F43).
        Line = 0x0f43,
        /// Served at passive level (0x0F5F).
        Passive = 0x0f5f,
    }
}

/// An interrupt service routine (ISR) has run. Hooks 0x0F32, 0x0F43, 0x0F5F.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptServiceRoutine {
    /// Which kind.
    pub kind: InterruptKind,
    /// When it began, in ticks of the log's clock; it ended when the event was logged.
    pub start_ticks: u64,
    /// Address of the routine: its image is the driver.
    pub routine: u64,
    /// Whether the routine said the interrupt was its own.
    pub claimed: bool,
    /// Vector of the interrupt; zero in version 1.
    pub vector: u16,
    /// Number of the message; only [`InterruptKind::Message`].
    pub message_number: Option<u32>,
}

impl InterruptServiceRoutine {
    /// Reads the payload of one of the three hooks.
    #[inline]
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        let kind = InterruptKind::of(payload.hook)?;
        let mut fields = payload.fields;
        let start_ticks = fields.u64()?;
        let routine = fields.pointer()?;
        let [returned, vector_low, vector_high, reserved] = *fields.array()?;
        // Version 1 has a 32-bit return value where later versions have a byte and the vector.
        let (claimed, vector) = if payload.version <= 1 {
            (returned | vector_low | vector_high | reserved != 0, 0)
        } else {
            (returned != 0, u16::from_le_bytes([vector_low, vector_high]))
        };
        let message_number = if kind == InterruptKind::Message { Some(fields.u32()?) } else { None };
        Some(Self { kind, start_ticks, routine, claimed, vector, message_number })
    }
}
parse_from_record!(InterruptServiceRoutine);

events! {
    /// A system call begins. Hook 0x0F33.
    0x0f33 => SystemCallEnter {
        /// Address of the service routine.
        address: u64 as pointer,
    }

    /// A system call returns. Hook 0x0F34.
    0x0f34 => SystemCallExit {
        /// NT status it returned.
        status: u32,
    }
}

kinds! {
    /// What a [`ProfileInterval`] event says.
    ProfileIntervalKind {
        /// The interval was changed (0x0F48).
        Change = 0x0f48,
        /// The interval when recording began (0x0F49).
        RundownStart = 0x0f49,
        /// The interval when recording ended (0x0F4A).
        RundownEnd = 0x0f4a,
    }
}

events! {
    /// The time between two samples. Hooks 0x0F48 to 0x0F4A.
    ProfileInterval<'b> {
        /// Which of the three events this is.
        kind: ProfileIntervalKind = hook,
        /// Number of the profile source; 0 = time.
        source: u32,
        /// Interval from now on; units of 100 ns when the source is time.
        new_interval: u32,
        /// Interval before.
        old_interval: u32,
        /// Name of the source; empty before version 3.
        source_name: Utf16<'b> [since 3],
    }
}

/// Somebody marked a moment by a text (`xperf -m`, WPR). Hook 0x0F22, or a FULL header with the class of
/// this group and type 34.
#[derive(Clone, Copy, Debug)]
pub struct Mark<'b> {
    /// The text.
    pub message: Ansi<'b>,
}

/// Class of this group, when its events come with a FULL header.
pub const PERF_INFO_CLASS: Guid = Guid::from_u128(0xce1dbfb4_137e_4da6_87b0_3f59aa102cbc);

impl<'b> Mark<'b> {
    /// Its hook.
    pub const HOOK: u16 = 0x0f22;

    /// Reads the event out of a record of either form; `None` for any other.
    #[must_use]
    pub fn parse(record: &Record<'b>) -> Option<Self> {
        match KernelPayload::of(record) {
            Some(payload) => Self::read(payload),
            None => (record.class_guid()? == PERF_INFO_CLASS && record.opcode() == 0x22)
                .then(|| Self { message: Ansi::new(record.payload()).until_nul() }),
        }
    }

    /// Reads the payload.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then(|| Self { message: payload.fields.ansi_z() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_vector_is_16_bits_at_an_odd_place() {
        let mut bytes = 10u64.to_le_bytes().to_vec();
        bytes.extend(0xffff_f800_0000_1000u64.to_le_bytes());
        bytes.extend([1, 0x91, 0x01, 0]);
        let isr = InterruptServiceRoutine::read(KernelPayload::new(0x0f43, 2, &bytes, 8)).unwrap();
        assert_eq!((isr.claimed, isr.vector, isr.message_number), (true, 0x191, None));
        assert!(
            InterruptServiceRoutine::read(KernelPayload::new(0x0f32, 2, &bytes, 8)).is_none(),
            "a message interrupt also has the message's number"
        );
        bytes.extend(3u32.to_le_bytes());
        let isr = InterruptServiceRoutine::read(KernelPayload::new(0x0f32, 2, &bytes, 8)).unwrap();
        assert_eq!(isr.message_number, Some(3));
    }

    #[test]
    fn sample_versions() {
        let mut bytes = 0x1000u32.to_le_bytes().to_vec();
        bytes.extend(44u32.to_le_bytes());
        bytes.extend(1u16.to_le_bytes());
        let v1 = SampledProfile::read(KernelPayload::new(0x0f2e, 1, &bytes, 4)).unwrap();
        assert_eq!((v1.thread_id, v1.count, v1.flags), (44, 1, 0));
        assert!(SampledProfile::read(KernelPayload::new(0x0f2e, 2, &bytes, 4)).is_none());
        bytes.extend([0x40, 2]);
        let v2 = SampledProfile::read(KernelPayload::new(0x0f2e, 2, &bytes, 4)).unwrap();
        assert_eq!((v2.flags, v2.rank), (0x40, 2));
    }

    #[test]
    fn names_of_counters_are_as_many_as_there_are() {
        let names = |count: u32, texts: &[&str]| -> Vec<String> {
            let mut bytes = count.to_le_bytes().to_vec();
            texts.iter().for_each(|text| bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)));
            let read = CounterConfiguration::read(KernelPayload::new(0x0f30, 2, &bytes, 8)).unwrap();
            read.names.iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(2, &["LLCMisses\0", "TotalCycles\0"]), ["LLCMisses", "TotalCycles"]);
        assert_eq!(names(1, &["LLCMisses\0", "TotalCycles\0"]), ["LLCMisses"]);
        // More are announced than there are, and the last is cut.
        assert_eq!(names(u32::MAX, &["LLCMisses\0", "Tot"]), ["LLCMisses", "Tot"]);
        assert!(CounterConfiguration::read(KernelPayload::new(0x0f30, 2, &[1, 0], 8)).is_none());
    }
}
