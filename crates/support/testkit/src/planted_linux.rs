//! Log lines of Linux with names planted in all the ways in which the kernel and programs write them, and lines that
//! resemble them.

/// Lines, and what of each identifies a computer, a network, a device or a person.
pub const PLANTED: &[(&str, &[&str])] = &[
    // Wireless networks.
    ("Config: added 'ssid' value 'Muster Netz'", &["Muster Netz"]),
    ("wlp2s0: Trying to associate with 3c:52:82:aa:bb:cc (SSID='Cafe 4711' freq=2412 MHz)", &["Cafe 4711"]),
    ("wlp2s0: CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid=\"Nachbar's WLAN\" auth_failures=1", &["Nachbar's"]),
    ("event: connect-info, ssid: Kurhotel, bss: 3c:52:82:aa:bb:01, signal: -61", &["Kurhotel"]),
    ("Activation: (wifi) connection 'Datscha' has security, and secrets exist.", &["Datscha"]),
    ("wlan0: Connected WiFi access point: Seehaus (3c:52:82:aa:bb:02)", &["Seehaus"]),
    ("policy: set 'Firmennetz' (wlp2s0) as default for IPv4 routing and DNS", &["Firmennetz"]),
    (
        "audit: op=\"connection-activate\" uuid=\"0b1c2d3e-1111-4222-8333-a1b2c3d4e5f6\" name=\"Gartenlaube\" pid=1",
        &["Gartenlaube", "0b1c2d3e"],
    ),
    ("keyfile: load \"/etc/NetworkManager/system-connections/Waldhaus.nmconnection\"", &["Waldhaus"]),
    // Serial numbers.
    ("usb 1-2: SerialNumber: 4C530001230918", &["4C530001230918"]),
    ("dev-disk-by\\x2did-usb\\x2dSanDisk_Ultra_4C530001231818\\x2d0:0\\x2dpart1.device: Changed", &["4C530001231818"]),
    ("/dev/disk/by-id/ata-Samsung_SSD_860_EVO_500GB_S3Z1NB0K123456A-part2", &["S3Z1NB0K123456A"]),
    ("/dev/disk/by-id/nvme-Samsung_SSD_970_EVO_Plus_1TB_S59ANM0R123456X_1", &["S59ANM0R123456X"]),
    (
        "/dev/disk/by-id/nvme-eui.0025385b71b0c5d2 /dev/disk/by-id/wwn-0x5002538e40a1b2c3",
        &["0025385b71b0c5d2", "5002538e40a1b2c3"],
    ),
    ("dev-disk-by\\x2did-virtio\\x2dgeheim123.device", &["geheim123"]),
    ("dev-serial-by\\x2did-usb\\x2dFTDI_FT232R_USB_UART_A50285BI\\x2dif00\\x2dport0.device", &["A50285BI"]),
    (
        "Device: /dev/sda [SAT], WDC WD10EZEX-08WN4A0, S/N:WD-WCC6Y4ABCDEF, WWN:5-0014ee-2b1a2b3c4, FW:01.01A01",
        &["WD-WCC6Y4ABCDEF", "5-0014ee-2b1a2b3c4"],
    ),
    ("Serial\t\t: 10000000a1b2c3d4", &["a1b2c3d4"]),
    ("Command line: androidboot.serialno=R58M12ABCDE quiet", &["R58M12ABCDE"]),
    // Other computers and domains.
    ("nfs: server archiv-9 not responding, still trying", &["archiv-9"]),
    ("CIFS: Attempting to mount //ablage-3/home", &["ablage-3"]),
    ("What=//ablage-3/home", &["ablage-3"]),
    ("Contacted time server 10.20.30.41:123 (uhr.muster-werke.de).", &["10.20.30.41", "muster-werke"]),
    ("dhcp4 (eth0): option domain_name => 'werk.muster-werke.de'", &["muster-werke"]),
    ("Could not resolve host: paketquelle.intern.muster-werke.de.", &["paketquelle", "muster-werke"]),
    ("hostname: hostname changed from (none) to \"rechner-17\", set hostname to 'rechner-17'", &["rechner-17"]),
    ("root=nfs:netboot-4:/export/root ip=dhcp", &["netboot-4"]),
    ("pulling https://registry.muster-werke.de:5000/v2/", &["muster-werke"]),
    // Ids of file systems, volumes and arrays.
    ("EXT4-fs (sda2): mounted filesystem 1b2c3d4e-aaaa-4bbb-8ccc-0123456789ab ro", &["1b2c3d4e", "0123456789ab"]),
    ("Found device dev-disk-by\\x2duuid-2b2c3d4e\\x2daaaa\\x2d4bbb\\x2d8ccc\\x2d0123456789ab.device", &["2b2c3d4e"]),
    ("Mounting /boot/efi, UUID=1A2B-3C4D, by-uuid/5E6F-7A8B", &["1A2B-3C4D", "5E6F-7A8B"]),
    ("root=PARTUUID=9f8e7d6c-02 rd.luks.uuid=luks-3b2c3d4e-aaaa-4bbb-8ccc-0123456789ab", &["9f8e7d6c", "3b2c3d4e"]),
    ("systemd-cryptsetup@luks\\x2d4b2c3d4e\\x2daaaa\\x2d4bbb\\x2d8ccc\\x2d0123456789ab.service", &["4b2c3d4e"]),
    ("lvm-pv-uuid-AbCdEf-1234-aBcD-5678-eFgH-9012-iJkLmN", &["AbCdEf-1234"]),
    ("dm-uuid-LVM-6sKZ0aB1cD2eF3gH4iJ5kL6mN7oP8qR96sKZ0aB1cD2eF3gH4iJ5kL6mN7oP8qR9", &["6sKZ0aB1cD2e"]),
    ("md-uuid-a1b2c3d4:e5f60718:293a4b5c:6d7e8f90", &["a1b2c3d4:e5f60718"]),
    // Fingerprints and keys.
    (
        "Accepted publickey for paula from 10.20.30.42 port 22 ssh2: ED25519 SHA256:mVPwvezndPv/ARoIadVY98vAC0g+P/5633yTC4d/wXE",
        &["mVPwvezndPv", "paula", "10.20.30.42"],
    ),
    (
        "key fingerprint is MD5:12:f8:7e:78:61:b4:bf:e2:de:24:15:96:4e:d4:72:53 or 13:f8:7e:78:61:b4:bf:e2:de:24:15:96:4e:d4:72:53",
        &["12:f8:7e", "13:f8:7e", "d4:72:53"],
    ),
    ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJZk1Y0f8rYd0m5n3b2v1c0x9z8a7s6d5f4g3h2j1k0l root", &["AAAAC3NzaC1lZDI1"]),
    ("wg set wg0 peer xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg= endpoint 10.20.30.43:51820", &["xTIBA5rboUvn"]),
    ("hostapd: wpa psk=sommer2024geheim", &["sommer2024"]),
    // Addresses.
    ("eth0: 3c:52:82:aa:bb:cc, renamed to enx3c5282aabbcc", &["3c:52:82", "3c5282"]),
    (
        "BOOTIF=01-3c-52-82-aa-bb-cc mac=3c5282aabbcc other=4d5282aabbcc cisco 3c52.82aa.bbcc",
        &["3c-52-82", "3c5282", "4d5282", "3c52.82aa"],
    ),
    ("bound to 10.20.30.40, gateway fe80::aa:1, by post@muster-werke.de", &["10.20.30.40", "fe80::aa", "post@"]),
    // People.
    ("pam_unix(sshd:session): session opened for user paula(uid=1001) by (uid=0)", &["paula"]),
    ("New session 3 of user gustav.", &["gustav"]),
    ("gustav : TTY=pts/0 ; PWD=/home/gustav ; USER=root ; COMMAND=/bin/true", &["gustav"]),
    ("(ottilie) CMD (true)", &["ottilie"]),
    ("Invalid user hildegard from 10.20.30.44 port 4711", &["hildegard", "10.20.30.44"]),
    ("authentication failure; logname=emil uid=0 tty=ssh ruser=emil rhost=stube-8 user=emil", &["emil", "stube-8"]),
    ("Mounted home-marlene.mount - Marlene Muster", &["marlene", "muster"]),
];

