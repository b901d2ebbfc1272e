//! Context switches of recordings made with compact switches, which say only which thread left a processor.
//!
//! Whoever leaves next is who came: a row is complete when the processor's next switch is known, so the last one of
//! each processor never is. The priority of the thread that came is the one it had when it left. Where a recording
//! has full switches too, those are used and the compact ones are not.
//!
//! The layout rests on the format reference (section 4.5) alone. It does not give the unit of the time deltas:
//! ticks of the log's clock are assumed, as for the first time stamp.

use onoff_etl::{Clock, Record};
use onoff_etw::kernel::{CompactContextSwitch, CompactContextSwitches};
use onoff_trace::{Batches, ContextSwitch, ContextSwitches, Losses};

use super::counters;

/// Rows kept: a switch takes as little as two bytes of the file and 40 of memory.
const MAX: usize = 20_000_000;

/// Rows of one piece of the table.
const PIECE: usize = 1 << 20;

/// `KTHREAD_STATE` of a thread that waits.
const WAITING: u8 = 5;

/// Follows the processors through batches of compact switches.
#[derive(Debug)]
pub(super) struct CompactSwitchTracker {
    /// Number of wait reasons the system knows; larger values are states.
    wait_reasons: u8,
    /// The last switch of each processor, whose new thread is not known yet.
    open: Vec<Option<ContextSwitch>>,
    rows: Vec<ContextSwitch>,
}

impl CompactSwitchTracker {
    /// For a recording of the system with this build number. Windows 7 has 37 wait reasons; Windows 8 and early
    /// Windows 10 have 39 (10240). Later builds added some, which can make a state of a rare wait reason.
    pub(super) fn new(build: u32) -> Self {
        Self { wait_reasons: if build < 9200 { 37 } else { 39 }, open: Vec::new(), rows: Vec::new() }
    }

    /// Takes the batch that `record` carries.
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
            let next = self.leaving(record.cpu(), clock.ns(switch.ticks), &switch);
            let Some(mut row) = self.open[cpu].replace(next) else { continue };
            row.new_tid = next.old_tid;
            row.new_priority = next.old_priority;
            // From idle to idle nothing was switched.
            if row.new_tid == 0 && row.old_tid == 0 {
                continue;
            }
            if self.rows.len() < MAX {
                self.rows.push(row);
            } else {
                losses.add(&counters::COMPACT_SWITCHES_LEFT_OUT, 1);
            }
        }
    }

    fn leaving(&self, cpu: u16, time_ns: i64, switch: &CompactContextSwitch) -> ContextSwitch {
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

    /// The rows of all processors by time.
    pub(super) fn finish(mut self) -> Batches<ContextSwitches> {
        self.rows.sort_by_key(|row| row.time_ns);
        let pieces = self.rows.chunks(PIECE);
        pieces.map(|rows| rows.iter().copied().collect()).collect()
    }
}
