//! Keyboard focus: which process had it, with start and end.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{MAX_KEYS, ProcessRef, number};

/// Focus events of Microsoft-Windows-Win32k, as filter patterns.
pub const EVENTS: [&str; 3] = [
    "Microsoft-Windows-Win32k/FocusedProcessChange*",
    "Microsoft-Windows-Win32k/FocusChange*",
    "Microsoft-Windows-Win32k/UserActive*",
];

/// An interval in which one process had the focus of its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Focus {
    pub session: Option<u32>,
    pub process: ProcessRef,
    /// `None` if the process had the focus before the first focus event.
    pub start_ns: Option<i64>,
    /// `None` if the process had the focus at the end of the recording.
    pub end_ns: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct FocusListener {
    by_session: HashMap<Option<u32>, Focus>,
    changes: Vec<Focus>,
}

impl FocusListener {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        if !event.name.starts_with("Microsoft-Windows-Win32k/") {
            return;
        }
        let pid_in = |field: &str| event.number(field).and_then(|pid| u32::try_from(pid).ok());
        let session = pid_in("SessionId");
        match event.task {
            "FocusedProcessChange" => {
                let (old, new) = (pid_in("OldProcessId"), pid_in("NewProcessId"));
                self.change(event, session, old, new);
            }
            // The event has only thread ids; the process is known if the thread's start was recorded.
            "FocusChange" => {
                let process = |field: &str| event.directory.thread_process(number(event, field) as u32);
                let (old, new) = (process("OldThreadId"), process("NewThreadId"));
                if old != new {
                    self.change(event, None, old, new);
                }
            }
            // Logged periodically with the current owner of the focus.
            "UserActive" => {
                let owner = pid_in("ProcessIdOwningFocus");
                if !self.by_session.contains_key(&session) && self.by_session.len() < MAX_KEYS {
                    let focus = Focus { session, process: ProcessRef::at(event, owner), start_ns: None, end_ns: None };
                    self.by_session.insert(session, focus);
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, event: &DescribedEvent<'_>, session: Option<u32>, old: Option<u32>, new: Option<u32>) {
        if self.changes.len() >= MAX_KEYS || self.by_session.len() >= MAX_KEYS {
            return;
        }
        let after = Focus {
            session,
            process: ProcessRef::at(event, new.filter(|pid| *pid != 0)),
            start_ns: Some(event.time_ns),
            end_ns: None,
        };
        let before = self.by_session.insert(session, after);
        let before = match before {
            Some(before) => Some(before),
            None => old.filter(|pid| *pid != 0).map(|pid| Focus {
                session,
                process: ProcessRef::at(event, Some(pid)),
                ..Focus::default()
            }),
        };
        if let Some(before) = before.filter(|before| before.process.pid.is_some()) {
            self.changes.push(Focus { end_ns: Some(event.time_ns), ..before });
        }
    }

    /// Intervals by start. Changes that name only threads are used only if no process changes were recorded.
    #[must_use]
    pub fn finish(self) -> Vec<Focus> {
        let mut all = self.changes;
        all.extend(self.by_session.into_values().filter(|focus| focus.process.pid.is_some()));
        if all.iter().any(|focus| focus.session.is_some()) {
            all.retain(|focus| focus.session.is_some());
        }
        all.sort_by_key(|focus| (focus.start_ns, focus.end_ns.unwrap_or(i64::MAX), focus.session));
        all
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{EventTemplate, number};
    use super::*;

    #[test]
    fn focus_changes_end_and_start_intervals() {
        let mut directory = Directory::new();
        directory.set_process(10, "explorer.exe");
        directory.set_process(20, "notepad.exe");
        let mut listener = FocusListener::default();
        let mut send = |time_ns: i64, name: &'static str, fields: &[(&'static str, u64)]| {
            let fields: Vec<_> = fields.iter().map(|&(name, value)| number(name, value)).collect();
            listener.take(&EventTemplate::at(time_ns, &fields).event(name, "", &directory));
        };
        let change = "Microsoft-Windows-Win32k/FocusedProcessChange";
        send(5, change, &[("SessionId", 1), ("OldProcessId", 10), ("NewProcessId", 20)]);
        send(6, "Microsoft-Windows-Win32k/FocusChange", &[("OldThreadId", 1), ("NewThreadId", 2)]);
        send(9, change, &[("SessionId", 1), ("OldProcessId", 20), ("NewProcessId", 10)]);
        let rows: Vec<_> =
            listener.finish().into_iter().map(|focus| (focus.process.image, focus.start_ns, focus.end_ns)).collect();
        assert_eq!(
            rows,
            [
                ("explorer.exe".to_owned(), None, Some(5)),
                ("notepad.exe".to_owned(), Some(5), Some(9)),
                ("explorer.exe".to_owned(), Some(9), None),
            ]
        );
    }
}
