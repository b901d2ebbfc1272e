//! Tests every image rule on an installation with its problem and on a healthy one.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use onoff_findings::RULES;
use onoff_findings::image::{ImageFacts, audit};
use onoff_findings::rule::Check;
use onoff_hive::Hive;
use onoff_image::{HiveKind, Image, ImageHive, OverlayGrowth, StartupEntry, TaskFile, analyze};

use crate::image_builder::{CS, ImageBuilder, driver, plans};

/// For each rule, an installation with its problem.
pub fn problems() -> Vec<(&'static str, ImageBuilder)> {
    let mut all = Vec::new();
    let mut problem = |code, mut image: ImageBuilder, change: &dyn Fn(&mut ImageBuilder)| {
        change(&mut image);
        all.push((code, image));
    };
    let healthy = ImageBuilder::healthy;
    let reading = r"Session Manager\Memory Management\PrefetchParameters";
    let power = r"Session Manager\Power";
    problem("image/prefetcher-off", healthy(), &|image| {
        image.control(reading).set_value("EnablePrefetcher", 1_u32);
    });
    problem("image/superfetch-limited", healthy(), &|image| {
        image.control(reading).set_value("EnableSuperfetch", 0_u32);
    });
    problem("image/superfetch-service-off", healthy(), &|image| {
        image.service("SysMain", 32, 4, "svchost.exe");
    });
    problem("image/filter-untrained", ImageBuilder::filtered(), &|image| image.prefetch = Some(plans(1, 3)));
    problem("image/filter-discards-prefetch", ImageBuilder::filtered(), &|image| {
        image.copy().set_value("RegistryExceptionsUserDefined", [].as_slice());
    });
    problem("image/plans-at-limit", healthy(), &|image| image.prefetch = Some(plans(5, 123)));
    problem("image/prefetch-fills-overlay", ImageBuilder::filtered(), &|image| {
        image.copy().subkey("0").set_value("FileExceptionsUserDefined", [r"C:\Data"].as_slice());
    });
    problem("image/nfs-client", healthy(), &|image| {
        image.service("NfsClnt", 16, 2, r"%SystemRoot%\system32\nfsclnt.exe");
        image.needed.push("NfsClnt".to_owned());
    });
    problem("image/service-not-needed", healthy(), &|image| {
        image.service("Extra", 32, 2, r"%SystemRoot%\system32\extra.exe");
    });
    problem("image/service-early-group", healthy(), &|image| {
        image.system.subkey(&format!(r"{CS}\Services\Maker")).set_value("Group", "network");
    });
    problem("image/service-dependency", healthy(), &|image| {
        image.system.subkey(&format!(r"{CS}\Services\Maker")).set_value("DependOnService", ["Nobody"].as_slice());
    });
    problem("image/service-could-trigger", healthy(), &|image| {
        image.service("Own", 16, 2, r"C:\Own\own.exe");
        image.needed.push("own".to_owned());
    });
    problem("image/boot-driver-catalog", healthy(), &|image| image.drivers = vec![driver("disk.sys", false, false)]);
    problem("image/test-signing", healthy(), &|image| image.drivers = vec![driver("disk.sys", true, true)]);
    problem("image/boot-execute", healthy(), &|image| {
        image.control("Session Manager").set_value("SetupExecute", ["old.exe"].as_slice());
    });
    problem("image/fast-startup-off", healthy(), &|image| {
        image.control(power).set_value("HiberbootEnabled", 0_u32);
    });
    problem("image/fast-startup-without-hibernation", healthy(), &|image| {
        image.control("Power").set_value("HibernateEnabled", 0_u32);
    });
    problem("image/write-filter-on", ImageBuilder::filtered(), &|_| {});
    problem("image/horm-blocked", ImageBuilder::filtered(), &|_| {});
    problem("image/horm-data-volume", ImageBuilder::filtered(), &|image| {
        image.copy().subkey("1").set_value("VolumeName", "D").set_value("VolumeEnabled", 0_u32);
        image.system.subkey(&format!(r"{CS}\Services\uwfvol\Parameters\Dynamic")).set_value("HormEnabled", 1_u32);
    });
    problem("image/filter-paging-file", ImageBuilder::filtered(), &|image| {
        image
            .control(r"Session Manager\Memory Management")
            .set_value("PagingFiles", [r"C:\pagefile.sys 0 0"].as_slice());
    });
    problem("image/filter-maintenance-on", ImageBuilder::filtered(), &|image| {
        image
            .software
            .subkey(r"Microsoft\Windows NT\CurrentVersion\Schedule\Maintenance")
            .set_value("MaintenanceDisabled", 0_u32);
    });
    problem("image/overlay-fills", healthy(), &|image| {
        image.overlay = Some(OverlayGrowth {
            bytes_per_hour: Some(1e9),
            full_in_ns: Some(3_600_000_000_000),
            ..OverlayGrowth::default()
        });
    });
    problem("image/fast-startup-power-cut", healthy(), &|image| image.is_power_cut = true);
    problem("image/firmware-post-long", healthy(), &|image| {
        image.control(power).set_value("FwPOSTTime", 12_000_u32);
    });
    problem("image/network-window-small", healthy(), &|image| {
        image.bcd.subkey(r"Objects\{1}\Elements\35000008").set_value("Element", 4_u64.to_le_bytes().to_vec());
    });
    problem("image/boot-menu-waits", healthy(), &|image| {
        image.entry("{2}");
        let manager = image.bcd.subkey(r"Objects\{9dea862c-5cdd-4e70-acc1-f32b344d4795}");
        manager.subkey(r"Elements\24000001").set_value("Element", ["{1}", "{2}"].as_slice());
    });
    problem("image/startup-programs", healthy(), &|image| {
        for index in 0..6 {
            image
                .user
                .subkey(r"Software\Microsoft\Windows\CurrentVersion\Run")
                .set_value(&format!("P{index}"), r"C:\p.exe");
        }
    });
    problem("image/network-drives", healthy(), &|image| {
        image.user.subkey(r"Network\z").set_value("RemotePath", r"\\server\share");
    });
    problem("image/policy-scripts", healthy(), &|image| {
        let path = r"Microsoft\Windows\CurrentVersion\Group Policy\Scripts\Startup\0\0";
        image.software.subkey(path).set_value("Script", "map.cmd");
    });
    problem("image/usb-devices", healthy(), &|image| {
        for index in 0..11 {
            image.system.subkey(&format!(r"{CS}\Enum\USB\VID_0002&PID_{index:04}"));
        }
    });
    problem("image/autologger-on", healthy(), &|image| {
        image.control(r"WMI\Autologger\BootTrace").set_value("Start", 1_u32);
    });
    problem("image/shutdown-waits", healthy(), &|image| {
        image.system.subkey(&format!(r"{CS}\Control")).set_value("WaitToKillServiceTimeout", "120000");
    });
    problem("image/resume-slow", healthy(), &|image| {
        image.control(power).set_value("ResumeReadRate", 40_u32);
    });
    all.extend(crate::image_causes::problems());
    all
}

