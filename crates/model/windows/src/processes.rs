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
        let process = Process {
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
                self.start(time_ns, Process { creator_tid: record.thread_id(), ..process }, losses);
            }
            ProcessEventKind::End => self.end(time_ns, process, Some(event.exit_status)),
            ProcessEventKind::RundownStart | ProcessEventKind::RundownEnd => {
                let index = self.alive_row(process.pid, process.unique_key);
                fill(&mut self.rows[index], &process);
            }
            ProcessEventKind::Defunct => {
                // The object outlives the process because of an open handle. The event adds nothing to a process that
                // ended in the recording, and a process that ended earlier is not part of the recording.
                let exit_ns = event
                    .exit_time
                    .and_then(|filetime| i64::try_from(filetime).ok())
                    .map(|filetime| (filetime - clock.start_filetime()).saturating_mul(100));
                if let Some(&index) = self.alive.get(&process.pid)
                    && self.rows[index].unique_key == process.unique_key
                    && let Some(exit_ns) = exit_ns.filter(|&exit_ns| exit_ns <= time_ns)
                {
                    self.rows[index].end_ns = Some(exit_ns);
                    self.rows[index].exit_status = Some(event.exit_status);
                    self.alive.remove(&process.pid);
                }
            }
        }
    }

    /// Records the start of a process. All values except the times come from `process`.
    pub(super) fn start(&mut self, time_ns: i64, process: Process, losses: &mut Losses) {
        if let Some(&index) = self.alive.get(&process.pid) {
            let row = &mut self.rows[index];
            if row.start_ns == Some(time_ns) {
                fill(row, &process);
                return;
            }
            row.end_ns = Some(time_ns);
            losses.add(&counters::PROCESS_END_MISSING, 1);
        }
        let index = self.push(Process { start_ns: Some(time_ns), ..process });
        self.alive.insert(process.pid, index);
    }

    /// Records the end of a process. Values that were unknown come from `process`.
    pub(super) fn end(&mut self, time_ns: i64, process: Process, exit_status: Option<i32>) {
        let index = self.alive_row(process.pid, process.unique_key);
        let row = &mut self.rows[index];
        fill(row, &process);
        row.end_ns = Some(time_ns);
        row.exit_status = exit_status;
        self.alive.remove(&process.pid);
    }

    /// Records that a process exists. Values that were unknown come from `process`.
    pub(super) fn observe(&mut self, process: Process) {
        let index = self.alive_row(process.pid, process.unique_key);
        fill(&mut self.rows[index], &process);
    }

    // A rundown can list a process that has just ended: the object is freed later than the process.
    fn alive_row(&mut self, pid: u32, unique_key: u64) -> usize {
        if let Some(&index) = self.alive.get(&pid) {
            return index;
        }
        let last_index = self.by_pid.get(&pid).and_then(|rows| rows.last());
        if let Some(&index) = last_index
            && unique_key != 0
            && self.rows[index].unique_key == unique_key
        {
            return index;
        }
        let index = self.push(Process::unknown(pid));
        self.alive.insert(pid, index);
        index
    }

    fn push(&mut self, process: Process) -> usize {
        let index = self.rows.len();
        self.by_pid.entry(process.pid).or_default().push(index);
        self.rows.push(process);
        index
    }

    /// Returns the process that had the id `pid` at `time_ns`.
    pub(super) fn find(&self, pid: u32, time_ns: i64) -> Option<&Process> {
        let indexes = self.by_pid.get(&pid)?;
        let has_started = |&index: &usize| {
            let start_ns = self.rows[index].start_ns;
            start_ns.is_none_or(|start_ns| start_ns <= time_ns)
        };
        let started_count = indexes.partition_point(has_started);
        started_count.checked_sub(1).and_then(|last| self.rows.get(indexes[last]))
    }

    /// Builds the table, sorted by start.
    pub(super) fn finish(&self) -> Processes {
        let mut rows = self.rows.clone();
        rows.sort_by_key(|row| row.start_ns);
        rows.into_iter().collect()
    }
}

fn fill(row: &mut Process, process: &Process) {
    row.parent_pid = row.parent_pid.or(process.parent_pid);
    row.creator_tid = row.creator_tid.or(process.creator_tid);
    row.session = row.session.or(process.session);
    for (field, value) in [
        (&mut row.image, process.image),
        (&mut row.command_line, process.command_line),
        (&mut row.user, process.user),
        (&mut row.package, process.package),
    ] {
        if field.is_empty() {
            *field = value;
        }
    }
    for (field, value) in [(&mut row.unique_key, process.unique_key), (&mut row.page_directory, process.page_directory)]
    {
        if *field == 0 {
            *field = value;
        }
    }
}
