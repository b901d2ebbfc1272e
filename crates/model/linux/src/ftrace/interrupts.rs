//! Pairs the begin and end of interrupts and soft interrupts.

use hashbrown::HashMap;
use onoff_ftrace::{Context, Event};
use onoff_trace::{Interrupt, InterruptKind, StringId, TableName, counters};

use crate::assembly::Assembly;

counters! {
    WITHOUT_END = "interrupts_without_end", Notice, [Interrupts],
        "Interrupt handlers have no duration because their end was not recorded. Also record irq:irq_handler_exit.";
}

/// Names of soft interrupts by number (`enum` in `linux/interrupt.h`).
const SOFT_INTERRUPTS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Open interrupts of a processor.
#[derive(Debug, Default)]
struct Processor {
    /// Begin, number and name of the open interrupts, outermost first.
    interrupts: Vec<(i64, u32, StringId)>,
    soft: Option<(i64, u32)>,
}

/// Maximum nesting of interrupts; a kernel allows less.
const MAX_DEPTH: usize = 16;

#[derive(Debug, Default)]
pub(super) struct InterruptTracker {
    processors: HashMap<u16, Processor>,
    rows: Vec<Interrupt>,
    without_end: u64,
}

impl InterruptTracker {
    /// True if `event` happened in an interrupt or soft interrupt, according to its flags if they were recorded,
    /// otherwise according to the open interrupts of its processor.
    pub(super) fn is_open(&self, event: &Event<'_>) -> bool {
        match event.context {
            Some(context) => context != Context::Thread,
            None => self
                .processors
                .get(&event.cpu)
                .is_some_and(|processor| processor.soft.is_some() || !processor.interrupts.is_empty()),
        }
    }

    pub(super) fn on_begin(&mut self, time_ns: i64, cpu: u16, number: u32, name: StringId) {
        let open = &mut self.processors.entry(cpu).or_default().interrupts;
        // Handlers of a shared interrupt run one after another, so the end of an open one was not recorded.
        while open.last().is_some_and(|&(_, last_number, _)| last_number == number) || open.len() >= MAX_DEPTH {
            open.pop();
            self.without_end += 1;
        }
        open.push((time_ns, number, name));
    }

    pub(super) fn on_end(&mut self, time_ns: i64, cpu: u16, number: u32, assembly: &mut Assembly) {
        let open = &mut self.processors.entry(cpu).or_default().interrupts;
        let Some(index) = open.iter().rposition(|&(_, open_number, _)| open_number == number) else { return };
        self.without_end += (open.len() - index - 1) as u64;
        open.truncate(index + 1);
        if let Some((start_ns, _, name)) = open.pop()
            && assembly.wants(TableName::Interrupts)
        {
            self.rows.push(Interrupt {
                start_ns,
                end_ns: time_ns,
                cpu,
                kind: InterruptKind::Interrupt,
                routine: 0,
                vector: u16::try_from(number).unwrap_or(u16::MAX),
                name,
            });
        }
    }

    pub(super) fn on_soft_begin(&mut self, time_ns: i64, cpu: u16, vector: u32) {
        let processor = self.processors.entry(cpu).or_default();
        self.without_end += u64::from(processor.soft.is_some());
        processor.soft = Some((time_ns, vector));
    }

    pub(super) fn on_soft_end(&mut self, time_ns: i64, cpu: u16, vector: u32, assembly: &mut Assembly) {
        let processor = self.processors.entry(cpu).or_default();
        let Some((start_ns, _)) = processor.soft.take_if(|(_, open_vector)| *open_vector == vector) else { return };
        if assembly.wants(TableName::Interrupts) {
            let name = SOFT_INTERRUPTS.get(vector as usize).copied();
            self.rows.push(Interrupt {
                start_ns,
                end_ns: time_ns,
                cpu,
                kind: InterruptKind::SoftInterrupt,
                routine: 0,
                vector: u16::try_from(vector).unwrap_or(u16::MAX),
                name: assembly.intern(name.unwrap_or_default()),
            });
        }
    }

    pub(super) fn finish(mut self, assembly: &mut Assembly) {
        let open_count: usize = self
            .processors
            .values()
            .map(|processor| processor.interrupts.len() + usize::from(processor.soft.is_some()))
            .sum();
        // Each processor may have a handler open at the end of the recording. It counts only if other ends are missing.
        if self.without_end > 0 {
            self.without_end += open_count as u64;
        }
        assembly.losses.add(&WITHOUT_END, self.without_end);
        assembly.interrupts.push(self.rows.into_iter().collect());
    }
}
