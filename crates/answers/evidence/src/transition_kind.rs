//! The kinds of transitions: the same on every system.

use serde::{Deserialize, Serialize};

/// A kind of transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TransitionKind {
    /// A boot; of a computer with fast startup, the half that comes back.
    Boot,
    /// A shutdown or restart.
    Shutdown,
    /// Sleep, hibernation or modern standby: both halves.
    Suspend,
}

impl TransitionKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Boot, Self::Shutdown, Self::Suspend];

    /// The name, as in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Shutdown => "shutdown",
            Self::Suspend => "suspend",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}
