//! Evidence about the kind of a suspend: codes with arguments, and their wording.

use std::fmt::{Display, Formatter, Result};

use serde::Serialize;

/// A record that indicates the kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindEvidence {
    pub fact: KindFact,
    /// The event; empty if the evidence is not an event.
    pub event: String,
}

impl KindEvidence {
    pub(super) fn new(fact: KindFact, event: &str) -> Self {
        Self { fact, event: event.to_owned() }
    }
}

/// What a record says about the kind of a suspend. States are numbered as in Windows: 2 to 4 sleep (S1 to S3), 5
/// hibernation (S4), 6 off (S5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum KindFact {
    /// A state was requested.
    Requested {
        state: i64,
        /// The state that devices were prepared for, if recorded.
        prepared_for: Option<i64>,
    },
    /// The computer woke.
    Woke { from_state: i64 },
    /// The memory image was about to be written.
    ImageWriteRequested,
    /// The time for writing a memory image was recorded.
    ImageWriteTime {
        /// False if it was zero.
        spent: bool,
    },
    /// The time for reading a memory image was recorded.
    ImageReadTime {
        /// False if it was zero.
        spent: bool,
    },
    /// Windows recorded the time of a shutdown with fast startup.
    FastStartupShutdownTime,
    /// Windows recorded the time of a fast startup.
    FastStartupTime,
    /// Windows started idle detection.
    IdleDetection {
        /// The preceding transition, as named by Windows.
        after: String,
    },
    /// The boot type was recorded.
    BootType {
        /// As recorded: 0 cold, 1 fast startup, 2 resume from hibernation.
        value: i64,
    },
    /// The user session ended just before the transition.
    SessionEndedBefore,
    /// A power action was recorded.
    PowerAction {
        /// `POWER_ACTION`, as recorded.
        value: u32,
    },
    /// Devices were requested to enter a state.
    DevicesRequested {
        /// The deepest requested state.
        state: i64,
    },
    /// Modern standby was entered.
    StandbyEntered,
    /// Modern standby was left.
    StandbyExited,
}

/// Writes the fact as a phrase, with the event in parentheses.
impl Display for KindEvidence {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.fact.fmt(f)?;
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
            Self::ImageWriteRequested => f.write_str("memory image about to be written"),
            Self::ImageWriteTime { spent: true } => f.write_str("memory image write time recorded"),
            Self::ImageWriteTime { spent: false } => f.write_str("memory image write time is zero"),
            Self::ImageReadTime { spent: true } => f.write_str("memory image read time recorded"),
            Self::ImageReadTime { spent: false } => f.write_str("memory image read time is zero"),
            Self::FastStartupShutdownTime => f.write_str("fast startup shutdown time recorded"),
            Self::FastStartupTime => f.write_str("fast startup time recorded"),
            Self::IdleDetection { after } => {
                write!(f, "idle detection started after {}", after.replace('_', " "))
            }
            Self::BootType { value } => write!(f, "boot type {value}"),
            Self::SessionEndedBefore => f.write_str("the user session ended just before"),
            Self::PowerAction { value } => write!(f, "power action {value}"),
            Self::DevicesRequested { state } => write!(f, "devices were requested to enter {}", state_name(*state)),
            Self::StandbyEntered => f.write_str("modern standby entered"),
            Self::StandbyExited => f.write_str("modern standby exited"),
        }
    }
}

/// The display name of a system power state.
#[must_use]
pub fn state_name(state: i64) -> String {
    match state {
        1 => "S0 (working)".to_owned(),
        2 => "S1 (sleep)".to_owned(),
        3 => "S2 (sleep)".to_owned(),
        4 => "S3 (sleep)".to_owned(),
        5 => "S4 (hibernation)".to_owned(),
        6 => "S5 (off)".to_owned(),
        unknown => format!("state {unknown}"),
    }
}
