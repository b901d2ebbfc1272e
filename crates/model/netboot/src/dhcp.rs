//! A common type for DHCPv4 and DHCPv6 messages.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use onoff_trace::named;
use serde::Serialize;

use crate::address::MacAddress;

/// A DHCP message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DhcpMessage {
    /// Time, ns.
    pub time_ns: i64,
    pub kind: DhcpKind,
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// Size of the message, bytes.
    pub bytes: u32,
    /// Transaction id, shared by request and response.
    pub transaction: u32,
    /// MAC address of the client, from the message or the link layer.
    pub client_mac: Option<MacAddress>,
    /// Seconds since the client started, as stated by the client.
    pub seconds: u32,
    /// Address offered, requested or assigned.
    pub address: Option<IpAddr>,
    /// Server identifier.
    pub server: Option<IpAddr>,
    /// Boot server.
    pub boot_server: Option<String>,
    /// Boot file name or URL.
    pub boot_file: Option<String>,
    /// Vendor class, e.g. `PXEClient:Arch:00007:UNDI:003016`.
    pub vendor_class: String,
    /// User class, e.g. `iPXE`.
    pub user_class: String,
    /// Client architecture (RFC 4578 and its registry).
    pub architecture: Option<u16>,
    /// Machine identifier of the client, as text.
    pub machine_id: Option<String>,
    /// Relay agent.
    pub relay: Option<IpAddr>,
    /// PXE options of a server.
    pub pxe: PxeOptions,
    /// True if options may be beyond the captured part.
    pub truncated: bool,
    /// True if the options are malformed.
    pub malformed: bool,
}

impl DhcpMessage {
    /// True if the message is a request of a network boot or a response to one. Other clients request addresses, too.
    #[must_use]
    pub fn is_network_boot(&self) -> bool {
        self.architecture.is_some()
            || self.vendor_class.starts_with("PXEClient")
            || self.vendor_class.starts_with("HTTPClient")
            || matches!(self.kind, DhcpKind::UnknownRequest | DhcpKind::BootRequest)
    }
}

named! {
    /// Type of a DHCP message.
    #[derive(Hash, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum DhcpKind {
        /// DHCPDISCOVER.
        Discover = "DISCOVER",
        /// DHCPOFFER.
        Offer = "OFFER",
        /// DHCPREQUEST.
        Request = "REQUEST",
        /// DHCPACK.
        Ack = "ACK",
        /// DHCPNAK.
        Nak = "NAK",
        /// DHCPDECLINE, and DECLINE of DHCPv6.
        Decline = "DECLINE",
        /// DHCPRELEASE, and RELEASE of DHCPv6.
        Release = "RELEASE",
        /// DHCPINFORM.
        Inform = "INFORM",
        /// BOOTREQUEST of plain BOOTP (RFC 951).
        BootRequest = "BOOTREQUEST",
        /// BOOTREPLY of plain BOOTP.
        BootReply = "BOOTREPLY",
        /// A request whose type is beyond the captured part.
        UnknownRequest = "request (kind cut off)",
        /// A response whose type is beyond the captured part.
        UnknownResponse = "answer (kind cut off)",
        /// SOLICIT of DHCPv6.
        Solicit = "SOLICIT",
        /// ADVERTISE of DHCPv6.
        Advertise = "ADVERTISE",
        /// REQUEST of DHCPv6.
        Request6 = "REQUEST",
        /// REPLY of DHCPv6.
        Reply = "REPLY",
        /// CONFIRM, RENEW or REBIND of DHCPv6.
        Extend = "RENEW",
        /// INFORMATION-REQUEST of DHCPv6.
        InformationRequest = "INFORMATION-REQUEST",
        /// RECONFIGURE of DHCPv6.
        Reconfigure = "RECONFIGURE",
        /// Any other type.
        Other = "other",
    }
}

impl DhcpKind {
    /// True if clients send messages of this type.
    #[must_use]
    pub const fn is_from_client(self) -> bool {
        !matches!(
            self,
            Self::Offer
                | Self::Ack
                | Self::Nak
                | Self::BootReply
                | Self::UnknownResponse
                | Self::Advertise
                | Self::Reply
                | Self::Reconfigure
        )
    }
}

/// Options added by a PXE server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PxeOptions {
    /// True if the message has PXE options.
    pub present: bool,
    /// Discovery control (option 43, suboption 6).
    pub discovery_control: Option<u8>,
    /// Number of listed boot servers (option 43, suboption 8).
    pub boot_servers: u32,
    /// Entries of the boot menu (option 43, suboption 9).
    pub menu: Vec<String>,
    /// Prompt of the boot menu (option 43, suboption 10).
    pub prompt: Option<String>,
    /// Seconds until the first menu entry starts; 0: immediately, 255: never (option 43, suboption 10).
    pub prompt_timeout_s: Option<u8>,
}

/// Formats a machine identifier; type 0 is a GUID in UEFI byte order.
pub(crate) fn machine_id(bytes: &[u8]) -> Option<String> {
    let (kind, id) = bytes.split_first()?;
    // Firmware without an identifier sends zeros.
    if *kind != 0 || id.iter().all(|&byte| byte == 0) {
        return None;
    }
    let id: &[u8; 16] = id.try_into().ok()?;
    let mut text = String::with_capacity(36);
    for (position, index) in [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].into_iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{:02x}", id[index]);
    }
    Some(text)
}

/// Returns the name of a client architecture.
#[must_use]
pub fn architecture_name(code: u16) -> &'static str {
    match code {
        0 => "BIOS",
        1 => "NEC PC-98",
        2 => "Itanium UEFI",
        6 => "x86 UEFI",
        7 => "x64 UEFI",
        8 => "XScale UEFI",
        9 => "EBC (old firmware: x64 UEFI)",
        10 => "ARM32 UEFI",
        11 => "ARM64 UEFI",
        15 => "x86 UEFI, HTTP boot",
        16 => "x64 UEFI, HTTP boot",
        17 => "EBC, HTTP boot",
        18 => "ARM32 UEFI, HTTP boot",
        19 => "ARM64 UEFI, HTTP boot",
        20 => "BIOS, HTTP boot",
        25 => "RISC-V 32 UEFI",
        26 => "RISC-V 32 UEFI, HTTP boot",
        27 => "RISC-V 64 UEFI",
        28 => "RISC-V 64 UEFI, HTTP boot",
        37 => "LoongArch 32 UEFI",
        38 => "LoongArch 32 UEFI, HTTP boot",
        39 => "LoongArch 64 UEFI",
        40 => "LoongArch 64 UEFI, HTTP boot",
        _ => "unknown",
    }
}
