//! Decodes one time window: independent records into rows, all others into copies for later processing.

use std::convert::Infallible;
use std::ops::ControlFlow;

use onoff_etl::{Clock, ExtendedItem, HeaderKind, Record, Window};
use onoff_etw::kernel::{
    self, DeferredProcedureCall, DeferredProcedureCallKind, Frames, InterruptServiceRoutine, KernelPayload,
    SampledProfile, StackKeyReference,
};
use onoff_etw::{Reader, Schemas};
use onoff_trace::{
    ContextSwitch, ContextSwitches, Interrupt, InterruptKind, Interrupts, Losses, ReadyThread, ReadyThreads, Sample,
    Samples, StackId, StackPool, Stacks, StringId,
};

use super::counters;
use super::deferred_records::DeferredRecords;
use super::generic_events::GenericEvents;
use super::selection::{Interest, Selection};
use super::stacks::StackReference;

/// The contents of one window. Windows are decoded in parallel; values that depend on earlier windows are completed
/// when the windows are absorbed in order.
#[derive(Debug, Default)]
pub(super) struct WindowRows {
    pub(super) context_switches: ContextSwitches,
    pub(super) ready_threads: ReadyThreads,
    /// Number of context switches in this window, including discarded ones.
    pub(super) switch_count: usize,
    /// Rows of `ready_threads` before the first switch of their processor in this window.
    pub(super) unattributed: Vec<(usize, u16)>,
    /// The thread running on each processor at the end of the window, if known from a switch.
    pub(super) running: Running,
    pub(super) samples: Samples,
    pub(super) interrupts: Interrupts,
    pub(super) stacks: Stacks,
    pub(super) stack_pool: StackPool,
    /// Rows of `stacks` that are given by a key.
    pub(super) stack_references: Vec<StackReference>,
    /// Records to process in order.
    pub(super) ordered: DeferredRecords,
    /// Records to process at the end.
    pub(super) end_records: DeferredRecords,
    /// Records that describe events.
    pub(super) schema_records: DeferredRecords,
    pub(super) generic: GenericEvents,
    pub(super) losses: Losses,
    pub(super) walk_losses: onoff_etl::Losses,
    frames: Vec<u64>,
}

/// The thread running on each processor.
#[derive(Debug, Default)]
pub(super) struct Running {
    threads: Vec<Option<u32>>,
}

impl Running {
    #[inline]
    pub(super) fn get(&self, cpu: u16) -> Option<u32> {
        self.threads.get(usize::from(cpu)).copied().flatten()
    }

    #[inline]
    fn set(&mut self, cpu: u16, tid: u32) {
        let cpu = usize::from(cpu);
        if cpu >= self.threads.len() {
            self.threads.resize(cpu + 1, None);
        }
        self.threads[cpu] = Some(tid);
    }

    /// Updates the running threads from a later window.
    pub(super) fn update(&mut self, later: &Running) {
        for (cpu, tid) in later.threads.iter().enumerate() {
            if let (Some(tid), Ok(cpu)) = (tid, u16::try_from(cpu)) {
                self.set(cpu, *tid);
            }
        }
    }
}

