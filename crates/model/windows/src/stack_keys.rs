//! Resolves stack keys by time.
//!
//! A session can log a key in place of a stack. The definition of the key follows when the key is deleted, or in the
//! rundown at the end; some sessions also log it when the key is created. A deleted key is reused for another stack, so
//! a reference is resolved by its time, to the first definition at or after it.

use hashbrown::HashMap;
use onoff_etw::kernel::{Frames, StackKeyDefinition, StackKeyDefinitionKind};
use onoff_trace::{StackId, StackPool};

/// Definitions by key. Shared by the stacks table and the event stream.
#[derive(Debug, Default)]
pub(super) struct StackKeys {
    by_key: HashMap<u64, Vec<Definition>>,
    frames: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Definition {
    time_ns: i64,
    stack: StackId,
    /// True if the key was created here; false if it was deleted or listed in a rundown.
    creates: bool,
}

impl StackKeys {
    /// Adds a definition and interns its stack in `pool`. Definitions must come in time order.
    pub(super) fn define(&mut self, time_ns: i64, definition: &StackKeyDefinition<'_>, pool: &mut StackPool) {
        let stack = self.intern(definition.frames, pool);
        let creates = definition.kind == StackKeyDefinitionKind::Create;
        let definitions = self.by_key.entry(definition.stack_key).or_default();
        definitions.push(Definition { time_ns, stack, creates });
    }

    fn intern(&mut self, frames: Frames<'_>, pool: &mut StackPool) -> StackId {
        self.frames.clear();
        self.frames.extend(frames.iter());
        pool.intern(&self.frames)
    }

    /// The stack that `key` referred to in an event logged at `time_ns`; `None` if its definition was not recorded.
    pub(super) fn at(&self, key: u64, time_ns: i64) -> Option<StackId> {
        let definitions = self.by_key.get(&key)?;
        let after = definitions.partition_point(|definition| definition.time_ns < time_ns);
        let before = after.checked_sub(1).and_then(|last| definitions.get(last));
        let found = match definitions.get(after) {
            Some(next) if !next.creates || next.time_ns == time_ns => next,
            // The end of this use of the key was not recorded. Its creation is valid, the definition of an earlier use
            // is not.
            _ => before.filter(|before| before.creates)?,
        };
        Some(found.stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(definitions: &[(i64, StackKeyDefinitionKind, u64)]) -> impl Fn(i64) -> Option<u64> {
        let mut pool = StackPool::new();
        let mut keys = StackKeys::default();
        for &(time_ns, kind, address) in definitions {
            let bytes = address.to_le_bytes();
            let definition = StackKeyDefinition { kind, stack_key: 7, frames: Frames::new(&bytes, 8) };
            keys.define(time_ns, &definition, &mut pool);
        }
        move |time_ns| keys.at(7, time_ns).and_then(|stack| pool.get(stack).first().copied())
    }

    use StackKeyDefinitionKind::{Create, Delete, Rundown};

    #[test]
    fn resolves_to_first_definition_at_or_after_reference() {
        let at = keys(&[(10, Delete, 0xa), (20, Delete, 0xb), (90, Rundown, 0xc)]);
        assert_eq!([1, 10, 11, 20, 21, 90].map(at), [0xa, 0xa, 0xb, 0xb, 0xc, 0xc].map(Some));
    }

    #[test]
    fn undefined_key_has_no_stack() {
        let at = keys(&[(10, Delete, 0xa)]);
        assert_eq!(at(11), None, "the key was deleted before");
        let at = keys(&[(10, Delete, 0xa), (30, Create, 0xb), (40, Delete, 0xb)]);
        assert_eq!(at(20), None, "the use between the two was never defined");
        assert_eq!(at(30), Some(0xb));
    }

    #[test]
    fn created_key_keeps_stack_without_end() {
        let at = keys(&[(10, Create, 0xa), (30, Create, 0xb)]);
        assert_eq!([20, 31].map(at), [0xa, 0xb].map(Some));
    }
}
