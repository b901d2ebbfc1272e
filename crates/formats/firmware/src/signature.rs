//! Which tables there are.

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signature {
    /// Firmware Performance Data Table: where the others lie.
    Fpdt,
    /// Firmware Basic Boot Performance Table: the last boot.
    Fbpt,
    /// S3 Performance Table: the last suspend and resume.
    S3pt,
}

impl Signature {
    /// Every table.
    pub const ALL: [Self; 3] = [Self::Fpdt, Self::Fbpt, Self::S3pt];

    /// The four letters.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fpdt => "FPDT",
            Self::Fbpt => "FBPT",
            Self::S3pt => "S3PT",
        }
    }

    /// The table that begins here.
    #[must_use]
    pub fn at(bytes: &[u8]) -> Option<Self> {
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