#[test]
fn healthy_installation_has_no_findings_and_all_rules_are_checked() {
    let mut image = ImageBuilder::healthy();
    let audit = image.audit();
    assert_eq!(audit.findings, []);
    // Only the rule without its option is not applicable.
    let open: Vec<_> = audit.not_applicable.iter().map(|rule| rule.code).collect();
    assert_eq!(open, ["image/fast-startup-power-cut"]);
    image.needed.clear();
    image.overlay = None;
    image.prefetch = None;
    image.drivers.clear();
    let open: BTreeSet<_> = image.audit().not_applicable.iter().map(|rule| rule.code).collect();
    for code in ["image/service-not-needed", "image/overlay-fills", "image/plans-at-limit", "image/boot-driver-catalog"]
    {
        assert!(open.contains(code), "{code}");
    }
}

#[test]
fn each_rule_reports_its_problem_with_evidence_and_advice() {
    let mut reported = BTreeSet::new();
    for (code, image) in problems() {
        let audit = image.audit();
        let finding = audit.findings.iter().find(|finding| finding.code == code);
        let finding = finding.unwrap_or_else(|| panic!("{code} has no finding: {:?}", image.codes()));
        assert!(!finding.evidence.is_empty() && !finding.advice.is_empty(), "{code}");
        reported.insert(code);
    }
    let rules: BTreeSet<_> =
        RULES.iter().filter(|rule| matches!(rule.check, Check::Image(_))).map(|rule| rule.code).collect();
    assert_eq!(reported, rules, "a rule without a test");
}

