//! Work that providers without a model table report, with start and stop events or as single events.

use hashbrown::HashMap;
use onoff_trace::{DescribedEvent, FieldValue};

use super::{Limited, ProcessRef};

/// A unit of work, or a single event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedWork {
    /// `None` if it started before the recording.
    pub start_ns: Option<i64>,
    /// `None` if it did not end in the recording. Equal to the start for a single event.
    pub end_ns: Option<i64>,
    /// The task, or the event name if there is no task.
    pub name: String,
    pub process: ProcessRef,
    pub tid: Option<u32>,
    /// Fields of the start event, as `name=value`.
    pub detail: Vec<String>,
}

impl ReportedWork {
    /// Returns the duration; 0 for a single event.
    #[must_use]
    pub fn duration_ns(&self) -> Option<i64> {
        Some(self.end_ns?.saturating_sub(self.start_ns?).max(0))
    }
}

type Thread = (Option<u32>, Option<u32>);

/// Collects the events of providers whose name or GUID matches.
#[derive(Clone, Debug, Default)]
pub struct WorkListener {
    providers: &'static [&'static str],
    /// Row indexes of open work by task and thread, most recent last.
    open: HashMap<(Box<str>, Thread), Vec<usize>>,
    rows: Limited<ReportedWork>,
}

impl WorkListener {
    /// Listens to providers whose lower-case name contains, or whose GUID equals, one of `providers`.
    #[must_use]
    pub fn new(providers: &'static [&'static str]) -> Self {
        Self { providers, ..Self::default() }
    }

    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let name = event.provider.to_lowercase();
        if self.providers.iter().any(|provider| name.contains(provider) || event.guid == *provider) {
            self.add(event);
        }
    }

    fn add(&mut self, event: &DescribedEvent<'_>) {
        const START: u8 = 1;
        const STOP: u8 = 2;
        let task = if event.task.is_empty() { event.name } else { event.task };
        let key = (Box::from(task), (event.pid, event.tid));
        if event.opcode == STOP
            && let Some(index) = self.open.get_mut(&key).and_then(Vec::pop)
        {
            if let Some(row) = self.rows.rows.get_mut(index) {
                row.end_ns = Some(event.time_ns);
            }
            return;
        }
        let (start_ns, end_ns) = match event.opcode {
            START => (Some(event.time_ns), None),
            STOP => (None, Some(event.time_ns)),
            _ => (Some(event.time_ns), Some(event.time_ns)),
        };
        let index = self.rows.push(ReportedWork {
            start_ns,
            end_ns,
            name: task.to_owned(),
            process: ProcessRef::from_event(event),
            tid: event.tid,
            detail: event
                .fields
                .iter()
                .filter_map(|field| Some(format!("{}={}", field.name, scalar_text(&field.value)?)))
                .collect(),
        });
        if event.opcode == START
            && let Some(index) = index
        {
            self.open.entry(key).or_default().push(index);
        }
    }

    /// Returns the work in the order of the first event.
    #[must_use]
    pub fn finish(self) -> Limited<ReportedWork> {
        self.rows
    }
}

/// Returns the text of a scalar field; `None` for lists and structures.
fn scalar_text(value: &FieldValue<'_>) -> Option<String> {
    Some(match value {
        FieldValue::Null => String::new(),
        FieldValue::Boolean(flag) => flag.to_string(),
        FieldValue::Signed(number) => number.to_string(),
        FieldValue::Unsigned(number) => number.to_string(),
        FieldValue::Hexadecimal(number, _) => format!("{number:#x}"),
        FieldValue::Float(number) => number.to_string(),
        FieldValue::Text(text) | FieldValue::Formatted(text) => text.clone().into_owned(),
        FieldValue::List(_) | FieldValue::Addresses(..) | FieldValue::Structure(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{EventTemplate, text};
    use super::*;

    #[test]
    fn stop_closes_latest_start_of_task_and_thread() {
        let directory = Directory::new();
        let mut listener = WorkListener::new(&["winlogon"]);
        let mut send = |time_ns: i64, tid: u32, opcode: u8, task: &'static str, name: &'static str| {
            let fields = [text("SubscriberName", name)];
            let mut template = EventTemplate::new(time_ns, &fields);
            template.tid = tid;
            let path = format!("Microsoft-Windows-Winlogon/{task}");
            let mut event = template.event(&path, "", &directory);
            event.opcode = opcode;
            listener.take(&event);
        };
        send(1, 1, 2, "UserBoot", "");
        send(2, 1, 1, "NotifySubscriber", "A");
        send(3, 2, 1, "NotifySubscriber", "B");
        send(4, 1, 1, "NotifySubscriber", "C");
        send(6, 1, 2, "NotifySubscriber", "C");
        send(7, 1, 2, "NotifySubscriber", "A");
        send(8, 1, 0, "Logoff", "");
        let mut other_provider = EventTemplate::new(9, &[]).event("Other/Task", "", &directory);
        other_provider.opcode = 1;
        listener.take(&other_provider);
        let Limited { rows, omitted, .. } = listener.finish();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.start_ns, row.end_ns, row.duration_ns(), row.detail.join(" ")))
            .collect();
        let detail = |name: &str| format!("SubscriberName={name}");
        assert_eq!(
            rows,
            [
                ("UserBoot", None, Some(1), None, detail("")),
                ("NotifySubscriber", Some(2), Some(7), Some(5), detail("A")),
                ("NotifySubscriber", Some(3), None, None, detail("B")),
                ("NotifySubscriber", Some(4), Some(6), Some(2), detail("C")),
                ("Logoff", Some(8), Some(8), Some(0), detail("")),
            ]
        );
        assert_eq!(omitted, 0);
    }

    #[test]
    fn work_beyond_the_limit_is_counted_and_open_work_still_ends() {
        let directory = Directory::new();
        let mut listener =
            WorkListener { rows: Limited::with_limit(1), ..WorkListener::new(&["microsoft-windows-winlogon"]) };
        for (time_ns, opcode, task) in [(1, 1, "UserBoot"), (2, 0, "Logoff"), (4, 2, "UserBoot")] {
            let template = EventTemplate::new(time_ns, &[]);
            let path = format!("Microsoft-Windows-Winlogon/{task}");
            let mut event = template.event(&path, "", &directory);
            event.opcode = opcode;
            listener.take(&event);
        }
        let report = listener.finish();
        assert_eq!((report.rows[0].duration_ns(), report.omitted), (Some(3), 1));
    }
}
