//! Collects the stacks of all windows and resolves their keys.
//!
//! Keys are resolved last, because recordings define them late.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etw::kernel::StackKeyDefinition;
use onoff_trace::{Batches, Losses, SpillStore, StackId, StackPool, Stacks};

use super::counters;
use super::stack_keys::StackKeys;

#[derive(Debug)]
pub(super) struct StackTracker {
    spill_store: Option<Arc<dyn SpillStore>>,
    pool: StackPool,
    windows: Vec<WindowStacks>,
    keys: StackKeys,
}

/// A row of a window's stacks that refers to a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackReference {
    pub(super) row: usize,
    pub(super) key: u64,
    /// Time at which the reference was logged; the event with the stack may be earlier.
    pub(super) time_ns: i64,
}

#[derive(Debug)]
struct WindowStacks {
    stacks: Stacks,
    references: Vec<StackReference>,
}

impl StackTracker {
    /// Creates a tracker that spills its tables to `spill_store`.
    pub(super) fn with_spill_store(spill_store: Option<Arc<dyn SpillStore>>) -> Self {
        Self {
            pool: StackPool::with_spill_store(spill_store.clone()),
            spill_store,
            windows: Vec::new(),
            keys: StackKeys::default(),
        }
    }

    pub(super) fn on_definition(&mut self, time_ns: i64, definition: &StackKeyDefinition<'_>) {
        self.keys.define(time_ns, definition, &mut self.pool);
    }

    /// Absorbs the stacks of one window, with ids in `pool`.
    pub(super) fn absorb(&mut self, mut stacks: Stacks, pool: &StackPool, references: Vec<StackReference>) {
        if stacks.is_empty() {
            return;
        }
        let mut ids: HashMap<StackId, StackId> = HashMap::from([(StackId::EMPTY, StackId::EMPTY)]);
        for id in &mut stacks.stack {
            *id = *ids.entry(*id).or_insert_with(|| self.pool.intern(pool.get(*id)));
        }
        if references.is_empty() {
            self.spill(&mut stacks);
        }
        self.windows.push(WindowStacks { stacks, references });
    }

    fn spill(&self, stacks: &mut Stacks) {
        if let Some(spill_store) = self.spill_store.as_deref() {
            stacks.spill(spill_store);
        }
    }

    /// Returns the table and the pool of its stacks.
    pub(super) fn finish(mut self, losses: &mut Losses) -> (Batches<Stacks>, StackPool) {
        let mut unknown = 0;
        let batches = std::mem::take(&mut self.windows)
            .into_iter()
            .map(|mut window| {
                if window.references.is_empty() {
                    return window.stacks;
                }
                for StackReference { row, key, time_ns } in window.references {
                    match (self.keys.stack_at(key, time_ns), window.stacks.stack.get_mut(row)) {
                        (Some(stack), Some(cell)) => *cell = stack,
                        _ => unknown += 1,
                    }
                }
                self.spill(&mut window.stacks);
                window.stacks
            })
            .collect();
        losses.add(&counters::STACK_KEY_UNKNOWN, unknown);
        losses.add(&counters::STACKS_REFUSED, self.pool.dropped());
        (batches, self.pool)
    }
}
