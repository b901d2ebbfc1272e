//! Stacks of all windows together, and what their keys stand for.
//!
//! Keys are resolved last, because a recording says late what they stand for.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etw::kernel::StackKeyDefinition;
use onoff_trace::{Batches, Losses, Shelf, StackId, StackPool, Stacks};

use super::counters;
use super::stack_keys::StackKeys;

#[derive(Debug)]
pub(super) struct StackTracker {
    shelf: Option<Arc<dyn Shelf>>,
    pool: StackPool,
    pieces: Vec<Piece>,
    keys: StackKeys,
}

/// A row of a window's stacks that was logged by its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackReference {
    pub(super) row: usize,
    pub(super) key: u64,
    /// When the reference was logged; the event it belongs to may be earlier.
    pub(super) time_ns: i64,
}

#[derive(Debug)]
struct Piece {
    stacks: Stacks,
    references: Vec<StackReference>,
}

impl StackTracker {
    /// Puts on `shelf` what it takes.
    pub(super) fn on(shelf: Option<Arc<dyn Shelf>>) -> Self {
        Self { pool: StackPool::on(shelf.clone()), shelf, pieces: Vec::new(), keys: StackKeys::default() }
    }

    pub(super) fn on_definition(&mut self, time_ns: i64, definition: &StackKeyDefinition<'_>) {
        self.keys.define(time_ns, definition, &mut self.pool);
    }

    /// Takes over the stacks of one window, whose ids are those of `pool`.
    pub(super) fn absorb(&mut self, mut stacks: Stacks, pool: &StackPool, references: Vec<StackReference>) {
        if stacks.is_empty() {
            return;
        }
        let mut ids: HashMap<StackId, StackId> = HashMap::from([(StackId::EMPTY, StackId::EMPTY)]);
        for id in &mut stacks.stack {
            *id = *ids.entry(*id).or_insert_with(|| self.pool.intern(pool.get(*id)));
        }
        if references.is_empty() {
            self.shelve(&mut stacks);
        }
        self.pieces.push(Piece { stacks, references });
    }

    fn shelve(&self, stacks: &mut Stacks) {
        if let Some(shelf) = self.shelf.as_deref() {
            stacks.shelve(shelf);
        }
    }

    /// The table and the stacks it refers to.
    pub(super) fn finish(mut self, losses: &mut Losses) -> (Batches<Stacks>, StackPool) {
        let mut unknown = 0;
        let batches = std::mem::take(&mut self.pieces)
            .into_iter()
            .map(|mut piece| {
                if piece.references.is_empty() {
                    return piece.stacks;
                }
                for StackReference { row, key, time_ns } in piece.references {
                    match (self.keys.at(key, time_ns), piece.stacks.stack.get_mut(row)) {
                        (Some(stack), Some(cell)) => *cell = stack,
                        _ => unknown += 1,
                    }
                }
                self.shelve(&mut piece.stacks);
                piece.stacks
            })
            .collect();
        losses.add(&counters::STACK_KEY_UNKNOWN, unknown);
        losses.add(&counters::STACKS_REFUSED, self.pool.refused());
        (batches, self.pool)
    }
}
