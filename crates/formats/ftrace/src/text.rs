//! Reads trace text with one event per line.
//!
//! ```text
//!           <idle>-0       [000] d..2.     0.440000: sched_switch: prev_comm=swapper/0 …     the kernel's
//!          systemd-1     [001]     1.554822: sched_switch:         systemd:1 [120] S ==> …   trace-cmd's
//! ```

use crate::event::{Body, Context, Event};
use crate::losses::Losses;

/// A trace in text form.
#[derive(Clone, Copy, Debug)]
pub struct TextTrace<'a> {
    bytes: &'a [u8],
}

/// Number of lines inspected to recognize the format.
const SNIFF_LINES: usize = 64;

impl<'a> TextTrace<'a> {
    /// Wraps `bytes`. Lines that are not events are counted when reading.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// True if `bytes` start with the kernel's header or have an event in the first lines.
    #[must_use]
    pub fn recognizes(bytes: &[u8]) -> bool {
        bytes.starts_with(b"# tracer:")
            || lines(bytes).take(SNIFF_LINES).any(|(_, line)| std::str::from_utf8(line).ok().and_then(event).is_some())
    }

    /// Returns the clock as the kernel names it, if the recorder added it to the header: `# trace_clock: mono`. The
    /// kernel itself does not.
    #[must_use]
    pub fn clock(&self) -> Option<&'a str> {
        let header = lines(self.bytes).take(SNIFF_LINES).map(|(_, line)| line);
        let mut header = header.take_while(|line| line.starts_with(b"#"));
        let clock = header.find_map(|line| line.strip_prefix(b"# trace_clock: "))?;
        std::str::from_utf8(clock).ok().map(str::trim).filter(|name| is_name(name))
    }

    /// Passes every event to `visit`, in file order. Returns what could not be read.
    pub fn read(self, mut visit: impl FnMut(Event<'a>)) -> Losses {
        let mut losses = Losses::default();
        for (offset, line) in lines(self.bytes) {
            let Ok(line) = std::str::from_utf8(line) else {
                losses.unreadable_lines += 1;
                losses.record_offset(offset);
                continue;
            };
            match event(line).or_else(|| graph_line(line)) {
                Some(event) => {
                    losses.text_stacks += u64::from(matches!(event.name, "kernel_stack" | "user_stack"));
                    visit(event);
                }
                None if is_ignored(line) || is_graph_decoration(line) || is_frame(line) => {}
                None if is_stack_header(line) => losses.text_stacks += 1,
                None => match events_lost(line) {
                    Some(lost) => losses.overwritten = losses.overwritten.saturating_add(lost),
                    None => {
                        losses.unreadable_lines += 1;
                        losses.record_offset(offset);
                    }
                },
            }
        }
        losses
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut begin = 0;
    std::iter::from_fn(move || {
        let remaining = bytes.get(begin..).filter(|remaining| !remaining.is_empty())?;
        let length = memchr::memchr(b'\n', remaining).unwrap_or(remaining.len());
        let offset = begin;
        begin += length + 1;
        Some((offset, remaining.get(..length)?))
    })
}

fn event(line: &str) -> Option<Event<'_>> {
    // In the other format, brackets further right may enclose a priority. Then no time follows.
    let parse_context_and_time = |(thread, cpu, rest)| Some((thread, cpu, split_context_and_time(rest)?));
    let (thread, cpu, (context, time, rest)) = split_at_cpu(line)
        .and_then(parse_context_and_time)
        .or_else(|| split_at_cpu_and_flags(line).and_then(parse_context_and_time))?;
    let thread = thread.trim();
    // With the option `record-tgid` the process id follows the thread: `task-123 (456)`.
    let thread = match thread.rsplit_once(" (") {
        Some((thread, process)) if process.ends_with(')') => thread.trim_end(),
        _ => thread,
    };
    let (task, pid) = thread.rsplit_once('-')?;
    let (name, body) = match rest.split_once(':') {
        Some((name, body)) if is_name(name) => (name, body.strip_prefix(' ').unwrap_or(body)),
        _ => system_call(rest)?,
    };
    Some(Event { time_ns: time, cpu, pid: pid.parse().ok()?, task, context, name, body: Body::Text(body) })
}

