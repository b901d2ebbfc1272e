//! Keys of call stacks: there are so few that each is reused often, as in a long kernel recording.

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
    pub(super) fn assign(&mut self, frames: &[u64]) -> (u64, Option<Vec<u64>>) {
        if let Some(index) = self.in_use.iter().position(|stack| stack == frames) {
            return (key_at(index), None);
        }
        if self.in_use.len() < KEY_COUNT {
            self.in_use.push(frames.to_vec());
            return (key_at(self.in_use.len() - 1), None);
        }
        let index = self.next % KEY_COUNT;
        self.next += 1;
        (key_at(index), Some(std::mem::replace(&mut self.in_use[index], frames.to_vec())))
    }

    /// Returns the keys still in use, with their stacks.
    pub(super) fn rundown(&self) -> Vec<(u64, Vec<u64>)> {
        self.in_use.iter().enumerate().map(|(index, frames)| (key_at(index), frames.clone())).collect()
    }
}

fn key_at(index: usize) -> u64 {
    FIRST_KEY + index as u64 * 0x40
}
