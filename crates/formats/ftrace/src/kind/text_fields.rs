//! Decodes events in the text format of the kernel and of `trace-cmd report`.

use super::fields::{self, RawText};
use super::function_graph;
use super::{BlockRequest, Kind, PowerEdge, RequestStage, RuntimePower, TaskState};

pub(super) fn read<'a>(name: &str, text: &'a str) -> Option<Kind<'a>> {
    let text = text.trim();
    let raw = || RawText::new(text).and_then(|raw| fields::read(name, raw));
    // For these events, raw fields would be taken for a name.
    let starts_with_name =
        ["module_", "rpm_", "wakeup_source_"].iter().any(|family| name.starts_with(family)) || is_mark(name);
    if starts_with_name && let Some(kind) = raw().filter(|&kind| kind != Kind::Other) {
        return Some(kind);
    }
    parse(name, text).or_else(raw)
}

/// Text written from user space, or by the kernel's `trace_printk`.
fn is_mark(name: &str) -> bool {
    matches!(name, "tracing_mark_write" | "print" | "bprint" | "bputs")
}

fn parse<'a>(name: &str, text: &'a str) -> Option<Kind<'a>> {
    Some(match name {
        "funcgraph_entry" | "funcgraph_exit" => function_graph::read(text)?,
        "sched_switch" => switch(text)?,
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            let (task, pid) = match between(text, "comm=", " pid=") {
                Some(task) => (task, number(after(text, " pid=")?)?),
                None => task_and_pid(text)?,
            };
            Kind::Waking { task, pid, first: name == "sched_wakeup_new" }
        }
        "sched_process_fork" => Kind::Fork {
            parent_pid: number(after(text, " pid=")?)?,
            child_task: between(text, " child_comm=", " child_pid=")?,
            child_pid: number(after(text, " child_pid=")?)?,
        },
        "sched_process_exec" => {
            Kind::Exec { file: between(text, "filename=", " pid=")?, pid: number(after(text, " pid=")?)? }
        }
        "sched_process_exit" => {
            Kind::Exit { task: between(text, "comm=", " pid=")?, pid: number(after(text, " pid=")?)? }
        }
        "irq_handler_entry" => {
            Kind::InterruptBegin { number: number(after(text, "irq=")?)?, name: after(text, " name=")? }
        }
        "irq_handler_exit" => Kind::InterruptEnd { number: number(after(text, "irq=")?)? },
        "softirq_entry" => Kind::SoftInterruptBegin { vector: number(after(text, "vec=")?)? },
        "softirq_exit" => Kind::SoftInterruptEnd { vector: number(after(text, "vec=")?)? },
        "block_bio_queue" => request(text, RequestStage::Queued)?,
        "block_rq_insert" => request(text, RequestStage::Inserted)?,
        "block_rq_issue" => request(text, RequestStage::Issued)?,
        "block_rq_complete" => request(text, RequestStage::Completed)?,
        "initcall_level" => Kind::InitcallLevel(after(text, "level=")?),
        "initcall_start" => Kind::InitcallBegin(called_function(after(text, "func=")?)),
        "initcall_finish" => Kind::InitcallEnd {
            function: called_function(between(text, "func=", " ret=")?),
            result: number(after(text, " ret=")?)?,
        },
        "module_load" => Kind::ModuleLoad(first_word(text)?),
        "module_free" => Kind::ModuleFree(first_word(text)?),
        "module_request" => Kind::ModuleRequest(first_word(text)?),
        "device_pm_callback_start" => {
            let (subject, rest) = text.split_once(", parent: ")?;
            let (parent, rest) = rest.split_once(", ")?;
            let (operations, event) = rest.rsplit_once('[')?;
            let (driver, device) = driver_and_device(subject);
            Kind::DevicePower {
                driver,
                device,
                edge: PowerEdge::Begin { parent, operations: operations.trim(), event: event.strip_suffix(']')? },
            }
        }
        "device_pm_callback_end" => {
            let (subject, error) = text.rsplit_once(", err=")?;
            let (driver, device) = driver_and_device(subject);
            Kind::DevicePower { driver, device, edge: PowerEdge::End { error: number(error)? } }
        }
        "suspend_resume" => {
            let (action, rest) = text.split_once('[')?;
            let (value, edge) = rest.split_once(']')?;
            Kind::SuspendStep { action, value: number(value)?, begin: edge.trim() == "begin" }
        }
        "signal_generate" => Kind::Signal {
            number: number(after(text, "sig=")?)?,
            task: between(text, " comm=", " pid=")?,
            pid: number(after_last(text, " pid=")?)?,
        },
        "wakeup_source_activate" | "wakeup_source_deactivate" => {
            Kind::WakeupSource { name: text.rsplit_once(" state=")?.0, active: name == "wakeup_source_activate" }
        }
        "rpm_suspend" => Kind::RuntimePower(RuntimePower::Suspend(first_word(text)?)),
        "rpm_resume" => Kind::RuntimePower(RuntimePower::Resume(first_word(text)?)),
        "rpm_idle" => Kind::RuntimePower(RuntimePower::Idle(first_word(text)?)),
        "rpm_return_int" => {
            let (place, rest) = text.split_once(':')?;
            let (device, result) = rest.rsplit_once(" ret=")?;
            Kind::RuntimePower(RuntimePower::Return { function: function(place), device, result: number(result)? })
        }
        // trace-cmd prefixes the writing function; for user text it carries no information.
        name if is_mark(name) => Kind::Mark(text.strip_prefix("tracing_mark_write: ").unwrap_or(text)),
        _ => Kind::Other,
    })
}

