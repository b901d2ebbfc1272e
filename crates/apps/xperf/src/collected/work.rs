//! Work that a provider reports with a begin and an end, and points in time between: for providers that have no table of
//! the model.

use hashbrown::HashMap;
use onoff_trace::{DescribedEvent, FieldValue};

use super::{MAX_KEYS, ProcessLabel};

/// A piece of work, or a point in time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedWork {
    /// Begin, ns; `None` when it was under way before the recording.
    pub start_ns: Option<i64>,
    /// End, ns; `None` when it did not end in the recording; the begin for a point in time.
    pub end_ns: Option<i64>,
    /// What: the task, or the event's name where it belongs to no task.
    pub name: String,
    /// Who reported it.
    pub process: ProcessLabel,
    /// On which thread.
    pub tid: Option<u32>,
    /// Its begin's fields, as `name=value`.
    pub detail: Vec<String>,
}

impl ReportedWork {
    /// Length, ns; 0 for a point in time.
    #[must_use]
    pub fn duration_ns(&self) -> Option<i64> {
        Some(self.end_ns?.saturating_sub(self.start_ns?).max(0))
    }
}

type Thread = (Option<u32>, Option<u32>);

/// Takes the events of providers whose name or GUID contains one of its texts.
#[derive(Clone, Debug, Default)]
pub struct WorkListener {
    providers: &'static [&'static str],
    /// By task and thread: places of what has begun, the last one last.
    open: HashMap<(Box<str>, Thread), Vec<usize>>,
    rows: Vec<ReportedWork>,
    left_out: u64,
}

impl WorkListener {
    /// A listener to providers whose name, in lower case, or GUID contains one of `providers`.
    #[must_use]
    pub fn new(providers: &'static [&'static str]) -> Self {
        Self { providers, ..Self::default() }
    }

    /// Takes an event.
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let name = event.provider.to_lowercase();
        let is_ours = |text: &&&str| name.contains(**text) || event.guid == **text;
        if self.providers.iter().any(|text| is_ours(&text)) {
            self.put(event);
        }
    }

    fn put(&mut self, event: &DescribedEvent<'_>) {
        const START: u8 = 1;
        const STOP: u8 = 2;
        if self.rows.len() >= MAX_KEYS {
            self.left_out += 1;
            return;
        }
        let task = if event.task.is_empty() { event.name } else { event.task };
        let key = (Box::from(task), (event.pid, event.tid));
        if event.opcode == STOP
            && let Some(place) = self.open.get_mut(&key).and_then(Vec::pop)
        {
            if let Some(row) = self.rows.get_mut(place) {
                row.end_ns = Some(event.time_ns);
            }
            return;
        }
        let (start_ns, end_ns) = match event.opcode {
            START => (Some(event.time_ns), None),
            STOP => (None, Some(event.time_ns)),
            _ => (Some(event.time_ns), Some(event.time_ns)),
        };
        if event.opcode == START {
            self.open.entry(key).or_default().push(self.rows.len());
        }
        self.rows.push(ReportedWork {
            start_ns,
            end_ns,
            name: task.to_owned(),
            process: ProcessLabel::of(event),
            tid: event.tid,
            detail: event
                .fields
                .iter()
                .filter_map(|field| Some(format!("{}={}", field.name, plain(&field.value)?)))
                .collect(),
        });
    }

    /// The work, by start as recorded, and how many events are beyond the number that is kept.
    #[must_use]
    pub fn finish(self) -> (Vec<ReportedWork>, u64) {
        (self.rows, self.left_out)
    }
}

/// A field's value as a text; `None` for one that has parts.
fn plain(value: &FieldValue<'_>) -> Option<String> {
    Some(match value {
        FieldValue::Null => String::new(),
        FieldValue::Boolean(flag) => flag.to_string(),
        FieldValue::Signed(number) => number.to_string(),
        FieldValue::Unsigned(number) => number.to_string(),
        FieldValue::Hexadecimal(number, _) => format!("{number:#x}"),
        FieldValue::Float(number) => number.to_string(),
        FieldValue::Text(text) | FieldValue::Form(text) => text.clone().into_owned(),
        FieldValue::List(_) | FieldValue::Addresses(..) | FieldValue::Structure(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{Made, text};
    use super::*;

    #[test]
    fn ends_go_to_the_last_begin_of_their_task_and_thread() {
        let directory = Directory::new();
        let mut listener = WorkListener::new(&["winlogon"]);
        let mut tell = |time_ns: i64, tid: u32, opcode: u8, task: &'static str, name: &'static str| {
            let fields = [text("SubscriberName", name)];
            let mut made = Made::at(time_ns, &fields);
            made.tid = tid;
            let path = format!("Microsoft-Windows-Winlogon/{task}");
            let mut event = made.event(&path, "", &directory);
            event.opcode = opcode;
            listener.take(&event);
        };
        tell(1, 1, 2, "UserBoot", "");
        tell(2, 1, 1, "NotifySubscriber", "A");
        tell(3, 2, 1, "NotifySubscriber", "B");
        tell(4, 1, 1, "NotifySubscriber", "C");
        tell(6, 1, 2, "NotifySubscriber", "C");
        tell(7, 1, 2, "NotifySubscriber", "A");
        tell(8, 1, 0, "Logoff", "");
        let mut other = Made::at(9, &[]).event("Other/Task", "", &directory);
        other.opcode = 1;
        listener.take(&other);
        let (rows, left_out) = listener.finish();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.start_ns, row.end_ns, row.duration_ns(), row.detail.join(" ")))
            .collect();
        let named = |name: &str| format!("SubscriberName={name}");
        assert_eq!(
            rows,
            [
                ("UserBoot", None, Some(1), None, named("")),
                ("NotifySubscriber", Some(2), Some(7), Some(5), named("A")),
                ("NotifySubscriber", Some(3), None, None, named("B")),
                ("NotifySubscriber", Some(4), Some(6), Some(2), named("C")),
                ("Logoff", Some(8), Some(8), Some(0), named("")),
            ]
        );
        assert_eq!(left_out, 0);
    }
}
