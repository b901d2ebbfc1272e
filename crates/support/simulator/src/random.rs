//! A seeded random number generator (SplitMix64): the same scenario always gives the same bytes.

#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x5EED_0FF5_EED0_FF5E)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// Returns a random number below `limit`; 0 when `limit` is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next() % limit }
    }

    /// Returns a random number from 50 % to 150 % of `value`.
    pub(crate) fn vary(&mut self, value: u64) -> u64 {
        value / 2 + self.below(value + 1)
    }
}
