//! Decodes events by field name: binary records, and the text of `trace-cmd report -R`.

use super::{BlockRequest, Kind, PowerEdge, RequestStage, RuntimePower, TaskState};
use crate::record::{RecordBody, StackAddresses};

/// Access to an event's fields by name.
pub(super) trait Fields<'a>: Copy {
    /// Reads a number; `None` if the field does not exist.
    fn number(self, field: &str) -> Option<i64>;
    /// Reads a string; `None` if the field does not exist.
    fn text(self, field: &str) -> Option<&'a str>;
    /// Returns the function that starts at the address in a field; empty if unknown.
    fn function(self, field: &str) -> Option<&'a str>;
    /// Returns the function that contains the address in a field; empty if unknown.
    fn function_around(self, field: &str) -> Option<&'a str>;
    /// Returns the string at the address in a field.
    fn string_at(self, field: &str) -> Option<&'a str>;
    /// Reads up to `max` addresses, starting at a field.
    fn addresses(self, field: &str, max: usize) -> Option<StackAddresses<'a>>;
    /// True if this format records the addresses of call stacks.
    fn has_addresses(self) -> bool;
}

impl<'a> Fields<'a> for RecordBody<'a> {
    fn number(self, field: &str) -> Option<i64> {
        RecordBody::number(&self, field)
    }

    fn text(self, field: &str) -> Option<&'a str> {
        RecordBody::text(&self, field)
    }

    fn function(self, field: &str) -> Option<&'a str> {
        RecordBody::function(&self, field)
    }

    fn function_around(self, field: &str) -> Option<&'a str> {
        RecordBody::function_around(&self, field)
    }

    fn string_at(self, field: &str) -> Option<&'a str> {
        RecordBody::string_at(&self, field)
    }

    fn addresses(self, field: &str, max: usize) -> Option<StackAddresses<'a>> {
        RecordBody::addresses(&self, field, max)
    }

    fn has_addresses(self) -> bool {
        true
    }
}

/// Text `name=value name=value …` of `trace-cmd report -R`, which has addresses instead of strings and long numbers in
/// hexadecimal.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawText<'a>(&'a str);

impl<'a> RawText<'a> {
    /// Wraps `text`; `None` if it does not start with a field.
    pub(super) fn new(text: &'a str) -> Option<Self> {
        let (name, _) = text.split_once('=')?;
        is_field_name(name).then_some(Self(text))
    }

    /// Returns the value of a field, up to the next field. Values are not quoted, so a thread name that contains ` x=`
    /// is truncated there.
    fn value(self, field: &str) -> Option<&'a str> {
        let mut remaining = self.0;
        loop {
            let (name, value) = remaining.split_once('=')?;
            let end = next_field(value);
            if name == field {
                return value.get(..end.unwrap_or(value.len()));
            }
            remaining = value.get(end? + 1..)?;
        }
    }

    /// Returns an empty name for an address, because this format has no names for addresses.
    fn address(self, field: &str) -> Option<&'a str> {
        self.value(field)?.starts_with("0x").then_some("")
    }
}

fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the position of the space before the next `name=`.
fn next_field(text: &str) -> Option<usize> {
    memchr::memchr_iter(b'=', text.as_bytes()).find_map(|equals| {
        let prefix = text.get(..equals)?;
        let space = prefix.rfind(' ')?;
        is_field_name(prefix.get(space + 1..)?).then_some(space)
    })
}

impl<'a> Fields<'a> for RawText<'a> {
    fn number(self, field: &str) -> Option<i64> {
        let value = self.value(field)?.trim();
        match value.strip_prefix("0x") {
            Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok().map(|bits| bits as i64),
            None => value.parse().ok(),
        }
    }

    fn text(self, field: &str) -> Option<&'a str> {
        self.value(field)
    }

    fn function(self, field: &str) -> Option<&'a str> {
        self.address(field)
    }

    fn function_around(self, field: &str) -> Option<&'a str> {
        self.address(field)
    }

    fn string_at(self, _field: &str) -> Option<&'a str> {
        None
    }

    fn addresses(self, _field: &str, _max: usize) -> Option<StackAddresses<'a>> {
        None
    }

    fn has_addresses(self) -> bool {
        false
    }
}

