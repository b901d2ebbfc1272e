//! Network captures: writers for pcap and pcapng, frames, and whole network boots whose outcome is known.
//!
//! Written from the specifications of the formats; shares no code with the readers.

mod container;
mod conversation;
mod event_trace;
mod floods;
mod outcomes;
mod packet;
mod scene;

pub use container::{Container, Wrote};
pub use conversation::{TftpServer, TftpTransfer};
pub use event_trace::{PacketLog, event_trace, frames_of};
pub use floods::Flood;
pub use outcomes::{OutcomeSample, outcomes};
pub use packet::{Link, TcpFlags, arp_reply, arp_request, ethernet, fragments, ipv4, ipv6, tcp, udp};
pub use scene::{CAPTURE_START_NS, Dhcp, DhcpFields, Scene};
