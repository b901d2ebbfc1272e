//! Group 0x0F: samples, interrupts, deferred procedure calls, system calls and marks.

use onoff_etl::{Guid, Record};

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::text::{Ansi, Utf16};

events! {
    /// A CPU sample: the instruction interrupted by the profiling interrupt. Hook 0x0F2E.
    0x0f2e => SampledProfile {
        /// Address of the instruction.
        instruction_pointer: u64 as pointer,
        thread_id: u32,
        /// Number of samples represented by the event.
        count: u16,
        /// Bits 0x1 and 0x2: a DPC or an interrupt service routine was running. Other bits are undocumented; 0 in
        /// version 1.
        flags: u8 [since 2],
        /// Undocumented; 0 in version 1.
        rank: u8 [since 2],
    }
}

impl SampledProfile {
    /// True if the processor was running a DPC or an interrupt service routine, so that the thread is merely the
    /// interrupted thread. Source: with this rule, the number of idle samples in two recordings equals the count of
    /// another reader.
    #[inline]
    #[must_use]
    pub fn is_in_dpc_or_isr(&self) -> bool {
        self.flags & 3 != 0
    }
}

events! {
    /// A hardware counter reached its limit: the instruction executed at that time. Hook 0x0F2F.
    0x0f2f => CounterInterrupt {
        /// Address of the instruction.
        instruction_pointer: u64 as pointer,
        thread_id: u32,
        /// Source number of the counter on the recorded computer (`KPROFILE_SOURCE`).
        profile_source: u16,
    }
}

/// Names of the hardware counters whose values are recorded with events, in order. Hook 0x0F30.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterConfiguration<'b> {
    pub names: Vec<Utf16<'b>>,
}

impl<'b> CounterConfiguration<'b> {
    pub const HOOK: u16 = 0x0f30;
    /// Recorders store at most seven values.
    const MAX_NAMES: usize = 64;

    /// Reads the payload (a count, then that many texts); `None` for another hook or a payload that is too short.
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
    /// Kind of a [`DeferredProcedureCall`].
    DeferredProcedureCallKind {
        /// Runs in a separate thread (0x0F42).
        Threaded = 0x0f42,
        /// Ordinary DPC (0x0F44).
        Ordinary = 0x0f44,
        /// DPC of an expired timer (0x0F45).
        Timer = 0x0f45,
        /// DPC of a device's I/O timer (0x0F46).
        IoTimer = 0x0f46,
    }
}

events! {
    /// A completed deferred procedure call (DPC). Hooks 0x0F42, 0x0F44 to 0x0F46.
    DeferredProcedureCall {
        kind: DeferredProcedureCallKind = hook,
        /// Start, in ticks of the log's clock. The event is logged at the end.
        start_ticks: u64,
        /// Address of the routine, which is in the driver's image.
        routine: u64 as pointer,
    }
}

kinds! {
    /// Kind of interrupt handled by an [`InterruptServiceRoutine`].
    InterruptKind {
        /// Message-signaled (0x0F32).
        Message = 0x0f32,
        /// Line-based (0x0F43).
        Line = 0x0f43,
        /// Handled at passive level (0x0F5F).
        Passive = 0x0f5f,
    }
}

/// A completed interrupt service routine (ISR). Hooks 0x0F32, 0x0F43, 0x0F5F.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptServiceRoutine {
    pub kind: InterruptKind,
    /// Start, in ticks of the log's clock. The event is logged at the end.
    pub start_ticks: u64,
    /// Address of the routine, which is in the driver's image.
    pub routine: u64,
    /// True if the routine claimed the interrupt.
    pub claimed: bool,
    /// Interrupt vector; 0 in version 1.
    pub vector: u16,
    /// Message number; only for [`InterruptKind::Message`].
    pub message_number: Option<u32>,
}

impl InterruptServiceRoutine {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[inline]
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        let kind = InterruptKind::from_hook(payload.hook)?;
        let mut fields = payload.fields;
        let start_ticks = fields.u64()?;
        let routine = fields.pointer()?;
        let [returned, vector_low, vector_high, reserved] = *fields.array()?;
        // Version 1 has a 32-bit return value; later versions have a byte and the vector.
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
    /// Start of a system call. Hook 0x0F33.
    0x0f33 => SystemCallEnter {
        /// Address of the service routine.
        address: u64 as pointer,
    }

