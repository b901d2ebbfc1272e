//! `onoff prefetch` from the command line.

use onoff_testkit::hive::HiveKey;
use onoff_testkit::prefetch::{PrefetchPlan, ready_boot_trace};
use onoff_testkit::real_recordings::samples_folder;
use serde_json::Value;

use crate::harness::Folder;

fn plan(executable: &str, files: &[(&str, u32)]) -> Vec<u8> {
    PrefetchPlan {
        version: 26,
        executable: executable.to_owned(),
        is_boot: false,
        run_count: 7,
        last_run: 130_000_000_000_000_000,
        volume: r"\DEVICE\HARDDISKVOLUME2".to_owned(),
        files: files.iter().map(|&(path, pages)| (path.to_owned(), pages)).collect(),
    }
    .bytes()
}

/// Creates a volume with three boots and two plans, one of them with a missing file.
fn volume() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("c/Windows/Prefetch/ReadyBoot")).unwrap();
    std::fs::create_dir_all(folder.path("c/Windows/System32")).unwrap();
    folder.file("c/Windows/System32/ntdll.dll", &[0; 9000]);
    folder.file("c/Windows/app.exe", b"MZ");
    let ntdll = (r"\WINDOWS\SYSTEM32\NTDLL.DLL", 30);
    folder.file("c/Windows/Prefetch/APP.EXE-1.pf", &plan("APP.EXE", &[ntdll, (r"\WINDOWS\APP.EXE", 4)]));
    folder.file("c/Windows/Prefetch/GONE.EXE-2.pf", &plan("GONE.EXE", &[ntdll, (r"\WINDOWS\GONE.EXE", 4)]));
    folder.file("c/Windows/Prefetch/desktop.ini", b"not a prefetch file");
    let reads = [(r"\Device\HarddiskVolume2\Windows\System32\ntdll.dll", 0, 65_536, 10)];
    for boot in 1..=3 {
        let trace = ready_boot_trace([&reads, &[("", 0, 512, 2_000_000)]]);
        folder.file(&format!("c/Windows/Prefetch/ReadyBoot/Trace{boot}.fx"), &trace);
    }
    folder
}

#[test]
fn volume_lists_read_and_missing_files() {
    let text = volume().answer("prefetch c");
    for line in [
        "2 launch plans of at most 1,024 (Windows 8 or 8.1).",
        "Together, they read 152 KiB from 3 files, 1 of them shared (120 KiB).",
        "Boot read-ahead is trained: 3 boots in the ReadyBoot traces.",
        "1 file missing",
        "1 file read in every boot.",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("desktop.ini"), "{text}");
}

#[test]
fn formats_agree() {
    let folder = volume();
    let report: Value = serde_json::from_str(&folder.answer("prefetch c --format json --program app.exe")).unwrap();
    assert_eq!(report["shared"]["plans"], 1);
    let plan =
        &report["plans"].as_array().unwrap().iter().find(|plan| plan["executable"] == "APP.EXE").unwrap().clone();
    assert_eq!((&plan["missing_files"], &plan["run_count"]), (&Value::from(0), &Value::from(7)));
    for (row_kind, rows) in [("plan", 2), ("file", 3), ("volume", 1), ("boot", 3)] {
        let csv = folder.answer(&format!("prefetch c --format csv --by {row_kind}"));
        let widths: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(widths.len(), rows + 1, "{row_kind}");
        assert!(widths.iter().all(|&width| width == widths[0]), "{csv}");
    }
}

