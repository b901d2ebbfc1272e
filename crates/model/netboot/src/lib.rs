//! Analyzes the network traffic of a network boot: turns decoded frames into typed messages, transfers and connections.
//!
//! A capture reader passes [`Frame`](frame::Frame)s one by one; [`CaptureBuilder`] keeps only what an analysis needs.
//!
//! # Design constraints
//!
//! * Pure: turns frames into a [`Capture`], without access to files and independent of capture formats.
//! * Streaming: memory grows with the number of transfers, messages and connections, not with their size, and that
//!   number is limited ([`limits`]). Exceeding a limit is counted as a loss.
//! * Payloads are untrusted: every length is checked before use, and truncated messages are marked instead of being
//!   completed with made-up values.
//! * Times are nanoseconds since the first frame of the capture, as recorded.

#![forbid(unsafe_code)]

pub mod address;
pub mod block_numbers;
pub mod capture;
pub mod connection;
pub mod dhcp;
pub mod dhcp4;
pub mod dhcp6;
mod duplicates;
pub mod frame;
pub mod histogram;
pub mod limits;
pub mod lookup;
pub mod losses;
pub mod path;
pub mod storage;
pub mod tftp;
mod tracker;
pub mod transfer;
pub mod turnaround;
pub mod variation;
pub mod window;

pub use address::MacAddress;
pub use capture::{Capture, CaptureFile};
pub use tracker::CaptureBuilder;
