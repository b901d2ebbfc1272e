//! What a network boot says on the wire: frames as typed messages, and the transfers and exchanges made of them.
//!
//! A reader of captures hands over one [`Frame`](frame::Frame) after the other; [`Follower`] keeps what an analysis
//! needs and lets the frame go.
//!
//! # Design constraints
//!
//! * Pure: knows no file and no container; frames come in, a [`Capture`] comes out.
//! * Streaming: memory grows with the number of transfers, exchanges and connections, never with their length, and
//!   those are bounded ([`limits`]). What exceeds a bound is counted as a loss.
//! * Payloads come from the network: every length is checked before it is used, and a message that is cut says so
//!   instead of giving made-up values.
//! * Times are nanoseconds since the capture's first frame, as recorded.

#![forbid(unsafe_code)]

pub mod address;
pub mod block_numbers;
pub mod capture;
pub mod connection;
pub mod dhcp;
pub mod dhcp4;
pub mod dhcp6;
mod duplicates;
mod follow;
pub mod frame;
pub mod limits;
pub mod lookup;
pub mod losses;
pub mod spread;
pub mod tftp;
pub mod transfer;
pub mod turnaround;
pub mod window;

pub use address::MacAddress;
pub use capture::{Capture, CaptureFile};
pub use follow::Follower;
