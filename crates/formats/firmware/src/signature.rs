//! Table signatures.

/// Kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signature {
    /// Firmware Performance Data Table: addresses of the other tables.
    Fpdt,
    /// Firmware Basic Boot Performance Table: the last boot.
    Fbpt,
    /// S3 Performance Table: the last suspend and resume.
    S3pt,
}

impl Signature {
    /// All tables.
    pub const ALL: [Self; 3] = [Self::Fpdt, Self::Fbpt, Self::S3pt];

    /// Returns the four-letter signature.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fpdt => "FPDT",
            Self::Fbpt => "FBPT",
            Self::S3pt => "S3PT",
        }
    }

    /// Recognizes the table signature at the start of `bytes`.
    #[must_use]
    pub fn from_prefix(bytes: &[u8]) -> Option<Self> {
        let letters = bytes.first_chunk::<4>()?;
        Self::ALL.into_iter().find(|signature| signature.as_str().as_bytes() == letters)
    }

    pub(crate) const fn header_bytes(self) -> usize {
        match self {
            Self::Fpdt => 36,
            Self::Fbpt | Self::S3pt => 8,
        }
    }
}
