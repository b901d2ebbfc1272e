//! Error types.

/// An unreadable recording.
pub type Error = onoff_sources::Error;

/// A query without a result. `N` describes why the recording has no data for it.
#[derive(Debug, thiserror::Error)]
pub enum Refusal<N: std::fmt::Debug + std::fmt::Display> {
    /// The recording is unreadable.
    #[error(transparent)]
    Unreadable(#[from] onoff_sources::Error),
    /// The recording has no data for the query.
    #[error("{0}")]
    Nothing(N),
}

impl<N: std::fmt::Debug + std::fmt::Display> Refusal<N> {
    /// Converts the reason for missing data.
    pub fn map<M: std::fmt::Debug + std::fmt::Display>(self, convert: impl FnOnce(N) -> M) -> Refusal<M> {
        match self {
            Self::Unreadable(error) => Refusal::Unreadable(error),
            Self::Nothing(reason) => Refusal::Nothing(convert(reason)),
        }
    }

    /// Converts the reason for missing data to text.
    #[must_use]
    pub fn into_text(self) -> Refusal<String> {
        self.map(|reason| reason.to_string())
    }

    /// Turns missing data into `None`.
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn optional<T>(answer: Result<T, Self>) -> Result<Option<T>, Error> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Self::Nothing(_)) => Ok(None),
            Err(Self::Unreadable(error)) => Err(error),
        }
    }
}
