//! Finds the event that a call stack of the .NET runtime belongs to.
//!
//! If call stacks are enabled, the runtime logs the stack of each event right after it, as another event of the same
//! provider on the same thread. The stack has no reference to its event.

use hashbrown::HashMap;
use onoff_etl::{Guid, Record};

use crate::phase_events::{DOTNET_RUNDOWN, DOTNET_RUNTIME};

/// Maximum number of threads whose last event is remembered; stacks on further threads belong to no event.
const MAX_THREADS: usize = 1 << 16;

/// The providers of the .NET runtime and the ids of their call stacks: Runtime, Rundown, Private, Stress.
const STACK_EVENTS: [(Guid, u16); 4] = [
    (DOTNET_RUNTIME.guid, 82),
    (DOTNET_RUNDOWN.guid, 0),
    (Guid::from_u128(0x763fd754_7086_4dfe_95eb_c01a46faf4ca), 151),
    (Guid::from_u128(0xcc2bcbba_16b6_4cf3_8990_d74c2e8af500), 1),
];

/// The last event of each thread that a provider of the runtime logged, until its stack is found.
#[derive(Clone, Debug, Default)]
pub(super) struct DotnetStacks {
    last_events: HashMap<u32, LastEvent>,
}

#[derive(Clone, Copy, Debug)]
struct LastEvent {
    provider: Guid,
    time_ns: i64,
}

impl DotnetStacks {
    /// Processes the next event. If it is a stack, returns the time of the event that it belongs to.
    pub(super) fn follow(&mut self, record: &Record<'_>) -> Option<i64> {
        let (provider, stack_id) = stack_event(record.class_guid()?)?;
        let is_stack = record.descriptor()?.id == stack_id;
        self.on_event(record.thread_id()?, provider, record.time_ns(), is_stack)
    }

    fn on_event(&mut self, thread_id: u32, provider: Guid, time_ns: i64, is_stack: bool) -> Option<i64> {
        if is_stack {
            let event = self.last_events.remove(&thread_id)?;
            return (event.provider == provider).then_some(event.time_ns);
        }
        if self.last_events.len() < MAX_THREADS || self.last_events.contains_key(&thread_id) {
            self.last_events.insert(thread_id, LastEvent { provider, time_ns });
        }
        None
    }
}

fn stack_event(provider: Guid) -> Option<(Guid, u16)> {
    STACK_EVENTS.into_iter().find(|&(guid, _)| guid == provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNTIME: Guid = STACK_EVENTS[0].0;
    const PRIVATE: Guid = STACK_EVENTS[2].0;

    #[test]
    fn stack_belongs_to_last_event_of_its_thread() {
        let mut stacks = DotnetStacks::default();
        assert_eq!(stacks.on_event(7, RUNTIME, 10, false), None);
        assert_eq!(stacks.on_event(7, RUNTIME, 20, false), None);
        // Events of another thread come between an event and its stack.
        assert_eq!(stacks.on_event(8, RUNTIME, 30, false), None);
        assert_eq!(stacks.on_event(7, RUNTIME, 40, true), Some(20));
        assert_eq!(stacks.on_event(8, RUNTIME, 50, true), Some(30));
    }

    #[test]
    fn event_has_one_stack_of_its_provider() {
        let mut stacks = DotnetStacks::default();
        assert_eq!(stacks.on_event(7, RUNTIME, 10, true), None, "the event is before the recording");
        stacks.on_event(7, RUNTIME, 20, false);
        assert_eq!(stacks.on_event(7, RUNTIME, 30, true), Some(20));
        assert_eq!(stacks.on_event(7, RUNTIME, 40, true), None, "the event between was lost");
        stacks.on_event(7, RUNTIME, 50, false);
        assert_eq!(stacks.on_event(7, PRIVATE, 60, true), None, "the event of the other provider was lost");
        assert_eq!(stacks.on_event(8, RUNTIME, 70, true), None);
    }

    #[test]
    fn number_of_threads_is_bounded() {
        let mut stacks = DotnetStacks::default();
        for thread_id in 0..=MAX_THREADS as u32 {
            stacks.on_event(thread_id, RUNTIME, 10, false);
        }
        assert_eq!(stacks.last_events.len(), MAX_THREADS);
        stacks.on_event(5, RUNTIME, 20, false);
        assert_eq!(stacks.on_event(5, RUNTIME, 30, true), Some(20));
        assert_eq!(stacks.on_event(MAX_THREADS as u32, RUNTIME, 40, true), None);
    }
}
