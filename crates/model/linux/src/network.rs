//! Recognizes log lines that report state changes of network interfaces: lost, associated, ready, address assigned.
//!
//! Sources of the lines: mac80211 (`wlan0: associated`), the kernel's drivers (`link becomes ready`, `NIC Link is Up`),
//! wpa_supplicant's control events, NetworkManager's device states and leases, systemd-networkd, dhclient, dhcpcd and
//! iwd.

use onoff_trace::milestone;

/// Parses a line of `sender`, which is empty for the kernel. Returns the interface, empty if unknown, and its new
/// state.
pub(super) fn step<'a>(sender: &str, text: &'a str) -> Option<(&'a str, &'static str)> {
    match sender {
        "" | "kernel" => parse_kernel(text),
        "wpa_supplicant" => {
            let (interface, message) = split_interface(text)?;
            let is = |event: &str| message.starts_with(event);
            if is("CTRL-EVENT-CONNECTED") {
                Some((interface, milestone::NETWORK_ASSOCIATED))
            } else {
                is("CTRL-EVENT-DISCONNECTED").then_some((interface, milestone::NETWORK_LOST))
            }
        }
        "NetworkManager" => parse_network_manager(text),
        "systemd-networkd" => {
            let (interface, message) = split_interface(text)?;
            let step = if message.starts_with("Gained carrier") {
                milestone::NETWORK_READY
            } else if message.starts_with("Lost carrier") {
                milestone::NETWORK_LOST
            } else if message.starts_with("Connected WiFi access point") {
                milestone::NETWORK_ASSOCIATED
            } else if message.starts_with("DHCPv4 address ") || message.starts_with("DHCPv6 address ") {
                milestone::NETWORK_ADDRESS
            } else {
                return None;
            };
            Some((interface, step))
        }
        "dhcpcd" => {
            let (interface, message) = split_interface(text)?;
            message.starts_with("leased ").then_some((interface, milestone::NETWORK_ADDRESS))
        }
        "dhclient" => text.starts_with("bound to ").then_some(("", milestone::NETWORK_ADDRESS)),
        "iwd" => text.ends_with("new: connected").then_some(("", milestone::NETWORK_ASSOCIATED)),
        _ => None,
    }
}

fn parse_kernel(text: &str) -> Option<(&str, &'static str)> {
    if let Some(source) = text.strip_suffix(": link becomes ready") {
        let interface = source.rsplit(": ").next()?;
        return is_interface(interface).then_some((interface, milestone::NETWORK_READY));
    }
    // "e1000e 0000:00:1f.6 eno1: NIC Link is Up 1000 Mbps Full Duplex"
    if let Some((source, _)) = text.split_once(": NIC Link is Up") {
        let interface = source.rsplit(' ').next()?;
        return is_interface(interface).then_some((interface, milestone::NETWORK_READY));
    }
    let (interface, message) = split_interface(text)?;
    if message == "associated" {
        Some((interface, milestone::NETWORK_ASSOCIATED))
    } else {
        (message.starts_with("deauthenticating from ") || message.starts_with("disassociat"))
            .then_some((interface, milestone::NETWORK_LOST))
    }
}

/// Parses `<info>  [1700000000.1234] device (wlp2s0): state change: secondaries -> activated (reason 'none', …)` and
/// `dhcp4 (wlp2s0): state changed new lease, address=192.0.2.5`.
fn parse_network_manager(text: &str) -> Option<(&str, &'static str)> {
    let split_message = |source: &str| {
        let (_, interface_and_message) = text.split_once(source)?;
        let (interface, message) = interface_and_message.split_once("): ")?;
        is_interface(interface).then_some((interface, message))
    };
    if let Some((interface, message)) = split_message("dhcp4 (").or_else(|| split_message("dhcp6 (")) {
        let is_lease = message.contains("new lease") || message.contains("-> bound");
        return is_lease.then_some((interface, milestone::NETWORK_ADDRESS));
    }
    let (interface, message) = split_message("device (")?;
    if message.contains("-> activated") || message.starts_with("Activation: successful") {
        return Some((interface, milestone::NETWORK_CONNECTED));
    }
    let is_lost =
        message.contains("activated -> ") || message.contains("-> unmanaged") || message.contains("-> disconnected");
    is_lost.then_some((interface, milestone::NETWORK_LOST))
}

