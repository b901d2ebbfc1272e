//! Reads the systemd journal, exported or as JSON.

use super::assembly::Assembly;
use super::clocks::{Clocks, Pairs};
use super::parts::Part;

/// Adds the pairs of times that the part holds.
pub(super) fn clock_pairs(_part: &Part<'_>, _pairs: &mut Pairs) {}

/// Adds the part's rows.
pub(super) fn read(_part: &Part<'_>, _clocks: &Clocks, _assembly: &mut Assembly) {}
