//! The kinds of transitions, common to all systems.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TransitionKind {
    /// A boot. With fast startup: the resume half.
    Boot,
    /// A shutdown or restart.
    Shutdown,
    /// Sleep, hibernation or modern standby, from suspend to resume.
    Suspend,
}

impl TransitionKind {
    pub const ALL: [Self; 3] = [Self::Boot, Self::Shutdown, Self::Suspend];

    /// The name in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Shutdown => "shutdown",
            Self::Suspend => "suspend",
        }
    }

    /// Parses a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}
