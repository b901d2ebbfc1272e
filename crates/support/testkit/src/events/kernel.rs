//! Kernel events of processes, threads, images, scheduling and sampling.

use crate::assemble::{ClassHeader, Payload, PointerSize, Record};
use uuid::Uuid;

/// A process in kernel process events (version 4).
#[derive(Clone, Debug)]
pub struct Process<'a> {
    pub id: u32,
    pub parent: u32,
    /// `u32::MAX` before sessions exist.
    pub session: u32,
    pub exit_status: i32,
    pub image: &'a str,
    pub command_line: &'a str,
    /// Sub-authorities of the user's SID below `S-1-5`.
    pub user: &'a [u32],
}

/// Event type of process, thread and image records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeEvent {
    Start = 1,
    End = 2,
    /// It exists at the start of the recording.
    RundownStart = 3,
    /// It exists at the end of the recording.
    RundownEnd = 4,
}

impl Process<'_> {
    /// Returns the process record (hooks 0x0301 to 0x0304), logged by `thread` of `process`.
    #[must_use]
    pub fn record(&self, moment: LifetimeEvent, ticks: u64, thread: u32, process: u32) -> Record<'static> {
        let payload = Payload::wide()
            .pointer(0xFFFF_E000_0000_0000 + u64::from(self.id) * 0x1000)
            .u32(self.id)
            .u32(self.parent)
            .u32(self.session)
            .i32(self.exit_status)
            .pointer(0x1AA0_0000 + u64::from(self.id) * 0x1000)
            .u32(0)
            .token_user(self.user)
            .ansi(self.image)
            .text(self.command_line)
            .text("")
            .text("");
        Record::system(0x0300 | moment as u16, 4, ticks, thread, process, payload)
    }
}

/// A thread in kernel thread events (version 3).
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    pub id: u32,
    /// Owning process.
    pub process: u32,
    pub base_priority: u8,
    /// I/O priority: 0 very low to 4 critical.
    pub io_priority: u8,
    /// Service tag; 0 for none.
    pub service_tag: u32,
}

impl Thread {
    /// Returns the thread record (hooks 0x0501 to 0x0504), logged by `thread` of `process`.
    #[must_use]
    pub fn record(&self, moment: LifetimeEvent, ticks: u64, thread: u32, process: u32) -> Record<'static> {
        let stack = 0xFFFF_D000_0000_0000 + u64::from(self.id) * 0x1_0000;
        let payload = Payload::wide()
            .u32(self.process)
            .u32(self.id)
            .pointer(stack + 0x7000)
            .pointer(stack)
            .pointer(0x00A0_0000)
            .pointer(0x0090_0000)
            .pointer(0xFF)
            .pointer(0x7FF8_1234_0000 + u64::from(self.id) * 0x10)
            .pointer(0x0070_0000 + u64::from(self.id) * 0x1000)
            .u32(self.service_tag)
            .bytes(&[self.base_priority, 5, self.io_priority, 0]);
        Record::system(0x0500 | moment as u16, 3, ticks, thread, process, payload)
    }
}

#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// Owning process; 0 for the kernel.
    pub process: u32,
    pub base: u64,
    pub size: u64,
    pub path: &'a str,
    pub time_stamp: u32,
}

impl Image<'_> {
    /// Returns the image record (version 3): load (hook 0x030A), unload, rundown (0x1402 to 0x1404).
    #[must_use]
    pub fn record(&self, moment: LifetimeEvent, ticks: u64, thread: u32, process: u32) -> Record<'static> {
        let hook = match moment {
            LifetimeEvent::Start => 0x030A,
            other => 0x1400 | other as u16,
        };
        let payload = Payload::wide()
            .pointer(self.base)
            .pointer(self.size)
            .u32(self.process)
            .u32(0x0001_2345)
            .u32(self.time_stamp)
            .bytes(&[12, 1, 0, 0])
            .pointer(self.base)
            .bytes(&[0; 16])
            .text(self.path);
        Record::system(hook, 3, ticks, thread, process, payload)
    }

    /// Returns the PDB identity that merge tools add (ImageID DbgID_RSDS, opcode 36).
    #[must_use]
    pub fn symbols(&self, pdb: &str, id: Uuid, age: u32, ticks: u64, thread: u32, process: u32) -> Record<'static> {
        let payload = Payload::wide().pointer(self.base).u32(self.process).guid(&id).u32(age).ansi(pdb);
        let event = ClassHeader {
            class: Uuid::from_u128(0xb3e675d7_2554_4f18_830b_2762732560de),
            opcode: 36,
            version: 2,
            thread,
            process,
            ..ClassHeader::default()
        };
        Record::full(event, ticks, payload)
    }
}

/// Why a thread was switched out: its `KTHREAD_STATE` and `KWAIT_REASON`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchReason {
    /// 1 ready, 2 running (the idle thread), 4 terminated, 5 waiting.
    pub state: u8,
    pub wait_reason: u8,
}

