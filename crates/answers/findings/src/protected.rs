//! Services and drivers that advice must not ask to disable.
//!
//! Whether a computer boots without one is said by its `ErrorControl` (3: the boot fails without it) and `LaunchProtected`
//! values in the registry, which a recording does not hold. So advice about any service asks to check first, and about
//! these names it does not speak of disabling at all.
//!
//! Source: "some services are very important and are required for correct booting"; "if the error flag is set to
//! 3 CRITICAL and the start type is 0 BOOT START the system will not boot without it" (Improving Performance in Windows
//! Embedded Standard 7). The list holds Windows' own services that others declare they depend on, those that hold the
//! session, security and storage up, and the protected ones of malware protection.

use onoff_image::{ErrorControl, ServiceEntry, ServiceStart};

/// Names in lower case.
const PROTECTED: &[&str] = &[
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

/// Whether a service is one that advice never asks to disable.
#[must_use]
pub fn is_protected(service: &str) -> bool {
    let name = service.to_ascii_lowercase();
    PROTECTED.binary_search(&name.as_str()).is_ok()
}

/// Why a service of Windows itself stays as it is.
pub const PART_OF_WINDOWS: &str = "it is part of Windows, and others need it";

/// Why advice must not ask to disable a service of an installation whose registry is at hand; `None` where it may.
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

/// Advice about a service, unless it must stay as it is.
#[must_use]
pub fn with_guard(service: &ServiceEntry, advice: &str) -> String {
    match guard(service) {
        Some(reason) => format!("leave {} as it is: {reason}", service.name),
        None => advice.to_owned(),
    }
}

/// What to do about a service that is slow to start.
#[must_use]
pub fn advice_for_service(service: &str) -> String {
    if is_protected(service) {
        format!(
            "{service} is part of Windows and others need it: leave it on; find what it waits for \
             ('onoff why FILE --service {}') and mend that",
            crate::shell_argument::argument(service)
        )
    } else {
        format!(
            "have {service} report that it runs before it does its long work, or start it on demand, by a trigger or delayed; \
             check first with 'sc qc {service}' that its ERROR_CONTROL is not 3 and with 'sc enumdepend {service}' that \
             nothing needs it earlier"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_searched_and_knows_no_case() {
        assert!(PROTECTED.is_sorted_by(|a, b| a < b), "sorted, each once");
        assert!(is_protected("RpcSs") && is_protected("WinDefend"));
        assert!(!is_protected("Slowsvc"));
    }

    #[test]
    fn what_windows_cannot_boot_without_and_what_is_protected_stays() {
        let of = |name: &str, start, error_control, launch_protected| {
            guard(&ServiceEntry {
                name: name.to_owned(),
                start,
                error_control,
                launch_protected,
                ..ServiceEntry::default()
            })
        };
        assert!(of("rdyboost", ServiceStart::Boot, ErrorControl::Critical, 0).is_some());
        assert!(of("shield", ServiceStart::Auto, ErrorControl::Normal, 3).is_some());
        assert!(of("RpcSs", ServiceStart::Auto, ErrorControl::Normal, 0).is_some());
        assert!(of("rdyboost", ServiceStart::Auto, ErrorControl::Critical, 0).is_none());
        assert!(of("extra", ServiceStart::Boot, ErrorControl::Normal, 0).is_none());
    }

    #[test]
    fn nobody_is_told_to_turn_a_protected_service_off() {
        for name in PROTECTED {
            let advice = advice_for_service(name);
            assert!(advice.contains("leave it on"), "{advice}");
            assert!(!advice.contains("demand"), "{advice}");
        }
        assert!(advice_for_service("Slowsvc").contains("ERROR_CONTROL"));
    }
}
