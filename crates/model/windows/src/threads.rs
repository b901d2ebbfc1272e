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
        let thread = Thread {
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
                self.start(time_ns, Thread { creator_tid: record.thread_id(), ..thread }, losses);
            }
            ThreadEventKind::End => self.end(time_ns, thread),
            ThreadEventKind::RundownStart | ThreadEventKind::RundownEnd => self.observe(thread),
        }
    }

    pub(super) fn on_name(&mut self, event: &kernel::ThreadName<'_>, texts: &mut Texts) {
        let index = self.alive_row(event.thread_id, event.process_id);
        self.rows[index].name = texts.utf16(event.thread_name);
    }

    /// Records the start of a thread. All values except the times come from `thread`.
    pub(super) fn start(&mut self, time_ns: i64, thread: Thread, losses: &mut Losses) {
        if let Some(&index) = self.alive.get(&thread.tid) {
            let row = &mut self.rows[index];
            if row.start_ns == Some(time_ns) {
                fill(row, &thread);
                return;
            }
            row.end_ns = Some(time_ns);
            losses.add(&counters::THREAD_END_MISSING, 1);
        }
        self.alive.insert(thread.tid, self.rows.len());
        self.rows.push(Thread { start_ns: Some(time_ns), ..thread });
    }

    /// Records the end of a thread.
    pub(super) fn end(&mut self, time_ns: i64, thread: Thread) {
        let index = self.alive_row(thread.tid, thread.pid);
        let row = &mut self.rows[index];
        fill(row, &thread);
        row.end_ns = Some(time_ns);
        self.alive.remove(&thread.tid);
    }

    /// Records that a thread exists.
    pub(super) fn observe(&mut self, thread: Thread) {
        let index = self.alive_row(thread.tid, thread.pid);
        fill(&mut self.rows[index], &thread);
    }

    // Thread id 0 is the idle thread of every processor; all idle threads share one row.
    fn alive_row(&mut self, tid: u32, pid: u32) -> usize {
        *self.alive.entry(tid).or_insert_with(|| {
            self.rows.push(Thread::unknown(tid, pid));
            self.rows.len() - 1
        })
    }

    /// Builds an index for looking up the process of a thread.
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

    /// Builds the table, sorted by start.
    pub(super) fn finish(mut self) -> Threads {
        self.rows.sort_by_key(|row| row.start_ns);
        self.rows.into_iter().collect()
    }
}

fn fill(row: &mut Thread, thread: &Thread) {
    row.creator_tid = row.creator_tid.or(thread.creator_tid);
    row.base_priority = row.base_priority.or(thread.base_priority);
    row.page_priority = row.page_priority.or(thread.page_priority);
    row.io_priority = row.io_priority.or(thread.io_priority);
    for (field, value) in [
        (&mut row.start_address, thread.start_address),
        (&mut row.teb, thread.teb),
        (&mut row.stack_base, thread.stack_base),
        (&mut row.stack_limit, thread.stack_limit),
        (&mut row.user_stack_base, thread.user_stack_base),
        (&mut row.user_stack_limit, thread.user_stack_limit),
    ] {
        if *field == 0 {
            *field = value;
        }
    }
    if row.service_tag == 0 {
        row.service_tag = thread.service_tag;
    }
    if row.name.is_empty() {
        row.name = thread.name;
    }
}

/// The process of every thread by time.
#[derive(Debug, Default)]
pub(super) struct ThreadOwners {
    /// Start and process id by thread id, sorted by start.
    lifetimes: HashMap<u32, Vec<(i64, u32)>>,
}

impl ThreadOwners {
    /// Returns the process of `tid` at `time_ns`. A thread that is first recorded later is assumed to have existed.
    pub(super) fn process(&self, tid: u32, time_ns: i64) -> Option<u32> {
        let owners = self.lifetimes.get(&tid)?;
        let started_count = owners.partition_point(|&(start_ns, _)| start_ns <= time_ns);
        owners.get(started_count.saturating_sub(1)).map(|&(_, pid)| pid)
    }
}
