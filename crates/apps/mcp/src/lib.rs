//! The verbs of onoff as tools of the Model Context Protocol, so that an assistant can ask what a person would.
//!
//! Read-only: a tool becomes the arguments of a verb that answers ([`tools`]), never of one that writes or records. A path must be in a
//! folder that was given when the server was started ([`folders`]). An answer is cut to a part that fits a conversation, and a handle
//! gives the next ([`parts`]). [`Assistant`] puts these together; the feature `server` speaks the protocol over stdin and stdout.

#![forbid(unsafe_code)]

pub mod assistant;
pub mod folders;
pub mod parts;
#[cfg(feature = "server")]
pub mod server;
pub mod tools;

pub use assistant::{Answer, Assistant, Verb};
