//! Resolves stack keys by time.
//!
//! A session can log a key in place of a stack. The definition of the key follows when the key is deleted or in the
//! rundown at the end; some sessions also log the definition when the key is created. A deleted key is reused for
//! another stack, so a reference is resolved to the first definition at or after the time of the reference.

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
    /// True if the key was created at this time; false if it was deleted or listed in a rundown.
    is_creation: bool,
}

impl StackKeys {
    /// Adds a definition and interns its stack in `pool`. Definitions must be added in time order.
    pub(super) fn define(&mut self, time_ns: i64, definition: &StackKeyDefinition<'_>, pool: &mut StackPool) {
        let stack = self.intern(definition.frames, pool);
        let is_creation = definition.kind == StackKeyDefinitionKind::Create;
        let definitions = self.by_key.entry(definition.stack_key).or_default();
        definitions.push(Definition { time_ns, stack, is_creation });
    }

    fn intern(&mut self, frames: Frames<'_>, pool: &mut StackPool) -> StackId {
        self.frames.clear();
        self.frames.extend(frames.iter());
        pool.intern(&self.frames)
    }

    /// Returns the stack to which `key` referred in an event logged at `time_ns`; `None` if it was not recorded.
    pub(super) fn stack_at(&self, key: u64, time_ns: i64) -> Option<StackId> {
        let definitions = self.by_key.get(&key)?;
        let next_index = definitions.partition_point(|definition| definition.time_ns < time_ns);
        let previous = next_index.checked_sub(1).and_then(|index| definitions.get(index));
        let definition = match definitions.get(next_index) {
            Some(next) if !next.is_creation || next.time_ns == time_ns => next,
            // The end of this use of the key was not recorded. The creation of the key is valid, the definition of an
            // earlier use is not.
            _ => previous.filter(|previous| previous.is_creation)?,
        };
        Some(definition.stack)
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
        move |time_ns| keys.stack_at(7, time_ns).and_then(|stack| pool.get(stack).first().copied())
    }

    use StackKeyDefinitionKind::{Create, Delete, Rundown};

    #[test]
    fn resolves_to_first_definition_at_or_after_reference() {
        let stack_at = keys(&[(10, Delete, 0xa), (20, Delete, 0xb), (90, Rundown, 0xc)]);
        assert_eq!([1, 10, 11, 20, 21, 90].map(stack_at), [0xa, 0xa, 0xb, 0xb, 0xc, 0xc].map(Some));
    }

    #[test]
    fn undefined_key_has_no_stack() {
        let stack_at = keys(&[(10, Delete, 0xa)]);
        assert_eq!(stack_at(11), None, "the key was deleted earlier");
        let stack_at = keys(&[(10, Delete, 0xa), (30, Create, 0xb), (40, Delete, 0xb)]);
        assert_eq!(stack_at(20), None, "the use between the two was never defined");
        assert_eq!(stack_at(30), Some(0xb));
    }

    #[test]
    fn created_key_keeps_stack_without_end() {
        let stack_at = keys(&[(10, Create, 0xa), (30, Create, 0xb)]);
        assert_eq!([20, 31].map(stack_at), [0xa, 0xb].map(Some));
    }
}
