//! Error types.

/// An unreadable recording.
pub type Error = onoff_sources::Error;

/// A query without a result. `N` describes why the recording has no data for it.
#[derive(Debug, thiserror::Error)]
pub enum QueryError<N: std::fmt::Debug + std::fmt::Display> {
    /// The recording is unreadable.
    #[error(transparent)]
    Unreadable(#[from] onoff_sources::Error),
    /// The recording has no data for the query.
    #[error("{0}")]
    Unanswerable(N),
}

impl<N: std::fmt::Debug + std::fmt::Display> QueryError<N> {
    /// Converts the reason for missing data.
    pub fn map<M: std::fmt::Debug + std::fmt::Display>(self, convert: impl FnOnce(N) -> M) -> QueryError<M> {
        match self {
            Self::Unreadable(error) => QueryError::Unreadable(error),
            Self::Unanswerable(reason) => QueryError::Unanswerable(convert(reason)),
        }
    }

    /// Converts the reason for missing data to text.
    #[must_use]
    pub fn into_message(self) -> QueryError<String> {
        self.map(|reason| reason.to_string())
    }

    /// Turns missing data into `None`.
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn optional<T>(result: Result<T, Self>) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Self::Unanswerable(_)) => Ok(None),
            Err(Self::Unreadable(error)) => Err(error),
        }
    }
}
