//! `onoff what-if`: answers, refusals, exit codes.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::Value;

use crate::harness::{Folder, LINUX_BOOT};

/// The published slow boot.
fn slow_boot() -> Folder {
    let folder = Folder::new();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/slow-boot.etl");
    std::fs::copy(sample, folder.path("boot.etl")).unwrap();
    folder
}

fn saving_ns(folder: &Folder, changes: &str) -> i64 {
    let answer: Value =
        serde_json::from_str(&folder.answer(&format!("what-if boot.etl {changes} --format json"))).unwrap();
    assert_eq!(answer["identity"]["holds"], true, "{changes}");
    answer["saving"]["ns"].as_i64().unwrap()
}

#[test]
fn text_shows_prediction_and_its_foundation() {
    let folder = slow_boot();
    let text = folder.answer("what-if boot.etl --without SoundShaper");
    let headline = text.lines().next().unwrap();
    assert!(
        headline.starts_with("Without SoundShaper, the boot would take 23.6 s instead of 30.0 s: 6.46 s less"),
        "{text}"
    );
    assert!(text.contains("A replay without the change reproduces every phase end within"), "{text}");
    assert!(text.lines().skip(1).all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn no_change_saves_nothing() {
    let folder = slow_boot();
    assert_eq!(saving_ns(&folder, ""), 0);
    let text = folder.answer("what-if boot.etl");
    assert!(text.starts_with("Without a change, the boot would take 30.0 s, as before."), "{text}");
}

#[test]
fn savings_of_several_changes_do_not_add_up() {
    let folder = slow_boot();
    let service = saving_ns(&folder, "--without SoundShaper");
    let driver = saving_ns(&folder, "--pend LegacyScan");
    let both = saving_ns(&folder, "--without SoundShaper --pend LegacyScan");
    assert!(service > 0 && driver > 0, "{service} {driver}");
    assert!(both >= service.max(driver), "{both}, {service}, {driver}");
    // A faster disk does not make it slower.
    assert!(saving_ns(&folder, "--disk 4x") > 0);
    assert!(saving_ns(&folder, "--processors 1") < 0);
}

#[test]
fn refuses_what_it_cannot_predict() {
    let folder = slow_boot();
    let (code, message) = folder.failure("what-if boot.etl --without SoundShapr");
    assert_eq!(code, 2);
    assert!(message.contains("no service, program, driver, unit or script named 'SoundShapr'"), "{message}");
    assert!(message.contains("SoundShaper"), "{message}");
    let (code, message) = folder.failure("what-if boot.etl --without winlogon.exe");
    assert_eq!(code, 2);
    assert!(message.contains("winlogon.exe is part of the system"), "{message}");
    assert_eq!(folder.run("what-if boot.etl --disk fast").status.code(), Some(64));
    assert_eq!(folder.failure("what-if boot.etl --transition nap").0, 64);
    assert_eq!(folder.failure("what-if boot.etl --transition suspend").0, 2);
}

#[test]
fn refuses_recordings_without_context_switches() {
    let folder = Folder::linux_boot();
    let (code, message) = folder.failure("what-if linux");
    assert_eq!(code, 2);
    assert!(message.contains("no context switches"), "{message}");
}

/// A Linux boot of 35 s without context switches; `web.service` waits for `slow.service`.
fn unit_boot(web: &str) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("linux")).unwrap();
    let (name, manager) = LINUX_BOOT[0];
    folder.file(&format!("linux/{name}"), manager.as_bytes());
    let unit = |name: &str, fields: &str, start_us: u64, end_us: u64| {
        format!(
            "Id={name}\nLoadState=loaded\n{fields}InactiveExitTimestampMonotonic={start_us}\n\
             ActiveEnterTimestampMonotonic={end_us}\n\n"
        )
    };
    let units = [
        unit("-.slice", "", 14_463_484, 14_463_484),
        unit("slow.service", "After=-.slice\n", 14_473_484, 20_473_484),
        unit("web.service", &format!("After=-.slice slow.service\n{web}"), 20_483_484, 34_000_000),
        unit("multi-user.target", "After=web.service\nWants=slow.service web.service\n", 34_600_000, 34_600_000),
    ];
    folder.file("linux/units.txt", units.concat().as_bytes());
    folder
}

