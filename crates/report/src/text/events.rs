//! Events of the Linux kernel's tracer for a person: one line each, as the tracer's own text, with the fields named.

use std::io::{self, Write};

use onoff_trace::{DescribedEvent, FieldValue};

use super::printable::printable;

/// Writes an event and a line end.
///
/// # Errors
/// What `out` answers.
pub fn write(event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
    let task = format!("{}-{}", printable(event.task), event.tid.unwrap_or(0));
    let micros = event.time_ns.div_euclid(1000);
    write!(
        out,
        "{:>5}.{:06}  [{:03}]  {task:<22}  {:<24}",
        micros.div_euclid(1_000_000),
        micros.rem_euclid(1_000_000),
        event.cpu,
        event.name,
    )?;
    for field in event.fields {
        match &field.value {
            FieldValue::Text(text) if text.contains(' ') && field.name != "text" => {
                write!(out, " {}=\"{}\"", field.name, printable(text))?;
            }
            FieldValue::Text(text) if field.name == "text" => write!(out, " {}", printable(text))?,
            FieldValue::Text(text) => write!(out, " {}={}", field.name, printable(text))?,
            FieldValue::Signed(number) => write!(out, " {}={number}", field.name)?,
            FieldValue::Unsigned(number) => write!(out, " {}={number}", field.name)?,
            other => write!(out, " {}={other:?}", field.name)?,
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{Derived, Directory, EventContext, EventOrigin, Field};

    #[test]
    fn a_line_names_thread_event_and_fields() {
        let fields = [
            Field { name: "comm".into(), value: FieldValue::Text("Web Content".into()) },
            Field { name: "pid".into(), value: FieldValue::Signed(7) },
        ];
        let event = DescribedEvent {
            time_ns: 12_440_007_123,
            unix_ns: None,
            cpu: 1,
            pid: Some(9),
            tid: Some(9),
            origin: EventOrigin::Ftrace,
            provider: "ftrace",
            guid: "",
            name: "sched_waking",
            task: "bash",
            opcode_name: "",
            id: 0,
            opcode: 0,
            version: 0,
            level: 0,
            keyword: 0,
            size: 0,
            fields: &fields,
            described: true,
            complete: true,
            derived: Derived::default(),
            context: EventContext::default(),
            directory: &Directory::new(),
        };
        let mut out = Vec::new();
        write(&event, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "   12.440007  [001]  bash-9                  sched_waking             comm=\"Web Content\" pid=7\n"
        );
    }
}
