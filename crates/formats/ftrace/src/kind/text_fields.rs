//! Decodes events in the text format of the kernel and of `trace-cmd report`.

use super::fields::{self, RawText};
use super::function_graph;
use super::{BlockRequest, Kind, PowerEdge, RequestStage, RuntimePower, TaskState};

pub(super) fn read<'a>(name: &str, text: &'a str) -> Option<Kind<'a>> {
    let text = text.trim();
    let raw = || RawText::new(text).and_then(|raw| fields::read(name, raw));
    // The text of these events starts with a name, and raw fields would be mistaken for it.
    let starts_with_name =
        ["module_", "rpm_", "wakeup_source_"].iter().any(|family| name.starts_with(family)) || is_marker(name);
    if starts_with_name && let Some(kind) = raw().filter(|&kind| kind != Kind::Other) {
        return Some(kind);
    }
    parse(name, text).or_else(raw)
}

/// True for events with text written from user space or by the kernel's `trace_printk`.
fn is_marker(name: &str) -> bool {
    matches!(name, "tracing_mark_write" | "print" | "bprint" | "bputs")
}

fn parse<'a>(name: &str, text: &'a str) -> Option<Kind<'a>> {
    Some(match name {
        "funcgraph_entry" | "funcgraph_exit" => function_graph::read(text)?,
        "sched_switch" => switch(text)?,
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            let (task, pid) = match value_between(text, "comm=", " pid=") {
                Some(task) => (task, number(value_after(text, " pid=")?)?),
                None => task_and_pid(text)?,
            };
            Kind::Waking { task, pid, first: name == "sched_wakeup_new" }
        }
        "sched_process_fork" => Kind::Fork {
            parent_pid: number(value_after(text, " pid=")?)?,
            child_task: value_between(text, " child_comm=", " child_pid=")?,
            child_pid: number(value_after(text, " child_pid=")?)?,
        },
        "sched_process_exec" => {
            Kind::Exec { file: value_between(text, "filename=", " pid=")?, pid: number(value_after(text, " pid=")?)? }
        }
        "sched_process_exit" => {
            Kind::Exit { task: value_between(text, "comm=", " pid=")?, pid: number(value_after(text, " pid=")?)? }
        }
        "irq_handler_entry" => {
            Kind::InterruptBegin { number: number(value_after(text, "irq=")?)?, name: value_after(text, " name=")? }
        }
        "irq_handler_exit" => Kind::InterruptEnd { number: number(value_after(text, "irq=")?)? },
        "softirq_entry" => Kind::SoftInterruptBegin { vector: number(value_after(text, "vec=")?)? },
        "softirq_exit" => Kind::SoftInterruptEnd { vector: number(value_after(text, "vec=")?)? },
        "block_bio_queue" => request(text, RequestStage::Queued)?,
        "block_rq_insert" => request(text, RequestStage::Inserted)?,
        "block_rq_issue" => request(text, RequestStage::Issued)?,
        "block_rq_complete" => request(text, RequestStage::Completed)?,
        "initcall_level" => Kind::InitcallLevel(value_after(text, "level=")?),
        "initcall_start" => Kind::InitcallBegin(called_function(value_after(text, "func=")?)),
        "initcall_finish" => Kind::InitcallEnd {
            function: called_function(value_between(text, "func=", " ret=")?),
            result: number(value_after(text, " ret=")?)?,
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
            let (value, phase) = rest.split_once(']')?;
            Kind::SuspendStep { action, value: number(value)?, begin: phase.trim() == "begin" }
        }
        "signal_generate" => Kind::Signal {
            number: number(value_after(text, "sig=")?)?,
            task: value_between(text, " comm=", " pid=")?,
            pid: number(text_after_last(text, " pid=")?)?,
        },
        "wakeup_source_activate" | "wakeup_source_deactivate" => {
            Kind::WakeupSource { name: text.rsplit_once(" state=")?.0, active: name == "wakeup_source_activate" }
        }
        "rpm_suspend" => Kind::RuntimePower(RuntimePower::Suspend(first_word(text)?)),
        "rpm_resume" => Kind::RuntimePower(RuntimePower::Resume(first_word(text)?)),
        "rpm_idle" => Kind::RuntimePower(RuntimePower::Idle(first_word(text)?)),
        "rpm_return_int" => {
            let (location, rest) = text.split_once(':')?;
            let (device, result) = rest.rsplit_once(" ret=")?;
            Kind::RuntimePower(RuntimePower::Return { function: function(location), device, result: number(result)? })
        }
        // trace-cmd prefixes the writing function; for user text it carries no information.
        name if is_marker(name) => Kind::Mark(text.strip_prefix("tracing_mark_write: ").unwrap_or(text)),
        _ => Kind::Other,
    })
}

