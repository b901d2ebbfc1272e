//! What a started program does with storage servers: the disk or root file system of the operating system over iSCSI,
//! NBD, NFS or SMB.

use std::net::SocketAddr;

use onoff_netboot::storage::StorageService;

use super::loads::Loaded;
use super::{Conclusion, Evidence, Reason, StageKind, Verdict, http, time};

/// An operating system mounts its root soon after its network starts; later connections are ordinary work, ns.
const MAX_ROOT_DELAY_NS: i64 = 60_000_000_000;

/// A client's use of a storage server.
struct Access {
    service: StorageService,
    server: SocketAddr,
    start_ns: i64,
    last_ns: i64,
    result: AccessResult,
}

enum AccessResult {
    /// The server accepted the connection and answered.
    Granted,
    /// The server accepted the connection, and nothing shows how it went on.
    Open,
    Refused(String),
    Unanswered(u64),
}

/// Returns the conclusion that a storage access allows: a granted one shows that the program started, a refused one
/// that it cannot go on.
pub(super) fn conclusion(evidence: &Evidence<'_>, loaded: Option<&Loaded>) -> Option<Conclusion> {
    if loaded.is_none() && !http::has_program(evidence) {
        return None;
    }
    let after_ns = loaded.map_or(i64::MIN, |loaded| loaded.end_ns);
    let mut accesses = connections(evidence, after_ns);
    accesses.extend(calls(evidence, after_ns));
    accesses.sort_by_key(|access| access.start_ns);
    let name = loaded.map_or("the boot program", |loaded| loaded.name.as_str());
    let granted = accesses.iter().find(|access| matches!(access.result, AccessResult::Granted));
    if let Some(access) = granted {
        let service = access.service.as_str();
        let description = format!("{name} was loaded, and the client then used its {service} server {}", access.server);
        return Some(Conclusion::new(Verdict::Loaded, Reason::SystemStarted, access.start_ns, description));
    }
    let last = accesses.iter().rfind(|access| {
        let is_late =
            evidence.system_ns.is_some_and(|system_ns| access.start_ns.saturating_sub(system_ns) > MAX_ROOT_DELAY_NS);
        // Windows connects to any file server it knows.
        let is_ordinary = access.service == StorageService::Smb && evidence.system_ns.is_some();
        !is_late && !is_ordinary && !matches!(access.result, AccessResult::Open)
    })?;
    let (service, server) = (last.service.as_str(), last.server);
    let fail = |reason, description: String, advice: &str| {
        Conclusion::failed(reason, StageKind::OperatingSystem, last.last_ns, description, advice)
    };
    match &last.result {
        AccessResult::Refused(how) => {
            let description = format!("{name} was loaded, and the {service} server {server} refused the client: {how}");
            let advice = "start the storage service at this address, and allow this client the target, export or share that its loader names";
            Some(fail(Reason::StorageRefused, description, advice))
        }
        AccessResult::Unanswered(requests) if *requests > 1 && evidence.is_over(last.last_ns) => {
            let description = format!(
                "{name} was loaded, and the {service} server {server} did not answer {requests} requests in {}",
                time(last.last_ns.saturating_sub(last.start_ns))
            );
            let advice = "start the storage service at this address, and open its port in the firewall";
            Some(fail(Reason::StorageUnanswered, description, advice).likely())
        }
        _ => None,
    }
}

fn connections(evidence: &Evidence<'_>, after_ns: i64) -> Vec<Access> {
    let later = evidence.connections.iter().filter(|connection| connection.first_ns > after_ns);
    later
        .filter_map(|connection| {
            let service = connection.storage()?;
            let result = match (&connection.refusal, connection.reset) {
                (Some(refusal), _) => AccessResult::Refused(refusal.answer.clone()),
                (None, Some(reset)) if connection.accepted_ns.is_none() && !reset.from_client => {
                    AccessResult::Refused("connection refused (TCP reset)".to_owned())
                }
                _ if connection.accepted_ns.is_none() => {
                    match evidence.report_about(connection.client, connection.server, connection.first_ns) {
                        Some(report) => AccessResult::Refused(format!("ICMP {}", report.packet.reason.as_str())),
                        None => AccessResult::Unanswered(connection.syns),
                    }
                }
                _ if connection.storage_granted || connection.server_bytes > 0 => AccessResult::Granted,
                _ => AccessResult::Open,
            };
            Some(Access {
                service,
                server: connection.server,
                start_ns: connection.first_ns,
                last_ns: connection.last_ns,
                result,
            })
        })
        .collect()
}

fn calls(evidence: &Evidence<'_>, after_ns: i64) -> Vec<Access> {
    let is_client = |address: &SocketAddr| evidence.client.addresses.contains(&address.ip().to_string());
    let later = evidence
        .capture
        .rpc_calls
        .iter()
        .filter(|call| call.call_ns > after_ns && call.call_ns < evidence.until_ns && is_client(&call.client));
    later
        .map(|call| {
            let report = || evidence.report_about(call.client, call.server, call.call_ns);
            let result = match (&call.refusal, call.reply_ns) {
                (Some(answer), _) => AccessResult::Refused(answer.clone()),
                (None, Some(_)) if call.is_mount() => AccessResult::Granted,
                (None, Some(_)) => AccessResult::Open,
                (None, None) => match report() {
                    Some(report) => AccessResult::Refused(format!("ICMP {}", report.packet.reason.as_str())),
                    None => AccessResult::Unanswered(call.calls),
                },
            };
            Access {
                service: StorageService::Nfs,
                server: call.server,
                start_ns: call.call_ns,
                last_ns: call.last_call_ns,
                result,
            }
        })
        .collect()
}
