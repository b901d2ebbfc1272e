//! Tests that the advice about an installation does not contradict itself, and fits its write filter, edition and version.
#![allow(clippy::unwrap_used)]

use onoff_findings::finding::FindingSeverity;
use onoff_findings::image::ImageAudit;
use onoff_trace::DriverFile;

use crate::image_builder::{CS, ImageBuilder, driver, plans};

const POWER: &str = r"Session Manager\Power";
const PREFETCH: &str = r"Session Manager\Memory Management\PrefetchParameters";

fn withheld(audit: &ImageAudit) -> Vec<&'static str> {
    audit.withheld.iter().map(|finding| finding.code).collect()
}

/// Turns read-ahead and fast startup off.
fn turn_off(image: &mut ImageBuilder) {
    image.service("SysMain", 32, 4, "svchost.exe");
    image.control(PREFETCH).set_value("EnableSuperfetch", 0_u32).set_value("EnablePrefetcher", 0_u32);
    image.control(POWER).set_value("HiberbootEnabled", 0_u32);
}

const TURNED_OFF: [&str; 4] =
    ["image/fast-startup-off", "image/prefetcher-off", "image/superfetch-limited", "image/superfetch-service-off"];

#[test]
fn what_uwf_turns_off_is_not_advised() {
    let mut image = ImageBuilder::filtered();
    turn_off(&mut image);
    image.prefetch = Some(plans(1, 3));
    let audit = image.audit();
    let codes: Vec<&str> = audit.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["image/write-filter-on", "image/horm-blocked"]);
    let mut expected = TURNED_OFF.to_vec();
    expected.insert(1, "image/filter-untrained");
    assert_eq!(withheld(&audit), expected);
    let text = format!("{:?}", audit.findings);
    assert!(!text.contains("SysMain start= auto") && !text.contains("powercfg /hibernate on"), "{text}");
    // Decoy: the same settings without the filter.
    let mut image = ImageBuilder::healthy();
    turn_off(&mut image);
    let mut codes = image.codes();
    codes.sort_unstable();
    assert_eq!((codes, withheld(&image.audit())), (TURNED_OFF.to_vec(), Vec::new()));
}

#[test]
fn horm_has_no_advice_that_it_forbids() {
    let mut image = ImageBuilder::filtered();
    image.copy().subkey("0").set_value("FileExceptionsUserDefined", [].as_slice());
    image.copy().set_value("RegistryExceptionsUserDefined", [].as_slice());
    image.set_horm(true);
    let audit = image.audit();
    let codes: Vec<&str> = audit.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["image/prefetch-fills-overlay"], "each start is a resume, so no boot is a full boot");
    assert!(audit.findings[0].advice.contains("HORM forbids exclusions"), "{}", audit.findings[0].advice);
    assert_eq!(withheld(&audit), ["image/fast-startup-off", "image/filter-discards-prefetch"]);
    // Decoy: HORM is installed but off.
    image.set_horm(false);
    let codes = image.codes();
    assert!(codes.contains(&"image/write-filter-on") && codes.contains(&"image/filter-discards-prefetch"), "{codes:?}");
}

#[test]
fn blockers_of_horm_are_cited() {
    let mut image = ImageBuilder::filtered();
    image.copy().set_value("OverlayType", 1_u32);
    image.copy().subkey("1").set_value("VolumeName", "D:").set_value("VolumeEnabled", 0_u32);
    let finding = image.finding("image/horm-blocked").unwrap();
    let evidence: Vec<&str> = finding.evidence.iter().map(|item| item.text.as_str()).collect();
    for value in [
        r"Copy0\OverlayType = 1; key last written",
        r"Copy0\1\VolumeEnabled = 0; key last written",
        r"Copy0\0\FileExceptionsUserDefined = 'C:\Windows\Prefetch'",
        r"Copy0\RegistryExceptionsUserDefined = ",
        r"Copy0\UwfEnabled = 1",
    ] {
        assert!(evidence.iter().any(|text| text.contains(value)), "{value}: {evidence:?}");
    }
    assert!(evidence.iter().all(|text| !text.contains(r"Copy0\0\VolumeEnabled")), "{evidence:?}");
}

