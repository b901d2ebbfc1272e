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
const LINES_TO_RECOGNISE: usize = 64;

impl<'a> TextTrace<'a> {
    /// A recording in `bytes`. Any bytes will do; what is no event is counted when they are read.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether `bytes` begin as such a recording does: with the kernel's heading, or with an event among the first lines.
    #[must_use]
    pub fn recognises(bytes: &[u8]) -> bool {
        bytes.starts_with(b"# tracer:")
            || lines(bytes)
                .take(LINES_TO_RECOGNISE)
                .any(|(_, line)| std::str::from_utf8(line).ok().and_then(event).is_some())
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
            match event(line) {
                Some(event) => each(event),
                None if says_nothing(line) => {}
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
    let (who, cpu, rest) = processor(line)?;
    let who = who.trim();
    // With the option `record-tgid` the process stands behind the thread: `task-123 (456)`.
    let who = match who.rsplit_once(" (") {
        Some((thread, process)) if process.ends_with(')') => thread.trim_end(),
        _ => who,
    };
    let (task, pid) = who.rsplit_once('-')?;
    let (context, time, rest) = context_time_and_rest(rest)?;
    let (name, body) = match rest.split_once(':') {
        Some((name, body)) if is_name(name) => (name, body.strip_prefix(' ').unwrap_or(body)),
        _ => return None,
    };
    Some(Event { time_ns: time, cpu, pid: pid.parse().ok()?, task, context, name, body: Body::Text(body) })
}

/// What stands before `[processor]`, the processor, and what stands behind it. A task's name may hold brackets too, so that
/// only digits in brackets, with a space on both sides, count.
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

/// The third of the flags, as in `d.h2.`: `h` interrupt, `H` the same inside a soft interrupt, `s` soft interrupt, `Z` and `z` an
/// interrupt that cannot be masked.
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

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Headings and other lines that stand between events by design.
fn says_nothing(line: &str) -> bool {
    line.trim().is_empty()
        || line.starts_with('#')
        || line.starts_with("cpus=")
        || line.starts_with("version = ")
        || (line.starts_with("CPU ") && line.ends_with(" is empty"))
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
    fn lost_events_are_counted_and_other_lines_are_told_apart() {
        let text = "# tracer: nop\n#\ncpus=2\n\nCPU:1 [LOST 123 EVENTS]\nCPU:0 [7 EVENTS DROPPED]\nno event at all\n";
        let losses = TextTrace::new(text.as_bytes()).read(|event| panic!("{event:?}"));
        assert_eq!((losses.overwritten, losses.unreadable_lines), (130, 1));
        assert_eq!(losses.first_at, text.find("no event").map(|at| at as u64));
    }
}
