//! Context switches of recordings with compact switches, which contain only the thread switched out.
//!
//! The thread that a processor switches out next is the thread that it switched in before. A row is therefore complete
//! when the processor's next switch is known, and the last row of each processor is dropped. The priority of a thread
//! switched in is its priority when it was switched out. Compact switches are ignored if a recording also has full
//! switches.
//!
//! The only source of the layout is the format reference (section 4.5). It does not give the unit of the time deltas;
//! they are assumed to be ticks of the log's clock, like the first timestamp.

use onoff_etl::{Clock, Record};
use onoff_etw::kernel::{CompactContextSwitch, CompactContextSwitches};
use onoff_trace::{Batches, ContextSwitch, ContextSwitches, Losses};

use super::counters;

/// Maximum number of rows: a switch takes as little as two bytes in the file, but 40 in memory.
const MAX_ROWS: usize = 20_000_000;

/// Rows per chunk of the table.
const CHUNK_ROWS: usize = 1 << 20;

/// `KTHREAD_STATE` of a waiting thread.
const WAITING: u8 = 5;

/// Tracks processors through batches of compact switches.
#[derive(Debug)]
pub(super) struct CompactSwitchTracker {
    /// Number of wait reasons in this version of Windows; larger values are thread states.
    wait_reasons: u8,
    /// Last switch of each processor, whose new thread is not known yet.
    open: Vec<Option<ContextSwitch>>,
    rows: Vec<ContextSwitch>,
}

impl CompactSwitchTracker {
    /// Creates a tracker for a Windows build. Windows 7 has 37 wait reasons; Windows 8 and early Windows 10 (10240)
    /// have 39. Later builds added more, so a rare wait reason can be misread as a state.
    pub(super) fn new(build: u32) -> Self {
        Self { wait_reasons: if build < 9200 { 37 } else { 39 }, open: Vec::new(), rows: Vec::new() }
    }

    /// Processes the batch in `record`.
    pub(super) fn on_batch(
        &mut self,
        record: &Record<'_>,
        batch: &CompactContextSwitches<'_>,
        clock: &Clock,
        losses: &mut Losses,
    ) {
        losses.add(&counters::COMPACT_SWITCHES, 1);
        let cpu = usize::from(record.cpu());
        if cpu >= self.open.len() {
            self.open.resize(cpu + 1, None);
        }
        for switch in batch.switches() {
            let next = self.switched_out(record.cpu(), clock.ns(switch.ticks), &switch);
            let Some(mut row) = self.open[cpu].replace(next) else { continue };
            row.new_tid = next.old_tid;
            row.new_priority = next.old_priority;
            // From idle to idle is not a switch.
            if row.new_tid == 0 && row.old_tid == 0 {
                continue;
            }
            if self.rows.len() < MAX_ROWS {
                self.rows.push(row);
            } else {
                losses.add(&counters::COMPACT_SWITCHES_LEFT_OUT, 1);
            }
        }
    }

    fn switched_out(&self, cpu: u16, time_ns: i64, switch: &CompactContextSwitch) -> ContextSwitch {
        let value = switch.state_or_wait_reason;
        let (old_state, old_wait_reason) = match value.checked_sub(self.wait_reasons) {
            Some(state) => (state, 0),
            None => (WAITING, value),
        };
        ContextSwitch {
            time_ns,
            cpu,
            old_tid: switch.old_thread_id,
            old_priority: switch.old_thread_priority.min(31).cast_signed(),
            old_wait_reason,
            old_state,
            new_wait_ticks: switch.new_thread_wait_time.unwrap_or(0),
            ..ContextSwitch::UNKNOWN
        }
    }

    /// Returns the rows of all processors, sorted by time.
    pub(super) fn finish(mut self) -> Batches<ContextSwitches> {
        self.rows.sort_by_key(|row| row.time_ns);
        let chunks = self.rows.chunks(CHUNK_ROWS);
        chunks.map(|rows| rows.iter().copied().collect()).collect()
    }
}
