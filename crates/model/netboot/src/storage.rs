//! Storage services that a booted program uses: iSCSI, NBD, NFS and SMB, and how they refuse a client.

use std::net::SocketAddr;

use onoff_trace::named;
use serde::Serialize;

use crate::frame::Datagram;
use crate::limits::MAX_RPC_CALLS;

named! {
    /// A storage service.
    #[derive(Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum StorageService {
        /// Internet SCSI (RFC 7143).
        Iscsi = "iSCSI",
        /// Network block device.
        Nbd = "NBD",
        /// Network File System, with its port mapper and mount service.
        Nfs = "NFS",
        /// Server Message Block.
        Smb = "SMB",
    }
}

/// Port mapper and mount service of NFS.
const PORT_MAPPER: u16 = 111;
const MOUNT_SERVICE: u16 = 20_048;

impl StorageService {
    /// Returns the service that uses a TCP port.
    #[must_use]
    pub const fn of_port(port: u16) -> Option<Self> {
        match port {
            3260 => Some(Self::Iscsi),
            10_809 => Some(Self::Nbd),
            2049 | PORT_MAPPER | MOUNT_SERVICE => Some(Self::Nfs),
            445 => Some(Self::Smb),
            _ => None,
        }
    }
}

/// A refusal in the protocol of a storage service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageRefusal {
    /// Time, ns.
    pub time_ns: i64,
    /// What the server answered, such as `login status 0x0203, target not found`.
    pub answer: String,
}

/// What a response shows about a client's request for storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StorageResponse {
    Granted,
    Refused(String),
}

/// Reads the start of a server's segment. Returns `None` for packets that neither grant nor refuse the storage.
pub(crate) fn parse_response(service: StorageService, port: u16, payload: &[u8]) -> Option<StorageResponse> {
    match service {
        StorageService::Iscsi => iscsi(payload),
        StorageService::Nbd => nbd(payload),
        StorageService::Smb => smb(payload),
        StorageService::Nfs => rpc_reply(payload.get(4..)?, port == MOUNT_SERVICE),
    }
}

/// Reads a login response (RFC 7143, section 11.13).
fn iscsi(payload: &[u8]) -> Option<StorageResponse> {
    const LOGIN_RESPONSE: u8 = 0x23;
    let header: &[u8; 48] = payload.first_chunk()?;
    if header[0] & 0x3F != LOGIN_RESPONSE {
        return None;
    }
    let reason = match (header[36], header[37]) {
        (0, _) => return Some(StorageResponse::Granted),
        (1, _) => return None,
        (2, 1) => "authentication failure",
        (2, 2) => "authorization failure",
        (2, 3) => "target not found",
        (2, 4) => "target removed",
        (2, 7) => "missing parameter",
        (3, 1) => "service unavailable",
        (3, 2) => "out of resources",
        (2, _) => "initiator error",
        _ => "target error",
    };
    Some(StorageResponse::Refused(format!("login status 0x{:02x}{:02x}, {reason}", header[36], header[37])))
}

/// Reads an option reply of the handshake of NBD.
fn nbd(payload: &[u8]) -> Option<StorageResponse> {
    const OPTION_REPLY: u64 = 0x0003_E889_0455_65A9;
    let (head, rest) = payload.split_first_chunk::<8>()?;
    if u64::from_be_bytes(*head) != OPTION_REPLY {
        return None;
    }
    let reply: &[u8; 4] = rest.get(4..)?.first_chunk()?;
    let reason = match u32::from_be_bytes(*reply) {
        1 | 3 => return Some(StorageResponse::Granted),
        0x8000_0002 => "refused by policy",
        0x8000_0003 => "invalid request",
        0x8000_0005 => "TLS required",
        0x8000_0006 => "unknown export",
        0x8000_0007 => "server shuts down",
        _ => return None,
    };
    Some(StorageResponse::Refused(format!("option error, {reason}")))
}

