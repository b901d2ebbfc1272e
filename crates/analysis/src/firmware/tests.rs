//! Hand-made firmware recordings.
