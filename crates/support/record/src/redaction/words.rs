//! Boundaries of words, and words that identify nobody.

/// Words that are needed to understand logs and do not identify anyone. A computer, user or network with such a name is
/// not replaced.
const COMMON_WORDS: &str = "\
    root localhost localdomain nobody system systemd kernel linux debian ubuntu fedora arch suse opensuse centos \
    redhat rhel nixos alpine raspberrypi user users guest admin boot shutdown reboot suspend sleep resume \
    hibernate initrd started starting stopped stopping finished failed reached target service device mount \
    automount socket slice scope timer path swap session journal dev disk usb pci acpi home for of \
    windows microsoft application setup operational \
    network networking online wait manager settle udev dbus login default multi graphical basic sysinit local remote \
    fs root-fs getty serial console tty emergency rescue firmware loader driver drivers wifi wlan wireless wired lan \
    eth0 wlan0 lo docker snapd cron ssh sshd bluetooth modules random seed server host hostname name domain the and \
    with from on by is to as at all none test data public backup mail web www ftp dns ntp time proxy";

/// Accounts that packages create; their names are also names of units and programs.
const SYSTEM_ACCOUNTS: &str = "\
    daemon bin sys sync games man lp news uucp www-data list irc gnats apt _apt messagebus systemd-network \
    systemd-resolve systemd-timesync systemd-coredump systemd-oom sshd gdm lightdm sddm lxdm greeter gnome-initial-setup \
    postgres mysql mariadb redis mongodb git nginx apache httpd tomcat postfix dovecot exim named bind unbound dnsmasq \
    ntp chrony avahi colord cups polkitd rtkit pulse pipewire geoclue usbmux saned tss tcpdump libvirt qemu docker \
    flatpak snap nm-openvpn openvpn operator oracle pi core vagrant ec2-user cloud-user sss sssd dhcpcd";

/// True if a name is a common word in logs, so that replacing it would make them unreadable.
pub(super) fn is_common_word(name: &str) -> bool {
    let is_in = |words: &str| words.split(' ').any(|word| name.eq_ignore_ascii_case(word));
    is_in(COMMON_WORDS) || is_in(SYSTEM_ACCOUNTS)
}

/// True if a word begins at `position`: the character before it is neither a letter nor a digit, or is escaped by
/// systemd (`\x2d`).
pub(super) fn begins_word(bytes: &[u8], position: usize) -> bool {
    let previous = position.checked_sub(1).and_then(|index| bytes.get(index));
    if previous.is_none_or(|byte| !byte.is_ascii_alphanumeric()) {
        return true;
    }
    matches!(position.checked_sub(4).and_then(|start| bytes.get(start..position)),
        Some([b'\\', b'x', high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

pub(super) fn ends_word(rest: &[u8], length: usize) -> bool {
    rest.get(length).is_none_or(|byte| !byte.is_ascii_alphanumeric())
}
