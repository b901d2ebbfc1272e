//! Input a rule needs but the recording does not have.

use onoff_transitions::MissingSource;

/// Why a rule could not be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingInput {
    pub missing_evidence: Vec<MissingSource>,
    /// Other missing input, as a clause; empty if there is none.
    pub needs: &'static str,
}
