//! Builds the threads table from starts, ends and rundowns, one row per thread lifetime, and resolves thread owners.

use hashbrown::HashMap;
use onoff_etl::Record;
use onoff_etw::kernel::{self, ThreadEventKind};
use onoff_trace::{Losses, Thread, Threads};

use super::counters;
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct ThreadTracker {
    rows: Vec<Thread>,
    alive: HashMap<u32, usize>,
}

impl ThreadTracker {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn on_thread(
        &mut self,
        record: &Record<'_>,
        event: &kernel::Thread<'_>,
        texts: &mut Texts,
        losses: &mut Losses,
    ) {
        let time_ns = record.time_ns();
        let start_address = match event.win32_start_address {
            0 => event.start_address,
            address => address,
        };
        let known = Thread {
            start_address,
            base_priority: event.priorities.map(|priorities| priorities.base),
            page_priority: event.priorities.map(|priorities| priorities.page),
            io_priority: event.priorities.map(|priorities| priorities.io),
            service_tag: event.sub_process_tag,
            teb: event.teb_base,
            stack_base: event.stack_base,
            stack_limit: event.stack_limit,
            user_stack_base: event.user_stack_base,
            user_stack_limit: event.user_stack_limit,
            name: texts.utf16(event.thread_name),
            ..Thread::unknown(event.thread_id, event.process_id)
        };
        match event.kind {
            ThreadEventKind::Start => {
                self.start(time_ns, Thread { creator_tid: record.thread_id(), ..known }, losses);
            }
            ThreadEventKind::End => self.end(time_ns, known),
            ThreadEventKind::RundownStart | ThreadEventKind::RundownEnd => self.present(known),
        }
    }

    pub(super) fn on_name(&mut self, event: &kernel::ThreadName<'_>, texts: &mut Texts) {
        let row = self.alive_row(event.thread_id, event.process_id);
        self.rows[row].name = texts.utf16(event.thread_name);
    }

    /// Records the start of a thread; everything but its times comes from `known`.
    pub(super) fn start(&mut self, time_ns: i64, known: Thread, losses: &mut Losses) {
        if let Some(&row) = self.alive.get(&known.tid) {
            let present = &mut self.rows[row];
            if present.start_ns == Some(time_ns) {
                fill(present, &known);
                return;
            }
            present.end_ns = Some(time_ns);
            losses.add(&counters::THREAD_END_MISSING, 1);
        }
        self.alive.insert(known.tid, self.rows.len());
        self.rows.push(Thread { start_ns: Some(time_ns), ..known });
    }

    /// Records the end of a thread.
    pub(super) fn end(&mut self, time_ns: i64, known: Thread) {
        let row = self.alive_row(known.tid, known.pid);
        let present = &mut self.rows[row];
        fill(present, &known);
        present.end_ns = Some(time_ns);
        self.alive.remove(&known.tid);
    }

    /// Records that a thread exists.
    pub(super) fn present(&mut self, known: Thread) {
        let row = self.alive_row(known.tid, known.pid);
        fill(&mut self.rows[row], &known);
    }

    // Thread id 0 is the idle thread of every processor; all share one row.
    fn alive_row(&mut self, tid: u32, pid: u32) -> usize {
        *self.alive.entry(tid).or_insert_with(|| {
            self.rows.push(Thread::unknown(tid, pid));
            self.rows.len() - 1
        })
    }

    /// An index for looking up the process of a thread.
    pub(super) fn owners(&self) -> ThreadOwners {
        let mut lifetimes: HashMap<u32, Vec<(i64, u32)>> = HashMap::new();
        for row in &self.rows {
            let start_ns = row.start_ns.unwrap_or(i64::MIN);
            lifetimes.entry(row.tid).or_default().push((start_ns, row.pid));
        }
        for owners in lifetimes.values_mut() {
            owners.sort();
        }
        ThreadOwners { lifetimes }
    }

    /// The table, by start.
    pub(super) fn finish(mut self) -> Threads {
        self.rows.sort_by_key(|row| row.start_ns);
        self.rows.into_iter().collect()
    }
}

fn fill(row: &mut Thread, known: &Thread) {
    row.creator_tid = row.creator_tid.or(known.creator_tid);
    row.base_priority = row.base_priority.or(known.base_priority);
    row.page_priority = row.page_priority.or(known.page_priority);
    row.io_priority = row.io_priority.or(known.io_priority);
    for (field, value) in [
        (&mut row.start_address, known.start_address),
        (&mut row.teb, known.teb),
        (&mut row.stack_base, known.stack_base),
        (&mut row.stack_limit, known.stack_limit),
        (&mut row.user_stack_base, known.user_stack_base),
        (&mut row.user_stack_limit, known.user_stack_limit),
    ] {
        if *field == 0 {
            *field = value;
        }
    }
    if row.service_tag == 0 {
        row.service_tag = known.service_tag;
    }
    if row.name.is_empty() {
        row.name = known.name;
    }
}

/// Process of every thread by time.
#[derive(Debug, Default)]
pub(super) struct ThreadOwners {
    /// By thread id: (start, process id), by start.
    lifetimes: HashMap<u32, Vec<(i64, u32)>>,
}

impl ThreadOwners {
    /// The process of `tid` at `time_ns`. A thread first seen later is assumed to have existed.
    pub(super) fn process(&self, tid: u32, time_ns: i64) -> Option<u32> {
        let owners = self.lifetimes.get(&tid)?;
        let after = owners.partition_point(|&(start_ns, _)| start_ns <= time_ns);
        owners.get(after.saturating_sub(1)).map(|&(_, process)| process)
    }
}
