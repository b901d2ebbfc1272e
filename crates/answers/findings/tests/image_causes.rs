//! Tests the image rules for causes beyond the papers: each speaks for its problem, is silent without it, and is not
//! misled by a decoy.
#![allow(clippy::unwrap_used)]

use crate::image_builder::{CS, ImageBuilder};

const MEMORY: &str = r"Session Manager\Memory Management";
const WINLOGON: &str = r"Microsoft\Windows NT\CurrentVersion\Winlogon";
const WINLOGON_POLICY: &str = r"Policies\Microsoft\Windows NT\CurrentVersion\Winlogon";
const POLICY: &str = r"Microsoft\Windows\CurrentVersion\Policies\System";
const COMPONENT: &str = r"Microsoft\Active Setup\Installed Components\{A}";

/// A rule with an installation that has its problem, and one that only looks like it.
type Case = (&'static str, fn(&mut ImageBuilder), fn(&mut ImageBuilder));

fn set_boot_element(image: &mut ImageBuilder, number: &str, value: u64) {
    let path = format!(r"Objects\{{1}}\Elements\{number}");
    image.bcd.subkey(&path).set_value("Element", value.to_le_bytes().to_vec());
}

fn add_logon_script(image: &mut ImageBuilder) {
    let path = r"Microsoft\Windows\CurrentVersion\Group Policy\Scripts\Logon\0\0";
    image.software.subkey(path).set_value("Script", "map.cmd");
}

fn add_filter(image: &mut ImageBuilder, name: &str, group: &str, start: u32) {
    image.service(name, 2, start, &format!(r"System32\drivers\{name}.sys")).set_value("Group", group);
    image.drivers.push(crate::image_builder::driver(&format!("{}.sys", name.to_lowercase()), true, false));
}

fn add_monitor(image: &mut ImageBuilder, spooler_start: u32) {
    image.service("Spooler", 16, spooler_start, r"%SystemRoot%\System32\spoolsv.exe");
    image.needed.push("Spooler".to_owned());
    image.control(r"Print\Monitors\Local Port").set_value("Driver", "localspl.dll");
    image.control(r"Print\Monitors\Maker Port").set_value("Driver", "MakerMon.dll");
}

const CASES: [Case; 13] = [
    (
        "image/active-setup",
        |image| {
            image.software.subkey(COMPONENT).set_value("StubPath", "setup.exe").set_value("Version", "1,10");
            image.user.subkey(&format!(r"Software\{COMPONENT}")).set_value("Version", "1,9");
        },
        |image| {
            image.software.subkey(COMPONENT).set_value("StubPath", "setup.exe").set_value("Version", "1,9");
            image.user.subkey(&format!(r"Software\{COMPONENT}")).set_value("Version", "1,10");
            let removed = r"Microsoft\Active Setup\Installed Components\{B}";
            image.software.subkey(removed).set_value("StubPath", "b.exe").set_value("IsInstalled", 0_u32);
        },
    ),
    (
        "image/application-waits",
        |image| {
            image.user.subkey(r"Control Panel\Desktop").set_value("WaitToKillAppTimeout", "60000");
        },
        |image| {
            let desktop = image.user.subkey(r"Control Panel\Desktop");
            desktop.set_value("WaitToKillAppTimeout", "20000").set_value("AutoEndTasks", "1");
        },
    ),
    (
        "image/boot-entry-limits",
        |image| set_boot_element(image, "25000061", 1),
        |image| {
            // Another entry is limited, and the default one keeps all memory.
            set_boot_element(image, "15000007", 0);
            image.bcd.subkey(r"Objects\{2}\Description").set_value("Type", 0x1020_0003_u32);
            let limit = image.bcd.subkey(r"Objects\{2}\Elements\25000061");
            limit.set_value("Element", 1_u64.to_le_bytes().to_vec());
        },
    ),
    (
        "image/driver-verifier",
        |image| {
            image
                .control(MEMORY)
                .set_value("VerifyDrivers", "maker.sys")
                .set_value("VerifyDriverLevel", 0x0002_09bb_u32);
        },
        |image| {
            image.control(MEMORY).set_value("VerifyDrivers", "").set_value("VerifyDriverLevel", 0x0002_09bb_u32);
        },
    ),
    (
        "image/file-system-filters",
        |image| {
            add_filter(image, "ScanOne", "FSFilter Anti-Virus", 1);
            add_filter(image, "ScanTwo", "FSFilter Anti-Virus", 0);
        },
        |image| {
            add_filter(image, "WdFilter", "FSFilter Anti-Virus", 0);
            add_filter(image, "ScanOne", "FSFilter Anti-Virus", 1);
            add_filter(image, "ScanOff", "FSFilter Anti-Virus", 4);
        },
    ),
    (
        "image/injected-dlls",
        |image| {
            let windows = image.software.subkey(r"Microsoft\Windows NT\CurrentVersion\Windows");
            windows.set_value("AppInit_DLLs", r"C:\Maker\hook.dll").set_value("LoadAppInit_DLLs", 1_u32);
        },
        |image| {
            let windows = image.software.subkey(r"Microsoft\Windows NT\CurrentVersion\Windows");
            windows.set_value("AppInit_DLLs", r"C:\Maker\hook.dll").set_value("LoadAppInit_DLLs", 0_u32);
        },
    ),
    (
        "image/logon-extensions",
        |image| {
            image.control(r"NetworkProvider\Order").set_value("ProviderOrder", "RDPNP,LanmanWorkstation,MakerNP");
        },
        |image| {
            image.control(r"NetworkProvider\Order").set_value("ProviderOrder", "RDPNP,LanmanWorkstation,webclient");
            image.control("Lsa").set_value("Authentication Packages", ["msv1_0"].as_slice());
            image.control("Lsa").set_value("Notification Packages", ["rassfm", "scecli"].as_slice());
            let id = "{60b78e88-ead8-445c-9cfd-0b87f74ea6cd}";
            let providers = r"Microsoft\Windows\CurrentVersion\Authentication\Credential Providers";
            image.software.subkey(&format!(r"{providers}\{id}"));
            let server = image.software.subkey(&format!(r"Classes\CLSID\{id}\InprocServer32"));
            server.set_value("", r"%SystemRoot%\system32\credprovs.dll");
        },
    ),
    (
        "image/page-file-cleared",
        |image| {
            image.control(MEMORY).set_value("ClearPageFileAtShutdown", 1_u32);
        },
        |image| {
            let memory = image.control(MEMORY);
            memory.set_value("ClearPageFileAtShutdown", 1_u32).set_value("PagingFiles", [].as_slice());
        },
    ),
    (
        "image/pending-changes",
        |image| {
            let files = [r"\??\C:\Windows\Temp\a.tmp", "", r"\??\C:\b.new", r"!\??\C:\b.dll"];
            image.control("Session Manager").set_value("PendingFileRenameOperations", files.as_slice());
        },
        |image| {
            image.control("Session Manager").set_value("PendingFileRenameOperations", [].as_slice());
            image.system.subkey("Setup").set_value("SystemSetupInProgress", 0_u32);
        },
    ),
    (
        "image/policy-scripts-wait",
        |image| {
            add_logon_script(image);
            image.software.subkey(POLICY).set_value("RunLogonScriptSync", 1_u32);
        },
        // Without scripts, nothing is waited for.
        |image| {
            let policy = image.software.subkey(POLICY);
            policy.set_value("RunLogonScriptSync", 1_u32).set_value("RunStartupScriptSync", 1_u32);
            policy.set_value("MaxGPOScriptWait", 0_u32);
        },
    ),
    (
        "image/policy-waits",
        |image| {
            image.software.subkey(WINLOGON_POLICY).set_value("SyncForegroundPolicy", 1_u32);
        },
        |image| {
            image.software.subkey(WINLOGON_POLICY).set_value("SyncForegroundPolicy", 0_u32);
            let wait = image.software.subkey(r"Policies\Microsoft\Windows\System");
            wait.set_value("GpNetworkStartTimeoutPolicyValue", 30_u32);
        },
    ),
    ("image/print-monitors", |image| add_monitor(image, 2), |image| add_monitor(image, 4)),
    (
        "image/shell-replaced",
        |image| {
            let path = r"C:\Windows\system32\userinit.exe,C:\Maker\first.exe,";
            image.software.subkey(WINLOGON).set_value("Userinit", path);
        },
        |image| {
            let winlogon = image.software.subkey(WINLOGON);
            winlogon.set_value("Userinit", r"D:\WINDOWS\System32\USERINIT.EXE,");
            // A kiosk has one other shell.
            winlogon.set_value("Shell", r"C:\Till\till.exe");
        },
    ),
];

/// For each rule, an installation with its problem.
pub fn problems() -> Vec<(&'static str, ImageBuilder)> {
    let with_problem = |change: fn(&mut ImageBuilder)| {
        let mut image = ImageBuilder::healthy();
        change(&mut image);
        image
    };
    CASES.iter().map(|&(code, problem, _)| (code, with_problem(problem))).collect()
}

#[test]
fn decoys_are_no_findings() {
    for (code, _, decoy) in CASES {
        let mut image = ImageBuilder::healthy();
        decoy(&mut image);
        assert_eq!(image.codes(), [""; 0], "{code}");
    }
}

#[test]
fn causes_have_commands_with_undo_and_effect() {
    for (code, image) in problems() {
        let finding = image.finding(code).unwrap();
        let evidence: Vec<&str> = finding.evidence.iter().map(|item| item.text.as_str()).collect();
        assert!(evidence.iter().any(|text| text.contains("key last written 2020-01-02 03:04:05 UTC")), "{evidence:?}");
        for action in &finding.actions {
            assert!(!action.breaks.is_empty() && !action.is_lost_at_restart, "{code}: {action:?}");
            assert!(action.undo.is_some() || code == "image/driver-verifier", "{code}: {action:?}");
        }
    }
}

#[test]
fn policy_waits_name_their_times() {
    let mut image = ImageBuilder::healthy();
    image.software.subkey(WINLOGON).set_value("GpNetworkStartTimeoutPolicyValue", 90_u32);
    let finding = image.finding("image/policy-waits").unwrap();
    assert_eq!(finding.title, "Group Policy waits up to 90 s for the network at each boot; the default is 30 s");
    add_logon_script(&mut image);
    image.software.subkey(POLICY).set_value("MaxGPOScriptWait", 0_u32);
    let finding = image.finding("image/policy-scripts-wait").unwrap();
    assert!(finding.title.contains("there is no time limit"), "{}", finding.title);
    assert!(finding.actions[0].command.as_ref().unwrap().ends_with("/v MaxGPOScriptWait /t REG_DWORD /d 600 /f"));
}

#[test]
fn setup_and_updates_are_pending_changes() {
    let mut image = ImageBuilder::healthy();
    image.system.subkey("Setup").set_value("SystemSetupInProgress", 1_u32);
    assert_eq!(image.finding("image/pending-changes").unwrap().title, "the next boot continues Windows setup");
    image.system.subkey(&format!(r"{CS}\Control")).set_value("SystemStartOptions", " MININT");
    assert!(image.finding("image/pending-changes").is_none(), "Windows PE always has this value");
    let mut image = ImageBuilder::healthy();
    image.software.subkey(r"Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending");
    assert_eq!(image.finding("image/pending-changes").unwrap().title, "the next boot finishes an update");
}

#[test]
fn extra_shells_are_findings_except_on_devices() {
    let mut image = ImageBuilder::healthy();
    image.software.subkey(WINLOGON).set_value("Shell", r#"explorer.exe, "C:\Maker\bar.exe""#);
    let finding = image.finding("image/shell-replaced").unwrap();
    assert!(finding.title.contains("Shell starts 1 program"), "{}", finding.title);
    assert!(finding.actions[0].command.as_ref().unwrap().contains(r#"/d "explorer.exe" /f"#));
    assert!(image.edition("IoTEnterprise").finding("image/shell-replaced").is_none());
}

#[test]
fn third_party_credential_providers_are_logon_extensions() {
    let mut image = ImageBuilder::healthy();
    let id = "{00000000-0000-0000-0000-000000000001}";
    let providers = r"Microsoft\Windows\CurrentVersion\Authentication\Credential Providers";
    image.software.subkey(&format!(r"{providers}\{id}"));
    let server = image.software.subkey(&format!(r"Classes\CLSID\{id}\InprocServer32"));
    server.set_value("", r"C:\Maker\token.dll");
    image.control("Lsa").set_value("Security Packages", ["kerberos", "makerssp"].as_slice());
    let finding = image.finding("image/logon-extensions").unwrap();
    assert_eq!(finding.title, "2 third-party parts of each logon: makerssp, token.dll");
    // Decoy: the provider is turned off.
    image.software.subkey(&format!(r"{providers}\{id}")).set_value("Disabled", 1_u32);
    assert_eq!(image.finding("image/logon-extensions").unwrap().title, "1 third-party part of each logon: makerssp");
}
