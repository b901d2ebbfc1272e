//! `onoff image` from the command line.

use std::io::Read;

use onoff_testkit::hive::HiveKey;
use onoff_testkit::real_recordings::samples_folder;
use onoff_testkit::{Program, program};
use serde_json::Value;

use crate::harness::Folder;

fn system(third_party_start: u32) -> HiveKey {
    let mut root = HiveKey::root();
    root.subkey("Select").set_value("Current", 1_u32);
    let mut service = |name: &str, kind: u32, start: u32, path: &str| {
        root.subkey(&format!(r"ControlSet001\Services\{name}"))
            .set_value("Type", kind)
            .set_value("Start", start)
            .set_value("ImagePath", path);
    };
    service("disk", 1, 0, r"System32\drivers\disk.sys");
    service("RpcSs", 32, 2, r"%SystemRoot%\system32\svchost.exe -k rpcss");
    service("Maker", 16, third_party_start, r"C:\Maker\maker.exe");
    let power = root.subkey(r"ControlSet001\Control\Session Manager\Power");
    power.set_value("HiberbootEnabled", 1_u32);
    root.subkey(r"ControlSet001\Control\Power").set_value("HibernateEnabled", 0_u32);
    root
}

/// Creates a Windows volume with a driver that is signed only by a catalog.
fn volume() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("c/Windows/System32/config")).unwrap();
    std::fs::create_dir_all(folder.path("c/Windows/System32/drivers")).unwrap();
    folder.file("c/Windows/System32/config/SYSTEM", &system(2).to_hive());
    folder.file("c/Windows/System32/drivers/disk.sys", &program(None));
    let mut software = HiveKey::root();
    software
        .subkey(r"Microsoft\Windows NT\CurrentVersion")
        .set_value("ProductName", "Windows 10 Pro")
        .set_value("CurrentBuild", "22631");
    folder.file("c/Windows/System32/config/SOFTWARE", &software.to_hive());
    folder
}

