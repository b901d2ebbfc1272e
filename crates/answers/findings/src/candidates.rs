//! Windows services that a single-purpose device can often do without, with the purpose of each.
//!
//! A service is listed if it starts at boot and nothing requires it. The list is a starting point, not a finding: only
//! the manufacturer of the device knows whether it needs the service.
//!
//! Source: "Frequently packages contain services which are important to part of that packages functionality, but may
//! not apply to your system … Here are some examples of services to examine" (Improving Performance in Windows Embedded
//! Standard 7, "Services"). The paper names the NFS client and its cost; its other examples are not in the text
//! available to this project. The purposes paraphrase Windows' own service descriptions.

use onoff_image::{ImageReport, ServiceEntry, ServiceStart};
use serde::Serialize;

/// A service that starts at boot and that the computer may not need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceCandidate {
    pub service: String,
    /// What the service is for.
    pub purpose: &'static str,
    /// The cost measured in the paper; empty if it was not measured.
    pub cost: &'static str,
    /// Services that depend on it.
    pub needed_by: Vec<String>,
}

/// Service names in lower case, with their purpose.
const PURPOSES: &[(&str, &str)] = &[
    ("aelookupsvc", "compatibility fixes for old programs"),
    ("alg", "third-party protocol plug-ins for Internet Connection Sharing"),
    ("bits", "background downloads, for example by Windows Update"),
    ("browser", "the list of computers in Network Neighborhood (SMB 1)"),
    ("bthserv", "Bluetooth devices"),
    ("cdpsvc", "continuing work on another device"),
    ("cscservice", "offline copies of network files"),
    ("defragsvc", "disk defragmentation"),
    ("diagtrack", "telemetry to Microsoft"),
    ("dps", "detecting and fixing Windows problems"),
    ("dusmsvc", "network data usage per program"),
    ("ehrecvr", "recording television (Media Center)"),
    ("ehsched", "recording television (Media Center)"),
    ("fax", "sending and receiving faxes"),
    ("fdphost", "finding devices on the network"),
    ("fdrespub", "making this computer visible to others on the network"),
    ("fontcache", "a font cache for text-heavy programs"),
    ("fontcache3.0.0.0", "a font cache for .NET WPF programs"),
    ("homegrouplistener", "a home group of computers"),
    ("homegroupprovider", "a home group of computers"),
    ("ikeext", "IPsec key exchange"),
    ("iphlpsvc", "IPv6 over IPv4 networks"),
    ("lmhosts", "NetBIOS name resolution"),
    ("mapsbroker", "downloaded maps"),
    ("nfsclnt", "files on NFS servers"),
    ("p2pimsvc", "peer-to-peer networks"),
    ("pcasvc", "detecting compatibility problems of old programs"),
    ("policyagent", "IPsec policies"),
    ("remoteregistry", "remote access to the registry"),
    ("retaildemo", "retail demo mode"),
    ("scardsvr", "smart cards"),
    ("shellhwdetection", "AutoPlay for removable media"),
    ("snmp", "SNMP management"),
    ("spooler", "printing"),
    ("ssdpsrv", "finding UPnP devices"),
    ("stisvc", "scanners and cameras"),
    ("tabletinputservice", "pen input, handwriting and the touch keyboard"),
    ("tapisrv", "telephony and modems"),
    ("tlntsvr", "Telnet logons"),
    ("trkwks", "links to files that moved to other NTFS volumes"),
    ("upnphost", "hosting UPnP devices"),
    ("w32time", "clock synchronization over the network"),
    ("wbengine", "Windows Backup"),
    ("wbiosrvc", "biometric logon (fingerprint readers and cameras)"),
    ("webclient", "files on WebDAV servers"),
    ("wersvc", "crash reports to Microsoft"),
    ("wiaservc", "scanners and cameras"),
    ("wisvc", "the Windows Insider program"),
    ("wmpnetworksvc", "sharing media with other players"),
    ("wpdbusenum", "portable media players and phones"),
    ("wsearch", "the search index"),
    ("wuauserv", "Windows Update"),
];

/// Costs measured in the paper.
const COSTS: &[(&str, &str)] = &[("nfsclnt", "20 to 45 s in some boots")];

fn lookup(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let index = table.binary_search_by(|&(key, _)| key.cmp(name.as_str())).ok()?;
    table.get(index).map(|&(_, text)| text)
}

/// Returns automatic services the computer may not need, those with a known cost first. `must_stay` excludes services
/// that are needed or protected.
pub(crate) fn candidates(report: &ImageReport, must_stay: impl Fn(&ServiceEntry) -> bool) -> Vec<ServiceCandidate> {
    let mut candidates: Vec<ServiceCandidate> = report
        .services
        .iter()
        .filter(|service| service.start == ServiceStart::Auto && !must_stay(service))
        .filter_map(|service| {
            Some(ServiceCandidate {
                service: service.name.clone(),
                purpose: lookup(PURPOSES, &service.name)?,
                cost: lookup(COSTS, &service.name).unwrap_or_default(),
                needed_by: service.needed_by.clone(),
            })
        })
        .collect();
    candidates.sort_by_key(|candidate| (candidate.cost.is_empty(), candidate.service.to_lowercase()));
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protected::is_protected;

    #[test]
    fn tables_are_sorted_and_exclude_protected_services() {
        for table in [PURPOSES, COSTS] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0), "sorted, each once");
        }
        assert!(PURPOSES.iter().all(|(name, purpose)| !is_protected(name) && !purpose.is_empty()));
        assert!(COSTS.iter().all(|(name, _)| lookup(PURPOSES, name).is_some()));
        assert_eq!(lookup(PURPOSES, "NfsClnt"), Some("files on NFS servers"));
        assert_eq!(lookup(PURPOSES, "RpcSs"), None);
    }
}