#[test]
fn each_problem_has_one_finding() {
    // Findings about the write filter itself, or about the same setting, are expected too.
    let implied = |code: &str| match code {
        "image/prefetch-fills-overlay" => vec!["image/filter-discards-prefetch"],
        // Scripts that are waited for are scripts.
        "image/policy-scripts-wait" => vec!["image/policy-scripts"],
        _ => Vec::new(),
    };
    let filter_findings = ["image/write-filter-on", "image/horm-blocked"];
    for (code, image) in problems() {
        let is_filtered = image.codes().contains(&"image/write-filter-on");
        let others: Vec<_> = image
            .codes()
            .into_iter()
            .filter(|reported| {
                *reported != code
                    && !implied(code).contains(reported)
                    && !(is_filtered && filter_findings.contains(reported))
            })
            .collect();
        assert!(others.is_empty(), "{code}: {others:?}");
    }
}

/// The audit rules of the project (R01 to R45) with the onoff rules that implement them. Rules that need more than the
/// registry check recordings of a boot, a network boot or file operations.
const AUDIT: [(&str, &[&str]); 45] = [
    ("R01", &["image/prefetcher-off"]),
    ("R02", &["image/superfetch-limited"]),
    ("R03", &["image/superfetch-service-off"]),
    ("R04", &["image/filter-untrained"]),
    ("R05", &["image/filter-discards-prefetch"]),
    ("R06", &["image/plans-at-limit"]),
    ("R07", &["image/prefetch-fills-overlay"]),
    ("R08", &["image/nfs-client", "boot/nfs-client"]),
    ("R09", &["image/service-not-needed"]),
    ("R10", &["image/service-early-group", "boot/service-in-group-slow"]),
    ("R11", &["image/service-dependency", "boot/service-chain"]),
    ("R12", &["guard"]),
    ("R13", &["guard"]),
    ("R14", &["image/service-could-trigger"]),
    ("R15", &["boot/service-start-slow"]),
    ("R16", &["image/boot-driver-catalog", "boot/catalog-signed-boot-driver"]),
    ("R17", &["image/test-signing", "recording/test-signed-drivers"]),
    ("R18", &["image/boot-execute"]),
    ("R19", &["image/fast-startup-off"]),
    ("R20", &["image/fast-startup-without-hibernation"]),
    ("R21", &["image/write-filter-on"]),
    ("R22", &["image/horm-blocked"]),
    ("R23", &["image/horm-data-volume"]),
    ("R24", &["image/filter-paging-file"]),
    ("R25", &["image/filter-maintenance-on"]),
    ("R26", &["image/overlay-fills"]),
    ("R27", &["image/fast-startup-power-cut"]),
    ("R28", &["image/firmware-post-long", "boot/firmware-long"]),
    ("R29", &["netboot: ip_order"]),
    ("R30", &["netboot: ip_order"]),
    ("R31", &["image/network-window-small", "netboot: window_small"]),
    ("R32", &["netboot: block_fragmented"]),
    ("R33", &["netboot: window_refused"]),
    ("R34", &["netboot: retransmissions"]),
    ("R35", &["netboot: slow_client"]),
    ("R36", &["image/boot-menu-waits"]),
    ("R37", &["image/startup-programs"]),
    ("R38", &["image/network-drives"]),
    ("R39", &["image/policy-scripts"]),
    ("R40", &["image/usb-devices"]),
    ("R41", &["boot/background-disk"]),
    ("R42", &["image/autologger-on"]),
    ("R43", &["image/shutdown-waits"]),
    ("R44", &["image/resume-slow"]),
    ("R45", &["io: small_requests", "io: amplification"]),
];