/// Splits `wlan0: text`.
fn split_interface(text: &str) -> Option<(&str, &str)> {
    let (interface, message) = text.split_once(": ")?;
    is_interface(interface).then_some((interface, message))
}

/// True if a word is a valid interface name: 1 to 15 bytes, no space, no slash. Source: the kernel's `dev_valid_name`.
fn is_interface(word: &str) -> bool {
    (1..=15).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':' | b'(' | b')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_lines_of_each_program() {
        use milestone::{
            NETWORK_ADDRESS as ADDRESS, NETWORK_ASSOCIATED as ASSOCIATED, NETWORK_CONNECTED as CONNECTED,
            NETWORK_LOST as LOST, NETWORK_READY as READY,
        };
        for (sender, text, expected) in [
            ("", "wlp2s0: associated", Some(("wlp2s0", ASSOCIATED))),
            ("", "wlp2s0: authenticate with 02:00:00:00:00:01", None),
            (
                "",
                "wlp2s0: deauthenticating from 02:00:00:00:00:01 by local choice (Reason: 3=DEAUTH_LEAVING)",
                Some(("wlp2s0", LOST)),
            ),
            ("", "IPv6: ADDRCONF(NETDEV_CHANGE): wlp2s0: link becomes ready", Some(("wlp2s0", READY))),
            (
                "",
                "e1000e 0000:00:1f.6 eno1: NIC Link is Up 1000 Mbps Full Duplex, Flow Control: None",
                Some(("eno1", READY)),
            ),
            (
                "wpa_supplicant",
                "wlp2s0: CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:00:01 completed [id=0 id_str=]",
                Some(("wlp2s0", ASSOCIATED)),
            ),
            ("wpa_supplicant", "wlp2s0: CTRL-EVENT-SCAN-STARTED", None),
            (
                "NetworkManager",
                "<info>  [1700000000.1234] device (wlp2s0): state change: secondaries -> activated (reason 'none', sys-iface-state: 'managed')",
                Some(("wlp2s0", CONNECTED)),
            ),
            (
                "NetworkManager",
                "<info>  [1700000000.1] device (wlp2s0): state change: activated -> unmanaged (reason 'sleeping')",
                Some(("wlp2s0", LOST)),
            ),
            (
                "NetworkManager",
                "<info>  [1700000000.1] dhcp4 (wlp2s0): state changed new lease, address=192.0.2.5",
                Some(("wlp2s0", ADDRESS)),
            ),
            ("NetworkManager", "<info>  [1700000000.1] manager: sleep: sleep requested", None),
            ("systemd-networkd", "wlan0: Gained carrier", Some(("wlan0", READY))),
            (
                "systemd-networkd",
                "wlan0: DHCPv4 address 192.0.2.7/24, gateway 192.0.2.1 acquired from 192.0.2.1",
                Some(("wlan0", ADDRESS)),
            ),
            ("dhclient", "bound to 192.0.2.5 -- renewal in 1000 seconds.", Some(("", ADDRESS))),
            ("dhcpcd", "wlan0: leased 192.0.2.5 for 86400 seconds", Some(("wlan0", ADDRESS))),
            ("iwd", "event: state, old: connecting, new: connected", Some(("", ASSOCIATED))),
            ("bash", "wlp2s0: associated", None),
            ("", "a sentence that goes on: link becomes ready", None),
        ] {
            assert_eq!(step(sender, text), expected, "{sender}: {text}");
        }
    }
}
