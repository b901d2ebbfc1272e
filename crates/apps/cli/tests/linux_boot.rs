//! `onoff boot` on a synthetic Linux recording, and on real recordings compared with `systemd-analyze`.
#![allow(clippy::unwrap_used)]

use crate::harness::{Folder, LINUX_BOOT};
use serde_json::Value;

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(arguments)).unwrap()
}

#[test]
fn as_text() {
    let answer = Folder::linux_boot().answer("boot linux");
    insta::assert_snapshot!(answer);
}

#[test]
fn lists_and_selects_journal_boots() {
    let folder = Folder::linux_boot();
    let list = folder.answer("boot linux/journal.export --list-boots");
    insta::assert_snapshot!(list);
    let previous_boot = json(&folder, "boot linux --boot -1 --format json");
    assert_eq!(previous_boot["startup_ns"], 7_000_000_000_i64);
    assert_eq!(previous_boot["units"].as_array().unwrap().len(), 0);
    let last_boot = json(&folder, "boot linux/journal.export --format json");
    assert_eq!(last_boot["startup_ns"], 34_678_924_000_i64);
    let (code, message) = folder.failure("boot linux --boot -2");
    assert_eq!(code, 2);
    assert!(message.contains("no such boot; the recording has 2"), "{message}");
    let (code, message) = folder.failure("boot linux/units.txt --list-boots");
    assert_eq!(code, 2);
    assert!(message.contains("no journal"), "{message}");
    let (code, _) = folder.failure("boot linux --format xml");
    assert_eq!(code, 2);
}

#[test]
fn reads_each_part_alone() {
    for (name, text) in LINUX_BOOT {
        let folder = Folder::new();
        folder.file(name, text.as_bytes());
        let answer = json(&folder, &format!("boot {name} --format json"));
        assert!(!answer["missing_evidence"]["items"].as_array().unwrap().is_empty(), "{name}");
        folder.answer(&format!("boot {name}"));
    }
}

#[test]
fn separates_boots_by_computer() {
    let folder = Folder::new();
    let line =
        |time: f64, host: &str, message: &str| (time, format!("2026-11-22T09:00:{time:09.6}+00:00 {host} {message}\n"));
    let boot = |host: &str, start: f64, duration: f64| {
        [
            line(start, host, "kernel: [    0.000000] Linux version 6.1.0"),
            line(start + 2.0, host, "systemd[1]: systemd 252 running in system mode"),
            line(start + 3.0, host, "systemd[1]: Starting slow.service - S..."),
            line(start + 3.0 + duration, host, "systemd[1]: Started slow.service - S."),
            line(start + 4.0 + duration, host, "systemd[1]: Reached target graphical.target - G."),
        ]
    };
    let mut lines = [boot("alpha", 0.0, 5.0), boot("beta", 2.5, 2.0)].concat();
    lines.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let text: String = lines.into_iter().map(|(_, line)| line).collect();
    folder.file("syslog", text.as_bytes());
    for (number, host, duration) in [(-1, "alpha", "5.00 s"), (0, "beta", "2.00 s")] {
        let answer = folder.answer(&format!("boot syslog --boot {number}"));
        assert!(answer.contains(&format!("critical path to graphical.target: slow.service, {duration}")), "{answer}");
        assert!(
            answer.contains(&format!("This boot is from {host}; the recording also has boots of other computers")),
            "{answer}"
        );
    }
    let list = folder.answer("boot syslog --list-boots");
    assert!(list.contains("alpha") && list.contains("beta"), "{list}");
    // A single computer is not named, even if its host name changes during the boot.
    folder.file("syslog", text.replace("beta", "alpha").as_bytes());
    assert!(!folder.answer("boot syslog").contains("This boot is from"));
}

#[test]
fn critical_chain_alone_gives_bound() {
    let folder = Folder::new();
    let chain = "graphical.target @9.000s\n└─multi-user.target @9.000s\n  └─slow.service @2.000s +7.000s\n    └─basic.target @2.000s\n";
    folder.file("chain.txt", chain.as_bytes());
    let text = folder.answer("boot chain.txt");
    let headline = text.lines().next().unwrap();
    assert_eq!(headline, "The boot took at least 9.00 s: the start of the kernel is not in the recording.");
    assert!(text.contains("Longest on the critical path to graphical.target: slow.service, 7.00 s"), "{text}");
    // With the durations of the parts, the total is known.
    folder.file("time.txt", b"Startup finished in 1.500s (kernel) + 9.500s (userspace) = 11.000s\n");
    let text = folder.answer("boot chain.txt time.txt");
    assert!(text.starts_with("The boot took 11.0 s"), "{text}");
    let row = text.lines().find(|line| line.starts_with("  slow.service ") && line.contains("on path")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[..5], ["slow.service", "7.00", "s", "3.50", "s"]);
    assert!(text.contains("the remaining units, and failed starts"), "{text}");
}