pub(super) fn read<'a>(name: &str, body: impl Fields<'a>) -> Option<Kind<'a>> {
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
        "funcgraph_entry" => Kind::FunctionBegin {
            function: match body.function_around("func")? {
                // Raw text has the address as text; in a record the field is a number and must not be read as text.
                "" => body.text("func").filter(|text| text.starts_with("0x")).unwrap_or_default(),
                function => function,
            },
            depth: depth(body.number("depth")?)?,
        },
        "funcgraph_exit" => Kind::FunctionEnd {
            depth: depth(body.number("depth")?)?,
            duration_ns: body
                .number("rettime")
                .zip(body.number("calltime"))
                .and_then(|(end, begin)| u64::try_from(end.checked_sub(begin)?).ok()),
            overrun: body.number("overrun").and_then(|count| count.try_into().ok()).unwrap_or_default(),
        },
        "kernel_stack" | "user_stack" if !body.has_addresses() => Kind::Other,
        "kernel_stack" => {
            // Kernels before 2.6.38 do not record the number of frames.
            let max = body.number("size").map_or(MAX_FRAMES, |count| usize::try_from(count).unwrap_or(0));
            Kind::KernelStack(body.addresses("caller", max.min(MAX_FRAMES))?)
        }
        "user_stack" => Kind::UserStack {
            process: body.number("tgid").and_then(|process| process.try_into().ok()).unwrap_or_default(),
            addresses: body.addresses("caller", MAX_USER_FRAMES)?,
        },
        "print" | "tracing_mark_write" => Kind::Mark(body.text("buf")?.trim()),
        _ => Kind::Other,
    })
}

/// Converts a depth; it is -1 if the tracer lost count.
fn depth(value: i64) -> Option<u32> {
    value.try_into().ok()
}

/// Maximum number of frames. A record fits in a page, so it has fewer.
const MAX_FRAMES: usize = 1024;
/// Number of frames of a user stack (`FTRACE_STACK_ENTRIES`).
const MAX_USER_FRAMES: usize = 8;

/// The minor number is in the low twenty bits of a device number.
const MINOR_BITS: u32 = 20;

fn request<'a>(body: impl Fields<'a>, stage: RequestStage) -> Option<Kind<'a>> {
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

/// Decodes a thread state: the lowest set bit is the state, and the bit above all states means preempted
/// (`TASK_REPORT_MAX`, Linux 4.14 and later).
fn state(bits: i64) -> TaskState {
    const LETTERS: &[u8; 8] = b"SDTtXZPI";
    const PREEMPTED: i64 = 0x100;
    let state_bits = bits & 0xff;
    let letter = if state_bits == 0 { b'R' } else { LETTERS[state_bits.trailing_zeros() as usize % LETTERS.len()] };
    TaskState { letter, preempted: bits & PREEMPTED != 0 }
}

