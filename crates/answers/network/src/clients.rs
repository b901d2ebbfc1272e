//! Groups the messages and transfers of a capture by client.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hashbrown::HashMap;
use onoff_netboot::connection::Connection;
use onoff_netboot::dhcp::{DhcpKind, DhcpMessage, architecture_name};
use onoff_netboot::transfer::Transfer;
use onoff_netboot::{Capture, MacAddress};

use super::report::Client;

/// Identity of a client: its station, or its address if the station is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    Station(MacAddress),
    Address(IpAddr),
}

/// Maximum number of addresses per client. A boot has one or two.
const MAX_ADDRESSES: usize = 16;

/// The traffic of one client.
#[derive(Debug, Default)]
pub(super) struct Traffic<'a> {
    pub(super) dhcp: Vec<&'a DhcpMessage>,
    pub(super) transfers: Vec<&'a Transfer>,
    pub(super) connections: Vec<&'a Connection>,
}

impl Traffic<'_> {
    /// True if the traffic contains a network boot, not just ordinary DHCP.
    pub(super) fn is_network_boot(&self) -> bool {
        self.transfers.iter().any(|transfer| !transfer.write)
            || self.connections.iter().any(|connection| super::http::is_boot(connection))
            || self.dhcp.iter().any(|message| message.is_network_boot())
    }
}

impl Traffic<'_> {
    /// True if a telephone, switch or access point fetched its configuration or firmware: it does not identify itself
    /// as a network boot client, and its files or its vendor class are of such a device.
    pub(super) fn is_device_configuration(&self) -> bool {
        let requests = || self.dhcp.iter().filter(|message| message.kind.is_from_client());
        let is_boot_client = self.dhcp.iter().any(|message| message.is_network_boot())
            || requests().any(|message| message.user_class.contains("iPXE"))
            || self.connections.iter().any(|connection| super::http::is_boot(connection));
        if is_boot_client || self.transfers.is_empty() {
            return false;
        }
        let names = || self.transfers.iter().map(|transfer| file_name(&transfer.file));
        let has_device_class = requests().any(|message| is_device_class(&message.vendor_class));
        let has_class = requests().any(|message| !message.vendor_class.is_empty());
        has_device_class
            || names().any(|name| is_device_file(&name))
            || (has_class && names().all(|name| is_text(&name)))
    }
}

/// Returns the last part of a path in lower case.
fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase()
}

/// True for the vendor class (DHCP option 60) of a telephone, switch or access point.
fn is_device_class(class: &str) -> bool {
    const DEVICES: [&str; 14] = [
        "ip phone",
        "phone",
        "polycom",
        "yealink",
        "snom",
        "grandstream",
        "aastra",
        "avaya",
        "mitel",
        "gigaset",
        "fanvil",
        "ms-uc-client",
        "cisco ap",
        "docsis",
    ];
    let class = class.to_ascii_lowercase();
    DEVICES.iter().any(|device| class.contains(device))
}

/// True for the names of configuration files that only telephones and network devices request.
fn is_device_file(name: &str) -> bool {
    let has_beginning = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let has_ending = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    has_ending(&[".cnf.xml", ".tlv", "-confg", ".loads", ".sbn", ".cnf.xml.sgn"])
        || has_beginning(&["xmldefault", "network-confg", "cisconet.cfg", "router-confg", "ciscortr.cfg"])
        || (has_ending(&[".cfg", ".xml"]) && has_beginning(&["y0000000", "000000000000", "sep", "cfg000b82", "spa"]))
}

/// True for the name of a text.
fn is_text(name: &str) -> bool {
    [".cfg", ".conf", ".cnf", ".xml", ".txt", ".ini", "confg"].iter().any(|ending| name.ends_with(ending))
}

/// Groups the traffic by client.
pub(super) fn clients(capture: &Capture) -> BTreeMap<Key, Traffic<'_>> {
    let mut stations: HashMap<IpAddr, MacAddress> = HashMap::new();
    for message in &capture.dhcp {
        let has_address = matches!(
            message.kind,
            DhcpKind::Ack | DhcpKind::Reply | DhcpKind::Offer | DhcpKind::UnknownResponse | DhcpKind::BootReply
        );
        if let (true, Some(address), Some(mac)) = (has_address, message.address, message.client_mac) {
            stations.insert(address, mac);
        }
    }
    let dhcp_stations: hashbrown::HashSet<MacAddress> =
        capture.dhcp.iter().filter_map(|message| message.client_mac).collect();
    let mut clients: BTreeMap<Key, Traffic<'_>> = BTreeMap::new();
    for message in &capture.dhcp {
        // Without a station address, the recipient of a broadcast answer is unknown.
        if let Some(mac) = message.client_mac {
            clients.entry(Key::Station(mac)).or_default().dhcp.push(message);
        }
    }
    for transfer in &capture.transfers {
        let address = transfer.client.ip();
        let leased = stations.get(&address).copied();
        // Behind a router, every client has the router's station address.
        let key = leased
            .or(transfer.client_mac.filter(|mac| dhcp_stations.contains(mac)))
            .map_or(Key::Address(address), Key::Station);
        clients.entry(key).or_default().transfers.push(transfer);
    }
    for connection in &capture.connections {
        let address = connection.client.ip();
        let leased = stations.get(&address).copied();
        let key = leased
            .or(connection.client_mac.filter(|mac| dhcp_stations.contains(mac)))
            .map_or(Key::Address(address), Key::Station);
        clients.entry(key).or_default().connections.push(connection);
    }
    clients
}

pub(super) fn describe(key: Key, traffic: &Traffic<'_>) -> Client {
    let mut client = Client {
        mac: match key {
            Key::Station(mac) => Some(mac),
            Key::Address(_) => traffic.transfers.iter().find_map(|transfer| transfer.client_mac).or_else(|| {
                let connections = traffic.connections.iter();
                connections.filter_map(|connection| connection.client_mac).next()
            }),
        },
        ..Client::default()
    };
    let mut addresses: Vec<IpAddr> = Vec::new();
    let mut add = |address: IpAddr| {
        if !address.is_unspecified() && !addresses.contains(&address) && addresses.len() < MAX_ADDRESSES {
            addresses.push(address);
        }
    };
    for transfer in &traffic.transfers {
        add(transfer.client.ip());
    }
    for connection in &traffic.connections {
        add(connection.client.ip());
    }
    for message in &traffic.dhcp {
        if matches!(message.kind, DhcpKind::Ack | DhcpKind::Reply | DhcpKind::BootReply)
            && let Some(address) = message.address
        {
            add(address);
        }
    }
    client.addresses = addresses.iter().map(ToString::to_string).collect();
    for message in &traffic.dhcp {
        if !message.kind.is_from_client() {
            continue;
        }
        client.architecture = client.architecture.or(message.architecture);
        if client.vendor_class.is_empty() {
            client.vendor_class.clone_from(&message.vendor_class);
        }
        if client.machine_id.is_none() {
            client.machine_id.clone_from(&message.machine_id);
        }
    }
    client.architecture_name = client.architecture.map_or("", architecture_name);
    client
}