#[test]
fn audits_volume() {
    let text = volume().answer("image c");
    for line in [
        "Windows 11 Pro (build 22631): 3 findings",
        "2 services start at boot",
        "fast startup is on but cannot work: hibernation is off",
        r"SYSTEM\ControlSet001\Control\Power\HibernateEnabled = 0; key last written 2020-01-02 03:04:05 UTC",
        "1 boot-start driver without an embedded signature: disk.sys",
        "1 third-party service starts at boot: Maker",
        "power cuts are not in the registry",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

/// Drivers have resources, may be in the driver store, and may be cut off.
#[test]
fn reads_signatures_of_boot_drivers() {
    let folder = volume();
    let mut system = system(2);
    for (name, path) in [
        ("disk", r"System32\drivers\disk.sys"),
        ("Stored", r"\SystemRoot\System32\DriverStore\FileRepository\stored.inf_1\Stored.sys"),
        ("Cut", r"System32\drivers\cut.sys"),
    ] {
        let key = system.subkey(&format!(r"ControlSet001\Services\{name}"));
        key.set_value("Type", 1_u32).set_value("Start", 0_u32).set_value("ImagePath", path);
    }
    folder.file("c/Windows/System32/config/SYSTEM", &system.to_hive());
    let store = "c/Windows/System32/DriverStore/FileRepository/stored.inf_1";
    std::fs::create_dir_all(folder.path(store)).unwrap();
    let with_resources = |certificate| Program { certificate, is_32_bit: false, has_resources: true }.bytes();
    folder.file("c/Windows/System32/drivers/disk.sys", &with_resources(Some(b"CN=A Company....")));
    folder.file(&format!("{store}/stored.sys"), &with_resources(Some(b"CN=WDKTestCert someone,1")));
    folder.file("c/Windows/System32/drivers/cut.sys", b"MZ");
    let answer: Value = serde_json::from_str(&folder.answer("image c --format json")).unwrap();
    let drivers: Vec<_> = answer["image"]["boot_drivers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|driver| {
            let flags = ["is_present", "has_embedded_signature", "is_test_signed"];
            (driver["file"].as_str().unwrap(), flags.map(|flag| driver[flag].as_bool().unwrap()))
        })
        .collect();
    assert_eq!(
        drivers,
        [("cut.sys", [false; 3]), ("disk.sys", [true, true, false]), ("stored.sys", [true, true, true])]
    );
    let text = folder.answer("image c");
    assert!(text.contains("stored.sys is test-signed, but test signing is not on"), "{text}");
    assert!(text.lines().any(|line| line.contains("Not read: ") && line.contains("cut.sys: not a Windows program")));
    assert!(!text.contains("without an embedded signature"), "{text}");
}

#[test]
fn findings_have_commands_and_reasons_why_others_are_withheld() {
    let folder = Folder::new();
    let mut server = HiveKey::root();
    server
        .subkey(r"Microsoft\Windows NT\CurrentVersion")
        .set_value("ProductName", "Windows Server 2022 Standard")
        .set_value("EditionID", "ServerStandard");
    folder.file("SYSTEM", &system(2).to_hive()).file("SOFTWARE", &server.to_hive());
    let text = folder.answer("image SYSTEM");
    assert!(
        text.contains("    Run: powercfg /hibernate on\n    Undo: powercfg /hibernate off\n    Effect: "),
        "{text}"
    );
    let text = folder.answer("image SYSTEM SOFTWARE");
    assert!(text.contains("Edition: Windows Server."), "{text}");
    assert!(text.contains("Windows Server has no fast startup") && !text.contains("powercfg"), "{text}");
    let csv = folder.answer("image SYSTEM --format csv --by finding");
    assert!(csv.lines().next().unwrap().contains(",advice,commands,undo,breaks,"), "{csv}");
    assert!(csv.contains(",sc.exe config Maker start= delayed-auto,sc.exe config Maker start= auto,"), "{csv}");
}

#[test]
fn comparison_shows_swapped_plans_and_settings() {
    let plan = |files: &[&str]| onoff_testkit::prefetch::PrefetchPlan {
        version: 23,
        executable: "TILL.EXE".to_owned(),
        is_boot: false,
        run_count: 4,
        last_run: 130_000_000_000_000_000,
        volume: r"\DEVICE\HARDDISKVOLUME1".to_owned(),
        files: files.iter().map(|file| (format!(r"\WINDOWS\{file}"), 2)).collect(),
    };
    let folder = Folder::new();
    for (image, files, timeout) in [("old", ["A.DLL", "B.DLL"], "5000"), ("new", ["A.DLL", "C.DLL"], "20000")] {
        for path in ["config", "drivers"] {
            std::fs::create_dir_all(folder.path(&format!("{image}/Windows/System32/{path}"))).unwrap();
        }
        std::fs::create_dir_all(folder.path(&format!("{image}/Windows/Prefetch"))).unwrap();
        let mut system = system(2);
        system.subkey(r"ControlSet001\Control").set_value("WaitToKillServiceTimeout", timeout);
        folder.file(&format!("{image}/Windows/System32/config/SYSTEM"), &system.to_hive());
        folder.file(&format!("{image}/Windows/Prefetch/TILL.EXE-00000001.pf"), &plan(&files).bytes());
    }
    let answer: Value = serde_json::from_str(&folder.answer("image new --compare old --format json")).unwrap();
    let changes: Vec<_> = answer["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["what"].as_str().unwrap(), change["name"].as_str().unwrap()))
        .collect();
    assert_eq!(changes, [("setting", r"SYSTEM\CS\Control\WaitToKillServiceTimeout"), ("plan", "TILL.EXE-00000001.pf")]);
    assert!(folder.answer("image new --compare new").starts_with("0 changes."));
}

#[test]
fn reads_compressed_hives() {
    let folder = Folder::new();
    let hive = system(2).to_hive();
    folder.file("SYSTEM", &hive);
    let mut packed = Vec::new();
    std::io::copy(&mut flate2::read::GzEncoder::new(&hive[..], flate2::Compression::fast()), &mut packed).unwrap();
    folder.file("SYSTEM.gz", &packed);
    let services = |path: &str| {
        let answer: Value = serde_json::from_str(&folder.answer(&format!("image {path} --format json"))).unwrap();
        answer["image"]["services"].clone()
    };
    assert_eq!(services("SYSTEM.gz"), services("SYSTEM"));
    assert_eq!(services("SYSTEM").as_array().unwrap().len(), 3);
    // A truncated file is rejected.
    folder.file("cut.gz", &packed[..packed.len() / 2]);
    assert_ne!(folder.run("image cut.gz").status.code(), Some(0));
}

#[test]
fn formats_agree() {
    let folder = volume();
    folder.file("needed.txt", b"# what the machine is for\nRpcSs\n");
    let answer: Value = serde_json::from_str(&folder.answer("image c --needed needed.txt --format json")).unwrap();
    assert_eq!(answer["image"]["counts"]["auto"], 2);
    let codes: Vec<&str> = answer["audit"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"image/service-not-needed"), "{codes:?}");
    let csv = folder.answer("image c --format csv");
    let widths: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!((widths.len(), widths.iter().all(|&width| width == widths[0])), (4, true), "{csv}");
    let csv = folder.answer("image c --format csv --by finding");
    assert!(csv.lines().any(|line| line.starts_with("image/fast-startup-without-hibernation,high,")), "{csv}");
}

#[test]
fn compares_two_images() {
    let folder = Folder::new();
    folder.file("old", &system(3).to_hive()).file("new", &system(2).to_hive());
    let text = folder.answer("image new --compare old");
    assert!(text.starts_with("1 change.\n"), "{text}");
    let line = text.lines().find(|line| line.contains("Maker")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["service", "Maker", "start", "demand", "auto"]);
    assert!(folder.answer("image old --compare old").starts_with("0 changes."));
}

#[test]
fn plans_overlay_from_recording() {
    let folder = Folder::boot("healthy-boot.toml");
    folder.file("SYSTEM", &system(2).to_hive());
    let text = folder.answer("image SYSTEM --trace boot.etl --overlay-size 1GiB");
    assert!(text.contains("Overlay growth with the recorded writes"), "{text}");
    let (code, error) = folder.failure("image SYSTEM --trace nowhere.etl");
    assert!(code == 1 && error.contains("nowhere.etl"), "{error}");
}

#[test]
fn diagnosis_uses_installation() {
    // A recorded boot with slow services, and the installation that has them.
    let folder = Folder::boot("nfs-client.toml");
    let without_image = folder.answer("diagnose boot.etl");
    assert!(!without_image.contains("ControlSet001"), "{without_image}");
    let mut root = system(2);
    let key = root.subkey(r"ControlSet001\Services\NfsClnt");
    key.set_value("Type", 16_u32)
        .set_value("Start", 2_u32)
        .set_value("ImagePath", r"%SystemRoot%\system32\nfsclnt.exe");
    key.set_value("DependOnService", ["RpcSs"].as_slice());
    folder.file("SYSTEM", &root.to_hive());
    let with_image: Value =
        serde_json::from_str(&folder.answer("diagnose boot.etl --image SYSTEM --format json")).unwrap();
    let findings = with_image["findings"].as_array().unwrap();
    let nfs = findings.iter().find(|finding| finding["subject"]["name"] == "NfsClnt").unwrap();
    let evidence: Vec<&str> =
        nfs["evidence"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap()).collect();
    assert!(
        evidence.iter().any(|text| text.contains(r"Services\NfsClnt: start auto") && text.contains("depends on RpcSs")),
        "{evidence:?}"
    );
}

#[test]
fn lists_startup_folders_and_tasks() {
    let folder = volume();
    let startup = "c/ProgramData/Microsoft/Windows/Start Menu/Programs/StartUp";
    let user_startup = "c/Users/ann/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup";
    let tasks = "c/Windows/System32/Tasks";
    for path in [startup, user_startup, tasks, "c/Windows/System32/Tasks/Microsoft/Windows/Time"] {
        std::fs::create_dir_all(folder.path(path)).unwrap();
    }
    folder.file(&format!("{startup}/chat.lnk"), b"L").file(&format!("{startup}/desktop.ini"), b"");
    folder.file(&format!("{user_startup}/notes.lnk"), b"L");
    let task = |trigger: &str| {
        format!(
            "<Task><Triggers><{trigger}/></Triggers><Actions><Exec><Command>u.exe</Command></Exec></Actions></Task>"
        )
    };
    folder.file(&format!("{tasks}/Updater"), task("LogonTrigger").as_bytes());
    folder.file(&format!("{tasks}/Weekly"), task("CalendarTrigger").as_bytes());
    folder.file(&format!("{tasks}/Broken"), b"<Task>");
    folder.file(&format!("{tasks}/Microsoft/Windows/Time/Sync"), task("BootTrigger").as_bytes());
    let answer: Value = serde_json::from_str(&folder.answer("image c --format json")).unwrap();
    let programs = answer["image"]["startup_programs"].as_array().unwrap();
    let mut startup_programs: Vec<_> = programs
        .iter()
        .map(|program| (program["name"].as_str().unwrap(), program["origin"].as_str().unwrap()))
        .collect();
    startup_programs.sort_unstable();
    assert_eq!(
        startup_programs,
        [("Updater", "task_at_logon"), ("chat.lnk", "startup_folder"), ("notes.lnk", "startup_folder")]
    );
    assert_eq!(answer["image"]["windows_startup_tasks"], 1);
    assert_eq!(answer["image"]["unreadable_tasks"][0], "Broken");
    let text = folder.answer("image c");
    assert!(text.contains("Not read: Broken: not a scheduled task"), "{text}");
}

#[test]
fn sample_matches_book() {
    let folder = Folder::new();
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/image");
    let path = |name: &str| samples.join(name).display().to_string();
    let audit: Value = serde_json::from_str(&folder.answer(&format!("image {} --format json", path("after")))).unwrap();
    let codes: std::collections::BTreeSet<&str> = audit["audit"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    for code in
        ["image/write-filter-on", "image/filter-untrained", "image/filter-paging-file", "image/service-dependency"]
    {
        assert!(codes.contains(code), "{code}: {codes:?}");
    }
    assert!(!codes.contains("image/nfs-client"), "{codes:?}");
    let text = folder.answer(&format!("image {} --compare {}", path("after"), path("before")));
    for name in ["TillUpdate", "NfsClnt", "TillNews", "TillTrace"] {
        assert!(text.contains(name), "{name}\n{text}");
    }
    let needed = folder.answer(&format!("image {} --needed {}", path("after"), path("needed.txt")));
    assert!(needed.contains("SysMain") && needed.contains("TillUpdate"), "{needed}");
    let plans = folder.answer(&format!("prefetch {}", path("after")));
    assert!(plans.contains("not trained: 1 boot according to the boot plan, 2 boots of 3 missing"), "{plans}");
}

#[test]
fn rejects_wim_with_advice() {
    let folder = Folder::new();
    folder.file("install.wim", b"MSWIM\0\0\0\xd0\0\0\0");
    let (code, error) = folder.failure("image install.wim");
    assert_eq!(code, 1);
    assert!(error.contains("a WIM image") && error.contains("wimlib-imagex extract install.wim 1"), "{error}");
    assert!(error.contains("dism /Mount-Image /ImageFile:install.wim"), "{error}");
}

/// Checks four real installations against the counts of another reader: auto-start services, and how many of these are
/// delayed, have a trigger or are in a group; boot drivers, and how many are critical; enabled autologgers. In one
/// installation, fast startup is on and hibernation is off.
#[test]
fn real_hives_have_known_counts() {
    let Some(samples) = samples_folder("hives") else { return };
    for (name, expected_counts) in [
        ("regipy-SYSTEM.xz", [53, 6, 3, 26, 36, 21, 10]),
        ("regipy-SYSTEM_2.xz", [44, 4, 6, 26, 78, 28, 15]),
        ("regipy-SYSTEM_B.xz", [65, 10, 9, 29, 86, 30, 17]),
        ("regipy-SYSTEM_WIN_10_1709.xz", [68, 12, 10, 27, 93, 30, 18]),
    ] {
        let Ok(packed) = std::fs::read(samples.join(name)) else {
            println!("skipped: {name} does not exist");
            continue;
        };
        let mut bytes = Vec::new();
        lzma_rust2::XzReader::new(packed.as_slice(), true).read_to_end(&mut bytes).unwrap();
        let folder = Folder::new();
        folder.file("SYSTEM", &bytes);
        let report: Value = serde_json::from_str(&folder.answer("image SYSTEM --format json")).unwrap();
        let counts = &report["image"]["counts"];
        let names = ["auto", "delayed", "trigger", "in_group", "boot_start", "critical_boot_start", "autologgers"];
        assert_eq!(names.map(|name| counts[name].as_u64().unwrap()), expected_counts, "{name}");
        let findings = report["audit"]["findings"].as_array().unwrap();
        let has_conflict = findings.iter().any(|finding| finding["code"] == "image/fast-startup-without-hibernation");
        assert_eq!(has_conflict, name.contains("1709"), "{name}");
        // The groups missing from the order lists belong to Windows, so they are not a fault.
        assert!(findings.iter().all(|finding| !finding.to_string().contains("MapsBroker")), "{name}");
    }
}

#[test]
fn rejects_non_installations() {
    let folder = Folder::new();
    folder.file("notes.txt", b"nothing").file("other", &HiveKey::root().to_hive());
    let (code, error) = folder.failure("image notes.txt");
    assert!(code == 2 && error.contains("not a registry hive"), "{error}");
    let (code, error) = folder.failure("image other");
    assert!(code == 2 && error.contains("but not SYSTEM"), "{error}");
}
