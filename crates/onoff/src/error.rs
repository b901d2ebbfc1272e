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
    /// The same refusal, with what the recording holds instead as text.
    #[must_use]
    pub fn into_text(self) -> Refusal<String> {
        match self {
            Self::Unreadable(error) => Refusal::Unreadable(error),
            Self::Nothing(instead) => Refusal::Nothing(instead.to_string()),
        }
    }
}