fn switch(text: &str) -> Option<Kind<'_>> {
    let (previous, next) = text.split_once(" ==> ")?;
    if let Some(previous_task) = value_between(previous, "prev_comm=", " prev_pid=") {
        return Some(Kind::Switch {
            previous_task,
            previous_pid: number(value_after(previous, " prev_pid=")?)?,
            previous_priority: number(value_after(previous, " prev_prio=")?)?,
            previous_state: state(value_after(previous, " prev_state=")?)?,
            next_task: value_between(next, "next_comm=", " next_pid=")?,
            next_pid: number(value_after(next, " next_pid=")?)?,
            next_priority: number(value_after(next, " next_prio=")?)?,
        });
    }
    // trace-cmd's own format: `task:pid [priority] state ==> task:pid [priority]`.
    let (previous_task, previous_pid) = task_and_pid(previous)?;
    let (next_task, next_pid) = task_and_pid(next)?;
    Some(Kind::Switch {
        previous_task,
        previous_pid,
        previous_priority: number(text_after_last(previous, " [")?)?,
        previous_state: state(text_after_last(previous, "] ")?)?,
        next_task,
        next_pid,
        next_priority: number(text_after_last(next, " [")?)?,
    })
}

fn state(text: &str) -> Option<TaskState> {
    let text = first_word(text)?;
    Some(TaskState { letter: *text.as_bytes().first()?, preempted: text.ends_with('+') })
}

/// Parses `254,0 R 4096 () 32 + 8 [task]`. A queued request has no byte count and no command; a completed
/// request has no byte count.
fn request(text: &str, stage: RequestStage) -> Option<Kind<'_>> {
    let (head, tail) = text.rsplit_once(" [")?;
    let tail = tail.strip_suffix(']')?;
    let (position, sectors) = head.rsplit_once(" + ")?;
    // Newer kernels append the priority to the length: `none,0,0`.
    let sectors = number(sectors)?;
    let (device_and_operation, sector) = position.rsplit_once(' ')?;
    let (device, rest) = device_and_operation.split_once(' ')?;
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

/// Returns the text after the first `key`, which must end with `=`.
fn value_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    // Lines have few equal signs, so checking each is much faster than searching for the whole key.
    let bytes = text.as_bytes();
    let index = memchr::memchr_iter(b'=', bytes).find(|&index| ends_key(bytes, index, key))?;
    text.get(index + 1..)
}

fn ends_key(bytes: &[u8], index: usize, key: &str) -> bool {
    bytes.get(..=index).is_some_and(|text| text.ends_with(key.as_bytes()))
}

fn text_after_last<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let index = text.rfind(key)?;
    text.get(index + key.len()..)
}

/// Returns the value between `key` and the last occurrence of `next`; the value may contain spaces.
fn value_between<'a>(text: &'a str, key: &str, next: &str) -> Option<&'a str> {
    let value = value_after(text, key)?;
    let bytes = value.as_bytes();
    let index = memchr::memrchr_iter(b'=', bytes).find(|&index| ends_key(bytes, index, next))?;
    value.get(..(index + 1).checked_sub(next.len())?)
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

/// Returns the name of a called function, which must have offset zero. Any other offset means that the function was
/// freed (like a module's initialization code) and that the name belongs to newer code at its address.
fn called_function(text: &str) -> &str {
    let name = function(text);
    match text.split_once('+') {
        Some((_, offset)) if !(offset == "0x0" || offset.starts_with("0x0/")) => "",
        _ => name,
    }
}
