//! Decodes system calls: `syscalls:sys_enter_…` and `sys_exit_…`, which the kernel's text writes as `sys_read(fd:
//! 3, …)` and `sys_read -> 0x10`.

use super::Kind;
use crate::event::{Body, Event};
use crate::record::RecordValue;

/// An argument of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCallArgument<'a> {
    /// Name in the kernel.
    pub name: &'a str,
    /// Value; 0 if the text has only a word.
    pub value: u64,
    /// String behind a pointer, or symbolic flags, if recorded (Linux 6.19 and later).
    pub text: Option<&'a str>,
}

/// Maximum number of arguments of a system call.
const MAX_ARGUMENTS: usize = 6;

/// Returns the name of the call, and true if the event is its entry. Returns `None` for other events. `sys_enter` and
/// `sys_exit` without a name (`raw_syscalls`) have architecture-specific numbers and are not supported.
fn parse_name<'a>(event: &Event<'a>) -> Option<(&'a str, bool)> {
    let name = event.name.strip_prefix("sys_")?;
    if let Some(name) = name.strip_prefix("enter_") {
        Some((name, true))
    } else if let Some(name) = name.strip_prefix("exit_") {
        Some((name, false))
    } else {
        let Body::Text(text) = event.body else { return None };
        match text.trim_start().as_bytes().first()? {
            b'(' => Some((name, true)),
            b'-' => Some((name, false)),
            _ => None,
        }
    }
}

/// Decodes a system call event. Outer `None`: not a system call; inner `None`: unreadable result.
pub(super) fn read<'a>(event: &Event<'a>) -> Option<Option<Kind<'a>>> {
    let (name, is_entry) = parse_name(event)?;
    if is_entry {
        return Some(Some(Kind::SystemCallBegin(name)));
    }
    let result = match event.body {
        Body::Record(body) => body.number("ret"),
        Body::Text(text) => {
            let text = text.trim().trim_start_matches("->").trim_start();
            let text = text.strip_prefix("ret=").unwrap_or(text);
            text.split_ascii_whitespace().next().and_then(number).map(u64::cast_signed)
        }
    };
    Some(result.map(|result| Kind::SystemCallEnd { name, result }))
}

/// Decodes the arguments at the start of a system call, in order.
#[must_use]
pub fn system_call_arguments<'a>(event: &Event<'a>) -> Vec<SystemCallArgument<'a>> {
    match event.body {
        Body::Record(body) => {
            let mut arguments: Vec<SystemCallArgument<'a>> = Vec::new();
            for (name, value) in body.fields().filter(|(name, _)| !matches!(*name, "__syscall_nr" | "nr")) {
                match value {
                    RecordValue::Number(value) if arguments.len() < MAX_ARGUMENTS => {
                        arguments.push(SystemCallArgument { name, value: value.cast_unsigned(), text: None });
                    }
                    // `__filename_val`, after the arguments, is the string behind `filename`.
                    RecordValue::Text(text) => {
                        let pointer_name = name.trim_start_matches("__").trim_end_matches("_val");
                        let argument = arguments.iter_mut().find(|argument| argument.name == pointer_name);
                        if let Some(argument) = argument {
                            argument.text = Some(text);
                        }
                    }
                    _ => {}
                }
            }
            arguments
        }
        Body::Text(text) => {
            let text = text.trim();
            let list = text.strip_prefix('(').map_or(text, |rest| rest.strip_suffix(')').unwrap_or(rest));
            split_arguments(list).filter_map(argument).take(MAX_ARGUMENTS).collect()
        }
    }
}

/// Splits at commas outside of quotes.
fn split_arguments(text: &str) -> impl Iterator<Item = &str> {
    let mut remaining = Some(text);
    std::iter::from_fn(move || {
        let current = remaining?;
        let mut quoted = false;
        let end = current.bytes().position(|byte| {
            quoted ^= byte == b'"';
            byte == b',' && !quoted
        });
        remaining = end.and_then(|end| current.get(end + 1..));
        current.get(..end.unwrap_or(current.len()))
    })
}

/// Parses `fd: 3`, `fd: 0x00000003`, `filename: 0x7ffd "/etc/x"`, `flags: O_RDONLY|O_CLOEXEC`.
fn argument(part: &str) -> Option<SystemCallArgument<'_>> {
    let (name, value) = part.trim().split_once([':', '='])?;
    let value = value.trim();
    let (word, string) = value.split_once(' ').unwrap_or((value, ""));
    let quoted = string.trim().strip_prefix('"').map(|text| text.strip_suffix('"').unwrap_or(text));
    Some(match number(word) {
        Some(value) => SystemCallArgument { name, value, text: quoted },
        None => SystemCallArgument { name, value: 0, text: Some(word) },
    })
}

/// Parses a hexadecimal number with or without `0x`.
fn number(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextTrace;

    fn events(line: &str) -> Vec<(Option<Kind<'_>>, Vec<SystemCallArgument<'_>>)> {
        let mut decoded = Vec::new();
        TextTrace::new(line.as_bytes())
            .read(|event| decoded.push((Kind::from_event(&event), system_call_arguments(&event))));
        decoded
    }

    #[test]
    fn decodes_every_text_format() {
        let kernel_line = events("a-1 [000] ..... 1.5: sys_read(fd: 3, buf: 7ffd00, count: 1000)\n");
        let newer_kernel_line = events("a-1 [000] ..... 1.5: sys_read(fd: 0x3, buf: 0x7ffd00, count: 0x1000)\n");
        let trace_cmd_line =
            events("a-1     [000] 1.5: sys_enter_read:       fd: 0x00000003, buf: 0x7ffd00, count: 0x00001000\n");
        for decoded in [&kernel_line, &newer_kernel_line, &trace_cmd_line] {
            let [(Some(Kind::SystemCallBegin("read")), arguments)] = &decoded[..] else { panic!("{decoded:?}") };
            let values: Vec<_> = arguments.iter().map(|argument| (argument.name, argument.value)).collect();
            assert_eq!(values, [("fd", 3), ("buf", 0x007f_fd00), ("count", 4096)]);
        }
        for line in [
            "a-1 [000] ..... 1.5: sys_read -> 0xfffffffffffffff7\n",
            "a-1 [000] 1.5: sys_exit_read: 0xfffffffffffffff7\n",
        ] {
            assert_eq!(events(line)[0].0, Some(Kind::SystemCallEnd { name: "read", result: -9 }), "{line}");
        }
    }

    #[test]
    fn reads_strings_behind_pointers() {
        let line = "a-1 [000] ..... 1.5: sys_openat(dfd: 0xffffff9c, filename: 0x7ffd00 \"/etc/a, b\", flags: O_RDONLY|O_CLOEXEC, mode: 0x0)\n";
        let decoded = events(line);
        let texts: Vec<_> = decoded[0].1.iter().map(|argument| argument.text).collect();
        assert_eq!(texts, [None, Some("/etc/a, b"), Some("O_RDONLY|O_CLOEXEC"), None]);
        // Calls by number are not supported, and a result that is not a number is unreadable.
        assert_eq!(events("a-1 [000] 1.5: sys_enter: NR 0 (3, 7f, 10, 0, 0, 0)\n")[0].0, Some(Kind::Other));
        assert_eq!(events("a-1 [000] 1.5: sys_exit_read: what\n")[0].0, None);
    }
}
