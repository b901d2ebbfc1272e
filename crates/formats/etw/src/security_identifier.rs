//! Security identifiers (SIDs) as encoded in payloads.

use std::fmt;

/// A SID: revision, sub-authority count, 6-byte big-endian authority, sub-authorities. Formatted as on Windows:
/// `S-1-5-21-…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sid<'b> {
    bytes: &'b [u8],
}

impl<'b> Sid<'b> {
    /// Splits a SID off the front of `bytes`; `None` if `bytes` is too short.
    #[must_use]
    pub fn split(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let sub_authorities = usize::from(*bytes.get(1)?);
        let (sid, remaining) = bytes.split_at_checked(8 + 4 * sub_authorities)?;
        Some((Self { bytes: sid }, remaining))
    }

    /// True if the bytes look like a SID: revision 1, at most 15 sub-authorities, authority below 256.
    #[must_use]
    pub fn is_plausible(self) -> bool {
        self.bytes[0] == 1 && self.bytes[1] <= 15 && self.bytes[2..7] == [0; 5]
    }

    /// Returns the encoded SID.
    #[must_use]
    pub fn as_bytes(self) -> &'b [u8] {
        self.bytes
    }
}

impl fmt::Display for Sid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self.bytes[2..8].iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        write!(f, "S-{}-", self.bytes[0])?;
        // Authorities above 32 bits are formatted in hex.
        if authority >> 32 == 0 {
            write!(f, "{authority}")?;
        } else {
            write!(f, "{authority:#014x}")?;
        }
        self.bytes[8..]
            .chunks_exact(4)
            .try_for_each(|part| write!(f, "-{}", u32::from_le_bytes([part[0], part[1], part[2], part[3]])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_short_and_long_authorities() {
        let local_service = [1, 1, 0, 0, 0, 0, 0, 5, 19, 0, 0, 0, 9];
        let (sid, remaining) = Sid::split(&local_service).unwrap();
        assert_eq!((sid.to_string().as_str(), remaining), ("S-1-5-19", &[9][..]));
        let long_authority = [1, 0, 1, 0, 0, 0, 0, 2];
        assert_eq!(Sid::split(&long_authority).unwrap().0.to_string(), "S-1-0x010000000002");
        assert!(Sid::split(&local_service[..9]).is_none());
    }
}
