//! Network captures: a writer of pcap and pcapng, frames for it, and whole conversations whose truth is known.
//!
//! Written from the formats' own descriptions, with none of the code that reads them.

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
pub use outcomes::{MadeOutcome, outcomes};
pub use packet::{Link, TcpFlags, arp_reply, arp_request, ethernet, fragments, ipv4, ipv6, tcp, udp};
pub use scene::{Dhcp, DhcpFields, SCENE_START_NS, Scene};
