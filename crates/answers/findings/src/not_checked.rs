//! That a rule could not be checked.

use onoff_transitions::MissingEvidence;

/// A rule could not be checked, and which events it would have needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotChecked {
    /// What the recording lacks.
    pub lacking: Vec<MissingEvidence>,
    /// What the rule needs to know that no question about a transition asks, as a clause; empty when there is none.
    pub needs: &'static str,
}
