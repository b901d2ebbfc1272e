//! Services of Windows that a device with one purpose can often do without, and what each is for.
//!
//! A service is listed where it starts with the computer and nothing says that it must stay. That is a list of what to look at, and no
//! finding: whether the device needs it, only who built the device knows.
//!
//! Source: "Frequently packages contain services which are important to part of that packages functionality, but may not apply to your
//! system … Here are some examples of services to examine" (Improving Performance in Windows Embedded Standard 7, "Services"). The paper
//! names the NFS client, with what it cost; the text that this project has holds none of its other examples. What the others here are for
//! is what Windows itself says about them, in our words.

use onoff_image::{ImageReport, ServiceEntry, ServiceStart};
use serde::Serialize;

/// A service that starts with the computer and that the computer may not need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceCandidate {
    /// Service.
    pub service: String,
    /// What it is for: who does not need that does not need the service.
    pub purpose: &'static str,
    /// What the paper measured of it; empty where it measured nothing.
    pub cost: &'static str,
    /// Services that name it as one that starts before them.
    pub needed_by: Vec<String>,
}

/// Names in lower case, and what each is for.
const PURPOSES: &[(&str, &str)] = &[
    ("aelookupsvc", "remedies for old programs when they start"),
    ("alg", "protocols of other makers through Internet Connection Sharing"),
    ("bits", "downloads in the background, as of Windows Update"),
    ("browser", "the list of computers in the network neighborhood (before SMB 2)"),
    ("bthserv", "Bluetooth devices"),
    ("cdpsvc", "going on with work on another device"),
    ("cscservice", "network files that are kept for work without the network"),
    ("defragsvc", "defragmentation of disks"),
    ("diagtrack", "telemetry for Microsoft"),
    ("dps", "finding and mending problems of Windows"),
    ("dusmsvc", "how much data each program sends and receives"),
    ("ehrecvr", "recording television (Media Center)"),
    ("ehsched", "recording television (Media Center)"),
    ("fax", "sending and receiving faxes"),
    ("fdphost", "finding devices in the network"),
    ("fdrespub", "showing this computer to others in the network"),
    ("fontcache", "fonts: a cache for programs that draw much text"),
    ("fontcache3.0.0.0", "fonts: a cache for programs of .NET's WPF"),
    ("homegrouplistener", "a home group of computers"),
    ("homegroupprovider", "a home group of computers"),
    ("ikeext", "keys for IPsec"),
    ("iphlpsvc", "IPv6 through IPv4 networks"),
    ("lmhosts", "names of computers by NetBIOS"),
    ("mapsbroker", "maps that were downloaded"),
    ("nfsclnt", "files on servers with NFS"),
    ("p2pimsvc", "peer-to-peer networks"),
    ("pcasvc", "problems of old programs"),
    ("policyagent", "IPsec by policy"),
    ("remoteregistry", "changes to this registry from other computers"),
    ("retaildemo", "a demonstration for shops"),
    ("scardsvr", "smart cards"),
    ("shellhwdetection", "AutoPlay, when a medium is put in"),
    ("snmp", "management by SNMP"),
    ("spooler", "printing"),
    ("ssdpsrv", "finding devices by UPnP"),
    ("stisvc", "scanners and cameras"),
    ("tabletinputservice", "a pen, handwriting and the touch keyboard"),
    ("tapisrv", "telephones and modems"),
    ("tlntsvr", "logging on by Telnet"),
    ("trkwks", "links to files that moved to other NTFS volumes"),
    ("upnphost", "being a device of UPnP"),
    ("w32time", "the clock by the network"),
    ("wbengine", "backups by Windows"),
    ("wbiosrvc", "fingerprint readers and cameras for the logon"),
    ("webclient", "files on servers with WebDAV"),
    ("wersvc", "reports of crashes to Microsoft"),
    ("wiaservc", "scanners and cameras"),
    ("wisvc", "previews of Windows (Insider)"),
    ("wmpnetworksvc", "sharing of media with other players"),
    ("wpdbusenum", "portable media players and phones"),
    ("wsearch", "the index of the search"),
    ("wuauserv", "Windows Update"),
];

/// What the paper measured.
const COSTS: &[(&str, &str)] = &[("nfsclnt", "20 to 45 s in some boots")];

fn of(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let at = table.binary_search_by(|&(other, _)| other.cmp(name.as_str())).ok()?;
    table.get(at).map(|&(_, text)| text)
}

/// The services of an installation that start with the computer and that it may not need, those with a known cost first. `stays` says of
/// one that it does need it, or must have it.
pub(crate) fn candidates(report: &ImageReport, stays: impl Fn(&ServiceEntry) -> bool) -> Vec<ServiceCandidate> {
    let mut candidates: Vec<ServiceCandidate> = report
        .services
        .iter()
        .filter(|service| service.start == ServiceStart::Auto && !stays(service))
        .filter_map(|service| {
            Some(ServiceCandidate {
                service: service.name.clone(),
                purpose: of(PURPOSES, &service.name)?,
                cost: of(COSTS, &service.name).unwrap_or_default(),
                needed_by: service.needed_by.clone(),
            })
        })
        .collect();
    candidates.sort_by_key(|one| (one.cost.is_empty(), one.service.to_lowercase()));
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protected::is_protected;

    #[test]
    fn the_tables_can_be_searched_and_name_nothing_that_must_stay() {
        for table in [PURPOSES, COSTS] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0), "sorted, each once");
        }
        assert!(PURPOSES.iter().all(|(name, purpose)| !is_protected(name) && !purpose.is_empty()));
        assert!(COSTS.iter().all(|(name, _)| of(PURPOSES, name).is_some()));
        assert_eq!(of(PURPOSES, "NfsClnt"), Some("files on servers with NFS"));
        assert_eq!(of(PURPOSES, "RpcSs"), None);
    }
}
