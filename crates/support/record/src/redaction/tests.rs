use super::*;

fn redaction() -> Redaction {
    let mut redaction = Redaction::default();
    redaction.add_host("web-7.corp.example.com");
    redaction.add_users_from_passwd(
        "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000:Alice Example,,,:/home/alice:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
    );
    redaction.add_machine("4f0e9c1d2a3b4c5d8e6f708192a3b4c5");
    redaction
}

#[test]
fn replaces_names_in_every_spelling() {
    let mut redaction = redaction();
    for text in [
        "Hostname set to <web-7>.",
        "WEB-7 kernel: x",
        "web-7.corp.example.com said",
        "dev-mapper-web\\x2d7\\x2dvg-root.device",
        "/dev/mapper/web--7--vg-root",
        "dev-mapper-web\\x2d\\x2d7\\x2d\\x2dvg-root.device",
        "mail from CORP.example.com",
        "home-alice.mount",
        "/home/alice/.cache",
        "user 'Alice' (Alice Example)",
        "alice's shell",
        "journal/4f0e9c1d2a3b4c5d8e6f708192a3b4c5/system.journal",
    ] {
        let substitute = redaction.redact(text).to_ascii_lowercase();
        for name in ["web-7", "web\\x2d7", "web--7", "web\\x2d\\x2d7", "corp.example", "alice", "4f0e9c"] {
            assert!(!substitute.contains(name), "{text}: {substitute}");
        }
    }
    assert_eq!(redaction.redact("web-7 alice web-7"), redaction.redact("WEB-7 ALICE Web-7"));
}

#[test]
fn replaces_addresses_consistently() {
    let mut redaction = Redaction::default();
    for (text, expected) in [
        ("from 10.1.2.3 port 22", "from 192.0.2.1 port 22"),
        ("10.1.2.3:22-10.9.9.9:5555.", "192.0.2.1:22-192.0.2.2:5555."),
        ("gateway 10.9.9.9.", "gateway 192.0.2.2."),
        ("fe80::1a2b:3cff:fe4d:5e6f/64", "2001:db8::1/64"),
        ("[2a00:1450::1]:443", "[2001:db8::2]:443"),
        ("eth0: 3c:52:82:01:02:03,", "eth0: 02:00:00:00:00:01,"),
        ("enx3c5282010203: link up", "enx020000000001: link up"),
        ("dev_3C_52_82_01_02_03", "dev_02_00_00_00_00_01"),
        ("mailto:bob.b@mail.example.net.", "mailto:person1@example.org."),
    ] {
        assert_eq!(redaction.redact(text), expected, "{text}");
    }
    assert_eq!(redaction.replaced().addresses, 6);
}

#[test]
fn keeps_text_that_only_resembles_names_or_addresses() {
    let mut redaction = redaction();
    for text in [
        "Linux version 6.1.0-18-amd64",
        "systemd 252.39-1~deb12u1",
        "0000:00:1f.2: ahci",
        "pci 0000:00:1f.3",
        "user@1000.service getty@tty1.service",
        "malice and web-70 and palice",
        "12:30:45 and 23:59:59.123456",
        "b07a249c-d024-414a-82dd-00cd181378ff",
        "127.0.0.1 ::1 0.0.0.0 00:00:00:00:00:00",
        "core::fmt::write",
        "1.2.3.4.5",
        "sd 0:0:0:0: [sda]",
        "nvme0n1: p1 p2",
    ] {
        assert_eq!(redaction.redact(text), text);
    }
}

#[test]
fn keeps_and_reports_names_that_are_common_words() {
    let mut redaction = Redaction::default();
    redaction.add_host("kernel");
    redaction.add_user("root");
    assert_eq!(redaction.redact("kernel: root"), "kernel: root");
    assert_eq!(redaction.replaced().kept, ["kernel"]);
}

#[test]
fn learns_users_from_session_messages() {
    let mut redaction = Redaction::default();
    redaction.learn("pam_unix(gdm:session): session opened for user carol(uid=1001) by (uid=0)");
    redaction.learn("New session 3 of user dave.");
    redaction.learn("open /home/erin/x failed; /home/frank");
    redaction.learn("Started User Manager for UID 1000. Waiting for user input");
    assert_eq!(redaction.replaced().users, 4);
    assert_eq!(redaction.redact("carol dave erin frank input"), "user1 user2 user3 user4 input");
}

