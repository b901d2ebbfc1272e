//! Group 0x05: scheduling. Context switches are most of a recording, so each is read with a single bounds check per
//! block of fields.

use super::{KernelPayload, parse_from_record};

/// A context switch: a processor switched from one thread to another. Hook 0x0524.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextSwitch {
    /// Thread switched to; 0 is the processor's idle thread.
    pub new_thread_id: u32,
    /// Thread switched from; 0 is idle.
    pub old_thread_id: u32,
    /// CPU priority of the new thread.
    pub new_thread_priority: i8,
    /// CPU priority of the old thread.
    pub old_thread_priority: i8,
    /// Power state in which the processor was; valid only if the old thread is idle. Since version 2.
    pub previous_c_state: u8,
    /// Wait reason of the old thread (`KWAIT_REASON`).
    pub old_thread_wait_reason: u8,
    /// Versions 1 and 2: processor mode of the wait, 0 kernel or 1 user. Later versions: flags.
    pub old_thread_wait_mode: u8,
    /// New state of the old thread (`KTHREAD_STATE`; see [`thread_state_name`]).
    pub old_thread_state: u8,
    /// Low 8 bits of the old thread's ideal processor.
    pub old_thread_ideal_processor: u8,
    /// How long the new thread waited, in timer ticks; 0 in version 1.
    pub new_thread_wait_time: u32,
    /// Remaining quantum of the old thread, in units of 1024 cycles; 0 in version 1.
    pub old_thread_remaining_quantum: u32,
}

impl ContextSwitch {
    pub const HOOK: u16 = 0x0524;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[inline]
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        if payload.hook != Self::HOOK {
            return None;
        }
        let head: &[u8; 16] = payload.fields.array()?;
        let mut switch = Self {
            new_thread_id: u32::from_le_bytes([head[0], head[1], head[2], head[3]]),
            old_thread_id: u32::from_le_bytes([head[4], head[5], head[6], head[7]]),
            new_thread_priority: head[8] as i8,
            old_thread_priority: head[9] as i8,
            previous_c_state: head[10],
            old_thread_wait_reason: head[12],
            old_thread_wait_mode: head[13],
            old_thread_state: head[14],
            old_thread_ideal_processor: head[15],
            new_thread_wait_time: 0,
            old_thread_remaining_quantum: 0,
        };
        if payload.version >= 2 {
            let tail: &[u8; 8] = payload.fields.array()?;
            switch.new_thread_wait_time = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
            switch.old_thread_remaining_quantum = u32::from_le_bytes([tail[4], tail[5], tail[6], tail[7]]);
        } else {
            // Version 1 has a quantum of the threads at the offset of the C-state.
            switch.previous_c_state = 0;
        }
        Some(switch)
    }
}
parse_from_record!(ContextSwitch);

/// The logging thread made another thread ready to run. Hook 0x0532.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyThread {
    /// The readied thread.
    pub thread_id: u32,
    /// Reason for a priority adjustment: 0 none, 1 end of a wait, 2 boost.
    pub adjust_reason: u8,
    /// Priority adjustment.
    pub adjust_increment: i8,
    /// Bit 0x1: readied from a DPC. Other bits are undocumented.
    pub flags: u8,
}

impl ReadyThread {
    pub const HOOK: u16 = 0x0532;

    /// True if the thread was readied from a deferred procedure call.
    #[inline]
    #[must_use]
    pub fn is_from_dpc(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[inline]
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        if payload.hook != Self::HOOK {
            return None;
        }
        let bytes: &[u8; 8] = payload.fields.array()?;
        Some(Self {
            thread_id: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            adjust_reason: bytes[4],
            adjust_increment: bytes[5] as i8,
            flags: bytes[6],
        })
    }
}
parse_from_record!(ReadyThread);

/// Context switches of one processor, packed into one record. Hook 0x0525.
///
/// Only the old threads are recorded. The layout was not verified with a real file; source: section 4.5 of the format
/// reference, based on System Informer's `ntwmi.h`.
#[derive(Clone, Copy, Debug)]
pub struct CompactContextSwitches<'b> {
    /// Time of the first switch, in ticks of the log's clock.
    pub first_ticks: u64,
    table: &'b [u8; 64],
    base_priorities: &'b [u8; 16],
    packets: &'b [u8],
}

