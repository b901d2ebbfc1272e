//! Network captures: a writer of pcap and pcapng, frames for it, and whole conversations whose truth is known.
//!
//! Written from the formats' own descriptions, with none of the code that reads them.

mod container;
mod conversation;
mod packet;

pub use container::{Container, Wrote};
pub use conversation::{TftpServer, TftpTransfer};
pub use packet::{Link, TcpFlags, arp_request, ethernet, fragments, ipv4, ipv6, tcp, udp};
