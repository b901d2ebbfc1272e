//! Signatures of driver files, which no event of a recording contains.

use serde::Serialize;

/// A driver file from the disk of the recorded computer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverFile {
    /// File name in lower case, e.g. `storahci.sys`.
    pub name: String,
    /// Whether the file has an embedded signature; otherwise it is signed by a catalog or unsigned.
    pub has_embedded_signature: bool,
    /// Whether the embedded signature uses a test certificate.
    pub is_test_signed: bool,
    /// Whether the file's version information names it as a part of Windows. Microsoft signs many of these files by
    /// catalog.
    pub is_part_of_windows: bool,
}
