//! Group 0x18: call stacks and stack keys.
//!
//! A stack belongs to the event with the same time on the same thread; its kernel and user halves may be two records.
//! To save space, a session may log a key instead of the stack. The definition of the key is logged when the key is
//! deleted or at rundown, usually much later. A reference resolves to the first definition of its key at or after it.

use super::{events, kinds};

/// Return addresses, innermost first, decoded on demand.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'b> {
    bytes: &'b [u8],
    is_64_bit: bool,
}

impl<'b> Frames<'b> {
    /// Wraps return addresses of `pointer_size` bytes; an incomplete last address is ignored.
    #[must_use]
    pub fn new(bytes: &'b [u8], pointer_size: usize) -> Self {
        Self { bytes, is_64_bit: pointer_size == 8 }
    }

    /// Returns the number of addresses.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / if self.is_64_bit { 8 } else { 4 }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the addresses, innermost first.
    pub fn iter(&self) -> impl Iterator<Item = u64> + 'b {
        let is_64_bit = self.is_64_bit;
        self.bytes.chunks_exact(if is_64_bit { 8 } else { 4 }).map(move |address| {
            let mut widened = [0; 8];
            widened[..address.len()].copy_from_slice(address);
            u64::from_le_bytes(widened)
        })
    }
}

events! {
    /// A call stack. Hook 0x1820.
    0x1820 => Stack<'b> {
        /// Time of the event with this stack, in ticks of the log's clock.
        event_ticks: u64,
        /// Process of that event.
        process_id: u32,
        /// Thread of that event.
        thread_id: u32,
        /// Return addresses, innermost first.
        frames: Frames<'b>,
    }
}

kinds! {
    /// When the definition of a stack key was logged.
    StackKeyDefinitionKind {
        /// When the key was created (0x1822).
        Create = 0x1822,
        /// When the key was deleted (0x1823): later references to its number mean another stack.
        Delete = 0x1823,
        /// When the recording ended (0x1824).
        Rundown = 0x1824,
    }
}

events! {
    /// Definition of a stack key. Hooks 0x1822 to 0x1824.
    StackKeyDefinition<'b> {
        kind: StackKeyDefinitionKind = hook,
        stack_key: u64 as pointer,
        /// Return addresses, innermost first.
        frames: Frames<'b>,
    }

    /// Half of a call stack, identified by its key. Hooks 0x1825 kernel, 0x1826 user.
    StackKeyReference {
        /// True for the user half.
        user: bool = (0x1825, 0x1826),
        /// Time of the event with this stack, in ticks of the log's clock.
        event_ticks: u64,
        /// Process of that event.
        process_id: u32,
        /// Thread of that event.
        thread_id: u32,
        stack_key: u64 as pointer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelPayload;

    #[test]
    fn frames_extend_to_end_of_record() {
        let mut bytes = 99u64.to_le_bytes().to_vec();
        bytes.extend([4u32, 8].iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend([0x1000u32, 0xf000_2000].iter().flat_map(|v| v.to_le_bytes()));
        bytes.push(1);
        let narrow = Stack::read(KernelPayload::new(0x1820, 2, &bytes, 4)).unwrap();
        assert_eq!(narrow.frames.iter().collect::<Vec<_>>(), [0x1000, 0xf000_2000]);
        let wide = Stack::read(KernelPayload::new(0x1820, 2, &bytes, 8)).unwrap();
        assert_eq!(wide.frames.iter().collect::<Vec<_>>(), [0xf000_2000_0000_1000]);
        assert_eq!((wide.event_ticks, wide.thread_id, wide.frames.len()), (99, 8, 1));
    }
}
