//! Why there is no answer.

/// A recording cannot be read.
pub type Error = onoff_sources::Error;

/// A question gets no answer.
#[derive(Debug, thiserror::Error)]
pub enum Refusal<N: std::fmt::Debug + std::fmt::Display> {
    /// The recording cannot be read.
    #[error(transparent)]
    Unreadable(#[from] onoff_sources::Error),
    /// The recording does not hold what the question is about; what it holds instead.
    #[error("{0}")]
    Nothing(N),
}

impl<N: std::fmt::Debug + std::fmt::Display> Refusal<N> {
    /// The same refusal, with what `instead` makes of what the recording holds instead.
    pub fn map<M: std::fmt::Debug + std::fmt::Display>(self, instead: impl FnOnce(N) -> M) -> Refusal<M> {
        match self {
            Self::Unreadable(error) => Refusal::Unreadable(error),
            Self::Nothing(nothing) => Refusal::Nothing(instead(nothing)),
        }
    }

    /// The same refusal, with what the recording holds instead as text.
    #[must_use]
    pub fn into_text(self) -> Refusal<String> {
        self.map(|instead| instead.to_string())
    }

    /// The answer, if the recording has one.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn optional<T>(answer: Result<T, Self>) -> Result<Option<T>, Error> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Self::Nothing(_)) => Ok(None),
            Err(Self::Unreadable(error)) => Err(error),
        }
    }
}
