use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use onoff_netboot::capture::AddressProbe;
use onoff_netboot::dhcp::{DhcpKind, DhcpMessage, PxeOptions};

use super::super::link::LinkIndex;
use super::exchanges;

const MS: i64 = 1_000_000;
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 77, 80));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 77, 1));

fn message(time_ns: i64, kind: DhcpKind) -> DhcpMessage {
    let (client, server) = (SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 68), SocketAddr::new(SERVER, 67));
    let answers = !kind.is_from_client();
    DhcpMessage {
        time_ns,
        kind,
        source: if answers { server } else { client },
        destination: if answers { client } else { server },
        bytes: 300,
        transaction: 7,
        client_mac: None,
        seconds: 0,
        address: answers.then_some(ADDRESS),
        server: answers.then_some(SERVER),
        boot_server: None,
        boot_file: None,
        vendor_class: "PXEClient:Arch:00007:UNDI:003000".to_owned(),
        user_class: String::new(),
        architecture: Some(7),
        machine_id: None,
        relay: None,
        pxe: PxeOptions::default(),
        truncated: false,
        malformed: false,
    }
}

/// Analyzes a dialogue: the client sends requests at 100 ms and at 3,100 ms; both are answered at 3,110 ms.
fn repeated_discover(probes: &[AddressProbe]) -> (Option<i64>, u64) {
    let messages = [
        message(100 * MS, DhcpKind::Discover),
        message(3_100 * MS, DhcpKind::Discover),
        message(3_110 * MS, DhcpKind::Offer),
        message(3_111 * MS, DhcpKind::Offer),
        message(3_200 * MS, DhcpKind::Request),
        message(3_201 * MS, DhcpKind::Ack),
    ];
    let messages: Vec<&DhcpMessage> = messages.iter().collect();
    let exchanges = exchanges(&messages, &LinkIndex::from_probes(probes), None);
    assert_eq!(exchanges.len(), 1);
    (exchanges[0].offer_delay_ns, exchanges[0].address_probes)
}

#[test]
fn offer_delay_starts_at_last_request_before_address_check() {
    let probe = |time_ns| AddressProbe { time_ns, target: ADDRESS, prober: None };
    let probes = [probe(150 * MS), probe(1_150 * MS), probe(2_150 * MS)];
    assert_eq!(repeated_discover(&probes), (Some(3_010 * MS), 3));
    // Without a check, the offer answers the latest request: the first may have been lost.
    assert_eq!(repeated_discover(&[]), (Some(10 * MS), 0));
}
