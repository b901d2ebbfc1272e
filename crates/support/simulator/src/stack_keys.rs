//! Keys of call stacks: so few that each is reused often, as the kernel does after a while.

/// Number of keys.
const KEY_COUNT: usize = 8;

/// The first key.
const FIRST_KEY: u64 = 0xffff_8a00_0000_1000;

/// The keys in use, and their call stacks.
#[derive(Debug, Default)]
pub(super) struct StackKeys {
    in_use: Vec<Vec<u64>>,
    next: usize,
}

impl StackKeys {
    /// Returns the key of a stack, and the stack that had the key before if it was evicted.
    pub(super) fn take(&mut self, frames: &[u64]) -> (u64, Option<Vec<u64>>) {
        if let Some(at) = self.in_use.iter().position(|known| known == frames) {
            return (key(at), None);
        }
        if self.in_use.len() < KEY_COUNT {
            self.in_use.push(frames.to_vec());
            return (key(self.in_use.len() - 1), None);
        }
        let at = self.next % KEY_COUNT;
        self.next += 1;
        (key(at), Some(std::mem::replace(&mut self.in_use[at], frames.to_vec())))
    }

    /// The keys still in use, with their stacks.
    pub(super) fn rundown(&self) -> Vec<(u64, Vec<u64>)> {
        self.in_use.iter().enumerate().map(|(at, frames)| (key(at), frames.clone())).collect()
    }
}

fn key(at: usize) -> u64 {
    FIRST_KEY + at as u64 * 0x40
}