/// Image rules beyond the list of the project, from public optimization lists and the categories of Autoruns.
const FURTHER_RULES: [&str; 13] = [
    "image/active-setup",
    "image/application-waits",
    "image/boot-entry-limits",
    "image/driver-verifier",
    "image/file-system-filters",
    "image/injected-dlls",
    "image/logon-extensions",
    "image/page-file-cleared",
    "image/pending-changes",
    "image/policy-scripts-wait",
    "image/policy-waits",
    "image/print-monitors",
    "image/shell-replaced",
];

/// Tests of the rules that are not about an installation: rule, file, test name, and a text the test contains. Boot
/// rules are in the expected findings of the simulator's scenarios.
const TESTED: [(&str, &str, &str, &str); 22] = [
    (
        "guard",
        "answers/findings/tests/image_rules.rs",
        "advice_never_disables_guarded_services",
        "leave Shield unchanged",
    ),
    ("guard", "answers/image/src/protected.rs", "guards_critical_and_protected_services", "rdyboost"),
    ("boot/nfs-client", SCENARIOS, "", "boot/nfs-client"),
    ("boot/service-in-group-slow", SCENARIOS, "", "boot/service-in-group-slow"),
    ("boot/service-chain", SCENARIOS, "", "boot/service-chain"),
    ("boot/service-start-slow", SCENARIOS, "", "boot/service-start-slow"),
    ("boot/firmware-long", SCENARIOS, "", "boot/firmware-long"),
    ("boot/background-disk", SCENARIOS, "", "boot/background-disk"),
    ("boot/catalog-signed-boot-driver", DIAGNOSE, SIGNED, "boot/catalog-signed-boot-driver"),
    ("recording/test-signed-drivers", DIAGNOSE, SIGNED, "recording/test-signed-drivers"),
    ("netboot: ip_order", ADVICE, "failed_ip_version_costs_its_attempts", "\"ip_order\""),
    ("netboot: window_small", ADVICE, "advises_larger_window_only_if_both_estimates_gain", "\"window_small\""),
    ("netboot: block_fragmented", ADVICE, "distinguishes_fragments_from_jumbo_frames", "\"block_fragmented\""),
    ("netboot: window_refused", ADVICE, "window_refusal_needs_server_reply", "\"window_refused\""),
    ("netboot: retransmissions", ADVICE, "cable_advice_needs_retransmissions", "\"retransmissions\""),
    ("netboot: slow_client", ADVICE, "client_delay_excludes_round_trip", "\"slow_client\""),
    ("io: small_requests", IO, "reports_small_requests_above_limit", "FindingCode::SmallRequests"),
    ("io: amplification", IO, "reports_amplification_by_bytes", "FindingCode::Amplification"),
    // Further rules about disk requests.
    ("io: repeated_reads", IO, "reports_repeated_but_not_sequential_reads", "FindingCode::RepeatedReads"),
    ("io: small_unbuffered", IO, "reports_misaligned_and_unbuffered_requests", "FindingCode::SmallUnbuffered"),
    ("io: misaligned", IO, "reports_misaligned_and_unbuffered_requests", "FindingCode::Misaligned"),
    ("io: scattered_writes", IO, "reports_scattered_writes_and_flushes", "FindingCode::ScatteredWrites"),
];
const SCENARIOS: &str = "support/simulator/expected/findings.toml";
const DIAGNOSE: &str = "apps/cli/tests/diagnose.rs";
const SIGNED: &str = "driver_files_show_signatures";
const ADVICE: &str = "apps/cli/tests/netboot_advice.rs";
const IO: &str = "answers/requests/src/tests.rs";