impl<'b> CompactContextSwitches<'b> {
    pub const HOOK: u16 = 0x0525;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        Some(Self {
            first_ticks: payload.fields.u64()?,
            table: payload.fields.array()?,
            base_priorities: payload.fields.array()?,
            packets: payload.fields.unread(),
        })
    }

    /// Iterates over the switches, in order, up to the first incomplete packet.
    pub fn switches(&self) -> impl Iterator<Item = CompactContextSwitch> + 'b {
        let record = *self;
        let mut packets = self.packets;
        let mut ticks = self.first_ticks;
        std::iter::from_fn(move || {
            let (switch, size, delta) = record.parse_packet(packets)?;
            packets = &packets[size..];
            ticks = ticks.wrapping_add(delta);
            Some(CompactContextSwitch { ticks, ..switch })
        })
    }

    /// Parses the first packet into the switch without its time, the packet size and the time difference in ticks.
    fn parse_packet(&self, bytes: &[u8]) -> Option<(CompactContextSwitch, usize, u64)> {
        let idle = CompactContextSwitch {
            ticks: 0,
            old_thread_id: 0,
            old_thread_priority: 0,
            state_or_wait_reason: 0,
            new_thread_wait_time: None,
        };
        let dword = || bytes.first_chunk().copied().map(u32::from_le_bytes);
        match bytes.first()? & 3 {
            0 => {
                let word = u16::from_le_bytes(*bytes.first_chunk()?);
                Some((idle, 2, u64::from(word >> 2)))
            }
            1 => Some((idle, 4, u64::from(dword()? >> 2))),
            2 => {
                let dword = dword()?;
                let index = (dword >> 2 & 0xf) as usize;
                let switch = CompactContextSwitch {
                    old_thread_id: self.thread_id(index),
                    old_thread_priority: self.base_priorities[index].saturating_add((dword >> 6 & 7) as u8),
                    state_or_wait_reason: (dword >> 9 & 0x3f) as u8,
                    ..idle
                };
                Some((switch, 4, u64::from(dword >> 15)))
            }
            _ => {
                let qword = u64::from_le_bytes(*bytes.first_chunk()?);
                let index = (qword >> 32 & 0xf) as usize;
                let switch = CompactContextSwitch {
                    old_thread_id: self.thread_id(index),
                    old_thread_priority: (qword >> 42 & 0x1f) as u8,
                    state_or_wait_reason: (qword >> 36 & 0x3f) as u8,
                    new_thread_wait_time: Some((qword >> 47) as u32),
                    ..idle
                };
                Some((switch, 8, qword >> 2 & 0x3fff_ffff))
            }
        }
    }

    fn thread_id(&self, index: usize) -> u32 {
        let start = index * 4;
        u32::from_le_bytes([self.table[start], self.table[start + 1], self.table[start + 2], self.table[start + 3]])
    }
}
parse_from_record!(CompactContextSwitches<'b>);

/// A context switch of a [`CompactContextSwitches`] record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactContextSwitch {
    /// Time in ticks of the log's clock.
    pub ticks: u64,
    /// Thread switched from; 0 is idle.
    pub old_thread_id: u32,
    /// CPU priority of the old thread; 0 if idle.
    pub old_thread_priority: u8,
    /// Wait reason of the old thread if below the system's number of wait reasons, otherwise that number plus its
    /// state. The number depends on the build (0x27 in 10240).
    pub state_or_wait_reason: u8,
    /// How long the new thread waited, in timer ticks, if recorded.
    pub new_thread_wait_time: Option<u32>,
}

/// Returns the name of a thread state (`KTHREAD_STATE`), or `"Unknown"`.
#[must_use]
pub fn thread_state_name(state: u8) -> &'static str {
    const NAMES: [&str; 10] = [
        "Initialized",
        "Ready",
        "Running",
        "Standby",
        "Terminated",
        "Waiting",
        "Transition",
        "DeferredReady",
        "GateWait",
        "WaitingForProcessInSwap",
    ];
    NAMES.get(usize::from(state)).copied().unwrap_or("Unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_context_switch_versions() {
        let mut bytes = Vec::new();
        bytes.extend(8u32.to_le_bytes());
        bytes.extend(12u32.to_le_bytes());
        bytes.extend([15, 0xff, 3, 0, 6, 1, 5, 2]);
        let old = ContextSwitch::read(KernelPayload::new(0x0524, 1, &bytes, 8)).unwrap();
        assert_eq!((old.new_thread_id, old.old_thread_id, old.old_thread_priority), (8, 12, -1));
        assert_eq!((old.previous_c_state, old.new_thread_wait_time), (0, 0));
        assert!(ContextSwitch::read(KernelPayload::new(0x0524, 2, &bytes, 8)).is_none());
        bytes.extend(40u32.to_le_bytes());
        bytes.extend(50u32.to_le_bytes());
        bytes.extend([0; 3]);
        let new = ContextSwitch::read(KernelPayload::new(0x0524, 5, &bytes, 8)).unwrap();
        assert_eq!((new.previous_c_state, new.new_thread_wait_time), (3, 40));
        assert_eq!(new.old_thread_remaining_quantum, 50);
        // UserRequest.
        assert_eq!(new.old_thread_wait_reason, 6);
        assert_eq!(thread_state_name(new.old_thread_state), "Waiting");
    }

    #[test]
    fn reads_all_forms_of_compact_context_switches() {
        let mut bytes = 1000u64.to_le_bytes().to_vec();
        for thread in 0..16u32 {
            bytes.extend((100 + thread).to_le_bytes());
        }
        bytes.extend([8; 16]);
        bytes.extend((5u16 << 2).to_le_bytes());
        bytes.extend((70_000u32 << 2 | 1).to_le_bytes());
        bytes.extend((2u32 | 3 << 2 | 2 << 6 | 6 << 9 | 9 << 15).to_le_bytes());
        bytes.extend((3u64 | 7 << 2 | 15 << 32 | 4 << 36 | 13 << 42 | 33 << 47).to_le_bytes());
        bytes.push(1);
        let batch = CompactContextSwitches::read(KernelPayload::new(0x0525, 2, &bytes, 8)).unwrap();
        let switches: Vec<_> = batch.switches().collect();
        assert_eq!(switches.len(), 4, "the incomplete packet is ignored");
        assert_eq!((switches[0].ticks, switches[0].old_thread_id), (1005, 0));
        assert_eq!(switches[1].ticks, 71_005);
        assert_eq!((switches[2].old_thread_id, switches[2].old_thread_priority), (103, 10));
        assert_eq!((switches[2].ticks, switches[2].state_or_wait_reason), (71_014, 6));
        assert_eq!((switches[3].old_thread_id, switches[3].old_thread_priority), (115, 13));
        assert_eq!(switches[3].new_thread_wait_time, Some(33));
    }
}