#[test]
fn predicts_linux_boots_by_unit() {
    let folder = unit_boot("");
    let text = folder.answer("what-if linux --without slow");
    // 40.1 s with the firmware; the unit takes 6 s, and the next one waits 10 ms for the manager.
    let answer = "Without slow, the boot would take 34.1 s instead of 40.1 s: 6.01 s (0 s to 6.01 s) less.";
    assert!(text.starts_with(answer), "{text}");
    assert!(text.contains("Replayed unit by unit") && text.contains("Assumed: devices appear"), "{text}");
    assert!(text.lines().skip(1).all(|line| line.chars().count() <= 80), "{text}");
    for change in ["--without slow", "--parallel slow.service", "--delay slow"] {
        let answer: Value =
            serde_json::from_str(&folder.answer(&format!("what-if linux {change} --format json"))).unwrap();
        assert_eq!(answer["basis"], "unit_times");
        assert_eq!(answer["saving"]["ns"], 6_010_000_000_i64, "{change}");
        assert_eq!(answer["identity"]["holds"], true);
        assert_eq!(answer["assumptions"], serde_json::json!(["units_compete_within_bounds", "devices_follow_scan"]));
    }
    let (code, message) = folder.failure("what-if linux --async ahci");
    assert_eq!(code, 2);
    assert!(message.contains("no driver or initialization function of the kernel named 'ahci'"), "{message}");
}

#[test]
fn refuses_to_break_requirements_of_units() {
    let folder = unit_boot("Requires=slow.service\n");
    for change in ["--without slow", "--parallel slow", "--delay slow"] {
        let (code, message) = folder.failure(&format!("what-if linux {change}"));
        assert_eq!(code, 2);
        assert!(message.contains("web.service requires slow.service"), "{message}");
    }
    assert!(
        folder.answer("what-if linux --without web").starts_with("Without web, the duration of the boot is not known")
    );
}

#[test]
fn plan_lists_changes_in_order() {
    let folder = slow_boot();
    let text = folder.answer("what-if boot.etl --plan 3");
    println!("{text}");
    assert!(text.lines().skip(1).all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("\n1. "), "{text}");
    let answer: Value = serde_json::from_str(&folder.answer("what-if boot.etl --plan 3 --format json")).unwrap();
    assert_eq!(answer["onoff"]["document"], "what_if_plan");
    let steps = answer["steps"].as_array().unwrap();
    assert!(!steps.is_empty() && steps.len() <= 3, "{answer}");
    let mut total_ns = answer["measured_ns"].as_i64().unwrap();
    for step in steps {
        let saving_ns = step["saving"]["ns"].as_i64().unwrap();
        assert!(saving_ns >= answer["min_saving_ns"].as_i64().unwrap(), "{step}");
        assert!(step.get("stronger").is_some() && step.get("bottleneck").is_some(), "{step}");
        total_ns -= saving_ns;
        assert_eq!(step["predicted"]["ns"], total_ns);
    }
    // The first step is no worse than the change that a person would try first.
    let first_ns = steps[0]["saving"]["ns"].as_i64().unwrap();
    assert!(first_ns >= saving_ns(&folder, "--ungroup SoundShaper"), "{answer}");
    assert_eq!(folder.run("what-if boot.etl --plan 3 --without SoundShaper").status.code(), Some(64));
    assert_eq!(folder.run("what-if boot.etl --plan 0").status.code(), Some(64));
}

#[test]
fn limit_shows_four_bounds() {
    let folder = slow_boot();
    let text = folder.answer("what-if boot.etl --limit");
    println!("{text}");
    assert!(text.starts_with("The boot took 30.0 s; with the same hardware it could take "), "{text}");
    assert!(text.lines().skip(1).all(|line| line.chars().count() <= 80), "{text}");
    let answer: Value = serde_json::from_str(&folder.answer("what-if boot.etl --limit --format json")).unwrap();
    assert_eq!(answer["onoff"]["document"], "what_if_limit");
    let bounds = answer["bounds"].as_array().unwrap();
    assert_eq!(bounds.len(), 4);
    for bound in bounds {
        assert!(bound["ns"].as_i64().unwrap() <= answer["measured_ns"].as_i64().unwrap(), "{bound}");
    }
    assert_eq!(folder.run("what-if boot.etl --limit --plan 2").status.code(), Some(64));
}

#[test]
fn answer_names_the_next_culprit() {
    let folder = slow_boot();
    let text = folder.answer("what-if boot.etl --without SoundShaper");
    assert!(text.contains("\nFirst culprit then: "), "{text}");
    let answer: Value =
        serde_json::from_str(&folder.answer("what-if boot.etl --without SoundShaper --format json")).unwrap();
    let next = answer["bottleneck"]["name"].as_str().unwrap();
    assert_ne!(next, "SoundShaper");
    assert!(answer["uncertain_waits"].is_u64());
}