/// Parses function_graph text with the options `funcgraph-abstime` and `funcgraph-proc`. Without them a line has
/// neither a time nor a thread:
///
/// ```text
///   137.336960 |   0)  kworker-1234  |   0.633 us    |    foo();
///   137.336968 |   0)  kworker-1234  |               |  /* device_pm_callback_start: usb 1-1, … */
/// ```
fn graph_line(line: &str) -> Option<Event<'_>> {
    if is_graph_decoration(line) {
        return None;
    }
    let (time, rest) = line.split_once('|')?;
    let time_ns = nanoseconds(time.trim())?;
    let (cpu, rest) = rest.split_once(')')?;
    let cpu = cpu.trim().parse().ok()?;
    // A thread name may contain the separator; the text before the call does not.
    let (thread, call) = rest.split_once(" |")?;
    let (task, pid) = thread.trim().rsplit_once('-')?;
    let pid = pid.trim().parse().ok()?;
    let call = call.trim_start_matches('|');
    let new_event = |name, body| Event { time_ns, cpu, pid, task, context: None, name, body: Body::Text(body) };
    let words = call.rsplit_once('|').map_or(call, |(_, words)| words).trim();
    if let Some((_, comment)) = call.split_once("/* ")
        && words.starts_with("/*")
    {
        let (name, body) = comment.trim_end().trim_end_matches("*/").split_once(':')?;
        return is_name(name).then(|| new_event(name, body.trim()));
    }
    let name = if words.starts_with('}') { "funcgraph_exit" } else { "funcgraph_entry" };
    // With the option `latency-format` the flags are between thread and duration.
    let call = match call.split_once('|') {
        Some((_, rest)) if rest.contains('|') => rest,
        _ => call,
    };
    call.contains('|').then(|| new_event(name, call))
}

/// True for lines that the function_graph tracer draws: thread switches on a processor, begin and end of interrupts.
fn is_graph_decoration(line: &str) -> bool {
    let line = line.trim();
    (line.len() > 2 && line.bytes().all(|byte| byte == b'-'))
        || line.split_once(')').is_some_and(|(cpu, rest)| cpu.trim().parse::<u16>().is_ok() && rest.contains(" => "))
        || (line.contains('|') && (line.contains("==========>") || line.contains("<==========")))
}

/// Splits a line at `[cpu]`. A task name may contain brackets too, so only digits in brackets with a space on
/// both sides count.
fn split_at_cpu(line: &str) -> Option<(&str, u16, &str)> {
    let bytes = line.as_bytes();
    memchr::memchr_iter(b'[', bytes).find_map(|open| {
        let previous = open.checked_sub(1)?;
        let inside = bytes.get(open + 1..)?;
        let digits = inside.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if bytes.get(previous) != Some(&b' ') || digits < 3 || inside.get(digits..digits + 2) != Some(b"] ") {
            return None;
        }
        let cpu = line.get(open + 1..open + 1 + digits)?.parse().ok()?;
        Some((line.get(..open)?, cpu, line.get(open + digits + 3..)?))
    })
}

/// Splits a line of trace-cmd's latency format, where flags follow the processor number directly: `task-1       1d.h2.
/// 12.3: …`. The returned tail starts with the flags.
fn split_at_cpu_and_flags(line: &str) -> Option<(&str, u16, &str)> {
    const FLAGS_LEN: std::ops::RangeInclusive<usize> = 4..=8;
    // The flags are in the word before the first time.
    let time = line
        .split_ascii_whitespace()
        .find(|word| word.strip_suffix(':').is_some_and(|time| nanoseconds(time).is_some()))?;
    let time_index = line.find(&format!(" {time}"))?;
    let prefix = line.get(..time_index)?.trim_end();
    let word_start = prefix.rfind(' ')? + 1;
    let word = prefix.get(word_start..)?;
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    // Flags may end in digits (the preemption depth), so the processor number is taken from the start of the word;
    // flags start with one of the interrupt letters.
    let flags = word.get(digits..).filter(|flags| flags.starts_with(['.', 'd', 'D', 'b', 'X']))?;
    if digits == 0 || !FLAGS_LEN.contains(&flags.len()) {
        return None;
    }
    Some((line.get(..word_start)?, word.get(..digits)?.parse().ok()?, line.get(word_start + digits..)?))
}

/// Parses system calls in the kernel's text: `sys_read(fd: 3, …)` on entry, `sys_read -> 0x10` on return.
fn system_call(text: &str) -> Option<(&str, &str)> {
    let end = text.find(['(', ' '])?;
    let (name, body) = text.split_at(end);
    let body = body.trim_start();
    (name.starts_with("sys_") && is_name(name) && (body.starts_with('(') || body.starts_with("-> ")))
        .then_some((name, body))
}