#[test]
fn every_audit_rule_is_implemented_and_tested() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let codes: BTreeSet<&str> = RULES.iter().map(|rule| rule.code).collect();
    let tested: BTreeSet<&str> = TESTED.iter().map(|(rule, ..)| *rule).collect();
    for (number, (id, rules)) in (1..).zip(AUDIT) {
        assert_eq!(id, format!("R{number:02}"));
        assert!(!rules.is_empty(), "{id}");
        for rule in rules {
            // The tests above cover all image rules.
            let is_here = rule.starts_with("image/") && codes.contains(rule);
            assert!(is_here || tested.contains(rule), "{id}: {rule} has no test");
        }
    }
    for (rule, file, test, expected) in TESTED {
        let text = std::fs::read_to_string(crates.join(file)).unwrap();
        let is_rule =
            rule == "guard" || rule.starts_with("netboot: ") || rule.starts_with("io: ") || codes.contains(rule);
        assert!(is_rule, "{rule} is not a rule");
        let body = match test {
            "" => text.as_str(),
            name => {
                let start = text.find(&format!("fn {name}(")).unwrap_or_else(|| panic!("{file} has no test {name}"));
                text[start..].split("\n#[test]").next().unwrap()
            }
        };
        assert!(body.contains(expected), "{rule}: {file}: {test} has no {expected}");
    }
    let listed_rules: BTreeSet<&str> =
        AUDIT.iter().flat_map(|(_, rules)| rules.iter().copied()).chain(FURTHER_RULES).collect();
    let image = codes.iter().filter(|code| code.starts_with("image/"));
    let unlisted: Vec<_> = image.filter(|code| !listed_rules.contains(*code)).collect();
    assert!(unlisted.is_empty(), "image rules missing from the audit list: {unlisted:?}");
}

#[test]
fn rules_without_input_are_not_applicable() {
    let files = Image::default();
    let report = analyze(&files);
    let facts = ImageFacts { image: &files, report: &report, needed: &[], overlay: None, is_power_cut: false };
    let audit = audit(&facts);
    assert_eq!(audit.findings, []);
    let rules: BTreeSet<_> =
        RULES.iter().filter(|rule| matches!(rule.check, Check::Image(_))).map(|rule| rule.code).collect();
    let open: BTreeSet<_> = audit.not_applicable.iter().map(|rule| rule.code).collect();
    assert_eq!(open, rules, "checked without input");
    assert!(audit.not_applicable.iter().all(|rule| !rule.reason.is_empty() && !rule.title.is_empty()));
    // With only the BCD, only its rules are checked.
    let hive = Hive::read(ImageBuilder::healthy().bcd.to_hive(), &[]).unwrap();
    let files =
        Image { hives: vec![ImageHive { name: "BCD".to_owned(), kind: HiveKind::Bcd, hive }], ..Image::default() };
    let report = analyze(&files);
    let facts = ImageFacts { image: &files, report: &report, needed: &[], overlay: None, is_power_cut: false };
    let open: BTreeSet<_> = not_applicable(&facts);
    assert!(open.contains("image/nfs-client") && open.contains("image/startup-programs"), "{open:?}");
    assert!(!open.contains("image/boot-menu-waits"), "{open:?}");
}

fn not_applicable(facts: &ImageFacts<'_>) -> BTreeSet<&'static str> {
    audit(facts).not_applicable.iter().map(|rule| rule.code).collect()
}

#[test]
fn counts_startup_folders_and_third_party_tasks_as_programs() {
    let task = |path: &str| TaskFile {
        path: path.to_owned(),
        bytes:
            b"<Task><Triggers><LogonTrigger/></Triggers><Actions><Exec><Command>a.exe</Command></Exec></Actions></Task>"
                .to_vec(),
        modified_unix_ns: Some(1),
    };
    let mut image = ImageBuilder::healthy();
    image.tasks = (0..20).map(|index| task(&format!(r"Microsoft\Windows\T{index}"))).collect();
    image.startup_entries.push(StartupEntry {
        folder: r"\Users\a".to_owned(),
        name: "desktop.ini".to_owned(),
        modified_unix_ns: None,
    });
    assert_eq!(image.codes(), [""; 0]);
    image.tasks.extend((0..3).map(|index| task(&format!("Updater {index}"))));
    image.startup_entries.extend((0..2).map(|index| StartupEntry {
        folder: r"\Users\a".to_owned(),
        name: format!("chat {index}.lnk"),
        modified_unix_ns: Some(1),
    }));
    assert_eq!(image.codes(), ["image/startup-programs"]);
    let findings = image.audit().findings;
    assert_eq!(findings[0].evidence.len(), 6);
    let last = &findings[0].evidence[5].text;
    assert_eq!(
        last,
        r"\Windows\System32\Tasks\Updater 2 starts 'a.exe' at logon; last written 1970-01-01 00:00:00 UTC"
    );
}

#[test]
fn advice_never_disables_guarded_services() {
    let mut image = ImageBuilder::healthy();
    // A protected third-party service in an early group, not listed as needed.
    image
        .service("Shield", 16, 2, r"C:\Shield\shield.exe")
        .set_value("LaunchProtected", 3_u32)
        .set_value("Group", "Base");
    let findings = image.audit().findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].advice.contains("leave Shield unchanged"), "{}", findings[0].advice);
}