/// The output of `systemd-analyze time` in ms: firmware, loader, kernel, user space, total, and the time in user space
/// at which the default target was reached.
const SYSTEMD_ANALYZE_MS: [(&str, [i64; 6]); 6] = [
    ("boot-1", [4_940, 419, 11_743, 19_713, 36_817, 19_416]),
    ("boot-2", [5_179, 269, 11_261, 23_417, 40_127, 22_989]),
    ("boot-fpdt", [1_118, 3_691, 14_849, 31_901, 51_560, 31_143]),
    ("shutdown-slowstop", [7_836, 329, 19_512, 30_487, 58_166, 29_810]),
    ("suspend-s3", [6_411, 498, 15_319, 33_227, 55_456, 32_079]),
    ("hibernate-s4", [8_183, 657, 45_708, 31_744, 86_294, 30_703]),
];

#[test]
fn matches_systemd_analyze() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    for (name, [firmware, loader, kernel, user_space, total, target]) in SYSTEMD_ANALYZE_MS {
        let path = samples.join(format!("{name}.tar.xz"));
        let report = json(&folder, &format!("boot {} --format json", path.display()));
        let phase = |name: &str| {
            let phases = report["phases"].as_array().unwrap();
            let phase = phases.iter().find(|phase| phase["name"] == name).unwrap();
            phase["duration_ns"].as_i64().map(|ns| ns / 1_000_000)
        };
        assert_eq!(phase("firmware"), Some(firmware), "{name}");
        assert_eq!(phase("loader"), Some(loader), "{name}");
        assert_eq!(phase("kernel"), Some(kernel), "{name}");
        assert_eq!(phase("initrd"), None, "{name}");
        assert_eq!(phase("user_space"), Some(user_space), "{name}");
        assert_eq!(report["startup_ns"].as_i64().unwrap() / 1_000_000, total, "{name}");
        // Without unit properties, the journal gives the time, within the delay of a log message.
        let reached = report["default_target"]["in_user_space_ns"].as_i64().unwrap() / 1_000_000;
        let tolerance = if name.starts_with("boot") { 0 } else { 20 };
        assert!((reached - target).abs() <= tolerance, "{name}: {reached}");
        assert_eq!(report["default_target"]["unit"], "graphical.target", "{name}");
    }
}

/// Returns the units on the critical path to the default target with their times in s, in order.
fn critical_path(report: &Value) -> Vec<(String, f64)> {
    let steps = report["critical_path"]["steps"].as_array().unwrap();
    steps
        .iter()
        .map(|step| (step["unit"].as_str().unwrap().to_owned(), step["duration_ns"].as_f64().unwrap() / 1e9))
        .collect()
}

#[test]
fn names_sleeping_unit_first() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    let path = samples.join("boot-2.tar.xz");
    let report = json(&folder, &format!("boot {} --format json", path.display()));
    let steps = critical_path(&report);
    let (unit, duration) = steps.iter().max_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap();
    assert_eq!(unit, "slowearly.service");
    assert!((6.0..6.2).contains(duration), "{duration}");
    let text = folder.answer(&format!("boot {}", path.display()));
    assert!(text.lines().nth(2).unwrap().starts_with("slowearly.service blocked user space for"), "{text}");
    let longest = text.lines().nth(3).unwrap();
    assert!(
        longest.starts_with("Longest on the critical path to graphical.target: slowearly.service, 6.11 s"),
        "{longest}"
    );
    // The steps and the gaps cover the path from the first unit to the target.
    let path = &report["critical_path"];
    let covered_ns = path["units_ns"].as_i64().unwrap() + path["gaps_ns"].as_i64().unwrap();
    let loaded = report["manager"]["whole"]["end_ns"].as_i64().unwrap();
    let reached = report["default_target"]["reached_ns"].as_i64().unwrap();
    assert_eq!(covered_ns, reached - loaded);

    // A oneshot unit never becomes active, so critical-chain shows ssh.service, which finished before it.
    let path = samples.join("boot-1.tar.xz");
    let report = json(&folder, &format!("boot {} --format json", path.display()));
    let steps = critical_path(&report);
    let position = |unit: &str| steps.iter().position(|(name, _)| name == unit);
    assert_eq!(position("ssh.service"), None);
    assert!(position("basic.target") < position("e2scrub_reap.service"));
    assert!(position("e2scrub_reap.service") < position("multi-user.target"));
}

#[test]
fn firmware_table_agrees_with_systemd() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    let path = samples.join("boot-fpdt.tar.xz");
    let report = json(&folder, &format!("boot {} --format json", path.display()));
    // ExitBootServices returned at 4.809919 s; firmware 1.118 s plus loader 3.691 s is 4.809 s.
    let checkpoints = &report["firmware_table"]["checkpoints"];
    assert_eq!(checkpoints["exit_end_ns"], 4_809_919_164_i64);
    let difference = report["firmware_table_difference_ns"].as_i64().unwrap();
    assert!(difference.abs() < 50_000_000, "{difference}");
}

