//! Interrupts and soft interrupts, from their begin to their end.

use hashbrown::HashMap;
use onoff_ftrace::{Context, Event};
use onoff_trace::{Interrupt, InterruptKind, StringId, TableName, counters};

use crate::assembly::Assembly;

counters! {
    WITHOUT_END = "interrupts_without_end", Notice, [Interrupts],
        "the end of some interrupt handlers is not recorded, so that they have no length; record irq:irq_handler_exit too";
}

/// Names of soft interrupts, by number (`enum` in `linux/interrupt.h`).
const SOFT_INTERRUPTS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// What a processor is in.
#[derive(Debug, Default)]
struct Processor {
    /// Begin, number and name of the interrupts that are open, the outermost first.
    interrupts: Vec<(i64, u32, StringId)>,
    soft: Option<(i64, u32)>,
}

/// More interrupts inside each other than a kernel allows.
const MAX_DEPTH: usize = 16;

#[derive(Debug, Default)]
pub(super) struct InterruptTracker {
    processors: HashMap<u16, Processor>,
    rows: Vec<Interrupt>,
    without_end: u64,
}

impl InterruptTracker {
    /// Whether `event` happened in an interrupt or soft interrupt: as the event says, else by what is open on its processor.
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
        // A shared interrupt calls one handler after the other: an open one of the same number has no end in the recording.
        while open.last().is_some_and(|last| last.1 == number) || open.len() >= MAX_DEPTH {
            open.pop();
            self.without_end += 1;
        }
        open.push((time_ns, number, name));
    }

    pub(super) fn on_end(&mut self, time_ns: i64, cpu: u16, number: u32, assembly: &mut Assembly) {
        let open = &mut self.processors.entry(cpu).or_default().interrupts;
        let Some(at) = open.iter().rposition(|(_, of, _)| *of == number) else { return };
        self.without_end += (open.len() - at - 1) as u64;
        open.truncate(at + 1);
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
        let Some((start_ns, _)) = self.processors.entry(cpu).or_default().soft.take_if(|(_, of)| *of == vector) else {
            return;
        };
        if assembly.wants(TableName::Interrupts) {
            let name = SOFT_INTERRUPTS.get(vector as usize).copied();
            self.rows.push(Interrupt {
                start_ns,
                end_ns: time_ns,
                cpu,
                kind: InterruptKind::SoftInterrupt,
                routine: 0,
                vector: u16::try_from(vector).unwrap_or(u16::MAX),
                name: assembly.text(name.unwrap_or_default()),
            });
        }
    }

    pub(super) fn finish(mut self, assembly: &mut Assembly) {
        let open: usize = self
            .processors
            .values()
            .map(|processor| processor.interrupts.len() + usize::from(processor.soft.is_some()))
            .sum();
        // What the recording's end cut is no gap in what was recorded; one on every processor is usual.
        if self.without_end > 0 {
            self.without_end += open as u64;
        }
        assembly.losses.add(&WITHOUT_END, self.without_end);
        assembly.interrupts.push(self.rows.into_iter().collect());
    }
}