#[test]
fn shows_five_ready_boot_boots() {
    let folder = Folder::new();
    let block = 1 << 20;
    for boot in 1..=5_u32 {
        // Each boot reads one more block of the first file in sequence, and the last boot reads another file at its
        // end.
        let mut reads: Vec<_> =
            (0..boot).map(|index| (r"\Device\ntdll.dll", u64::from(index * block), block, index)).collect();
        reads.push((r"\Device\hive", 7 * u64::from(boot), 4096, 1_000_000));
        if boot == 5 {
            reads.push((r"\Device\new.dll", 0, 3 * block, 2_000_000));
        }
        folder.file(&format!("Trace{boot}.fx"), &ready_boot_trace([&reads, &[]]));
    }
    let files: Vec<String> = (1..=5).map(|boot| format!("Trace{boot}.fx")).collect();
    let text = folder.answer(&format!("prefetch {}", files.join(" ")));
    assert!(text.contains("trained: 5 boots in the ReadyBoot traces."), "{text}");
    let row = |start: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.trim_start().starts_with(start));
        let line = line.unwrap_or_else(|| panic!("no line {start}\n{text}"));
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    // Bytes, sequential share, and bytes over time for each boot.
    for (boot, sequential_share) in [(1, "0 %"), (2, "33 %"), (3, "50 %"), (4, "60 %"), (5, "57 %")] {
        let cells = row(&format!("Trace{boot}.fx"));
        assert!(cells.iter().any(|cell| cell == sequential_share), "{cells:?}\n{text}");
        // The curve is highest at the start. The last boot has a second peak at its end.
        let curve: String = cells.iter().skip_while(|cell| *cell != sequential_share).skip(1).cloned().collect();
        assert!(curve.starts_with('█'), "{cells:?}");
        assert_eq!(curve.ends_with('▄'), boot == 5, "{cells:?}");
    }
    // One column per boot.
    let cells = row(r"\Device\ntdll.dll");
    assert_eq!(cells[1..], ["1 MiB", "2 MiB", "3 MiB", "4 MiB", "5 MiB"], "{text}");
    assert_eq!(row(r"\Device\hive")[1..], ["4 KiB"; 5], "{text}");
    assert_eq!(row(r"\Device\new.dll")[1..], ["3 MiB"], "{text}");
}

#[test]
fn recorded_boot_shows_read_ahead() {
    let folder = Folder::boot("services-later.toml");
    let output = folder.run("prefetch --trace boot.etl");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Read-ahead in the recorded boot"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // The simulated boot has no ReadyBoot totals, so they are unknown.
    assert!(text.contains("To see hits and waste, record Microsoft-Windows-ReadyBoost"), "{text}");
}

#[test]
fn registry_shows_too_few_boots() {
    let folder = volume();
    std::fs::remove_dir_all(folder.path("c/Windows/Prefetch/ReadyBoot")).unwrap();
    std::fs::create_dir_all(folder.path("c/Windows/System32/config")).unwrap();
    let mut root = HiveKey::root();
    root.subkey("Select").set_value("Current", 1_u32);
    let parameters = root.subkey(r"ControlSet001\Control\Session Manager\Memory Management\PrefetchParameters");
    parameters.set_value("BootId", 2_u32).set_value("EnablePrefetcher", 3_u32);
    folder.file("c/Windows/System32/config/SYSTEM", &root.to_hive());
    let text = folder.answer("prefetch c");
    assert!(
        text.contains("not trained: the installation booted 2 times in total (BootId), 1 boot of 3 missing"),
        "{text}"
    );
    // A broken hive is reported, and everything else is analyzed.
    folder.file("c/Windows/System32/config/SYSTEM", b"regf and no more");
    let text = folder.answer("prefetch c");
    assert!(text.contains("SYSTEM") && text.contains("2 launch plans"), "{text}");
}

#[test]
fn rejects_files_without_plans() {
    let folder = Folder::new();
    folder.file("notes.txt", b"nothing");
    let (code, error) = folder.failure("prefetch notes.txt");
    assert!(code == 2 && error.contains("notes.txt"), "{error}");
    let (code, _) = folder.failure("prefetch nowhere");
    assert_eq!(code, 1);
}

#[test]
fn reads_plans_of_seven_windows_versions() {
    let Some(samples) = samples_folder("prefetch") else {
        return;
    };
    let folder = Folder::new();
    let path = samples.join("ez");
    let report: Value =
        serde_json::from_str(&folder.answer(&format!("prefetch {} --format json", path.display()))).unwrap();
    assert_eq!(report["unreadable"], Value::Array(Vec::new()));
    // Expected values from libscca, in the samples' manifest.
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(samples.join("MANIFEST.json")).unwrap()).unwrap();
    let plans = report["plans"].as_array().unwrap();
    assert!(plans.len() > 20);
    for plan in plans {
        let name = plan["name"].as_str().unwrap().rsplit('/').next().unwrap();
        let expected = manifest.as_array().unwrap().iter().find(|entry| {
            entry[0].as_str().is_some_and(|path| path.ends_with(name))
                && (&entry[3], &entry[4], &entry[5]) == (&plan["executable"], &plan["run_count"], &plan["files"])
        });
        assert!(expected.is_some(), "{plan}");
    }
}