/// Reads a response to a session setup or tree connect (MS-SMB2, section 2.2.1).
fn smb(payload: &[u8]) -> Option<StorageResponse> {
    let header: &[u8; 64] = payload.get(4..)?.first_chunk()?;
    let is_response = header[16] & 1 != 0;
    if header[..4] != *b"\xFESMB" || !is_response {
        return None;
    }
    let command = match u16::from_le_bytes([header[12], header[13]]) {
        1 => "session setup",
        3 => "tree connect",
        _ => return None,
    };
    let status = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
    let reason = match status {
        0 => return (command == "tree connect").then_some(StorageResponse::Granted),
        // More processing required.
        0xC000_0016 => return None,
        0xC000_0022 => "access denied",
        0xC000_006D => "logon failure",
        0xC000_00CC => "unknown share",
        _ => "error",
    };
    Some(StorageResponse::Refused(format!("{command} status 0x{status:08x}, {reason}")))
}

/// Reads an RPC reply (RFC 5531, section 9). Replies of the mount service start with a status.
fn rpc_reply(message: &[u8], is_mount: bool) -> Option<StorageResponse> {
    let word = |index: usize| {
        let bytes = message.get(index * 4..)?.first_chunk::<4>()?;
        Some(u32::from_be_bytes(*bytes))
    };
    if word(1)? != 1 {
        return None;
    }
    match word(2)? {
        0 => {}
        1 => return Some(StorageResponse::Refused("call denied".to_owned())),
        _ => return None,
    }
    let verifier_words = word(4)?.div_ceil(4) as usize;
    match word(5_usize.checked_add(verifier_words)?)? {
        0 => {}
        1 => return Some(StorageResponse::Refused("program not available".to_owned())),
        _ => return None,
    }
    let status = word(6_usize.checked_add(verifier_words)?);
    let reason = match status.filter(|_| is_mount)? {
        0 => return Some(StorageResponse::Granted),
        1 => "not the owner",
        2 => "no such directory",
        13 => "permission denied",
        20 => "not a directory",
        10_004 => "not supported",
        _ => return None,
    };
    Some(StorageResponse::Refused(format!("mount status {}, {reason}", status.unwrap_or(0))))
}

/// A call to NFS, its mount service or its port mapper over UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcCall {
    pub client: SocketAddr,
    pub server: SocketAddr,
    transaction: u32,
    is_mount: bool,
    /// Time of the first call, ns.
    pub call_ns: i64,
    /// Number of calls, including retransmissions.
    pub calls: u64,
    /// Time of the last call, ns.
    pub last_call_ns: i64,
    /// Time of the reply, ns.
    pub reply_ns: Option<i64>,
    /// The server's refusal, if it refused the call.
    pub refusal: Option<String>,
}

impl RpcCall {
    /// True for a call that mounts a directory.
    #[must_use]
    pub fn is_mount(&self) -> bool {
        self.is_mount
    }
}

/// Returns the transaction and true for a mount call, if the datagram is a call to an NFS service.
fn parse_call(payload: &[u8]) -> Option<(u32, bool)> {
    const MOUNT: u32 = 1;
    let head: &[u8; 24] = payload.first_chunk()?;
    let word = |offset: usize| u32::from_be_bytes([head[offset], head[offset + 1], head[offset + 2], head[offset + 3]]);
    // A call of RPC version 2.
    if word(4) != 0 || word(8) != 2 {
        return None;
    }
    match word(12) {
        100_000 | 100_003 => Some((word(0), false)),
        100_005 => Some((word(0), word(20) == MOUNT)),
        _ => None,
    }
}

