//! Events as binary records, read by the names of their fields.

use super::{BlockRequest, Kind, PowerEdge, RequestStage, RuntimePower, TaskState};
use crate::data::RecordBody;

pub(super) fn read<'a>(name: &str, body: RecordBody<'a>) -> Option<Kind<'a>> {
    let pid = |field| body.number(field)?.try_into().ok();
    let number = |field| body.number(field)?.try_into().ok();
    Some(match name {
        "sched_switch" => Kind::Switch {
            previous_task: body.text("prev_comm")?,
            previous_pid: pid("prev_pid")?,
            previous_priority: number("prev_prio")?,
            previous_state: state(body.number("prev_state")?),
            next_task: body.text("next_comm")?,
            next_pid: pid("next_pid")?,
            next_priority: number("next_prio")?,
        },
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            Kind::Waking { task: body.text("comm")?, pid: pid("pid")?, first: name == "sched_wakeup_new" }
        }
        "sched_process_fork" => Kind::Fork {
            parent_pid: pid("parent_pid")?,
            child_task: body.text("child_comm")?,
            child_pid: pid("child_pid")?,
        },
        "sched_process_exec" => Kind::Exec { file: body.text("filename")?, pid: pid("pid")? },
        "sched_process_exit" => Kind::Exit { task: body.text("comm")?, pid: pid("pid")? },
        "irq_handler_entry" => {
            Kind::InterruptBegin { number: body.number("irq")?.try_into().ok()?, name: body.text("name")? }
        }
        "irq_handler_exit" => Kind::InterruptEnd { number: body.number("irq")?.try_into().ok()? },
        "softirq_entry" => Kind::SoftInterruptBegin { vector: body.number("vec")?.try_into().ok()? },
        "softirq_exit" => Kind::SoftInterruptEnd { vector: body.number("vec")?.try_into().ok()? },
        "block_bio_queue" => request(body, RequestStage::Queued)?,
        "block_rq_insert" => request(body, RequestStage::Inserted)?,
        "block_rq_issue" => request(body, RequestStage::Issued)?,
        "block_rq_complete" => request(body, RequestStage::Completed)?,
        "initcall_level" => Kind::InitcallLevel(body.text("level")?),
        "initcall_start" => Kind::InitcallBegin(body.function("func")?),
        "initcall_finish" => Kind::InitcallEnd { function: body.function("func")?, result: number("ret")? },
        "module_load" => Kind::ModuleLoad(body.text("name")?),
        "module_free" => Kind::ModuleFree(body.text("name")?),
        "module_request" => Kind::ModuleRequest(body.text("name")?),
        "device_pm_callback_start" => Kind::DevicePower {
            driver: body.text("driver")?,
            device: body.text("device")?,
            edge: PowerEdge::Begin {
                parent: body.text("parent")?,
                operations: body.text("pm_ops")?.trim(),
                event: pm_event(body.number("event")?),
            },
        },
        "device_pm_callback_end" => Kind::DevicePower {
            driver: body.text("driver")?,
            device: body.text("device")?,
            edge: PowerEdge::End { error: number("error")? },
        },
        "suspend_resume" => Kind::SuspendStep {
            action: body.string_at("action")?,
            value: number("val")?,
            begin: body.number("start")? != 0,
        },
        "signal_generate" => Kind::Signal { number: number("sig")?, task: body.text("comm")?, pid: pid("pid")? },
        "wakeup_source_activate" | "wakeup_source_deactivate" => {
            Kind::WakeupSource { name: body.text("name")?, active: name == "wakeup_source_activate" }
        }
        "rpm_suspend" => Kind::RuntimePower(RuntimePower::Suspend(body.text("name")?)),
        "rpm_resume" => Kind::RuntimePower(RuntimePower::Resume(body.text("name")?)),
        "rpm_idle" => Kind::RuntimePower(RuntimePower::Idle(body.text("name")?)),
        "rpm_return_int" => Kind::RuntimePower(RuntimePower::Return {
            function: body.function_around("ip")?,
            device: body.text("name")?,
            result: number("ret")?,
        }),
        "print" | "tracing_mark_write" => Kind::Mark(body.text("buf")?.trim()),
        _ => Kind::Other,
    })
}

/// A kernel's device number holds the minor number in its low twenty bits.
const MINOR_BITS: u32 = 20;

fn request(body: RecordBody<'_>, stage: RequestStage) -> Option<Kind<'_>> {
    let device = u32::try_from(body.number("dev")?).ok()?;
    let completed = stage == RequestStage::Completed;
    Some(Kind::Request(BlockRequest {
        stage,
        device: (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1)),
        sector: body.number("sector")? as u64,
        sectors: body.number("nr_sector")? as u64,
        operation: body.text("rwbs")?,
        task: if completed { "" } else { body.text("comm")? },
        error: if completed { body.number("error")?.try_into().ok()? } else { 0 },
    }))
}

/// Why a thread stopped: the lowest bit set says it; the bit above all of them, that it was preempted
/// (`TASK_REPORT_MAX`, Linux 4.14 and later).
fn state(bits: i64) -> TaskState {
    const LETTERS: &[u8; 8] = b"SDTtXZPI";
    const PREEMPTED: i64 = 0x100;
    let waits = bits & 0xff;
    let letter = if waits == 0 { b'R' } else { LETTERS[waits.trailing_zeros() as usize % LETTERS.len()] };
    TaskState { letter, preempted: bits & PREEMPTED != 0 }
}

/// `pm_verb_symbolic` of the kernel.
fn pm_event(event: i64) -> &'static str {
    match event {
        0x01 => "freeze",
        0x02 => "suspend",
        0x04 => "hibernate",
        0x08 => "quiesce",
        0x10 => "resume",
        0x20 => "thaw",
        0x40 => "restore",
        0x80 => "recover",
        _ => "?",
    }
}
