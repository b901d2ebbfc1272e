//! The processors of a replay: they run the ready task of the highest priority; tasks of equal priority take turns.

use std::collections::VecDeque;

use super::log::StepKind;
use super::{Event, NONE, Processor, Simulation, Status};

impl Simulation<'_> {
    /// Gives a task a processor, or queues it.
    pub(super) fn make_ready(&mut self, index: u32) {
        let Some(state) = self.tasks.get(index as usize) else { return };
        let priority = state.priority;
        let idle = self.processors.iter().position(|processor| processor.task == NONE);
        if let Some(processor) = idle {
            self.switch(processor, index);
            return;
        }
        let lowest = (0..self.processors.len())
            .filter_map(|processor| {
                let running = self.processors.get(processor)?.task;
                Some((self.tasks.get(running as usize)?.priority, processor))
            })
            .min();
        match lowest {
            Some((lowest_priority, processor)) if lowest_priority < priority => {
                let preempted = self.stop(processor);
                self.queue(preempted, true);
                self.switch(processor, index);
            }
            _ => self.queue(index, false),
        }
    }

    fn queue(&mut self, index: u32, is_first: bool) {
        let Some(state) = self.tasks.get_mut(index as usize) else { return };
        state.status = Status::Queued;
        let (priority, recorded_ns) = (usize::from(state.priority), state.recorded_ns);
        let Some(queue) = self.ready.get_mut(priority) else { return };
        if self.machine.in_recorded_order {
            let is_before =
                |&other: &u32| self.tasks.get(other as usize).is_some_and(|other| other.recorded_ns <= recorded_ns);
            queue.insert(queue.partition_point(is_before), index);
        } else if is_first {
            queue.push_front(index);
        } else {
            queue.push_back(index);
        }
        self.ready_mask |= 1 << priority;
    }

    /// True if a ready task of this priority ran before this time in the recording.
    fn is_overdue(&self, priority: u8, recorded_ns: i64) -> bool {
        let first = self.ready.get(usize::from(priority)).and_then(VecDeque::front);
        let first = first.and_then(|&task| self.tasks.get(task as usize));
        first.is_some_and(|first| first.recorded_ns < recorded_ns)
    }

    /// At the start of a run, gives the processor to a ready task that ran earlier in the recording. Returns false if
    /// there is none.
    pub(super) fn yields(&mut self, index: u32) -> bool {
        let Some(state) = self.tasks.get(index as usize) else { return false };
        let priority = state.priority;
        if !self.machine.in_recorded_order || !self.is_overdue(priority, state.recorded_ns) {
            return false;
        }
        let (Some(processor), Some(next)) = (self.processor_of(index), self.next_ready(priority)) else { return false };
        let stopped = self.stop(processor);
        self.queue(stopped, false);
        self.switch(processor, next);
        true
    }

    fn next_ready(&mut self, min_priority: u8) -> Option<u32> {
        let priority = 127_u32.checked_sub(self.ready_mask.leading_zeros())?;
        if priority < u32::from(min_priority) {
            return None;
        }
        let queue = self.ready.get_mut(priority as usize)?;
        let task = queue.pop_front();
        if queue.is_empty() {
            self.ready_mask &= !(1 << priority);
        }
        task
    }

    /// Gives an idle processor to a task.
    fn switch(&mut self, processor: usize, index: u32) {
        let now_ns = self.now_ns;
        if let (Some(slot), Some(state)) = (self.processors.get_mut(processor), self.tasks.get_mut(index as usize)) {
            let quantum_end_ns = now_ns.saturating_add(self.graph.quantum_ns.max(1));
            *slot = Processor {
                task: index,
                since_ns: now_ns,
                quantum_end_ns,
                generation: slot.generation.wrapping_add(1),
            };
            state.processor = u32::try_from(processor).unwrap_or(NONE);
            if self.machine.is_logged && state.status == Status::Queued {
                self.replay.log.add_step(index, state.segment(), StepKind::Ready, now_ns);
            }
            state.status = Status::Active;
            self.runnable.push_back(index);
        }
    }

    /// Returns the processor that a task runs on.
    fn processor_of(&self, index: u32) -> Option<usize> {
        self.tasks.get(index as usize).filter(|state| state.is_running()).map(|state| state.processor as usize)
    }

    /// Lets a running task use its processor until its run or its quantum ends. If its quantum is over, the next task of
    /// its priority runs instead.
    pub(super) fn start_slice(&mut self, index: u32) {
        let Some(processor) = self.processor_of(index) else { return };
        let now_ns = self.now_ns;
        let used_ns = self.count_load(processor);
        let Some(state) = self.tasks.get_mut(index as usize) else { return };
        state.advance(used_ns);
        let (remaining_ns, priority, recorded_ns) = (state.remaining_ns, state.priority, state.recorded_ns);
        if self.processors.get(processor).is_some_and(|slot| slot.quantum_end_ns <= now_ns)
            && (!self.machine.in_recorded_order || self.is_overdue(priority, recorded_ns))
            && let Some(next) = self.next_ready(priority)
        {
            let stopped = self.stop(processor);
            self.queue(stopped, false);
            self.switch(processor, next);
            return;
        }
        let Some(slot) = self.processors.get_mut(processor) else { return };
        slot.generation = slot.generation.wrapping_add(1);
        if slot.quantum_end_ns <= now_ns {
            slot.quantum_end_ns = now_ns.saturating_add(self.graph.quantum_ns.max(1));
        }
        let generation = slot.generation;
        let end_ns = now_ns.saturating_add(remaining_ns).min(slot.quantum_end_ns);
        let processor = u32::try_from(processor).unwrap_or(NONE);
        self.schedule(end_ns, Event::Slice { processor, generation });
    }

    /// Counts what a processor did since it was last counted, and restarts the count.
    pub(super) fn count_load(&mut self, processor: usize) -> i64 {
        let now_ns = self.now_ns;
        let Some(slot) = self.processors.get_mut(processor) else { return 0 };
        let since_ns = std::mem::replace(&mut slot.since_ns, now_ns);
        let task = slot.task;
        if since_ns >= now_ns {
            return 0;
        }
        if self.machine.is_logged
            && let Some(state) = self.tasks.get(task as usize)
        {
            let segment = state.segment();
            self.replay.log.add_step(task, segment, StepKind::Run, now_ns);
            self.replay.log.add_run(processor, task, segment, since_ns, now_ns);
        }
        let is_load =
            self.tasks.get(task as usize).is_some_and(|state| state.priority >= self.machine.min_load_priority);
        if is_load && self.loads_from_ns < now_ns {
            self.replay.cpu_loads.push((since_ns.max(self.loads_from_ns), now_ns));
        }
        now_ns.saturating_sub(since_ns)
    }

    /// Takes a processor from its task, which keeps the rest of its run. Returns the task.
    fn stop(&mut self, processor: usize) -> u32 {
        let used_ns = self.count_load(processor);
        let Some(slot) = self.processors.get_mut(processor) else { return NONE };
        slot.generation = slot.generation.wrapping_add(1);
        let index = std::mem::replace(&mut slot.task, NONE);
        if let Some(state) = self.tasks.get_mut(index as usize) {
            state.advance(used_ns);
            state.processor = NONE;
        }
        index
    }

    /// Releases the processor of a task that waits or has ended, and gives it to the next ready task.
    pub(super) fn release(&mut self, index: u32) {
        if let Some(processor) = self.processor_of(index) {
            self.stop(processor);
            if let Some(next) = self.next_ready(0) {
                self.switch(processor, next);
            }
        }
    }

    pub(super) fn slice_over(&mut self, processor: u32, generation: u32) {
        let processor = processor as usize;
        let Some(&slot) = self.processors.get(processor) else { return };
        if slot.generation != generation || slot.task == NONE {
            return;
        }
        let used_ns = self.count_load(processor);
        let Some(state) = self.tasks.get_mut(slot.task as usize) else { return };
        state.advance(used_ns);
        self.runnable.push_back(slot.task);
    }
}
