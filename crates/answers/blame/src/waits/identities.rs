//! Maps (id, time) to a thread or process. Ids are reused, so every lookup takes a time.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use onoff_trace::{Lifetimes, SystemKind, Trace, Upid, Utid, milestone};

use onoff_usage::owners::file_name;

use onoff_usage::processes::Images;
use onoff_usage::units::services_by_process;

/// Maximum number of services listed for one process.
const MAX_NAMED_SERVICES: usize = 4;

#[derive(Debug)]
pub(crate) struct Identities<'t> {
    trace: &'t Trace,
    images: Images<'t>,
    /// Windows services hosted by each process, by process row.
    hosted: HashMap<usize, BTreeSet<String>>,
}

impl<'t> Identities<'t> {
    pub(crate) fn new(trace: &'t Trace) -> Self {
        let images = Images::new(trace);
        let hosted = match trace.system.kind {
            SystemKind::Linux => HashMap::new(),
            _ => services_by_process(trace, &images),
        };
        Self { trace, images, hosted }
    }

    pub(crate) const fn lives(&self) -> &Lifetimes {
        self.images.lifetimes()
    }

    /// Returns the lifetime of the thread that had id `tid` at `time_ns`.
    fn life(&self, tid: u32, time_ns: i64) -> Option<Utid> {
        self.images.lifetimes().thread(tid, time_ns)
    }

    /// Returns the start of the thread that had id `tid` just before `time_ns`; `None` if it existed before the
    /// recording or is not listed.
    ///
    /// With a coarse clock, one lifetime of an id can end at the time the next one starts; times up to that moment
    /// belong to the earlier one.
    pub(crate) fn start_of(&self, tid: u32, time_ns: i64) -> Option<i64> {
        let thread = |life: Utid| self.trace.threads.get(life.row());
        let current = thread(self.life(tid, time_ns)?)?;
        if current.start_ns != Some(time_ns) {
            return current.start_ns;
        }
        let earlier = self.life(tid, time_ns.saturating_sub(1)).and_then(thread);
        match earlier.filter(|earlier| earlier.end_ns == Some(time_ns) && earlier.start_ns < Some(time_ns)) {
            Some(earlier) => earlier.start_ns,
            None => current.start_ns,
        }
    }

    /// Returns the time up to which id `tid` belongs to the same thread as at `time_ns`; `time_ns` if that thread starts
    /// later.
    pub(crate) fn same_until(&self, tid: u32, time_ns: i64) -> i64 {
        let start_ns = self.life(tid, time_ns).and_then(|life| self.trace.threads.get(life.row())?.start_ns);
        if start_ns.is_some_and(|start_ns| start_ns > time_ns) {
            return time_ns;
        }
        self.images.lifetimes().thread_interval(tid, time_ns).1
    }

    /// Returns the creator of the thread that had id `tid` at `time_ns`, if its start was recorded.
    pub(crate) fn creator_of(&self, tid: u32, time_ns: i64) -> Option<u32> {
        self.trace.threads.get(self.life(tid, time_ns)?.row())?.creator_tid
    }

    /// Returns the process id of a thread. Thread 0 is the idle thread of a processor.
    pub(crate) fn pid_of(&self, tid: u32, time_ns: i64) -> Option<u32> {
        if tid == 0 {
            return Some(0);
        }
        self.trace.threads.pid.get(self.life(tid, time_ns)?.row()).copied()
    }

    /// Returns the process lifetime of a thread, if listed.
    pub(crate) fn process_of(&self, tid: u32, time_ns: i64) -> Option<Upid> {
        self.images.lifetimes().process_of(self.life(tid, time_ns)?)
    }

    pub(crate) fn image_of(&self, process: Upid) -> &'t str {
        let image = self.trace.processes.image.get(process.row());
        image.map_or("", |&image| file_name(self.trace.text(image)))
    }

    pub(crate) fn image(&self, pid: u32, time_ns: i64) -> Option<&'t str> {
        self.images.image_at(pid, time_ns)
    }

    /// Returns the names of the first few Windows services that a process hosts, followed by the number of remaining
    /// ones.
    pub(crate) fn services(&self, pid: u32, time_ns: i64) -> Vec<String> {
        let services = self.images.row_at(pid, time_ns).and_then(|row| self.hosted.get(&row));
        let Some(services) = services else { return Vec::new() };
        let mut names: Vec<String> = services.iter().take(MAX_NAMED_SERVICES).cloned().collect();
        if services.len() > MAX_NAMED_SERVICES {
            names.push(format!("{} more", services.len() - MAX_NAMED_SERVICES));
        }
        names
    }

    /// Returns the thread name; empty if unknown.
    pub(crate) fn thread_name(&self, tid: u32, time_ns: i64) -> &'t str {
        self.life(tid, time_ns)
            .and_then(|life| self.trace.threads.name.get(life.row()))
            .map_or("", |&name| self.trace.text(name))
    }

    pub(crate) fn is_known(&self, tid: u32) -> bool {
        self.images.lifetimes().has_thread(tid)
    }

    /// Returns the start of user space (including the initramfs), ns; `i64::MIN` if not recorded.
    pub(crate) fn user_space_ns(&self) -> i64 {
        let starts = [milestone::INITRD_BEGIN, milestone::USER_SPACE_BEGIN];
        let rows = self.trace.milestones.iter();
        rows.filter(|row| starts.contains(&self.trace.text(row.name))).map(|row| row.time_ns).min().unwrap_or(i64::MIN)
    }

    pub(crate) fn is_linux(&self) -> bool {
        self.trace.system.kind == SystemKind::Linux
    }

    /// True for a kworker of the Linux kernel: it only waits for work, on behalf of any thread.
    pub(crate) fn is_worker(&self, tid: u32, time_ns: i64) -> bool {
        const WORKER: &str = "kworker/";
        self.trace.system.kind == SystemKind::Linux
            && (self.thread_name(tid, time_ns).starts_with(WORKER)
                || self
                    .pid_of(tid, time_ns)
                    .and_then(|pid| self.image(pid, time_ns))
                    .is_some_and(|image| image.starts_with(WORKER)))
    }

    /// Returns the ids of all recorded threads of a process.
    pub(crate) fn threads_of(&self, pid: u32) -> Vec<u32> {
        let rows = self.trace.threads.tid.iter().zip(&self.trace.threads.pid);
        let mut tids: Vec<u32> = rows.filter(|&(_, &owner)| owner == pid).map(|(&tid, _)| tid).collect();
        tids.sort();
        tids.dedup();
        tids
    }
}
