//! The tracer's text: one event a line.
//!
//! ```text
//!           <idle>-0       [000] d..2.     0.440000: sched_switch: prev_comm=swapper/0 …     the kernel's
//!          systemd-1     [001]     1.554822: sched_switch:         systemd:1 [120] S ==> …   trace-cmd's
//! ```

use crate::event::{Body, Context, Event};
use crate::losses::Losses;

/// A recording as text.
#[derive(Clone, Copy, Debug)]
pub struct TextTrace<'a> {
    bytes: &'a [u8],
}

/// How many lines are looked at to tell what a file is.
const LINES_TO_RECOGNIZE: usize = 64;

impl<'a> TextTrace<'a> {
    /// A recording in `bytes`. Any bytes will do; what is no event is counted when they are read.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether `bytes` begin as such a recording does: with the kernel's heading, or with an event among the first
    /// lines.
    #[must_use]
    pub fn recognizes(bytes: &[u8]) -> bool {
        bytes.starts_with(b"# tracer:")
            || lines(bytes)
                .take(LINES_TO_RECOGNIZE)
                .any(|(_, line)| std::str::from_utf8(line).ok().and_then(event).is_some())
    }

    /// The clock that stamped it, as the kernel calls it, where whoever recorded wrote it into the heading: `#
    /// trace_clock: mono`. The kernel itself does not.
    #[must_use]
    pub fn clock(&self) -> Option<&'a str> {
        let heading = lines(self.bytes).take(LINES_TO_RECOGNIZE).map(|(_, line)| line);
        let mut heading = heading.take_while(|line| line.starts_with(b"#"));
        let named = heading.find_map(|line| line.strip_prefix(b"# trace_clock: "))?;
        std::str::from_utf8(named).ok().map(str::trim).filter(|name| is_name(name))
    }

    /// Gives every event to `each`, in the order of the text.
    pub fn read(self, mut each: impl FnMut(Event<'a>)) -> Losses {
        let mut losses = Losses::default();
        for (offset, line) in lines(self.bytes) {
            let Ok(line) = std::str::from_utf8(line) else {
                losses.unreadable_lines += 1;
                losses.at(offset);
                continue;
            };
            match event(line).or_else(|| graph_line(line)) {
                Some(event) => {
                    losses.text_stacks += u64::from(matches!(event.name, "kernel_stack" | "user_stack"));
                    each(event);
                }
                None if says_nothing(line) || is_graph_ornament(line) || is_frame(line) => {}
                None if begins_stack(line) => losses.text_stacks += 1,
                None => match events_lost(line) {
                    Some(lost) => losses.overwritten = losses.overwritten.saturating_add(lost),
                    None => {
                        losses.unreadable_lines += 1;
                        losses.at(offset);
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
        let rest = bytes.get(begin..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let offset = begin;
        begin += length + 1;
        Some((offset, rest.get(..length)?))
    })
}

fn event(line: &str) -> Option<Event<'_>> {
    // What brackets hold may also be a priority, further on in a line of the other form: then no time follows.
    let timed = |(who, cpu, rest)| Some((who, cpu, context_time_and_rest(rest)?));
    let (who, cpu, (context, time, rest)) =
        processor(line).and_then(timed).or_else(|| processor_and_flags(line).and_then(timed))?;
    let who = who.trim();
    // With the option `record-tgid` the process stands behind the thread: `task-123 (456)`.
    let who = match who.rsplit_once(" (") {
        Some((thread, process)) if process.ends_with(')') => thread.trim_end(),
        _ => who,
    };
    let (task, pid) = who.rsplit_once('-')?;
    let (name, body) = match rest.split_once(':') {
        Some((name, body)) if is_name(name) => (name, body.strip_prefix(' ').unwrap_or(body)),
        _ => system_call(rest)?,
    };
    Some(Event { time_ns: time, cpu, pid: pid.parse().ok()?, task, context, name, body: Body::Text(body) })
}

/// A line of the kernel's text of the function_graph tracer, with the options `funcgraph-abstime` and `funcgraph-proc`,
/// without which a line says neither when nor whose it is:
///
/// ```text
///   137.336960 |   0)  kworker-1234  |   0.633 us    |    foo();
///   137.336968 |   0)  kworker-1234  |               |  /* device_pm_callback_start: usb 1-1, … */
/// ```
fn graph_line(line: &str) -> Option<Event<'_>> {
    if is_graph_ornament(line) {
        return None;
    }
    let (time, rest) = line.split_once('|')?;
    let time_ns = nanoseconds(time.trim())?;
    let (cpu, rest) = rest.split_once(')')?;
    let cpu = cpu.trim().parse().ok()?;
    // A thread's name may hold the separator; what stands before the call does not.
    let (who, call) = rest.split_once(" |")?;
    let (task, pid) = who.trim().rsplit_once('-')?;
    let pid = pid.trim().parse().ok()?;
    let call = call.trim_start_matches('|');
    let at = |name, body| Event { time_ns, cpu, pid, task, context: None, name, body: Body::Text(body) };
    let words = call.rsplit_once('|').map_or(call, |(_, words)| words).trim();
    if let Some((_, comment)) = call.split_once("/* ")
        && words.starts_with("/*")
    {
        let (name, body) = comment.trim_end().trim_end_matches("*/").split_once(':')?;
        return is_name(name).then(|| at(name, body.trim()));
    }
    let name = if words.starts_with('}') { "funcgraph_exit" } else { "funcgraph_entry" };
    // With the option `latency-format` the flags stand between thread and duration.
    let call = match call.split_once('|') {
        Some((_, rest)) if rest.contains('|') => rest,
        _ => call,
    };
    call.contains('|').then(|| at(name, call))
}

/// What the function_graph tracer draws between its lines: where a processor goes to another thread, where an interrupt
/// begins and ends.
fn is_graph_ornament(line: &str) -> bool {
    let line = line.trim();
    (line.len() > 2 && line.bytes().all(|byte| byte == b'-'))
        || line.split_once(')').is_some_and(|(cpu, rest)| cpu.trim().parse::<u16>().is_ok() && rest.contains(" => "))
        || (line.contains('|') && (line.contains("==========>") || line.contains("<==========")))
}

/// What stands before `[processor]`, the processor, and what stands behind it. A task's name may hold brackets too, so
/// that only digits in brackets, with a space on both sides, count.
fn processor(line: &str) -> Option<(&str, u16, &str)> {
    let bytes = line.as_bytes();
    memchr::memchr_iter(b'[', bytes).find_map(|open| {
        let before = open.checked_sub(1)?;
        let inside = bytes.get(open + 1..)?;
        let digits = inside.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if bytes.get(before) != Some(&b' ') || digits < 3 || inside.get(digits..digits + 2) != Some(b"] ") {
            return None;
        }
        let cpu = line.get(open + 1..open + 1 + digits)?.parse().ok()?;
        Some((line.get(..open)?, cpu, line.get(open + digits + 3..)?))
    })
}

/// The same in trace-cmd's latency format, where the flags follow the processor at once: `task-1       1d.h2. 12.3: …`.
/// Gives the line from its flags on.
fn processor_and_flags(line: &str) -> Option<(&str, u16, &str)> {
    const FLAGS: std::ops::RangeInclusive<usize> = 4..=8;
    // The flags are the word before the first that is a time.
    let time = line
        .split_ascii_whitespace()
        .find(|word| word.strip_suffix(':').is_some_and(|time| nanoseconds(time).is_some()))?;
    let at = line.find(&format!(" {time}"))?;
    let before = line.get(..at)?.trim_end();
    let word_at = before.rfind(' ')? + 1;
    let word = before.get(word_at..)?;
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    // A preemption depth ends in digits; a processor is what the word begins with, and flags begin with one of the
    // interrupts' letters.
    let flags = word.get(digits..).filter(|flags| flags.starts_with(['.', 'd', 'D', 'b', 'X']))?;
    if digits == 0 || !FLAGS.contains(&flags.len()) {
        return None;
    }
    Some((line.get(..word_at)?, word.get(..digits)?.parse().ok()?, line.get(word_at + digits..)?))
}

/// What the kernel's text has of system calls: `sys_read(fd: 3, …)` when it begins, `sys_read -> 0x10` when it returns.
fn system_call(text: &str) -> Option<(&str, &str)> {
    let end = text.find(['(', ' '])?;
    let (name, body) = text.split_at(end);
    let body = body.trim_start();
    (name.starts_with("sys_") && is_name(name) && (body.starts_with('(') || body.starts_with("-> ")))
        .then_some((name, body))
}

/// Flags, where there are, then `seconds.fraction: `.
fn context_time_and_rest(text: &str) -> Option<(Option<Context>, u64, &str)> {
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

/// The third of the flags, as in `d.h2.`: `h` interrupt, `H` the same inside a soft interrupt, `s` soft interrupt, `Z`
/// and `z` an interrupt that cannot be masked.
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

/// An event's name, or that of a function that wrote into the trace, which the compiler may have given an ending
/// (`.isra.0`).
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
}

/// Headings and other lines that stand between events by design.
fn says_nothing(line: &str) -> bool {
    line.trim().is_empty()
        || line.starts_with('#')
        || line.starts_with("cpus=")
        || line.starts_with("version = ")
        || (line.starts_with("CPU ") && line.ends_with(" is empty"))
}

/// The head of a call stack in the kernel's text: `task-1 [000] d..2. 1.5: <stack trace>`, of a process `<user stack
/// trace>`.
fn begins_stack(line: &str) -> bool {
    line.ends_with(": <stack trace>") || line.ends_with(": <user stack trace>")
}

/// A frame of a call stack: ` => schedule`, with an address only where somebody chose so.
fn is_frame(line: &str) -> bool {
    line.trim_start().starts_with("=> ")
}

/// `CPU:0 [LOST 123 EVENTS]` and `CPU:0 [123 EVENTS DROPPED]`.
fn events_lost(line: &str) -> Option<u64> {
    let (_, what) = line.trim().strip_prefix("CPU:")?.split_once('[')?;
    what.split_ascii_whitespace().find_map(|word| word.parse().ok()).or(Some(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    fn only(line: &str) -> Event<'_> {
        let mut found = Vec::new();
        let losses = TextTrace::new(line.as_bytes()).read(|event| found.push(event));
        assert_eq!((found.len(), losses), (1, Losses::default()), "{line}");
        found.remove(0)
    }

    #[test]
    fn the_kernels_and_trace_cmds_lines_say_the_same() {
        let kernel = only(
            "  Web Content[1]-77    [013] d..2.    12.440007: sched_switch: prev_comm=Web Content[1] prev_pid=77 prev_prio=120 prev_state=R+ ==> next_comm=a:b next_pid=3 next_prio=98",
        );
        let report = only(
            "  Web Content[1]-77    [013]    12.440007000: sched_switch:         Web Content[1]:77 [120] R+ ==> a:b:3 [98]",
        );
        assert_eq!((kernel.time_ns, kernel.cpu, kernel.pid), (12_440_007_000, 13, 77));
        assert_eq!((kernel.task, report.task), ("Web Content[1]", "Web Content[1]"));
        assert_eq!(kernel.time_ns, report.time_ns);
        let Some(Kind::Switch { previous_task, previous_state, next_task, next_pid, .. }) = Kind::of(&kernel) else {
            panic!("{kernel:?}");
        };
        assert_eq!((previous_task, next_task, next_pid), ("Web Content[1]", "a:b", 3));
        assert!(previous_state.preempted && previous_state.letter == b'R');
        assert_eq!(Kind::of(&kernel), Kind::of(&report));
    }

    #[test]
    fn lines_of_the_function_graph_tracer_are_events_of_their_threads() {
        let whole = only("  137.336960 |   0)  kworker/u4:2-77  |   0.633 us    |    foo();");
        assert_eq!((whole.time_ns, whole.cpu, whole.pid, whole.task), (137_336_960_000, 0, 77, "kworker/u4:2"));
        let is_foo = |event: &Event<'_>| {
            assert_eq!(
                Kind::of(event),
                Some(Kind::FunctionWhole { function: "foo", depth: 1, duration_ns: Some(633) }),
                "{event:?}"
            );
        };
        is_foo(&whole);
        is_foo(&only("  137.336960 |   0)  a-b-77  |  d..1. |   0.633 us    |    foo();"));
        is_foo(&only(" a-77 [000] 137.336960: funcgraph_entry:        0.633 us   |    foo();"));
        let end = only("  137.5 |   3)  a-77  | + 12.1 us     |  } /* foo */");
        assert_eq!(Kind::of(&end), Some(Kind::FunctionEnd { depth: 0, duration_ns: Some(12_100), overrun: 0 }));
        let raw = only(" a-77 [000] 1.5: funcgraph_exit:  func=0xff calltime=0x10 rettime=0x3e8 overrun=0x2 depth=1");
        assert_eq!(Kind::of(&raw), Some(Kind::FunctionEnd { depth: 1, duration_ns: Some(984), overrun: 2 }));
        let raw = only(" a-77 [000] 1.5: funcgraph_entry:  func=0xff depth=1");
        assert_eq!(Kind::of(&raw), Some(Kind::FunctionBegin { function: "0xff", depth: 1 }));
        let event = only("  137.5 |   3)  a-77  |               |    /* initcall_start: func=foo+0x0/0x1 */");
        assert_eq!(Kind::of(&event), Some(Kind::InitcallBegin("foo")));
        // Without a time or a thread a line is counted, and what is drawn between lines is no loss.
        let text = " 0)   0.633 us    |  foo();\n ------------------------------------------\n 0)  a-1  =>  b-2\n\
                    1.5 |   0)  a-1  |   ==========> |\n";
        let losses = TextTrace::new(text.as_bytes()).read(|event| panic!("{event:?}"));
        assert_eq!(losses.unreadable_lines, 1);
    }

    #[test]
    fn trace_cmds_latency_format_says_the_same() {
        let plain = only(
            "  kworker/u4:2-77    [013]    12.440007: sched_switch: kworker/u4:2:77 [120] D ==> swapper/13:0 [120]",
        );
        let latency =
            only("kworker/-77     13d.h2.    12.440007: sched_switch: kworker/u4:2:77 [120] D ==> swapper/13:0 [120]");
        assert_eq!((latency.time_ns, latency.cpu, latency.pid), (plain.time_ns, plain.cpu, plain.pid));
        assert_eq!(Kind::of(&latency), Kind::of(&plain));
        assert_eq!((latency.context, plain.context), (Some(Context::Interrupt), None));
        // Without a processor before them, flags say nothing of where.
        for line in ["a-1 d.h2. 1.5: x: y", "a-1 0 1.5: x: y", "a-1 0d.h2.d.h2. 1.5: x: y", "0d.. 1.5: x: y"] {
            assert!(event(line).is_none(), "{line}");
        }
    }

    #[test]
    fn raw_fields_say_the_same_as_sentences() {
        let same = |name: &str, sentence: &str, raw: &str| {
            let line = |body: &str| format!("a b-7 [000] 1.5: {name}: {body}");
            let (sentence, raw) = (line(sentence), line(raw));
            let expected = Kind::of(&only(&sentence));
            assert!(expected.is_some_and(|kind| kind != Kind::Other), "{sentence}");
            assert_eq!(Kind::of(&only(&raw)), expected, "{raw}");
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
        // An address is no name: the step of a suspend is lost, and counted as unreadable.
        assert_eq!(Kind::of(&only("a-1 [000] 1.5: suspend_resume: action=0xffffffff81 val=3 start=1")), None);
        assert_eq!(Kind::of(&only("a-1 [000] 1.5: print: ip=7 and more")), Some(Kind::Mark("ip=7 and more")));
    }

    #[test]
    fn system_calls_and_what_the_kernels_own_prints_say_are_events() {
        let enter = only("a-1 [000] ..... 1.5: sys_openat(dfd: ffffff9c, filename: 7ffd, flags: 80000, mode: 0)");
        let exit = only("a-1 [000] ..... 1.5: sys_openat -> 0x3");
        assert_eq!((enter.name, exit.name), ("sys_openat", "sys_openat"));
        assert!(matches!(enter.body, Body::Text(text) if text.starts_with("(dfd: ")));
        assert!(matches!(exit.body, Body::Text("-> 0x3")));
        assert_eq!(only("a-1 [000] ..... 1.5: load.isra.0: 3 of 4").name, "load.isra.0");
        assert_eq!(Kind::of(&only("a-1 [000] 1.5: bprint: load: 3 of 4")), Some(Kind::Mark("load: 3 of 4")));
        for line in ["a-1 [000] ..... 1.5: sys_openat", "a-1 [000] ..... 1.5: other(x: 1)"] {
            assert!(event(line).is_none(), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read_or_counted(
            text: String,
            flags in "[0-9a-zA-Z.]{0,12}",
            name in "(sys_read|module_load|sched_switch|print|rpm_idle)[:( ]",
            body in "([a-z_]{0,9}=?[0-9x -]{0,6}){0,6}",
        ) {
            for line in [text.clone(), format!("a-1 {flags} 1.5: {name} {body}"), format!("a-1 [000] 1.5: {name} {body}{text}")] {
                TextTrace::new(line.as_bytes()).read(|event| { let _ = Kind::of(&event); });
            }
        }
    }

    #[test]
    fn call_stacks_of_text_are_counted_and_their_lines_are_no_faults() {
        let text = " a-1 [000] d..2. 1.5: module_load: ext4 E\n a-1 [000] d..2. 1.5: <stack trace>\n => trace_event\n => do_init_module\n\
                    a-1 [000] d..2. 1.6: <user stack trace>\n =>  <00007f1632b37b70>\n\
                    a-1 [000] 1.7: kernel_stack:         <stack trace >\n=> schedule (ffffffff98247a0a)\nno => frame\n";
        let mut found = Vec::new();
        let losses = TextTrace::new(text.as_bytes()).read(|event| found.push(event.name));
        assert_eq!((losses.text_stacks, losses.unreadable_lines), (3, 1));
        assert_eq!(found, ["module_load", "kernel_stack"]);
    }

    #[test]
    fn the_heading_can_name_the_clock() {
        let clock = |text: &'static str| TextTrace::new(text.as_bytes()).clock();
        assert_eq!(clock("# tracer: nop\n# trace_clock: mono\n#\n"), Some("mono"));
        // Not named, not a name, and below the heading, where a program could have written it.
        assert_eq!(clock("# tracer: nop\n#\n"), None);
        assert_eq!(clock("# tracer: nop\n# trace_clock: [mono] boot\n"), None);
        assert_eq!(clock("# tracer: nop\n a-1 [000] 1.5: print: x\n# trace_clock: mono\n"), None);
        assert_eq!(clock(""), None);
    }

    #[test]
    fn lost_events_are_counted_and_other_lines_are_told_apart() {
        let text = "# tracer: nop\n#\ncpus=2\n\nCPU:1 [LOST 123 EVENTS]\nCPU:0 [7 EVENTS DROPPED]\nno event at all\n";
        let losses = TextTrace::new(text.as_bytes()).read(|event| panic!("{event:?}"));
        assert_eq!((losses.overwritten, losses.unreadable_lines), (130, 1));
        assert_eq!(losses.first_at, text.find("no event").map(|at| at as u64));
    }
}
