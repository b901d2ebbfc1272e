//! Stacks of all windows together, and what their keys stand for.
//!
//! A session can log a key in place of a stack. What the key stands for follows when the key is given up or in the
//! rundown at the end, so that references are resolved last: to the first definition at or after them.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etw::kernel::{StackKeyDefinition, StackKeyDefinitionKind};
use onoff_trace::{Batches, Losses, Shelf, StackId, StackPool, Stacks};

use super::counters;

#[derive(Debug)]
pub(super) struct StackTracker {
    shelf: Option<Arc<dyn Shelf>>,
    pool: StackPool,
    pieces: Vec<Piece>,
    definitions: HashMap<u64, Vec<(i64, StackId)>>,
    frames: Vec<u64>,
}

#[derive(Debug)]
struct Piece {
    stacks: Stacks,
    references: Vec<(usize, u64)>,
}

impl StackTracker {
    /// Puts on `shelf` what it takes.
    pub(super) fn on(shelf: Option<Arc<dyn Shelf>>) -> Self {
        Self {
            pool: StackPool::on(shelf.clone()),
            shelf,
            pieces: Vec::new(),
            definitions: HashMap::new(),
            frames: Vec::new(),
        }
    }

    pub(super) fn on_definition(&mut self, time_ns: i64, definition: &StackKeyDefinition<'_>) {
        // A key that is created says its frames before it is used; the same frames come again when it goes.
        let time_ns = match definition.kind {
            StackKeyDefinitionKind::Create => i64::MAX,
            StackKeyDefinitionKind::Delete | StackKeyDefinitionKind::Rundown => time_ns,
        };
        self.frames.clear();
        self.frames.extend(definition.frames.iter());
        let stack = self.pool.intern(&self.frames);
        let definitions = self.definitions.entry(definition.stack_key).or_default();
        definitions.push((time_ns, stack));
    }

    /// Takes over the stacks of one window, whose ids are those of `pool`.
    pub(super) fn absorb(&mut self, mut stacks: Stacks, pool: &StackPool, references: Vec<(usize, u64)>) {
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
        for definitions in self.definitions.values_mut() {
            definitions.sort_by_key(|&(time_ns, _)| time_ns);
        }
        let mut unknown = 0;
        let batches = std::mem::take(&mut self.pieces)
            .into_iter()
            .map(|mut piece| {
                if piece.references.is_empty() {
                    return piece.stacks;
                }
                for (row, key) in piece.references {
                    let Some(time_ns) = piece.stacks.time_ns.get(row).copied() else { continue };
                    let found = self.definitions.get(&key).and_then(|definitions| {
                        let next = definitions.partition_point(|&(at_ns, _)| at_ns < time_ns);
                        definitions.get(next).or(definitions.last())
                    });
                    match (found, piece.stacks.stack.get_mut(row)) {
                        (Some(&(_, stack)), Some(cell)) => *cell = stack,
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