/// Parses optional flags and `seconds.fraction: `.
fn split_context_and_time(text: &str) -> Option<(Option<Context>, u64, &str)> {
    let text = text.trim_start();
    let (word, rest) = text.split_once(' ')?;
    let (flags, word, rest) = if word.ends_with(':') {
        (None, word, rest)
    } else {
        let (time, rest) = rest.trim_start().split_once(' ')?;
        (Some(word), time, rest)
    };
    let time = nanoseconds(word.strip_suffix(':')?)?;
    Some((flags.and_then(context), time, rest.trim_start()))
}

/// Decodes the third flag, as in `d.h2.`: `h` interrupt, `H` interrupt inside a soft interrupt, `s` soft interrupt, `Z`
/// and `z` non-maskable interrupt.
fn context(flags: &str) -> Option<Context> {
    match flags.as_bytes().get(2)? {
        b'.' => Some(Context::Thread),
        b's' => Some(Context::SoftInterrupt),
        b'h' | b'H' | b'z' | b'Z' => Some(Context::Interrupt),
        _ => None,
    }
}

fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits = fraction.len();
    if !(1..=9).contains(&digits) || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = 10_u64.pow(9 - u32::try_from(digits).ok()?);
    let fraction = fraction.parse::<u64>().ok()?.checked_mul(scale)?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// True for an event name, or the name of a function that wrote into the trace, possibly with a compiler suffix
/// (`.isra.0`).
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
}

/// True for headers and other lines that are not events by design.
fn is_ignored(line: &str) -> bool {
    line.trim().is_empty()
        || line.starts_with('#')
        || line.starts_with("cpus=")
        || line.starts_with("version = ")
        || (line.starts_with("CPU ") && line.ends_with(" is empty"))
}

/// True for the header of a call stack in the kernel's text: `task-1 [000] d..2. 1.5: <stack trace>` or `<user stack
/// trace>`.
fn is_stack_header(line: &str) -> bool {
    line.ends_with(": <stack trace>") || line.ends_with(": <user stack trace>")
}

/// True for a stack frame: ` => schedule`, optionally with an address.
fn is_frame(line: &str) -> bool {
    line.trim_start().starts_with("=> ")
}

