//! Network captures: writers for pcap and pcapng, frames, and whole network boots whose outcome is known.
//!
//! Written from the specifications of the formats; shares no code with the readers.

mod capture_builder;
mod container;
mod event_trace;
mod floods;
mod outcomes;
mod packet;
mod tftp;
mod two_places;

pub use capture_builder::{CAPTURE_START_NS, CaptureBuilder, DhcpFields, DhcpMessageType};
pub use container::{CaptureWriter, Container};
pub use event_trace::{PacketLog, event_trace, read_frames};
pub use floods::Flood;
pub use outcomes::{OutcomeSample, outcomes};
pub use packet::{Link, TcpFlags, arp_reply, arp_request, ethernet, fragments, ipv4, ipv6, tcp, udp};
pub use tftp::{TftpServer, TftpTransfer};
pub use two_places::TwoPlaces;