/// Lines that resemble names and have to stay as they are.
pub const DECOYS: &[&str] = &[
    "[    1.234567] Linux version 6.1.0-18-amd64 (gcc 12.2.0) #1 SMP",
    "Startup finished in 5.448s (firmware) + 2.1s (kernel) + 1min 12.345678s (userspace) = 1min 20s.",
    "2024-11-15T14:28:34.123456+01:00 and Nov 15 14:28:34 and 12:30:45",
    "systemd-networkd-wait-online.service: Main process exited, code=exited, status=1/FAILURE",
    "user@1000.service user-1000.slice getty@tty1.service gdm.service rc-local.service",
    "/etc/rc.local Compatibility and rd.lvm.lv=vg/root rd.md=0 i915.modeset=1",
    "pci 0000:00:1f.2: [8086:a352] type 00 class 0x010601",
    "usb usb1: SerialNumber: 0000:00:14.0",
    "usb 1-2: New USB device strings: Mfr=1, Product=2, SerialNumber=3",
    "usb 1-2: New USB device found, idVendor=046d, idProduct=c52b, bcdDevice=12.11",
    "Serial: 8250/16550 driver, 4 ports, IRQ sharing enabled",
    "serial8250: ttyS0 at I/O 0x3f8 (irq = 4, base_baud = 115200) is a 16550A",
    "BIOS-e820: [mem 0x0000000000100000-0x00000000bfecffff] usable",
    "LoaderTimeInitUSec-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
    "b07a249c-d024-414a-82dd-00cd181378ff",
    "MESSAGE_ID=b07a249cd024414a82dd00cd181378ff",
    "sd 0:0:0:0: [sda] 500118192 512-byte logical blocks: (256 GB/238 GiB)",
    "org.freedesktop.NetworkManager com.redhat.ifcfgrh1 net.connman fi.w1.wpa_supplicant1",
    "Documentation=man:systemd.special(7) https://www.freedesktop.org/wiki/Software/systemd/",
    "device (wlp2s0): state change: ip-config -> activated (reason 'none', sys-iface-state: 'managed')",
    "policy: set 'Wired connection 1' (eth0) as default for IPv4 routing and DNS",
    "Activation: starting connection 'eth0' (eth0)",
    "session opened for user root(uid=0) by (uid=0)",
    "New session c1 of user gdm.",
    "random: crng init done; calling  acpi_init+0x0/0x4d0 @ 1 returned 0 after 123456789012 usecs",
    "localhost 127.0.0.1 ::1 time server started ok and connection refused",
    "dev-disk-by\\x2dpath-pci\\x2d0000:00:1f.2\\x2data\\x2d1.device",
    "mmc0: new SDHC card at address aaaa and ata1.00: ATA-9: max UDMA/133",
];
