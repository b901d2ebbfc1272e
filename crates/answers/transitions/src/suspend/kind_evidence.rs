//! What was recorded that speaks about the kind of a sleep: codes with their arguments, and the words of each.

use std::fmt::{Display, Formatter, Result};

use serde::Serialize;

/// One record that speaks about the kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindEvidence {
    /// What it says.
    pub says: KindFact,
    /// The event that says it; empty for what other parts of the recording say.
    pub event: String,
}

impl KindEvidence {
    pub(super) fn of(says: KindFact, event: &str) -> Self {
        Self { says, event: event.to_owned() }
    }
}

/// What a record says about the kind of a sleep. States are counted as Windows does: 2 to 4 sleeping (S1 to S3), 5 hibernation (S4), 6 off
/// (S5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum KindFact {
    /// A state was requested.
    Requested {
        /// Which.
        state: i64,
        /// The state that devices were prepared for, where it was recorded.
        prepared_for: Option<i64>,
    },
    /// The computer woke.
    Woke {
        /// From which state.
        from_state: i64,
    },
    /// The memory image is about to be written.
    ImageAboutToBeWritten,
    /// Time for writing a memory image was recorded.
    ImageWriteTime {
        /// Whether it was more than nothing.
        spent: bool,
    },
    /// Time for reading a memory image was recorded.
    ImageReadTime {
        /// Whether it was more than nothing.
        spent: bool,
    },
    /// Windows reports the time of a shutdown for a fast startup.
    FastStartupShutdownTime,
    /// Windows reports the time of a fast startup.
    FastStartupTime,
    /// Windows looks for idle time.
    IdleDetection {
        /// After which transition, as Windows names it.
        after: String,
    },
    /// The type of the boot was recorded.
    BootType {
        /// As recorded: 0 cold, 1 fast startup, 2 from hibernation.
        value: i64,
    },
    /// The user's session ended just before.
    SessionEndedBefore,
    /// A power action was recorded.
    PowerAction {
        /// `POWER_ACTION` as recorded.
        value: u32,
    },
    /// Devices were requested to enter a state.
    DevicesRequested {
        /// The deepest of them.
        state: i64,
    },
    /// Modern standby was entered.
    StandbyEntered,
    /// Modern standby was left.
    StandbyLeft,
}

/// A phrase, with the event in brackets.
impl Display for KindEvidence {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.says.fmt(f)?;
        if self.event.is_empty() { Ok(()) } else { write!(f, " ({})", self.event) }
    }
}

impl Display for KindFact {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Requested { state, prepared_for: None } => write!(f, "{} requested", state_name(*state)),
            Self::Requested { state, prepared_for: Some(prepared) } => {
                write!(f, "{} requested, devices prepared for {}", state_name(*state), state_name(*prepared))
            }
            Self::Woke { from_state } => write!(f, "woke from {}", state_name(*from_state)),
            Self::ImageAboutToBeWritten => f.write_str("the memory image is about to be written"),
            Self::ImageWriteTime { spent: true } => f.write_str("time for writing a memory image"),
            Self::ImageWriteTime { spent: false } => f.write_str("no time for writing a memory image"),
            Self::ImageReadTime { spent: true } => f.write_str("time for reading a memory image"),
            Self::ImageReadTime { spent: false } => f.write_str("no time for reading a memory image"),
            Self::FastStartupShutdownTime => f.write_str("time of a shutdown for a fast startup"),
            Self::FastStartupTime => f.write_str("time of a fast startup"),
            Self::IdleDetection { after } => {
                write!(f, "the system looks for idle time after {}", after.replace('_', " "))
            }
            Self::BootType { value } => write!(f, "boot type {value}"),
            Self::SessionEndedBefore => f.write_str("the user's session ended just before"),
            Self::PowerAction { value } => write!(f, "power action {value}"),
            Self::DevicesRequested { state } => write!(f, "devices requested {}", state_name(*state)),
            Self::StandbyEntered => f.write_str("modern standby entered"),
            Self::StandbyLeft => f.write_str("modern standby left"),
        }
    }
}

/// A system power state as people call it.
#[must_use]
pub fn state_name(state: i64) -> String {
    match state {
        1 => "S0 (working)".to_owned(),
        2 => "S1 (sleep)".to_owned(),
        3 => "S2 (sleep)".to_owned(),
        4 => "S3 (sleep)".to_owned(),
        5 => "S4 (hibernation)".to_owned(),
        6 => "S5 (off)".to_owned(),
        other => format!("state {other}"),
    }
}
