//! Keys in place of call stacks: so few that each is given again and again, as the kernel's are after a while.

/// Keys at a time.
const KEYS: usize = 8;

/// Where the kernel's keys begin.
const FIRST_KEY: u64 = 0xffff_8a00_0000_1000;

/// The keys in use, and what they stand for.
#[derive(Debug, Default)]
pub(super) struct StackKeys {
    in_use: Vec<Vec<u64>>,
    next: usize,
}

impl StackKeys {
    /// The key of a stack, and what it stood for until now when it has to be given up for that.
    pub(super) fn take(&mut self, frames: &[u64]) -> (u64, Option<Vec<u64>>) {
        if let Some(at) = self.in_use.iter().position(|known| known == frames) {
            return (key(at), None);
        }
        if self.in_use.len() < KEYS {
            self.in_use.push(frames.to_vec());
            return (key(self.in_use.len() - 1), None);
        }
        let at = self.next % KEYS;
        self.next += 1;
        (key(at), Some(std::mem::replace(&mut self.in_use[at], frames.to_vec())))
    }

    /// What is still in use.
    pub(super) fn rundown(&self) -> Vec<(u64, Vec<u64>)> {
        self.in_use.iter().enumerate().map(|(at, frames)| (key(at), frames.clone())).collect()
    }
}

fn key(at: usize) -> u64 {
    FIRST_KEY + at as u64 * 0x40
}