#[test]
fn lists_unneeded_services_with_purpose() {
    let mut image = ImageBuilder::healthy();
    assert_eq!(image.audit().candidates, []);
    image.needed.clear();
    let svchost = r"%SystemRoot%\system32\svchost.exe";
    image
        .service("Spooler", 16, 2, r"%SystemRoot%\System32\spoolsv.exe")
        .set_value("DependOnService", ["RPCSS"].as_slice());
    image.service("NfsClnt", 16, 2, r"%SystemRoot%\system32\nfsclnt.exe");
    // Decoys: a demand-start service and a protected one.
    image.service("WSearch", 32, 3, svchost);
    image.service("Fax", 32, 2, svchost).set_value("LaunchProtected", 1_u32);
    let candidates_of = |image: &ImageBuilder| -> Vec<(String, &'static str, &'static str)> {
        image
            .audit()
            .candidates
            .into_iter()
            .map(|candidate| (candidate.service, candidate.purpose, candidate.cost))
            .collect()
    };
    let nfs = ("NfsClnt".to_owned(), "files on NFS servers", "20 to 45 s in some boots");
    let spooler = ("Spooler".to_owned(), "printing", "");
    assert_eq!(candidates_of(&image), [nfs.clone(), spooler]);
    // Listed as needed, directly or through a dependent service.
    image.needed.push("spooler".to_owned());
    assert_eq!(candidates_of(&image), std::slice::from_ref(&nfs));
    image.needed = vec!["Till".to_owned()];
    image.service("Till", 16, 2, r"C:\Till\till.exe").set_value("DependOnService", ["Spooler"].as_slice());
    assert_eq!(candidates_of(&image), [nfs]);
    // Without a list, dependent services are shown.
    image.needed.clear();
    let candidates = image.audit().candidates;
    assert_eq!(candidates[1].needed_by, ["Till"]);
}

#[test]
fn evidence_contains_value_key_and_time() {
    let mut image = ImageBuilder::healthy();
    image.control(r"Session Manager\Memory Management\PrefetchParameters").set_value("EnablePrefetcher", 0_u32);
    let findings = image.audit().findings;
    assert_eq!(
        findings[0].evidence[0].text,
        r"SYSTEM\ControlSet001\Control\Session Manager\Memory Management\PrefetchParameters\EnablePrefetcher = 0; key last written 2020-01-02 03:04:05 UTC"
    );
}

#[test]
fn missing_keys_of_damaged_hive_are_not_findings() {
    let mut image = ImageBuilder::healthy();
    image.system.subkey(&format!(r"{CS}\Services\Maker")).set_value("DependOnService", ["Lost"].as_slice());
    image.service("Lost", 16, 3, r"C:\Maker\lost.exe");
    assert_eq!(image.codes(), [""; 0]);
    let mut bytes = image.system.to_hive();
    let name = bytes.windows(4).position(|four| four == b"Lost").unwrap();
    // The dependency value is UTF-16, so this is the key name.
    bytes[name - 76] = b'x';
    let hive = Hive::read(bytes, &[]).unwrap();
    let files = Image {
        hives: vec![ImageHive { name: "SYSTEM".to_owned(), kind: HiveKind::System, hive }],
        ..Image::default()
    };
    let report = analyze(&files);
    assert!(!report.services.iter().any(|service| service.name == "Lost"));
    let facts = ImageFacts { image: &files, report: &report, needed: &[], overlay: None, is_power_cut: false };
    assert!(!audit(&facts).findings.iter().any(|finding| finding.code == "image/service-dependency"));
}
