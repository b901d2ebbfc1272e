//! TCP events of Microsoft-Windows-Kernel-Network, with the payloads of the kernel's events of group 0x06.

use std::net::{IpAddr, SocketAddr};

use super::{EventTemplate, Provider};
use crate::assemble::Payload;

const KERNEL_NETWORK: Provider = Provider::new(0x7dd42a49_5329_4832_8dfd_43d979153a88);

const TASK_TCP: u16 = 10;
const OPCODE_SEND: u8 = 10;
const OPCODE_RECEIVE: u8 = 11;

/// A process sent `size` bytes (10; 26 for IPv6).
#[must_use]
pub fn tcp_sent(process: u32, size: u32, source: SocketAddr, destination: SocketAddr) -> EventTemplate {
    let add_times = |payload: Payload| payload.u32(1).u32(2);
    transfer(OPCODE_SEND, process, size, source, destination, add_times)
}

/// A process received `size` bytes (11; 27 for IPv6).
#[must_use]
pub fn tcp_received(process: u32, size: u32, source: SocketAddr, destination: SocketAddr) -> EventTemplate {
    transfer(OPCODE_RECEIVE, process, size, source, destination, |payload| payload)
}

fn transfer(
    opcode: u8,
    process: u32,
    size: u32,
    source: SocketAddr,
    destination: SocketAddr,
    add_times: impl FnOnce(Payload) -> Payload,
) -> EventTemplate {
    const IPV4: u64 = 0x10;
    const IPV6: u64 = 0x20;
    const CONNECTION: u64 = 0xffff_a10f_0000_1230;
    let payload = address(address(Payload::wide().u32(process).u32(size), destination.ip()), source.ip());
    // Addresses and ports are in network byte order.
    let payload = payload.bytes(&destination.port().to_be_bytes()).bytes(&source.port().to_be_bytes());
    let payload = add_times(payload).u32(0).pointer(CONNECTION);
    let (id, keyword) = if destination.is_ipv4() { (opcode, IPV4) } else { (opcode + 16, IPV6) };
    KERNEL_NETWORK.event(id.into(), TASK_TCP, opcode, keyword, payload)
}

fn address(payload: Payload, address: IpAddr) -> Payload {
    match address {
        IpAddr::V4(address) => payload.bytes(&address.octets()),
        IpAddr::V6(address) => payload.bytes(&address.octets()),
    }
}
