//! Builds the processes table from starts, ends and rundowns; one row per process lifetime.
//!
//! ```text
//!   (unknown) --start--------> alive, start known --end--> ended
//!       |  \--rundown begin--> alive, start open  --end--> ended
//!       |  \--rundown end----> alive, start open
//!        \----end------------> ended, start open
//! ```
//!
//! Merging repeats the rundown of every input, so an event without new information changes nothing.

use hashbrown::HashMap;
use onoff_etl::{Clock, Record};
use onoff_etw::kernel::{self, ProcessEventKind};
use onoff_trace::{Losses, Process, Processes, StringId};

use super::counters;
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct ProcessTracker {
    rows: Vec<Process>,
    alive: HashMap<u32, usize>,
    /// Rows of each process id, in order of appearance.
    by_pid: HashMap<u32, Vec<usize>>,
}

const UNKNOWN_SESSION: u32 = u32::MAX;

impl ProcessTracker {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn on_process(
        &mut self,
        record: &Record<'_>,
        event: &kernel::Process<'_>,
        clock: &Clock,
        texts: &mut Texts,
        losses: &mut Losses,
    ) {
        let time_ns = record.time_ns();
        let known = Process {
            parent_pid: Some(event.parent_id),
            image: texts.ansi(event.image_file_name),
            command_line: texts.utf16(event.command_line),
            session: Some(event.session_id).filter(|&session| session != UNKNOWN_SESSION),
            user: event.user_sid.map_or(StringId::EMPTY, |sid| texts.display(sid)),
            unique_key: event.unique_process_key,
            page_directory: event.directory_table_base,
            package: texts.utf16(event.package_full_name),
            ..Process::unknown(event.process_id)
        };
        match event.kind {
            ProcessEventKind::Start => {
                self.start(time_ns, Process { creator_tid: record.thread_id(), ..known }, losses);
            }
            ProcessEventKind::End => self.end(time_ns, known, Some(event.exit_status)),
            ProcessEventKind::RundownStart | ProcessEventKind::RundownEnd => {
                let row = self.alive_row(known.pid, known.unique_key);
                fill(&mut self.rows[row], &known);
            }
            ProcessEventKind::Defunct => {
                // The object outlives the process because of an open handle. The event adds nothing to a process that
                // ended in the recording, and one that ended before is not part of it.
                let ended_ns = event
                    .exit_time
                    .and_then(|filetime| i64::try_from(filetime).ok())
                    .map(|filetime| (filetime - clock.start_filetime()).saturating_mul(100));
                if let Some(&row) = self.alive.get(&known.pid)
                    && self.rows[row].unique_key == known.unique_key
                    && let Some(ended_ns) = ended_ns.filter(|&ended_ns| ended_ns <= time_ns)
                {
                    self.rows[row].end_ns = Some(ended_ns);
                    self.rows[row].exit_status = Some(event.exit_status);
                    self.alive.remove(&known.pid);
                }
            }
        }
    }

    /// Records the start of a process; everything but its times comes from `known`.
    pub(super) fn start(&mut self, time_ns: i64, known: Process, losses: &mut Losses) {
        if let Some(&row) = self.alive.get(&known.pid) {
            let present = &mut self.rows[row];
            if present.start_ns == Some(time_ns) {
                fill(present, &known);
                return;
            }
            present.end_ns = Some(time_ns);
            losses.add(&counters::PROCESS_END_MISSING, 1);
        }
        let row = self.push(Process { start_ns: Some(time_ns), ..known });
        self.alive.insert(known.pid, row);
    }

    /// Records the end of a process; values that were unknown come from `known`.
    pub(super) fn end(&mut self, time_ns: i64, known: Process, exit_status: Option<i32>) {
        let row = self.alive_row(known.pid, known.unique_key);
        let present = &mut self.rows[row];
        fill(present, &known);
        present.end_ns = Some(time_ns);
        present.exit_status = exit_status;
        self.alive.remove(&known.pid);
    }

    /// Records that a process exists; values that were unknown come from `known`.
    pub(super) fn present(&mut self, known: Process) {
        let row = self.alive_row(known.pid, known.unique_key);
        fill(&mut self.rows[row], &known);
    }

    // A rundown can list a process that has just ended: the object is freed later than the process.
    fn alive_row(&mut self, pid: u32, unique_key: u64) -> usize {
        if let Some(&row) = self.alive.get(&pid) {
            return row;
        }
        let last = self.by_pid.get(&pid).and_then(|rows| rows.last());
        if let Some(&row) = last
            && unique_key != 0
            && self.rows[row].unique_key == unique_key
        {
            return row;
        }
        let row = self.push(Process::unknown(pid));
        self.alive.insert(pid, row);
        row
    }

    fn push(&mut self, process: Process) -> usize {
        let row = self.rows.len();
        self.by_pid.entry(process.pid).or_default().push(row);
        self.rows.push(process);
        row
    }

    /// The process that had id `pid` at `time_ns`.
    pub(super) fn at(&self, pid: u32, time_ns: i64) -> Option<&Process> {
        let rows = self.by_pid.get(&pid)?;
        let begun = |&row: &usize| {
            let start_ns = self.rows[row].start_ns;
            start_ns.is_none_or(|start_ns| start_ns <= time_ns)
        };
        let after = rows.partition_point(begun);
        after.checked_sub(1).and_then(|last| self.rows.get(rows[last]))
    }

    /// The table, by start.
    pub(super) fn finish(&self) -> Processes {
        let mut rows = self.rows.clone();
        rows.sort_by_key(|row| row.start_ns);
        rows.into_iter().collect()
    }
}

fn fill(row: &mut Process, known: &Process) {
    row.parent_pid = row.parent_pid.or(known.parent_pid);
    row.creator_tid = row.creator_tid.or(known.creator_tid);
    row.session = row.session.or(known.session);
    for (field, value) in [
        (&mut row.image, known.image),
        (&mut row.command_line, known.command_line),
        (&mut row.user, known.user),
        (&mut row.package, known.package),
    ] {
        if field.is_empty() {
            *field = value;
        }
    }
    for (field, value) in [(&mut row.unique_key, known.unique_key), (&mut row.page_directory, known.page_directory)] {
        if *field == 0 {
            *field = value;
        }
    }
}
