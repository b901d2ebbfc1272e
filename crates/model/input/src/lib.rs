//! Recordings as bytes: what a file is, what is packed in it, and what can be wrong with it.

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