impl SwitchReason {
    /// Preempted by another thread; ready again.
    pub const PREEMPTED: Self = Self { state: 1, wait_reason: 32 };
    /// End of its quantum; ready again.
    pub const QUANTUM_END: Self = Self { state: 1, wait_reason: 30 };
    pub const DELAY: Self = Self { state: 5, wait_reason: 4 };
    pub const WAITING: Self = Self { state: 5, wait_reason: 6 };
    pub const DISK: Self = Self { state: 5, wait_reason: 0 };
    pub const TERMINATED: Self = Self { state: 4, wait_reason: 22 };
    /// The idle thread, which never leaves the running state.
    pub const IDLE: Self = Self { state: 2, wait_reason: 0 };
}

/// A context switch (hook 0x0524, version 4).
#[derive(Clone, Copy, Debug)]
pub struct ContextSwitch {
    /// Thread switched in; 0 for idle.
    pub new_thread: u32,
    /// Thread switched out; 0 for idle.
    pub old_thread: u32,
    pub new_priority: i8,
    pub old_priority: i8,
    pub reason: SwitchReason,
    /// Timer ticks the new thread waited.
    pub wait_ticks: u32,
}

impl ContextSwitch {
    #[must_use]
    pub fn payload(&self) -> [u8; 24] {
        let mut out = [0; 24];
        out[0..4].copy_from_slice(&self.new_thread.to_le_bytes());
        out[4..8].copy_from_slice(&self.old_thread.to_le_bytes());
        out[8] = self.new_priority.to_le_bytes()[0];
        out[9] = self.old_priority.to_le_bytes()[0];
        out[12] = self.reason.wait_reason;
        out[14] = self.reason.state;
        out[16..20].copy_from_slice(&self.wait_ticks.to_le_bytes());
        out
    }
}

/// Payload of a ready thread (hook 0x0532, version 2). Flag 1: readied by a DPC.
#[must_use]
pub fn ready_thread(thread: u32, adjust_reason: u8, adjust_increment: i8, flags: u8) -> [u8; 8] {
    let id = thread.to_le_bytes();
    [id[0], id[1], id[2], id[3], adjust_reason, adjust_increment.to_le_bytes()[0], flags, 0]
}

/// Payload of a profile sample (hook 0x0F2E, version 2).
#[must_use]
pub fn sampled_profile(address: u64, thread: u32) -> [u8; 16] {
    let mut out = [0; 16];
    out[0..8].copy_from_slice(&address.to_le_bytes());
    out[8..12].copy_from_slice(&thread.to_le_bytes());
    out[12] = 1;
    out
}

/// Call stack of the event at `event_ticks` on the same thread (hook 0x1820, version 2).
#[must_use]
pub fn stack(ticks: u64, event_ticks: u64, process: u32, thread: u32, frames: &[u64]) -> Record<'static> {
    let payload = Payload::wide().u64(event_ticks).u32(process).u32(thread);
    let payload = frames.iter().fold(payload, |payload, &frame| payload.pointer(frame));
    Record::perfinfo(0x1820, 2, ticks, payload)
}

/// Kernel part of a call stack, by key (hook 0x1825, version 2).
#[must_use]
pub fn stack_reference(ticks: u64, event_ticks: u64, process: u32, thread: u32, key: u64) -> Record<'static> {
    Record::perfinfo(0x1825, 2, ticks, Payload::wide().u64(event_ticks).u32(process).u32(thread).pointer(key))
}

/// Call stack of a key, written when the key is evicted (hook 0x1823, version 2) or when the recording ends (0x1824).
#[must_use]
pub fn stack_definition(evicted: bool, ticks: u64, key: u64, frames: &[u64]) -> Record<'static> {
    let payload = frames.iter().fold(Payload::wide().pointer(key), |payload, &frame| payload.pointer(frame));
    Record::perfinfo(if evicted { 0x1823 } else { 0x1824 }, 2, ticks, payload)
}

/// A DPC from `start_ticks` until now (hook 0x0F44, version 2).
#[must_use]
pub fn dpc(ticks: u64, start_ticks: u64, routine: u64) -> Record<'static> {
    Record::perfinfo(0x0F44, 2, ticks, Payload::wide().u64(start_ticks).pointer(routine))
}

/// An ISR from `start_ticks` until now (hook 0x0F43, version 2).
#[must_use]
pub fn isr(ticks: u64, start_ticks: u64, routine: u64, vector: u16) -> Record<'static> {
    let payload = Payload::wide().u64(start_ticks).pointer(routine).u8(1).u16(vector).u8(0);
    Record::perfinfo(0x0F43, 2, ticks, payload)
}

/// A mark with text (hook 0x0F22, version 0).
#[must_use]
pub fn mark(ticks: u64, text: &str) -> Record<'static> {
    Record::perfinfo(0x0F22, 0, ticks, Payload::new(PointerSize::Eight).ansi(text))
}