impl WindowRows {
    /// Decodes the records of `window` that `selection` requests. `observe` gets every record.
    pub(super) fn decode(
        window: &Window<'_>,
        selection: &Selection,
        schemas: &Schemas,
        clock: &Clock,
        mut observe: impl FnMut(&Record<'_>),
    ) -> WindowRows {
        let mut rows = WindowRows::default();
        let walk = window.for_each(|record| {
            observe(record);
            rows.on_record(record, selection, schemas, clock);
            ControlFlow::<Infallible>::Continue(())
        });
        rows.walk_losses = walk.losses;
        rows.switch_count = rows.context_switches.len();
        if !selection.keeps_switches {
            rows.context_switches = ContextSwitches::new();
        }
        // The tables live until the recording is closed, so release spare capacity.
        rows.context_switches.shrink_to_fit();
        rows.ready_threads.shrink_to_fit();
        rows.samples.shrink_to_fit();
        rows.interrupts.shrink_to_fit();
        rows.stacks.shrink_to_fit();
        rows.generic.shrink_to_fit();
        rows
    }

    #[inline]
    fn on_record(&mut self, record: &Record<'_>, selection: &Selection, schemas: &Schemas, clock: &Clock) {
        let interest = match record.hook() {
            Some(hook) => selection.hook_interest(hook),
            None => return self.on_record_without_hook(record, selection, schemas),
        };
        let outcome = match interest {
            Interest::Skip => Some(()),
            Interest::Generic => {
                self.generic.push(record, schemas, &mut self.losses);
                Some(())
            }
            Interest::SamplingInterval => {
                self.ordered.push(record);
                if selection.others() == Interest::Generic {
                    self.generic.push(record, schemas, &mut self.losses);
                }
                Some(())
            }
            Interest::ContextSwitch => self.add_context_switch(record),
            Interest::ReadyThread => self.add_ready_thread(record),
            Interest::Sample => self.add_sample(record),
            Interest::DeferredProcedureCall => self.add_deferred_procedure_call(record, clock),
            Interest::InterruptServiceRoutine => self.add_interrupt_service_routine(record, clock),
            Interest::Stack => self.add_stack(record, clock),
            Interest::StackReference => self.add_stack_reference(record, clock),
            Interest::Ordered => {
                self.ordered.push(record);
                Some(())
            }
        };
        if outcome.is_none() {
            self.count_short(record);
        }
    }

    #[cold]
    fn count_short(&mut self, record: &Record<'_>) {
        self.losses.add_at(&counters::SHORT_PAYLOAD, || {
            format!(
                "hook {:#06x} version {} at {} ns",
                record.hook().unwrap_or_default(),
                record.version(),
                record.time_ns()
            )
        });
    }

    fn on_record_without_hook(&mut self, record: &Record<'_>, selection: &Selection, schemas: &Schemas) {
        if selection.describes_others(record) {
            self.schema_records.push(record);
        }
        if record.kind() == HeaderKind::Event {
            if selection.needs_event_stacks {
                self.add_event_stacks(record);
            }
            if let (Some(provider), Some(descriptor)) = (record.class_guid(), record.descriptor())
                && selection.is_deferred_to_end(provider, descriptor.id)
            {
                self.end_records.push(record);
            }
        }
        match selection.record_interest(record) {
            Interest::Ordered => self.ordered.push(record),
            Interest::Generic => self.generic.push(record, schemas, &mut self.losses),
            _ => {}
        }
    }

    #[inline]
    fn add_context_switch(&mut self, record: &Record<'_>) -> Option<()> {
        let switch = kernel::ContextSwitch::read(KernelPayload::from_record(record)?)?;
        let cpu = record.cpu();
        self.running.set(cpu, switch.new_thread_id);
        self.context_switches.push(ContextSwitch {
            time_ns: record.time_ns(),
            cpu,
            new_tid: switch.new_thread_id,
            old_tid: switch.old_thread_id,
            new_priority: switch.new_thread_priority,
            old_priority: switch.old_thread_priority,
            old_wait_reason: switch.old_thread_wait_reason,
            old_wait_mode: switch.old_thread_wait_mode,
            old_state: switch.old_thread_state,
            previous_c_state: switch.previous_c_state,
            old_ideal_processor: switch.old_thread_ideal_processor,
            new_wait_ticks: switch.new_thread_wait_time,
        });
        Some(())
    }

    #[inline]
    fn add_ready_thread(&mut self, record: &Record<'_>) -> Option<()> {
        let ready = kernel::ReadyThread::read(KernelPayload::from_record(record)?)?;
        let cpu = record.cpu();
        let readying_tid = self.running.get(cpu);
        if readying_tid.is_none() {
            self.unattributed.push((self.ready_threads.len(), cpu));
        }
        self.ready_threads.push(ReadyThread {
            time_ns: record.time_ns(),
            cpu,
            ready_tid: ready.thread_id,
            readying_tid,
            adjust_reason: ready.adjust_reason,
            adjust_increment: ready.adjust_increment,
            flags: ready.flags,
            // Count only this window; the switches of earlier windows are added when the window is absorbed.
            after_switches: u32::try_from(self.context_switches.len()).ok(),
        });
        Some(())
    }

    #[inline]
    fn add_sample(&mut self, record: &Record<'_>) -> Option<()> {
        let sample = SampledProfile::read(KernelPayload::from_record(record)?)?;
        self.samples.push(Sample {
            time_ns: record.time_ns(),
            cpu: record.cpu(),
            tid: sample.thread_id,
            address: sample.instruction_pointer,
            count: sample.count,
            source: 0,
        });
        Some(())
    }

    #[inline]
    fn add_deferred_procedure_call(&mut self, record: &Record<'_>, clock: &Clock) -> Option<()> {
        let call = DeferredProcedureCall::read(KernelPayload::from_record(record)?)?;
        let kind = match call.kind {
            DeferredProcedureCallKind::Threaded => InterruptKind::ThreadedDpc,
            DeferredProcedureCallKind::Ordinary => InterruptKind::Dpc,
            DeferredProcedureCallKind::Timer | DeferredProcedureCallKind::IoTimer => InterruptKind::TimerDpc,
        };
        self.add_interrupt(record, clock, call.start_ticks, kind, call.routine, 0);
        Some(())
    }

    #[inline]
    fn add_interrupt_service_routine(&mut self, record: &Record<'_>, clock: &Clock) -> Option<()> {
        let routine = InterruptServiceRoutine::read(KernelPayload::from_record(record)?)?;
        self.add_interrupt(
            record,
            clock,
            routine.start_ticks,
            InterruptKind::Interrupt,
            routine.routine,
            routine.vector,
        );
        Some(())
    }

    /// Adds an interrupt from a record that is logged when the routine returns and contains the start time.
    #[inline]
    fn add_interrupt(
        &mut self,
        record: &Record<'_>,
        clock: &Clock,
        start_ticks: u64,
        kind: InterruptKind,
        routine: u64,
        vector: u16,
    ) {
        let end_ns = record.time_ns();
        let mut start_ns = clock.ns(start_ticks);
        if start_ns > end_ns {
            self.losses.add(&counters::TIME_BACKWARDS, 1);
            start_ns = end_ns;
        }
        self.interrupts.push(Interrupt {
            start_ns,
            end_ns,
            cpu: record.cpu(),
            kind,
            routine,
            vector,
            name: StringId::EMPTY,
        });
    }

    fn add_stack(&mut self, record: &Record<'_>, clock: &Clock) -> Option<()> {
        let stack = kernel::Stack::read(KernelPayload::from_record(record)?)?;
        let id = self.intern(stack.frames);
        self.stacks.push(onoff_trace::Stack {
            time_ns: clock.ns(stack.event_ticks),
            pid: stack.process_id,
            tid: stack.thread_id,
            stack: id,
        });
        Some(())
    }

    fn add_stack_reference(&mut self, record: &Record<'_>, clock: &Clock) -> Option<()> {
        let stack = StackKeyReference::read(KernelPayload::from_record(record)?)?;
        self.add_reference(stack.stack_key, record.time_ns());
        self.stacks.push(onoff_trace::Stack {
            time_ns: clock.ns(stack.event_ticks),
            pid: stack.process_id,
            tid: stack.thread_id,
            stack: StackId::EMPTY,
        });
        Some(())
    }

    /// Adds the stacks that are attached to a manifest event, as frames or as a key.
    fn add_event_stacks(&mut self, record: &Record<'_>) {
        let (Some(pid), Some(tid)) = (record.process_id(), record.thread_id()) else { return };
        for item in record.extended_items() {
            let (pointer_size, is_key) = match item.kind {
                ExtendedItem::STACK_TRACE_32 => (4, false),
                ExtendedItem::STACK_TRACE_64 => (8, false),
                ExtendedItem::STACK_KEY_32 => (4, true),
                ExtendedItem::STACK_KEY_64 => (8, true),
                _ => continue,
            };
            // Skip the match id, which pairs the halves of a stack.
            let mut fields = Reader::new(item.data, pointer_size);
            if fields.skip(8).is_none() {
                continue;
            }
            let stack = if is_key {
                let Some(key) = fields.pointer() else { continue };
                self.add_reference(key, record.time_ns());
                StackId::EMPTY
            } else {
                self.intern(Frames::new(fields.unread(), pointer_size))
            };
            self.stacks.push(onoff_trace::Stack { time_ns: record.time_ns(), pid, tid, stack });
        }
    }

    /// Records that the next row of `stacks` refers to `key`.
    fn add_reference(&mut self, key: u64, time_ns: i64) {
        self.stack_references.push(StackReference { row: self.stacks.len(), key, time_ns });
    }

    fn intern(&mut self, frames: Frames<'_>) -> StackId {
        self.frames.clear();
        self.frames.extend(frames.iter());
        self.stack_pool.intern(&self.frames)
    }
}
