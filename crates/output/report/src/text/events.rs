//! Events of the Linux kernel tracer as text: one line each, in the layout of the tracer, with field names.

use std::io::{self, Write};

use onoff_trace::{DescribedEvent, EventOrigin, FieldValue};

use super::printable::printable;

/// Writes an event as one line.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
    let is_line = event.origin == EventOrigin::LogLine;
    let task = match event.tid {
        Some(tid) => format!("{}-{tid}", printable(event.task)),
        // Kernel log lines have no thread.
        None if is_line && event.task.is_empty() => "kernel".to_owned(),
        None if is_line => printable(event.task).to_string(),
        None => format!("{}-0", printable(event.task)),
    };
    let micros = event.time_ns.div_euclid(1000).unsigned_abs();
    let sign = if event.time_ns < 0 { "-" } else { "" };
    let seconds = format!("{sign}{}", micros / 1_000_000);
    let processor = if is_line { String::new() } else { format!("[{:03}]", event.cpu) };
    write!(out, "{seconds:>5}.{:06}  {processor:<5}  {task:<22}  {:<24}", micros % 1_000_000, printable(event.name))?;
    for field in event.fields {
        let name = printable(&field.name);
        match &field.value {
            FieldValue::Text(text) if text.contains(' ') && field.name != "text" => {
                write!(out, " {name}=\"{}\"", printable(text))?;
            }
            FieldValue::Text(text) if field.name == "text" => write!(out, " {}", printable(text))?,
            FieldValue::Text(text) => write!(out, " {name}={}", printable(text))?,
            FieldValue::Signed(number) => write!(out, " {name}={number}")?,
            FieldValue::Unsigned(number) => write!(out, " {name}={number}")?,
            value => write!(out, " {name}={value:?}")?,
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{Directory, EventOrigin, Field};

    #[test]
    fn writes_thread_event_and_fields() {
        let directory = Directory::new();
        let fields = [
            Field { name: "comm".into(), value: FieldValue::Text("Web Content".into()) },
            Field { name: "pid".into(), value: FieldValue::Signed(7) },
        ];
        let event = DescribedEvent {
            time_ns: 12_440_007_123,
            cpu: 1,
            pid: Some(9),
            tid: Some(9),
            provider: "ftrace",
            name: "sched_waking",
            task: "bash",
            fields: &fields,
            ..DescribedEvent::without_fields(EventOrigin::Ftrace, &directory)
        };
        let mut out = Vec::new();
        write(&event, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "   12.440007  [001]  bash-9                  sched_waking             comm=\"Web Content\" pid=7\n"
        );
        // A kernel log line from before the kernel clock starts, without thread and processor.
        let text = [Field { name: "text".into(), value: FieldValue::Text("Linux version 6.1".into()) }];
        let line = DescribedEvent {
            time_ns: -15_873_000,
            pid: None,
            tid: None,
            origin: EventOrigin::LogLine,
            name: "message",
            task: "",
            fields: &text,
            ..event
        };
        let mut out = Vec::new();
        write(&line, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "   -0.015873         kernel                  message                  Linux version 6.1\n"
        );
    }
}
