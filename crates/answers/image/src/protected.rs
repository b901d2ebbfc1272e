//! Services and drivers that advice must not suggest disabling.
//!
//! Whether a computer boots without a service depends on its `ErrorControl` (3: the boot fails without it) and
//! `LaunchProtected` values in the registry, which a recording does not contain. So advice about any service asks to
//! check first, and for these names it never mentions disabling.
//!
//! Source: "some services are very important and are required for correct booting"; "if the error flag is set to 3
//! CRITICAL and the start type is 0 BOOT START the system will not boot without it" (Improving Performance in Windows
//! Embedded Standard 7). The list contains Windows services that others declare as dependencies, the services of the
//! session, security and storage, and the protected antimalware services.

use crate::{ErrorControl, ServiceEntry, ServiceStart};

/// Service names in lower case, sorted.
pub const PROTECTED: &[&str] = &[
    "appidsvc",
    "appinfo",
    "appmgmt",
    "audioendpointbuilder",
    "audiosrv",
    "bfe",
    "brokerinfrastructure",
    "coremessagingregistrar",
    "cryptsvc",
    "dcomlaunch",
    "deviceinstall",
    "dhcp",
    "dnscache",
    "eventlog",
    "eventsystem",
    "gpsvc",
    "keyiso",
    "lanmanserver",
    "lanmanworkstation",
    "lsm",
    "mpssvc",
    "msiserver",
    "netlogon",
    "netman",
    "netprofm",
    "nlasvc",
    "nsi",
    "plugplay",
    "power",
    "profsvc",
    "rpceptmapper",
    "rpcss",
    "samss",
    "schedule",
    "securityhealthservice",
    "sens",
    "sense",
    "staterepository",
    "sysmain",
    "systemeventsbroker",
    "termservice",
    "themes",
    "timebrokersvc",
    "trustedinstaller",
    "usermanager",
    "vaultsvc",
    "wcmsvc",
    "wdnissvc",
    "webthreatdefsvc",
    "windefend",
    "winmgmt",
    "wlansvc",
    "wscsvc",
];

/// True for services that advice never suggests disabling.
#[must_use]
pub fn is_protected(service: &str) -> bool {
    let name = service.to_ascii_lowercase();
    PROTECTED.binary_search(&name.as_str()).is_ok()
}

/// Reason for leaving a Windows service unchanged.
pub const PART_OF_WINDOWS: &str = "it is part of Windows, and other services need it";

/// Reason why a service with known registry settings must not be disabled; `None` if it may be.
#[must_use]
pub fn guard(service: &ServiceEntry) -> Option<&'static str> {
    if service.start == ServiceStart::Boot && service.error_control == ErrorControl::Critical {
        Some("Windows does not boot without it")
    } else if service.launch_protected > 0 {
        Some("its process is protected")
    } else if is_protected(&service.name) {
        Some(PART_OF_WINDOWS)
    } else {
        None
    }
}

/// Returns the advice, or the reason why the service must be left unchanged.
#[must_use]
pub fn with_guard(service: &ServiceEntry, advice: &str) -> String {
    match guard(service) {
        Some(reason) => format!("leave {} unchanged: {reason}", service.name),
        None => advice.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_sorted_and_ignores_case() {
        assert!(PROTECTED.is_sorted_by(|a, b| a < b), "sorted, each once");
        assert!(is_protected("RpcSs") && is_protected("WinDefend"));
        assert!(!is_protected("Slowsvc"));
    }

    #[test]
    fn guards_critical_and_protected_services() {
        let guard_of = |name: &str, start, error_control, launch_protected| {
            guard(&ServiceEntry {
                name: name.to_owned(),
                start,
                error_control,
                launch_protected,
                ..ServiceEntry::default()
            })
        };
        assert!(guard_of("rdyboost", ServiceStart::Boot, ErrorControl::Critical, 0).is_some());
        assert!(guard_of("shield", ServiceStart::Auto, ErrorControl::Normal, 3).is_some());
        assert!(guard_of("RpcSs", ServiceStart::Auto, ErrorControl::Normal, 0).is_some());
        assert!(guard_of("rdyboost", ServiceStart::Auto, ErrorControl::Critical, 0).is_none());
        assert!(guard_of("extra", ServiceStart::Boot, ErrorControl::Normal, 0).is_none());
    }
}
