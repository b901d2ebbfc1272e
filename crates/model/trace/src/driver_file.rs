//! How files of drivers are signed, which no event of a recording says.

use serde::Serialize;

/// A driver's file from the disk of the recorded computer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverFile {
    /// File name in lower case, e.g. `storahci.sys`.
    pub name: String,
    /// Whether it carries its own signature; without one it is signed by a catalog or not at all.
    pub embedded_signature: bool,
    /// Whether that signature names a certificate for tests.
    pub signed_for_tests: bool,
}