/// Records a call or reply. Returns `None` if the datagram is neither, `Some(false)` if there is no room.
pub(crate) fn record(calls: &mut Vec<RpcCall>, time_ns: i64, datagram: &Datagram<'_>) -> Option<bool> {
    /// Replies come soon, so only the latest calls are considered.
    const MAX_PENDING: usize = 64;
    let is_full = calls.len() >= MAX_RPC_CALLS;
    if let Some((transaction, is_mount)) = parse_call(datagram.payload) {
        let (client, server) = (datagram.source, datagram.destination);
        let repeated = calls
            .iter_mut()
            .rev()
            .take(MAX_PENDING)
            .find(|call| (call.client, call.server, call.transaction) == (client, server, transaction));
        match repeated {
            Some(call) => (call.calls, call.last_call_ns) = (call.calls + 1, time_ns),
            None if is_full => return Some(false),
            None => calls.push(RpcCall {
                client,
                server,
                transaction,
                is_mount,
                call_ns: time_ns,
                calls: 1,
                last_call_ns: time_ns,
                reply_ns: None,
                refusal: None,
            }),
        }
        return Some(true);
    }
    let transaction = u32::from_be_bytes(*datagram.payload.first_chunk()?);
    let call = calls.iter_mut().rev().take(MAX_PENDING).find(|call| {
        (call.client, call.server, call.transaction) == (datagram.destination, datagram.source, transaction)
    })?;
    if call.reply_ns.is_none() {
        call.reply_ns = Some(time_ns);
        if let Some(StorageResponse::Refused(answer)) = rpc_reply(datagram.payload, call.is_mount) {
            call.refusal = Some(answer);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn reads_refusals() {
        let mut login = [0_u8; 48];
        login[0] = 0x23;
        assert_eq!(parse_response(StorageService::Iscsi, 3260, &login), Some(StorageResponse::Granted));
        (login[36], login[37]) = (2, 3);
        let refused = |text: &str| Some(StorageResponse::Refused(text.to_owned()));
        assert_eq!(
            parse_response(StorageService::Iscsi, 3260, &login),
            refused("login status 0x0203, target not found")
        );
        let option = [&0x0003_E889_0455_65A9_u64.to_be_bytes()[..], &words(&[7, 0x8000_0006, 0])].concat();
        assert_eq!(parse_response(StorageService::Nbd, 10_809, &option), refused("option error, unknown export"));
        let mut tree = vec![0_u8; 68];
        tree[4..8].copy_from_slice(b"\xFESMB");
        tree[12..16].copy_from_slice(&0xC000_00CC_u32.to_le_bytes());
        (tree[16], tree[20]) = (3, 1);
        assert_eq!(
            parse_response(StorageService::Smb, 445, &tree),
            refused("tree connect status 0xc00000cc, unknown share")
        );
        for length in 0..tree.len() {
            let _ = parse_response(StorageService::Smb, 445, &tree[..length]);
            assert_eq!(parse_response(StorageService::Iscsi, 3260, &login[..length.min(47)]), None);
        }
    }

    #[test]
    fn pairs_calls_and_replies() {
        let datagram = |payload, source: &str, destination: &str| Datagram {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            payload,
            payload_bytes: 40,
            fragment: None,
        };
        let call = words(&[77, 0, 2, 100_005, 3, 1, 0, 0, 0, 0]);
        let denied = words(&[77, 1, 0, 0, 0, 0, 13]);
        let mut calls = Vec::new();
        assert_eq!(record(&mut calls, 5, &datagram(&call, "10.0.0.2:900", "10.0.0.1:700")), Some(true));
        assert_eq!(record(&mut calls, 6, &datagram(&call, "10.0.0.2:900", "10.0.0.1:700")), Some(true));
        assert_eq!(record(&mut calls, 7, &datagram(&denied, "10.0.0.1:701", "10.0.0.2:900")), None, "other port");
        assert_eq!(record(&mut calls, 8, &datagram(&denied, "10.0.0.1:700", "10.0.0.2:900")), Some(true));
        assert_eq!((calls.len(), calls[0].calls, calls[0].reply_ns), (1, 2, Some(8)));
        assert_eq!(calls[0].refusal.as_deref(), Some("mount status 13, permission denied"));
        // A block of a file.
        assert_eq!(record(&mut calls, 9, &datagram(b"\0\x03\0\x01\0\0\0\x01", "10.0.0.1:701", "10.0.0.2:900")), None);
    }
}