/// Removes the provenance from a report.
fn without_provenance(mut answer: Value) -> Value {
    for key in ["onoff", "losses"] {
        answer[key] = Value::Null;
    }
    answer
}

#[test]
fn support_archives_match_their_outputs() {
    let folder = Folder::linux_boot();
    let [(_, manager), (_, units), _] = LINUX_BOOT;
    let expected = without_provenance(json(&folder, "boot linux/manager.txt linux/units.txt --format json"));
    let heading = |command: &str| format!("#==[ Command ]======================================#\n# {command}\n");
    // supportconfig concatenates outputs; sosreport has one file per output, with various names.
    let report = format!(
        "===\n   Support Utilities\n\n{}Linux host 6.4.0\n\n{}{manager}\n{}{units}\n{}nothing of use\n",
        heading("/bin/uname -a"),
        heading("/usr/bin/systemctl show"),
        heading("/usr/bin/systemctl show '*'"),
        heading("/sbin/lspci -nn"),
    );
    for (archive, members) in [
        ("scc_host.tar", vec![("scc_host/systemd.txt", report.as_str())]),
        (
            "sosreport-host.tar",
            vec![
                ("sosreport-host/sos_commands/systemd/systemctl_show_--all", manager),
                ("sosreport-host/sos_commands/systemd/systemctl_show_units", units),
                ("sosreport-host/sos_commands/pci/lspci_-nnvv", "00:00.0 Host bridge\n"),
            ],
        ),
    ] {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, text) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        folder.file(archive, &tar.into_inner().unwrap());
        let answer = without_provenance(json(&folder, &format!("boot {archive} --format json")));
        assert!(answer == expected, "{archive}");
    }
    folder.file("systemd.txt", report.as_bytes());
    let answer = without_provenance(json(&folder, "boot systemd.txt --format json"));
    assert!(answer == expected);
    // A report without usable parts is rejected like any text file.
    folder.file("lspci.txt", format!("{}00:00.0 Host bridge\n", heading("/sbin/lspci -nn")).as_bytes());
    let (code, _) = folder.failure("boot lspci.txt");
    assert_eq!(code, 1);
}

#[test]
fn boot_list_shows_host_names() {
    let folder = Folder::new();
    let entry = |boot: u32, machine: u32, host: &str| {
        format!(
            "__REALTIME_TIMESTAMP=1700000000000000\n__MONOTONIC_TIMESTAMP=1\n_BOOT_ID={boot:032x}\n_MACHINE_ID={machine:032x}\n\
             _HOSTNAME={host}\nMESSAGE=x\n\n"
        )
    };
    folder.file("both.export", [entry(1, 7, "web"), entry(2, 8, "db")].concat().as_bytes());
    let list = folder.answer("boot both.export --list-boots");
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].contains("machine"), "{list}");
    assert!(lines[1].contains(" web ") && lines[2].contains(" db "), "{list}");
    folder.file("one.export", [entry(1, 7, "web"), entry(2, 7, "web")].concat().as_bytes());
    assert!(!folder.answer("boot one.export --list-boots").contains("machine"));
    let json = json(&folder, "boot both.export --list-boots --format json");
    assert_eq!((&json["boots"][1]["host"], json["boots"][0]["machine"].as_str().unwrap().len()), (&"db".into(), 32));
}

/// Compares the picture with `systemd-analyze blame` of the same boot.
#[cfg(target_os = "linux")]
#[test]
fn plot_svg_matches_systemd_blame() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    let read_member =
        |name: &str| crate::local_machine::member(&samples.join("boot-1.tar.xz"), &format!("boot-1/lab/{name}"));
    folder.file("plot.svg", &read_member("plot.svg"));
    let report = json(&folder, "boot plot.svg --format json");
    // Each part is rounded to ms separately.
    let total_ms = report["startup_ns"].as_i64().unwrap() / 1_000_000;
    assert!((36_814..=36_820).contains(&total_ms), "{total_ms}");
    assert_eq!(report["default_target"]["unit"], "graphical.target");
    let units = report["units"].as_array().unwrap();
    let blame = String::from_utf8(read_member("blame.txt")).unwrap();
    let mut compared = 0;
    for line in blame.lines() {
        let (duration, unit) = line.trim().rsplit_once(' ').unwrap();
        let seconds = match (duration.strip_suffix("ms"), duration.strip_suffix('s')) {
            (Some(ms), _) => ms.parse::<f64>().unwrap() / 1e3,
            (None, Some(s)) => s.parse::<f64>().unwrap(),
            _ => continue,
        };
        // Units that started after the end of the picture are only in the list.
        let Some(drawn_unit) = units.iter().find(|candidate| candidate["name"] == unit) else {
            continue;
        };
        let drawn_seconds = drawn_unit["duration_ns"].as_f64().unwrap() / 1e9;
        assert!((drawn_seconds - seconds).abs() < 0.002, "{unit}: {drawn_seconds} and {seconds}");
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}