#[test]
fn every_advice_behind_a_filter_says_that_the_change_is_lost() {
    let mut image = ImageBuilder::filtered();
    image.user.subkey(r"Network\z").set_value("RemotePath", r"\\server\share");
    image.service("NfsClnt", 16, 2, r"%SystemRoot%\system32\nfsclnt.exe");
    let audit = image.audit();
    assert!(audit.findings.len() > 3, "{:?}", image.codes());
    for finding in &audit.findings {
        assert!(finding.advice.contains("lost") && finding.advice.contains("servicing"), "{}", finding.advice);
        assert!(finding.actions.iter().all(|action| action.is_lost_at_restart), "{:?}", finding.actions);
    }
    // The filter goes off with the next restart.
    let fixed = image.system.subkey(&format!(r"{CS}\Services\uwfvol\Parameters\Static"));
    fixed.set_value("UpdatedSettings", 1_u32).subkey("Copy1").set_value("UwfEnabled", 0_u32);
    let finding = image.finding("image/nfs-client").unwrap();
    assert!(finding.advice.contains("make it after that restart"), "{}", finding.advice);
    // Decoys: the filter is off, or protects only another volume.
    image.copy().set_value("UwfEnabled", 0_u32);
    assert!(!image.finding("image/nfs-client").unwrap().advice.contains("lost"));
    image.copy().set_value("UwfEnabled", 1_u32).subkey("0").set_value("VolumeEnabled", 0_u32);
    image.copy().subkey("1").set_value("VolumeName", "D").set_value("VolumeEnabled", 1_u32);
    assert!(!image.finding("image/nfs-client").unwrap().advice.contains("lost"));
}

#[test]
fn paging_file_on_unprotected_volume_is_no_finding() {
    let mut image = ImageBuilder::filtered();
    image.copy().subkey("1").set_value("VolumeName", "D:").set_value("VolumeEnabled", 0_u32);
    let memory = r"Session Manager\Memory Management";
    image.control(memory).set_value("PagingFiles", [r"D:\pagefile.sys 0 0"].as_slice());
    assert!(image.finding("image/filter-paging-file").is_none());
    image.control(memory).set_value("PagingFiles", [r"D:\pagefile.sys 0 0", r"C:\pagefile.sys 0 0"].as_slice());
    assert!(image.finding("image/filter-paging-file").is_some());
}

#[test]
fn editions_without_a_feature_get_no_advice_about_it() {
    let with_edition = |change: &dyn Fn(&mut ImageBuilder)| {
        let mut image = ImageBuilder::healthy();
        turn_off(&mut image);
        change(&mut image);
        let mut codes = image.codes();
        codes.sort_unstable();
        codes
    };
    assert_eq!(with_edition(&|_| {}), TURNED_OFF);
    assert_eq!(
        with_edition(&|image| {
            image.edition("EnterpriseS");
        }),
        TURNED_OFF,
        "LTSC has fast startup"
    );
    assert_eq!(
        with_edition(&|image| {
            image.edition("ServerStandard");
        }),
        [""; 0]
    );
    assert_eq!(
        with_edition(&|image| {
            image.control("ProductOptions").set_value("ProductType", "ServerNT");
        }),
        [""; 0]
    );
    assert_eq!(
        with_edition(&|image| {
            image.edition("ServerRdsh");
        }),
        [""; 0],
        "multi-session virtual desktop"
    );
    assert_eq!(
        with_edition(&|image| {
            let control = image.system.subkey(&format!(r"{CS}\Control"));
            control.set_value("SystemStartOptions", " MININT RDPATH=MULTI(0)DISK(0)");
        }),
        [""; 0]
    );
    // Decoy: setup leaves this key behind in installed systems.
    let with_key = with_edition(&|image| {
        image.control("MiniNT");
    });
    assert_eq!(with_key, TURNED_OFF);
    let citrix = |image: &mut ImageBuilder| {
        image.service("BrokerAgent", 16, 2, r"C:\Windows\BrokerAgent.exe");
        image.needed.push("BrokerAgent".to_owned());
    };
    assert_eq!(with_edition(&citrix), [""; 0]);
    // Devices are often powered off without a shutdown.
    let mut image = ImageBuilder::healthy();
    image.control(POWER).set_value("HiberbootEnabled", 0_u32);
    let client = image.finding("image/fast-startup-off").unwrap();
    let device = image.edition("IoTEnterprise").finding("image/fast-startup-off").unwrap();
    assert!(device.severity < client.severity);
    assert!(device.advice.starts_with("only if the device is always shut down properly"), "{}", device.advice);
    // Windows 7 has no fast startup.
    image.software.subkey(r"Microsoft\Windows NT\CurrentVersion").set_value("CurrentBuild", "7601");
    assert!(image.finding("image/fast-startup-off").is_none());
}