    /// End of a system call. Hook 0x0F34.
    0x0f34 => SystemCallExit {
        /// NTSTATUS.
        status: u32,
    }
}

kinds! {
    /// Kind of a [`ProfileInterval`] event.
    ProfileIntervalKind {
        /// The interval was changed (0x0F48).
        Change = 0x0f48,
        /// The interval at the start of the recording (0x0F49).
        RundownStart = 0x0f49,
        /// The interval at the end of the recording (0x0F4A).
        RundownEnd = 0x0f4a,
    }
}

events! {
    /// Interval between two samples. Hooks 0x0F48 to 0x0F4A.
    ProfileInterval<'b> {
        kind: ProfileIntervalKind = hook,
        /// Profile source; 0 is time.
        source: u32,
        /// New interval; in units of 100 ns if the source is time.
        new_interval: u32,
        /// Previous interval, in the same unit.
        old_interval: u32,
        /// Name of the source; empty before version 3.
        source_name: Utf16<'b> [since 3],
    }
}

/// A mark: a text logged by a user at a point in time (`xperf -m`, WPR). Hook 0x0F22, or a FULL header with the class
/// of this group and type 34.
#[derive(Clone, Copy, Debug)]
pub struct Mark<'b> {
    pub message: Ansi<'b>,
}

/// Class of this group, for events with a FULL header.
pub const PERF_INFO_CLASS: Guid = Guid::from_u128(0xce1dbfb4_137e_4da6_87b0_3f59aa102cbc);

impl<'b> Mark<'b> {
    pub const HOOK: u16 = 0x0f22;

    /// Reads the event from a record of either form; `None` for other records.
    #[must_use]
    pub fn parse(record: &Record<'b>) -> Option<Self> {
        match KernelPayload::from_record(record) {
            Some(payload) => Self::read(payload),
            None => (record.class_guid()? == PERF_INFO_CLASS && record.opcode() == 0x22)
                .then(|| Self { message: Ansi::new(record.payload()).until_nul() }),
        }
    }

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then(|| Self { message: payload.fields.ansi_z() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_vector_is_16_bits_at_odd_offset() {
        let mut bytes = 10u64.to_le_bytes().to_vec();
        bytes.extend(0xffff_f800_0000_1000u64.to_le_bytes());
        bytes.extend([1, 0x91, 0x01, 0]);
        let isr = InterruptServiceRoutine::read(KernelPayload::new(0x0f43, 2, &bytes, 8)).unwrap();
        assert_eq!((isr.claimed, isr.vector, isr.message_number), (true, 0x191, None));
        assert!(
            InterruptServiceRoutine::read(KernelPayload::new(0x0f32, 2, &bytes, 8)).is_none(),
            "a message interrupt also has a message number"
        );
        bytes.extend(3u32.to_le_bytes());
        let isr = InterruptServiceRoutine::read(KernelPayload::new(0x0f32, 2, &bytes, 8)).unwrap();
        assert_eq!(isr.message_number, Some(3));
    }

    #[test]
    fn reads_sample_versions() {
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
    fn counter_names_end_with_payload() {
        let names = |count: u32, texts: &[&str]| -> Vec<String> {
            let mut bytes = count.to_le_bytes().to_vec();
            texts.iter().for_each(|text| bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)));
            let read = CounterConfiguration::read(KernelPayload::new(0x0f30, 2, &bytes, 8)).unwrap();
            read.names.iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(2, &["LLCMisses\0", "TotalCycles\0"]), ["LLCMisses", "TotalCycles"]);
        assert_eq!(names(1, &["LLCMisses\0", "TotalCycles\0"]), ["LLCMisses"]);
        // More names are declared than present, and the last one is truncated.
        assert_eq!(names(u32::MAX, &["LLCMisses\0", "Tot"]), ["LLCMisses", "Tot"]);
        assert!(CounterConfiguration::read(KernelPayload::new(0x0f30, 2, &[1, 0], 8)).is_none());
    }
}