/// Names a power event like the kernel's `pm_verb_symbolic`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Format, KernelSymbols};

    /// Builds a record in the format of the function_graph tracer.
    fn record(name: &str, fields: &[(&str, usize, i64)]) -> (Format, Vec<u8>) {
        let mut text = format!("name: {name}\nID: 11\nformat:\n");
        let mut bytes = Vec::new();
        for &(field, size, value) in fields {
            text +=
                &format!("\tfield:{field};\toffset:{};\tsize:{size};\tsigned:{};\n", bytes.len(), u8::from(size == 4));
            bytes.extend(&value.to_le_bytes()[..size]);
        }
        (Format::parse(&text).unwrap(), bytes)
    }

    #[test]
    fn decodes_function_graph_records() {
        let mut symbols = KernelSymbols::default();
        symbols.add_symbols(b"ffffffff81000000 T sd_suspend\nffffffff81000100 T sd_resume\n");
        let kind = |name: &str, fields: &[(&str, usize, i64)], expected: Option<Kind<'_>>| {
            let (format, bytes) = record(name, fields);
            assert_eq!(read(name, RecordBody::new(&format, &bytes, &symbols, false)), expected, "{fields:?}");
        };
        let address = 0xffff_ffff_8100_0100_u64 as i64;
        let begin = |function, depth| Some(Kind::FunctionBegin { function, depth });
        kind("funcgraph_entry", &[("unsigned long func", 8, address), ("int depth", 4, 2)], begin("sd_resume", 2));
        // Newer kernels have a long depth; a function of an unloaded module has no name.
        kind("funcgraph_entry", &[("unsigned long func", 8, 0x10), ("unsigned long depth", 8, 0)], begin("", 0));
        // The tracer lost count: no depth.
        kind("funcgraph_entry", &[("unsigned long func", 8, address), ("int depth", 4, -1)], None);
        let end = [
            ("unsigned long func", 8, address),
            ("int depth", 4, 2),
            ("unsigned int overrun", 4, 7),
            ("unsigned long long calltime", 8, 1_000),
            ("unsigned long long rettime", 8, 4_500),
        ];
        let expected = |duration_ns, overrun| Some(Kind::FunctionEnd { depth: 2, duration_ns, overrun });
        kind("funcgraph_exit", &end, expected(Some(3_500), 7));
        kind("funcgraph_exit", &end[..2], expected(None, 0));
    }

    #[test]
    fn reads_call_stacks() {
        // Linux 6.1 describes only 64 of the 88 bytes of `caller`; `size` is the number of frames.
        let symbols = KernelSymbols::default();
        let header: &[(&str, usize, i64)] = &[("int size", 4, 3), ("int pad", 4, 0)];
        let kernel = |size: i64, rest: &[u64]| {
            let mut fields = header.to_vec();
            fields[0].2 = size;
            fields.push(("unsigned long caller[8]", 8, 0x10));
            let (format, mut bytes) = record("kernel_stack", &fields);
            bytes.extend(rest.iter().flat_map(|address| address.to_le_bytes()));
            match read("kernel_stack", RecordBody::new(&format, &bytes, &symbols, false)) {
                Some(Kind::KernelStack(stack)) => stack.iter().collect::<Vec<u64>>(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(kernel(3, &[0x20, 0x30, 0x40]), [0x10, 0x20, 0x30], "frames beyond the count are ignored");
        assert_eq!(kernel(9, &[0x20]), [0x10, 0x20], "a truncated record keeps its frames");
        assert_eq!(kernel(4, &[0x20, u64::MAX, 0x40]), [0x10, 0x20], "old kernels end a stack with all bits set");
        assert_eq!(kernel(3, &[0x7fff_ffff, 0x30]), [0x10, 0x30], "tracer trampolines are not frames");
        assert_eq!(kernel(-1, &[0x20]), [0_u64; 0]);
        let user: &[(&str, usize, i64)] =
            &[("unsigned int tgid", 4, 77), ("int pad", 4, 0), ("unsigned long caller[8]", 8, 0x10)];
        let (format, mut bytes) = record("user_stack", user);
        bytes.extend([0x20_u64, 0, 0x30].iter().flat_map(|address| address.to_le_bytes()));
        let Some(Kind::UserStack { process: 77, addresses }) =
            read("user_stack", RecordBody::new(&format, &bytes, &symbols, false))
        else {
            panic!("no stack");
        };
        assert_eq!(addresses.iter().collect::<Vec<u64>>(), [0x10, 0x20]);
        // A record that ends before its addresses has no stack.
        assert_eq!(read("user_stack", RecordBody::new(&format, &bytes[..6], &symbols, false)), None);
    }
}
