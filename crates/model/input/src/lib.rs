//! Recordings as bytes: format detection, unpacking, and errors.

#![forbid(unsafe_code)]

pub mod bytes;
pub mod content_hash;
pub mod error;
pub mod event_filter;
pub mod opened;
pub mod options;
pub mod sniff;
pub mod store;
pub mod unpack;
