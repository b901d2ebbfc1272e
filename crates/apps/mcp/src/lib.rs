//! The verbs of onoff as Model Context Protocol tools, for assistants.
//!
//! The server is read-only: [`tools`] translates a call into the arguments of a verb, but never into a verb that writes
//! or records. [`folders`] rejects paths outside the folders given at startup. [`parts`] splits long answers.
//! [`work`] is the state of a running call. [`Assistant`] combines these modules. The feature `server` adds the protocol over stdin
//! and stdout.

#![forbid(unsafe_code)]

pub mod assistant;
pub mod folders;
mod outline;
pub mod parts;
#[cfg(feature = "server")]
pub mod server;
pub mod tools;
pub mod work;

pub use assistant::{Answer, Assistant, Verb};
pub use work::Work;