fn switch(text: &str) -> Option<Kind<'_>> {
    let (previous, next) = text.split_once(" ==> ")?;
    if let Some(previous_task) = between(previous, "prev_comm=", " prev_pid=") {
        return Some(Kind::Switch {
            previous_task,
            previous_pid: number(after(previous, " prev_pid=")?)?,
            previous_priority: number(after(previous, " prev_prio=")?)?,
            previous_state: state(after(previous, " prev_state=")?)?,
            next_task: between(next, "next_comm=", " next_pid=")?,
            next_pid: number(after(next, " next_pid=")?)?,
            next_priority: number(after(next, " next_prio=")?)?,
        });
    }
    // trace-cmd's own format: `task:pid [priority] state ==> task:pid [priority]`.
    let (previous_task, previous_pid) = task_and_pid(previous)?;
    let (next_task, next_pid) = task_and_pid(next)?;
    Some(Kind::Switch {
        previous_task,
        previous_pid,
        previous_priority: number(after_last(previous, " [")?)?,
        previous_state: state(after_last(previous, "] ")?)?,
        next_task,
        next_pid,
        next_priority: number(after_last(next, " [")?)?,
    })
}

fn state(text: &str) -> Option<TaskState> {
    let text = first_word(text)?;
    Some(TaskState { letter: *text.as_bytes().first()?, preempted: text.ends_with('+') })
}

/// Parses `254,0 R 4096 () 32 + 8 [task]`. A queued request has no byte count and no command, a completed one no byte
/// count.
fn request(text: &str, stage: RequestStage) -> Option<Kind<'_>> {
    let (head, tail) = text.rsplit_once(" [")?;
    let tail = tail.strip_suffix(']')?;
    let (place, sectors) = head.rsplit_once(" + ")?;
    // Newer kernels append the priority to the length: `none,0,0`.
    let sectors = number(sectors)?;
    let (what, sector) = place.rsplit_once(' ')?;
    let (device, rest) = what.split_once(' ')?;
    let (major, minor) = device.split_once(',')?;
    let completed = stage == RequestStage::Completed;
    Some(Kind::Request(BlockRequest {
        stage,
        device: (number(major)?, number(minor)?),
        sector: number(sector)?,
        sectors,
        operation: first_word(rest)?,
        task: if completed { "" } else { tail },
        error: if completed { number(tail)? } else { 0 },
    }))
}

/// Parses `task:pid [priority]…`; the task name may contain colons and spaces.
fn task_and_pid(text: &str) -> Option<(&str, u32)> {
    let (subject, _) = text.rsplit_once(" [")?;
    let (task, pid) = subject.rsplit_once(':')?;
    Some((task, number(pid)?))
}

/// Splits driver and device. The driver may be missing or contain spaces, such as `i8042 kbd`; a device name has none.
fn driver_and_device(text: &str) -> (&str, &str) {
    text.rsplit_once(' ').unwrap_or(("", text))
}

/// The text after the first `key`, which ends with `=`.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    // Lines have few equal signs, so checking each is much faster than searching for the whole key.
    let bytes = text.as_bytes();
    let at = memchr::memchr_iter(b'=', bytes).find(|&at| ends_key(bytes, at, key))?;
    text.get(at + 1..)
}

fn ends_key(bytes: &[u8], at: usize, key: &str) -> bool {
    bytes.get(..=at).is_some_and(|text| text.ends_with(key.as_bytes()))
}

fn after_last<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at = text.rfind(key)?;
    text.get(at + key.len()..)
}

/// The value between `key` and the last occurrence of `next`; the value may contain spaces.
fn between<'a>(text: &'a str, key: &str, next: &str) -> Option<&'a str> {
    let value = after(text, key)?;
    let bytes = value.as_bytes();
    let at = memchr::memrchr_iter(b'=', bytes).find(|&at| ends_key(bytes, at, next))?;
    value.get(..(at + 1).checked_sub(next.len())?)
}

fn first_word(text: &str) -> Option<&str> {
    text.split_ascii_whitespace().next()
}

/// Parses the number at the start of `text`.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    let end = text.bytes().position(|byte| !(byte.is_ascii_digit() || byte == b'-')).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// Removes the offset from `function+0x12/0x34` or `function+0x12`. An address gives an empty name.
fn function(text: &str) -> &str {
    match text.split('+').next().unwrap_or(text).trim() {
        address if address.starts_with("0x") => "",
        name => name,
    }
}

/// The name of a called function, which must have offset zero. Any other offset means that the function was freed, as a
/// module's initialization is, and that the name belongs to what is there now.
fn called_function(text: &str) -> &str {
    let name = function(text);
    match text.split_once('+') {
        Some((_, offset)) if !(offset == "0x0" || offset.starts_with("0x0/")) => "",
        _ => name,
    }
}
