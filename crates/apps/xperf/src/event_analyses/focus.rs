//! Intervals in which a process had the keyboard focus.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{Limited, MAX_KEYS, ProcessRef, number};

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
    changes: Limited<Focus>,
}

impl FocusListener {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        if !event.name.starts_with("Microsoft-Windows-Win32k/") {
            return;
        }
        let id = |field: &str| event.number(field).and_then(|pid| u32::try_from(pid).ok());
        let session = id("SessionId");
        match event.task {
            "FocusedProcessChange" => {
                let (old_pid, new_pid) = (id("OldProcessId"), id("NewProcessId"));
                self.change(event, session, old_pid, new_pid);
            }
            // The event has only thread ids; the process is known if the thread's start was recorded.
            "FocusChange" => {
                let process = |field: &str| event.directory.thread_process(number(event, field) as u32);
                let (old_pid, new_pid) = (process("OldThreadId"), process("NewThreadId"));
                if old_pid != new_pid {
                    self.change(event, None, old_pid, new_pid);
                }
            }
            // Logged periodically with the current owner of the focus.
            "UserActive" => {
                let owner_pid = id("ProcessIdOwningFocus");
                if !self.by_session.contains_key(&session) && self.by_session.len() < MAX_KEYS {
                    let focus = Focus {
                        session,
                        process: ProcessRef::from_pid(event, owner_pid),
                        start_ns: None,
                        end_ns: None,
                    };
                    self.by_session.insert(session, focus);
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, event: &DescribedEvent<'_>, session: Option<u32>, old_pid: Option<u32>, new_pid: Option<u32>) {
        if self.by_session.len() >= MAX_KEYS && !self.by_session.contains_key(&session) {
            self.changes.omitted += 1;
            return;
        }
        let new_focus = Focus {
            session,
            process: ProcessRef::from_pid(event, new_pid.filter(|pid| *pid != 0)),
            start_ns: Some(event.time_ns),
            end_ns: None,
        };
        let old_focus = match self.by_session.insert(session, new_focus) {
            Some(focus) => Some(focus),
            None => old_pid.filter(|pid| *pid != 0).map(|pid| Focus {
                session,
                process: ProcessRef::from_pid(event, Some(pid)),
                ..Focus::default()
            }),
        };
        if let Some(focus) = old_focus.filter(|focus| focus.process.pid.is_some()) {
            self.changes.push(Focus { end_ns: Some(event.time_ns), ..focus });
        }
    }

    /// Returns the intervals by start. Changes with only thread ids are used only if no process changes were recorded.
    #[must_use]
    pub fn finish(self) -> Limited<Focus> {
        let mut changes = self.changes;
        let intervals = &mut changes.rows;
        intervals.extend(self.by_session.into_values().filter(|focus| focus.process.pid.is_some()));
        if intervals.iter().any(|focus| focus.session.is_some()) {
            intervals.retain(|focus| focus.session.is_some());
        }
        intervals.sort_by_key(|focus| (focus.start_ns, focus.end_ns.unwrap_or(i64::MAX), focus.session));
        changes
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
            listener.take(&EventTemplate::new(time_ns, &fields).event(name, "", &directory));
        };
        let change = "Microsoft-Windows-Win32k/FocusedProcessChange";
        send(5, change, &[("SessionId", 1), ("OldProcessId", 10), ("NewProcessId", 20)]);
        send(6, "Microsoft-Windows-Win32k/FocusChange", &[("OldThreadId", 1), ("NewThreadId", 2)]);
        send(9, change, &[("SessionId", 1), ("OldProcessId", 20), ("NewProcessId", 10)]);
        let rows: Vec<_> = listener
            .finish()
            .rows
            .into_iter()
            .map(|focus| (focus.process.image, focus.start_ns, focus.end_ns))
            .collect();
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