#[test]
fn test_signed_boot_drivers_are_replaced_before_test_signing_is_turned_off() {
    let turn_on = |image: &mut ImageBuilder| {
        image.bcd.subkey(r"Objects\{1}\Elements\16000049").set_value("Element", vec![1_u8]);
    };
    let mut image = ImageBuilder::healthy();
    turn_on(&mut image);
    let finding = image.finding("image/test-signing").unwrap();
    assert_eq!(finding.title, "test signing is on");
    assert_eq!(finding.actions[0].command.as_deref(), Some(r#"bcdedit /set "{default}" testsigning off"#));
    assert_eq!(finding.actions[0].undo.as_deref(), Some(r#"bcdedit /set "{default}" testsigning on"#));
    image.drivers = vec![driver("disk.sys", true, true)];
    let finding = image.finding("image/test-signing").unwrap();
    assert!(finding.title.contains("boot drivers need it: disk.sys"), "{}", finding.title);
    let (replace, turn_off) =
        (finding.advice.find("replace disk.sys").unwrap(), finding.advice.find("bcdedit").unwrap());
    assert!(replace < turn_off && finding.actions.is_empty(), "{}", finding.advice);
    // Without the files, the test-signed drivers are unknown.
    image.drivers.clear();
    let finding = image.finding("image/test-signing").unwrap();
    assert!(
        finding.advice.starts_with("first make sure that no boot-start driver is test-signed"),
        "{}",
        finding.advice
    );
}

#[test]
fn network_drives_say_what_is_deleted() {
    let mut image = ImageBuilder::healthy();
    image.user.subkey(r"Network\z").set_value("RemotePath", r"\\server\share");
    let finding = image.finding("image/network-drives").unwrap();
    assert!(finding.evidence[0].text.ends_with("key last written 2020-01-02 03:04:05 UTC"), "{:?}", finding.evidence);
    let action = &finding.actions[0];
    assert_eq!(action.command.as_deref(), Some("net use Z: /delete"));
    assert_eq!(action.undo.as_deref(), Some(r#"net use Z: "\\server\share" /persistent:yes"#));
    assert!(finding.advice.contains("deletes all of them: every drive letter"), "{}", finding.advice);
}

#[test]
fn service_timeout_is_compared_with_default_of_version() {
    let timeout = |build: &str, ms: &str| {
        let mut image = ImageBuilder::healthy();
        image.software.subkey(r"Microsoft\Windows NT\CurrentVersion").set_value("CurrentBuild", build);
        image.system.subkey(&format!(r"{CS}\Control")).set_value("WaitToKillServiceTimeout", ms);
        image.finding("image/shutdown-waits").map(|finding| finding.actions[0].value.clone())
    };
    assert_eq!(timeout("19045", "5000"), None);
    assert_eq!(timeout("19045", "12000"), Some("5000".to_owned()));
    assert_eq!(timeout("7601", "12000"), None);
    assert_eq!(timeout("7601", "20000"), Some("12000".to_owned()));
    assert_eq!(timeout("6002", "20000"), None);
}

#[test]
fn contradictions_between_findings_are_resolved() {
    let mut image = ImageBuilder::healthy();
    // Not needed, and third-party: one finding advises demand, the other a delayed start.
    image.service("Extra", 16, 2, r"C:\Extra\extra.exe");
    let audit = image.audit();
    let [conflict] = audit.conflicts.as_slice() else { panic!("{:?}", audit.conflicts) };
    assert_eq!(
        (conflict.target.as_str(), conflict.kept, conflict.kept_value.as_str(), conflict.withdrawn_value.as_str()),
        ("start type of extra", "image/service-not-needed", "demand", "delayed-auto")
    );
    let withdrawn = audit.findings.iter().find(|finding| finding.code == "image/service-could-trigger").unwrap();
    assert!(withdrawn.actions.is_empty());
    assert!(withdrawn.advice.ends_with("for the start type of extra, follow image/service-not-needed instead"));
    // No two findings of any installation in these tests advise different values of one setting.
    for (code, image) in crate::image_rules::problems() {
        let mut values = std::collections::BTreeMap::new();
        for action in image.audit().findings.iter().flat_map(|finding| &finding.actions) {
            let value = values.entry(action.target.clone()).or_insert_with(|| action.value.clone());
            assert_eq!(*value, action.value, "{code}: {}", action.target);
        }
    }
}

#[test]
fn power_cuts_decide_between_filter_and_fast_startup() {
    let mut image = ImageBuilder::filtered();
    image.is_power_cut = true;
    let finding = image.finding("image/write-filter-on").unwrap();
    assert!(finding.advice.starts_with("keep UWF"), "{}", finding.advice);
    let mut image = ImageBuilder::healthy();
    image.is_power_cut = true;
    image.control("Power").set_value("HibernateEnabled", 0_u32);
    let finding = image.finding("image/fast-startup-without-hibernation").unwrap();
    assert!(!finding.advice.contains("hibernate on"), "{}", finding.advice);
}

#[test]
fn drivers_of_windows_are_signed_by_catalog_by_design() {
    let of_windows = |name: &str| DriverFile { is_part_of_windows: true, ..driver(name, false, false) };
    let mut image = ImageBuilder::healthy();
    image.service("acpi", 1, 0, r"System32\drivers\acpi.sys");
    image.drivers = vec![of_windows("acpi.sys"), driver("disk.sys", true, false)];
    assert!(image.finding("image/boot-driver-catalog").is_none());
    // A driver of a vendor, among drivers of Windows that need the catalogs in any case.
    image.service("vendor", 1, 0, r"System32\drivers\vendor.sys");
    image.drivers.push(driver("vendor.sys", false, false));
    let finding = image.finding("image/boot-driver-catalog").unwrap();
    assert!(finding.title.ends_with("signature: vendor.sys"), "{}", finding.title);
    assert_eq!(finding.severity, FindingSeverity::Note);
    assert!(finding.advice.contains("saves little here"), "{}", finding.advice);
    // Decoy: all drivers of Windows have an embedded signature, so the vendor's driver alone needs the catalogs.
    image.drivers[0] = driver("acpi.sys", true, false);
    let finding = image.finding("image/boot-driver-catalog").unwrap();
    assert_eq!(finding.severity, FindingSeverity::Moderate);
    assert!(finding.advice.contains("1 to 3 s"), "{}", finding.advice);
}

#[test]
fn work_of_windows_before_the_first_session_is_finished_not_removed() {
    let finding = |name: &str, entries: &[&str]| {
        let mut image = ImageBuilder::healthy();
        image.control("Session Manager").set_value(name, entries);
        image.finding("image/boot-execute")
    };
    let update = finding("SetupExecute", &[r"C:\Windows\System32\poqexec.exe /display_progress pending.xml"]).unwrap();
    assert!(update.advice.starts_with("boot once") && update.actions.is_empty(), "{}", update.advice);
    let check = finding("BootExecute", &[r"autocheck autochk /r \??\C:", "autocheck autochk *"]).unwrap();
    assert!(check.advice.contains("disk check") && check.actions.is_empty(), "{}", check.advice);
    assert!(finding("BootExecute", &["autocheck autochk /k:C *"]).is_none());
    // A leftover entry is removed; the disk check stays.
    let leftover = finding("BootExecute", &["autocheck autochk *", "vendor_defrag"]).unwrap();
    assert!(leftover.actions[0].command.as_deref().unwrap().contains(r#"/d "autocheck autochk *" "#));
}

#[test]
fn only_services_that_windows_can_delay_are_delayed() {
    let mut image = ImageBuilder::healthy();
    for name in ["Alone", "Grouped", "Needed"] {
        image.service(name, 16, 2, &format!(r"C:\Own\{name}.exe"));
        image.needed.push(name.to_owned());
    }
    image.system.subkey(&format!(r"{CS}\Services\Grouped")).set_value("Group", "Own group");
    image.system.subkey(&format!(r"{CS}\Services\Alone")).set_value("DependOnService", ["Needed"].as_slice());
    let finding = image.finding("image/service-could-trigger").unwrap();
    let commands: Vec<&str> = finding.actions.iter().filter_map(|action| action.command.as_deref()).collect();
    assert_eq!(commands, ["sc.exe config Alone start= delayed-auto"]);
}

#[test]
fn windows_server_waits_for_the_network_whatever_the_policy_says() {
    let mut image = ImageBuilder::healthy();
    let path = r"Policies\Microsoft\Windows NT\CurrentVersion\Winlogon";
    image.software.subkey(path).set_value("SyncForegroundPolicy", 1_u32);
    let finding = image.finding("image/policy-waits").unwrap();
    assert!(finding.actions[0].breaks.contains("a policy of the domain sets the value again"));
    image.software.subkey(r"Microsoft\Windows NT\CurrentVersion").set_value("InstallationType", "Server");
    image.edition("ServerStandard");
    assert!(image.finding("image/policy-waits").is_none());
}

#[test]
fn changes_of_the_boot_configuration_name_their_entry_and_bitlocker() {
    let mut image = ImageBuilder::healthy();
    for (element, value) in [("260000a0", 1_u64), ("25000061", 2)] {
        let key = image.bcd.subkey(&format!(r"Objects\{{1}}\Elements\{element}"));
        key.set_value("Element", value.to_le_bytes().to_vec());
    }
    for (code, command) in [
        ("image/boot-menu-waits", r#"bcdedit /debug "{default}" off"#),
        ("image/boot-entry-limits", r#"bcdedit /deletevalue "{default}" numproc"#),
    ] {
        let finding = image.finding(code).unwrap();
        assert_eq!(finding.actions[0].command.as_deref(), Some(command));
        assert!(finding.actions[0].breaks.contains("BitLocker"), "{}", finding.actions[0].breaks);
    }
}

#[test]
fn servicing_mode_keeps_windows_update() {
    let mut image = ImageBuilder::filtered();
    image.service("wuauserv", 32, 2, "svchost.exe");
    let finding = image.finding("image/filter-maintenance-on").unwrap();
    assert_eq!(finding.actions[0].command.as_deref(), Some("sc.exe config wuauserv start= demand"));
    image.set_horm(true);
    let finding = image.finding("image/filter-maintenance-on").unwrap();
    assert!(finding.advice.contains("uwfmgr filter disable-horm"), "{}", finding.advice);
}

#[test]
fn driver_verifier_can_be_turned_on_again() {
    let mut image = ImageBuilder::healthy();
    let memory = image.control(r"Session Manager\Memory Management");
    memory.set_value("VerifyDrivers", "a.sys b.sys").set_value("VerifyDriverLevel", 0x9bb_u32);
    let finding = image.finding("image/driver-verifier").unwrap();
    assert_eq!(finding.actions[0].undo.as_deref(), Some("verifier /flags 0x9bb /driver a.sys b.sys"));
}