#[test]
fn replaces_what_identifies_a_computer_in_security_ids() {
    let mut redaction = Redaction::default();
    for (text, expected) in [
        ("S-1-5-21-1004336348-1177238915-682003330-512", "S-1-5-21-0-0-1-512"),
        ("HKU\\s-1-5-21-1004336348-1177238915-682003330-1001_Classes", "HKU\\S-1-5-21-0-0-1-1001_Classes"),
        ("(S-1-5-21-7-8-9)", "(S-1-5-21-0-0-2)"),
        ("S-1-12-1-11-22-33-44,", "S-1-12-1-0-0-3,"),
        (
            "S-1-11-96-3623454863-58364-18864-2661722203-1597581903-1225312835-2511459453-1556397606-2735945305",
            "S-1-11-96-0-0-4",
        ),
    ] {
        assert_eq!(redaction.redact(text), expected);
        assert_eq!(redaction.redact_names(text), expected);
    }
    assert_eq!(redaction.replaced().security_ids, 4);
    for text in ["S-1-5-18", "S-1-5-32-544", "S-1-5-80-1-2-3-4-5", "S-1-5-21-1", "S-1-16-12288", "S-1-5-90-0-1"] {
        assert_eq!(redaction.redact(text), text);
    }
}

#[test]
fn keeps_version_numbers_where_only_names_are_replaced() {
    let mut redaction = Redaction::default();
    redaction.add_user("Zo\u{eb}");
    assert_eq!(redaction.redact_names("ZO\u{cb}'s 8.1.0.5"), "user1's 8.1.0.5");
    assert_eq!(redaction.redact("8.1.0.5"), "192.0.2.1");
}

#[test]
fn windows_keeps_guids_except_volumes_and_loses_serial_numbers() {
    let mut redaction = Redaction::default();
    for (text, expected) in [
        ("{9e814aad-3204-11d2-9a82-3c5282aabbcc}", "{9e814aad-3204-11d2-9a82-3c5282aabbcc}"),
        (r"\\?\Volume{1b2c3d4e-aaaa-4bbb-8ccc-0123456789ab}\x", r"\\?\Volume{00000000-0000-0000-0000-000000000001}\x"),
        (
            r"USBSTOR\Disk&Ven_SanDisk&Prod_Ultra&Rev_1.00\4C530001230918&0",
            r"USBSTOR\Disk&Ven_SanDisk&Prod_Ultra&Rev_1.00\serial1&0",
        ),
        (r"USB\VID_0781&PID_5581\4C530001230918", r"USB\VID_0781&PID_5581\serial1"),
        (r"USB\VID_046D&PID_C52B\5&2c8f1a&0&1", r"USB\VID_046D&PID_C52B\5&2c8f1a&0&1"),
        ("tool.com 3c5282aabbcc", "tool.com 3c5282aabbcc"),
    ] {
        assert_eq!(redaction.redact(text), expected, "{text}");
    }
}

#[test]
fn replaces_names_of_domains_file_servers_and_arrays() {
    let mut redaction = Redaction::for_linux();
    redaction.learn("md/raid1: ARRAY UUID=aaaaaaaa:bbbbbbbb:cccccccc:dddddddd");
    for (text, expected) in [
        ("Selected source ntp.bigcorp.example", "Selected source host1"),
        (r"connect to \\FileSrv01\share", r"connect to \\host2\share"),
        (r"CORP\Domain Users", r"host3\Domain Users"),
        (
            "ARRAY /dev/md0 UUID=aaaaaaaa:bbbbbbbb:cccccccc:dddddddd",
            "ARRAY /dev/md0 UUID=00000000:00000000:00000000:00000001",
        ),
        ("UUID=1234-ABCD: mounted", "UUID=0000-0002: mounted"),
        // No names.
        (r"dev-mapper-VG\x2droot.device", r"dev-mapper-VG\x2droot.device"),
        (r"ACPI: \_SB_.PCI0 and C:\WINDOWS\temp", r"ACPI: \_SB_.PCI0 and C:\WINDOWS\temp"),
        ("pulled docker.io and main.rs", "pulled docker.io and main.rs"),
    ] {
        assert_eq!(redaction.redact(text), expected, "{text}");
    }
}

#[test]
fn many_names_and_long_texts_take_little_time() {
    let mut redaction = Redaction::for_linux();
    for number in 0..5_000 {
        redaction.learn(&format!("Accepted password for person{number}x from 10.0.0.1 port 22"));
    }
    assert_eq!(redaction.replaced().users, 5_000);
    let text = "ssid='a".repeat(20_000) + &"by-id/usb-x_".repeat(5_000) + &"person77x ".repeat(20_000);
    let redacted = redaction.redact(&text);
    assert!(redacted.ends_with("user78 ") && !redacted.contains("person77x"));
}

#[test]
fn accepts_any_text() {
    let mut redaction = redaction();
    for text in ["", "\\x2", "ä@ö.de", "alice\u{301}", "::", ":::::", "1.", "@", "a@", "\\x2dalice", "…alice…"] {
        let once = redaction.redact(text);
        assert!(!once.contains("alice"), "{once}");
    }
}
