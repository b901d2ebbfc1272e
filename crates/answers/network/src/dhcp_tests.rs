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
        cut: false,
        malformed: false,
    }
}

/// The client asks at 100 ms and, hearing nothing, at 3,100 ms; both are answered at 3,110 ms.
fn asked_twice(probes: &[AddressProbe]) -> (Option<i64>, u64) {
    let messages = [
        message(100 * MS, DhcpKind::Discover),
        message(3_100 * MS, DhcpKind::Discover),
        message(3_110 * MS, DhcpKind::Offer),
        message(3_111 * MS, DhcpKind::Offer),
        message(3_200 * MS, DhcpKind::Request),
        message(3_201 * MS, DhcpKind::Ack),
    ];
    let messages: Vec<&DhcpMessage> = messages.iter().collect();
    let found = exchanges(&messages, &LinkIndex::of_probes(probes), None);
    assert_eq!(found.len(), 1);
    (found[0].offer_delay_ns, found[0].address_probes)
}

#[test]
fn an_offer_answers_the_question_before_the_server_looked_whether_the_address_is_in_use() {
    let probe = |time_ns| AddressProbe { time_ns, target: ADDRESS, by: None };
    let probes = [probe(150 * MS), probe(1_150 * MS), probe(2_150 * MS)];
    assert_eq!(asked_twice(&probes), (Some(3_010 * MS), 3));
    // Without a look it answers the latest question: the first may have been lost.
    assert_eq!(asked_twice(&[]), (Some(10 * MS), 0));
}
