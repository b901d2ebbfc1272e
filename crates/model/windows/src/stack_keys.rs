//! What keys of call stacks stand for, and when.
//!
//! A session can log a key in place of a stack. What the key stands for follows when the key is given up or in the
//! rundown at the end; some sessions say it when the key comes into use as well. A key that was given up comes back for
//! another stack, so a reference is resolved by its time: to the first definition at or after it.

use hashbrown::HashMap;
use onoff_etw::kernel::{Frames, StackKeyDefinition, StackKeyDefinitionKind};
use onoff_trace::{StackId, StackPool};

/// The definitions of every key. Shared by the table of stacks and the stream of events.
#[derive(Debug, Default)]
pub(super) struct StackKeys {
    by_key: HashMap<u64, Vec<Definition>>,
    frames: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Definition {
    time_ns: i64,
    stack: StackId,
    /// True if the key came into use here; false if it was given up or listed in a rundown.
    creates: bool,
}

impl StackKeys {
    /// Takes a definition, whose stack becomes one of `pool`. Definitions come in time order.
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

    /// The stack that `key` stood for in an event logged at `time_ns`; `None` when its definition was not recorded.
    pub(super) fn at(&self, key: u64, time_ns: i64) -> Option<StackId> {
        let definitions = self.by_key.get(&key)?;
        let after = definitions.partition_point(|definition| definition.time_ns < time_ns);
        let before = after.checked_sub(1).and_then(|last| definitions.get(last));
        let found = match definitions.get(after) {
            Some(next) if !next.creates || next.time_ns == time_ns => next,
            // Nothing says how this use of the key ended: what it began with holds, and that of an earlier use does
            // not.
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
    fn a_reference_has_the_first_definition_at_or_after_it() {
        let at = keys(&[(10, Delete, 0xa), (20, Delete, 0xb), (90, Rundown, 0xc)]);
        assert_eq!([1, 10, 11, 20, 21, 90].map(at), [0xa, 0xa, 0xb, 0xb, 0xc, 0xc].map(Some));
    }

    #[test]
    fn a_reference_without_definition_has_no_stack() {
        let at = keys(&[(10, Delete, 0xa)]);
        assert_eq!(at(11), None, "the key was given up before");
        let at = keys(&[(10, Delete, 0xa), (30, Create, 0xb), (40, Delete, 0xb)]);
        assert_eq!(at(20), None, "the use between the two was never defined");
        assert_eq!(at(30), Some(0xb));
    }

    #[test]
    fn a_created_key_keeps_its_stack_when_its_end_is_lost() {
        let at = keys(&[(10, Create, 0xa), (30, Create, 0xb)]);
        assert_eq!([20, 31].map(at), [0xa, 0xb].map(Some));
    }
}