/// Parses `CPU:0 [LOST 123 EVENTS]` and `CPU:0 [123 EVENTS DROPPED]`.
fn events_lost(line: &str) -> Option<u64> {
    let (_, rest) = line.trim().strip_prefix("CPU:")?.split_once('[')?;
    rest.split_ascii_whitespace().find_map(|word| word.parse().ok()).or(Some(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    fn read_one(line: &str) -> Event<'_> {
        let mut events = Vec::new();
        let losses = TextTrace::new(line.as_bytes()).read(|event| events.push(event));
        assert_eq!((events.len(), losses), (1, Losses::default()), "{line}");
        events.remove(0)
    }

    #[test]
    fn kernel_and_trace_cmd_lines_are_equivalent() {
        let kernel = read_one(
            "  Web Content[1]-77    [013] d..2.    12.440007: sched_switch: prev_comm=Web Content[1] prev_pid=77 prev_prio=120 prev_state=R+ ==> next_comm=a:b next_pid=3 next_prio=98",
        );
        let report = read_one(
            "  Web Content[1]-77    [013]    12.440007000: sched_switch:         Web Content[1]:77 [120] R+ ==> a:b:3 [98]",
        );
        assert_eq!((kernel.time_ns, kernel.cpu, kernel.pid), (12_440_007_000, 13, 77));
        assert_eq!((kernel.task, report.task), ("Web Content[1]", "Web Content[1]"));
        assert_eq!(kernel.time_ns, report.time_ns);
        let Some(Kind::Switch { previous_task, previous_state, next_task, next_pid, .. }) = Kind::from_event(&kernel)
        else {
            panic!("{kernel:?}");
        };
        assert_eq!((previous_task, next_task, next_pid), ("Web Content[1]", "a:b", 3));
        assert!(previous_state.preempted && previous_state.letter == b'R');
        assert_eq!(Kind::from_event(&kernel), Kind::from_event(&report));
    }

    #[test]
    fn reads_function_graph_lines() {
        let leaf = read_one("  137.336960 |   0)  kworker/u4:2-77  |   0.633 us    |    foo();");
        assert_eq!((leaf.time_ns, leaf.cpu, leaf.pid, leaf.task), (137_336_960_000, 0, 77, "kworker/u4:2"));
        let is_foo = |event: &Event<'_>| {
            assert_eq!(
                Kind::from_event(event),
                Some(Kind::FunctionCall { function: "foo", depth: 1, duration_ns: Some(633) }),
                "{event:?}"
            );
        };
        is_foo(&leaf);
        is_foo(&read_one("  137.336960 |   0)  a-b-77  |  d..1. |   0.633 us    |    foo();"));
        is_foo(&read_one(" a-77 [000] 137.336960: funcgraph_entry:        0.633 us   |    foo();"));
        let end = read_one("  137.5 |   3)  a-77  | + 12.1 us     |  } /* foo */");
        assert_eq!(Kind::from_event(&end), Some(Kind::FunctionEnd { depth: 0, duration_ns: Some(12_100), overrun: 0 }));
        let raw =
            read_one(" a-77 [000] 1.5: funcgraph_exit:  func=0xff calltime=0x10 rettime=0x3e8 overrun=0x2 depth=1");
        assert_eq!(Kind::from_event(&raw), Some(Kind::FunctionEnd { depth: 1, duration_ns: Some(984), overrun: 2 }));
        let raw = read_one(" a-77 [000] 1.5: funcgraph_entry:  func=0xff depth=1");
        assert_eq!(Kind::from_event(&raw), Some(Kind::FunctionBegin { function: "0xff", depth: 1 }));
        let event = read_one("  137.5 |   3)  a-77  |               |    /* initcall_start: func=foo+0x0/0x1 */");
        assert_eq!(Kind::from_event(&event), Some(Kind::InitcallBegin("foo")));
        // A line without a time or thread is counted; decorations are not losses.
        let text = " 0)   0.633 us    |  foo();\n ------------------------------------------\n 0)  a-1  =>  b-2\n\
                    1.5 |   0)  a-1  |   ==========> |\n";
        let losses = TextTrace::new(text.as_bytes()).read(|event| panic!("{event:?}"));
        assert_eq!(losses.unreadable_lines, 1);
    }

    #[test]
    fn latency_format_is_equivalent() {
        let plain = read_one(
            "  kworker/u4:2-77    [013]    12.440007: sched_switch: kworker/u4:2:77 [120] D ==> swapper/13:0 [120]",
        );
        let latency = read_one(
            "kworker/-77     13d.h2.    12.440007: sched_switch: kworker/u4:2:77 [120] D ==> swapper/13:0 [120]",
        );
        assert_eq!((latency.time_ns, latency.cpu, latency.pid), (plain.time_ns, plain.cpu, plain.pid));
        assert_eq!(Kind::from_event(&latency), Kind::from_event(&plain));
        assert_eq!((latency.context, plain.context), (Some(Context::Interrupt), None));
        // Flags without a processor number are rejected.
        for line in ["a-1 d.h2. 1.5: x: y", "a-1 0 1.5: x: y", "a-1 0d.h2.d.h2. 1.5: x: y", "0d.. 1.5: x: y"] {
            assert!(event(line).is_none(), "{line}");
        }
    }

    #[test]
    fn raw_fields_are_equivalent() {
        let same = |name: &str, sentence: &str, raw: &str| {
            let line = |body: &str| format!("a b-7 [000] 1.5: {name}: {body}");
            let (sentence, raw) = (line(sentence), line(raw));
            let expected = Kind::from_event(&read_one(&sentence));
            assert!(expected.is_some_and(|kind| kind != Kind::Other), "{sentence}");
            assert_eq!(Kind::from_event(&read_one(&raw)), expected, "{raw}");
        };
        same(
            "sched_switch",
            "a b:7 [120] D ==> c:9 [98]",
            "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=0x2 next_comm=c next_pid=9 next_prio=98",
        );
        same(
            "sched_process_fork",
            "comm=a pid=1 child_comm=b c child_pid=2",
            "parent_comm=a parent_pid=1 child_comm=b c child_pid=2",
        );
        same("module_load", "ext4 E", "taints=0x2000 name=ext4");
        same("module_request", "fs-ext4 wait=1 call_site=x", "ip=0xffffffff81 wait=1 name=fs-ext4");
        same("rpm_suspend", "0000:00:1f.2 flags-4 cnt-0", "name=0000:00:1f.2 flags=4 usage_count=0");
        same("wakeup_source_activate", "alarm timer state=0x1", "name=alarm timer state=1");
        same("device_pm_callback_end", "usb 1-1, err=-16", "device=1-1 driver=usb error=-16");
        same(
            "device_pm_callback_start",
            "usb 1-1, parent: usb1, bus [resume]",
            "device=1-1 driver=usb parent=usb1 pm_ops=bus  event=16",
        );
        same(
            "block_rq_issue",
            "254,1 R 4096 () 32 + 8 [a]",
            "dev=0xfe00001 sector=32 nr_sector=8 bytes=4096 rwbs=R comm=a cmd=",
        );
        same("softirq_entry", "vec=1 [action=TIMER]", "vec=1");
        same("print", "tracing_mark_write: here", "ip=0xffffffff81 buf=here");
        // An address is not a name: the suspend step is unreadable.
        assert_eq!(
            Kind::from_event(&read_one("a-1 [000] 1.5: suspend_resume: action=0xffffffff81 val=3 start=1")),
            None
        );
        assert_eq!(
            Kind::from_event(&read_one("a-1 [000] 1.5: print: ip=7 and more")),
            Some(Kind::Mark("ip=7 and more"))
        );
    }

    #[test]
    fn reads_system_calls_and_trace_printk() {
        let enter = read_one("a-1 [000] ..... 1.5: sys_openat(dfd: ffffff9c, filename: 7ffd, flags: 80000, mode: 0)");
        let exit = read_one("a-1 [000] ..... 1.5: sys_openat -> 0x3");
        assert_eq!((enter.name, exit.name), ("sys_openat", "sys_openat"));
        assert!(matches!(enter.body, Body::Text(text) if text.starts_with("(dfd: ")));
        assert!(matches!(exit.body, Body::Text("-> 0x3")));
        assert_eq!(read_one("a-1 [000] ..... 1.5: load.isra.0: 3 of 4").name, "load.isra.0");
        assert_eq!(
            Kind::from_event(&read_one("a-1 [000] 1.5: bprint: load: 3 of 4")),
            Some(Kind::Mark("load: 3 of 4"))
        );
        for line in ["a-1 [000] ..... 1.5: sys_openat", "a-1 [000] ..... 1.5: other(x: 1)"] {
            assert!(event(line).is_none(), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_line(
            text: String,
            flags in "[0-9a-zA-Z.]{0,12}",
            name in "(sys_read|module_load|sched_switch|print|rpm_idle)[:( ]",
            body in "([a-z_]{0,9}=?[0-9x -]{0,6}){0,6}",
        ) {
            for line in [text.clone(), format!("a-1 {flags} 1.5: {name} {body}"), format!("a-1 [000] 1.5: {name} {body}{text}")] {
                TextTrace::new(line.as_bytes()).read(|event| { let _ = Kind::from_event(&event); });
            }
        }
    }

    #[test]
    fn counts_call_stacks_in_text() {
        let text = " a-1 [000] d..2. 1.5: module_load: ext4 E\n a-1 [000] d..2. 1.5: <stack trace>\n => trace_event\n => do_init_module\n\
                    a-1 [000] d..2. 1.6: <user stack trace>\n =>  <00007f1632b37b70>\n\
                    a-1 [000] 1.7: kernel_stack:         <stack trace >\n=> schedule (ffffffff98247a0a)\nno => frame\n";
        let mut names = Vec::new();
        let losses = TextTrace::new(text.as_bytes()).read(|event| names.push(event.name));
        assert_eq!((losses.text_stacks, losses.unreadable_lines), (3, 1));
        assert_eq!(names, ["module_load", "kernel_stack"]);
    }

    #[test]
    fn reads_clock_from_header() {
        let clock = |text: &'static str| TextTrace::new(text.as_bytes()).clock();
        assert_eq!(clock("# tracer: nop\n# trace_clock: mono\n#\n"), Some("mono"));
        // Missing, invalid, and after the header, where a program could have written it.
        assert_eq!(clock("# tracer: nop\n#\n"), None);
        assert_eq!(clock("# tracer: nop\n# trace_clock: [mono] boot\n"), None);
        assert_eq!(clock("# tracer: nop\n a-1 [000] 1.5: print: x\n# trace_clock: mono\n"), None);
        assert_eq!(clock(""), None);
    }

    #[test]
    fn counts_lost_events_and_unreadable_lines() {
        let text = "# tracer: nop\n#\ncpus=2\n\nCPU:1 [LOST 123 EVENTS]\nCPU:0 [7 EVENTS DROPPED]\nno event at all\n";
        let losses = TextTrace::new(text.as_bytes()).read(|event| panic!("{event:?}"));
        assert_eq!((losses.overwritten, losses.unreadable_lines), (130, 1));
        assert_eq!(losses.first_offset, text.find("no event").map(|offset| offset as u64));
    }
}
