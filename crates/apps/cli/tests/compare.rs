//! `onoff compare` on simulated recordings.
#![allow(clippy::unwrap_used)]

use crate::harness::Folder;
use onoff_simulator::Scenario;
use serde_json::Value;

/// Records the boot of a scenario under another file name.
fn record(folder: &Folder, scenario: &str, name: &str) {
    record_changed(folder, scenario, name, |text| text);
}

/// Records a modified scenario.
fn record_changed(folder: &Folder, scenario: &str, name: &str, change: impl Fn(String) -> String) {
    let path = format!("{}/../../support/simulator/scenarios/{scenario}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = change(std::fs::read_to_string(path).unwrap());
    let simulation = Scenario::from_toml(&text).unwrap().simulate().unwrap();
    folder.file(name, &simulation.files[0]);
}

/// Records the same scenario again, with a later end.
fn record_again(folder: &Folder, scenario: &str, name: &str, run: u32) {
    record_changed(folder, scenario, name, |text| text.replace("tail = \"1s\"", &format!("tail = \"{run}s\"")));
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn measure<'v>(comparison: &'v Value, key: &str) -> &'v Value {
    comparison["measures"]
        .as_array()
        .unwrap()
        .iter()
        .find(|measure| measure["key"] == key)
        .unwrap_or_else(|| panic!("no {key}"))
}

#[test]
fn compares_table_5() {
    let folder = Folder::new();
    record(&folder, "table-5-run-1", "1.etl");
    record(&folder, "table-5-run-2", "2.etl");
    let comparison = json(&folder.answer("compare --baseline 1.etl --candidate 2.etl --format json"));
    assert_eq!(comparison["transition"], "boot");
    // Run 1 and Run 2 of the paper, in ms. The paper subtracts Run 2 from Run 1; onoff reports the change from 1 to 2.
    for (key, run_1, run_2) in [
        ("boot.os_loader", 1926, 1926),
        ("boot.phase.PreSMSS", 10_753, 10_642),
        ("boot.phase.SMSSInit", 5_461, 5_601),
        ("boot.phase.WinLogonInit", 3_697, 3_947),
        ("boot.phase.ExplorerInit", 4_861, 3_408),
        ("boot.phase.PostBoot", 16_200, 17_100),
        ("boot.main_path", 24_773, 23_599),
        ("boot.total", 30_973, 30_699),
    ] {
        let measure = measure(&comparison, key);
        let ms = |side: usize| measure["values"][side]["median"].as_i64().unwrap() / 1_000_000;
        assert_eq!((ms(0), ms(1)), (run_1, run_2), "{key}");
        assert_eq!(measure["changes"][0]["verdict"], "unknown", "one run each");
    }
    let explorer = measure(&comparison, "boot.phase.ExplorerInit");
    let percent = explorer["changes"][0]["percent"].as_f64().unwrap();
    assert!((percent + 29.9).abs() < 0.05, "{percent}");

    let text = folder.answer("compare --baseline 1.etl --candidate 2.etl");
    assert!(text.starts_with("The boot took 274 ms (0.9 %) less: 30.7 s, was 31.0 s.\n"), "{text}");
    assert!(text.contains("Record at least 3 per side"), "{text}");
}

#[test]
fn service_without_group_starts_later() {
    let folder = Folder::new();
    record(&folder, "table-7-slow-service-in-group", "1.etl");
    record(&folder, "table-7-slow-service-in-no-group", "2.etl");
    let comparison = json(&folder.answer("compare --baseline 1.etl --candidate 2.etl --format json"));
    let order_changes = comparison["order_changes"].as_array().unwrap();
    let slow = order_changes.iter().find(|row| row["key"] == "boot.service.Slowsvc").unwrap();
    assert_eq!(slow["was_phase"], "WinLogonInit");
    assert_eq!(slow["is_phase"], "ExplorerInit");
    assert!(slow["now_after"].as_u64() > Some(0), "{slow}");
}

#[test]
fn equal_runs_in_folders_do_not_differ() {
    let folder = Folder::new();
    for side in ["a", "b"] {
        std::fs::create_dir(folder.path(side)).unwrap();
        for run in 1..=3 {
            record_again(&folder, "services-wes7", &format!("{side}/{run}.etl"), run);
        }
        folder.file(&format!("{side}/notes.txt"), b"no recording");
    }
    let comparison = json(&folder.answer("compare --baseline a --candidate b --format json"));
    for configuration in comparison["configurations"].as_array().unwrap() {
        assert_eq!(configuration["compared_runs"], 3);
    }
    for measure in comparison["measures"].as_array().unwrap() {
        assert_eq!(measure["changes"][0]["verdict"], "same", "{measure}");
    }
    let text = folder.answer("compare --baseline a --candidate b");
    assert!(text.contains("does not differ beyond noise"), "{text}");

    let csv = folder.answer("compare --baseline a --candidate b --format csv");
    let rows: Vec<&str> = csv.lines().collect();
    let measures = comparison["measures"].as_array().unwrap().len();
    assert_eq!(rows.len(), 1 + 2 * measures);
    let columns = rows[0].split(',').count();
    let total = rows.iter().find(|row| row.starts_with("boot.service.")).unwrap();
    assert_eq!(total.split(',').count(), columns);
}

#[test]
fn compares_sleeps_and_shutdowns() {
    let folder = Folder::new();
    for (scenario, name) in [
        ("sleep-windows7", "1.etl"),
        ("sleep-slow-driver", "2.etl"),
        ("shutdown-slow-console", "3.etl"),
        ("shutdown-unresponsive-service", "4.etl"),
        ("two-transitions", "5.etl"),
    ] {
        record(&folder, scenario, name);
    }
    // The second recording has call stacks.
    let (code, message) = folder.failure("compare --baseline 1.etl --candidate 2.etl");
    assert_eq!(code, 2);
    assert!(message.contains("--include analysis-tracing"), "{message}");
    let sleep =
        json(&folder.answer("compare --baseline 1.etl --candidate 2.etl --include analysis-tracing --format json"));
    assert_eq!(sleep["transition"], "suspend");
    measure(&sleep, "suspend.phase.SuspendDevices");
    let shutdown = json(&folder.answer("compare --baseline 3.etl --candidate 4.etl --format json"));
    assert_eq!(shutdown["transition"], "shutdown");
    measure(&shutdown, "shutdown.total");
    // The second transition is a hibernation, which cannot be compared with a sleep.
    let (code, message) = folder.failure("compare --baseline 1.etl --candidate 5.etl --transition suspend:2");
    assert_eq!(code, 2, "{message}");
    let mixed_kinds =
        json(&folder.answer("compare --baseline 1.etl --candidate 5.etl --transition suspend --format json"));
    let runs = mixed_kinds["configurations"][1]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1]["exclusions"][0]["reason"], "other_kind");
}

#[test]
fn reports_why_runs_cannot_be_compared() {
    let folder = Folder::new();
    record(&folder, "services-wes7", "boot.etl");
    record(&folder, "shutdown-slow-console", "off.etl");
    std::fs::create_dir(folder.path("empty")).unwrap();
    for (arguments, expected_code, expected_message) in [
        ("compare --baseline boot.etl", 64, "--candidate"),
        ("compare --baseline boot.etl --candidate absent.etl", 1, "absent.etl"),
        ("compare --baseline boot.etl --candidate empty", 2, "no recordings in this folder"),
        ("compare --baseline boot.etl --candidate off.etl", 2, "off.etl: no boot in this recording"),
        ("compare --baseline boot.etl --candidate boot.etl --transition sleep", 64, "--transition"),
    ] {
        let (code, message) = folder.failure(arguments);
        assert_eq!(code, expected_code, "{arguments}: {message}");
        assert!(message.contains(expected_message), "{arguments}: {message}");
    }
}

#[test]
fn compares_linux_boots_by_unit() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    for name in ["boot-1.tar.xz", "boot-2.tar.xz"] {
        std::fs::copy(samples.join(name), folder.path(name)).unwrap();
    }
    let comparison = json(&folder.answer("compare --baseline boot-1.tar.xz --candidate boot-2.tar.xz --format json"));
    assert_eq!(comparison["transition"], "boot");
    assert_eq!(comparison["configurations"][0]["kind"], "linux");
    let boots: Vec<Value> = ["boot-1.tar.xz", "boot-2.tar.xz"]
        .map(|name| json(&folder.answer(&format!("boot {name} --format json"))))
        .into();
    let reported_duration = |side: usize, name: &str| {
        let phases = boots[side]["phases"].as_array().unwrap();
        let phase = phases.iter().find(|phase| phase["name"] == name).unwrap();
        phase["duration_ns"].clone()
    };
    for name in ["kernel", "user_space"] {
        let measure = measure(&comparison, &format!("boot.phase.{name}"));
        for side in 0..2 {
            assert_eq!(measure["values"][side]["median"], reported_duration(side, name), "{name}");
        }
    }
    for (recording, transition, key) in [
        ("suspend-s3.tar.xz", "suspend", "suspend.suspend"),
        ("shutdown-slowstop.tar.xz", "shutdown", "shutdown.phase.stop_units"),
    ] {
        std::fs::copy(samples.join(recording), folder.path(recording)).unwrap();
        let arguments =
            format!("compare --baseline {recording} --candidate {recording} --transition {transition} --format json");
        let comparison = json(&folder.answer(&arguments));
        let change = &measure(&comparison, key)["changes"][0];
        assert_eq!(change["difference"], 0, "{recording}");
    }
    let services = comparison["measures"].as_array().unwrap();
    let units = services.iter().filter(|row| row["category"] == "service").count();
    assert!(units > 20, "{units} units");
}

/// Returns the JSON explanation of a phase's difference.
fn explanation<'v>(comparison: &'v Value, phase: &str) -> &'v Value {
    let explanations = comparison["explanations"].as_array().unwrap();
    explanations
        .iter()
        .find(|explanation| explanation["phase"] == phase)
        .unwrap_or_else(|| panic!("{phase} is not explained"))
}

fn ms(value: &Value) -> i64 {
    value.as_i64().unwrap() / 1_000_000
}

#[test]
fn tables_6_and_a_1_name_driver_and_pends() {
    let folder = Folder::new();
    record(&folder, "table-6-no-pended-requests", "no.etl");
    record(&folder, "table-6-pended-start", "start.etl");
    record(&folder, "table-6-pended-start-and-enumeration", "both.etl");
    // Table A-1: PreSMSS took 26,636, 17,919 and 17,294 ms. Of this, Ramdisk's load took 9,214 ms, and its start and
    // enumeration 3,000 ms each, during which it blocked until it pended.
    for (candidate, phase_ms, ramdisk_ms, until_pended_ms, change) in
        [("start", -8_717, -12_214, 3_000, "shorter"), ("both", -9_342, -15_214, 0, "gone")]
    {
        let arguments = format!("compare --baseline no.etl --candidate {candidate}.etl --format json");
        let comparison = json(&folder.answer(&arguments));
        let explained = explanation(&comparison, "PreSMSS");
        assert_eq!(ms(&explained["difference_ns"]), phase_ms, "{candidate}");
        let part = &explained["parts"][0];
        assert_eq!((part["kind"].as_str(), part["name"].as_str()), (Some("driver"), Some("Ramdisk")));
        assert_eq!(part["change"], change);
        assert!(ms(&part["difference_ns"]).abs_diff(ramdisk_ms) <= 1, "{part}");
        assert_eq!(ms(&part["detail"]["before_ns"]), 15_214);
        assert_eq!(ms(&part["detail"]["after_ns"]), until_pended_ms);
        // The parts add up to the nanosecond.
        let ns = |value: &Value| value.as_i64().unwrap();
        let parts_ns: i64 = explained["parts"].as_array().unwrap().iter().map(|part| ns(&part["difference_ns"])).sum();
        let remaining_ns = ns(&explained["opposing_ns"]) + ns(&explained["unexplained_ns"]);
        assert_eq!(parts_ns + remaining_ns, ns(&explained["difference_ns"]));
        assert_eq!(ms(&explained["unexplained_ns"]), 0, "{explained}");
    }
    let text = folder.answer("compare --baseline no.etl --candidate both.etl");
    let second_line = text.lines().nth(1).unwrap();
    let expected = "-9.34 s in PreSMSS: Ramdisk no longer blocks, -15.2 s (requests until pended 15.2 s → 601 µs)";
    assert!(second_line.starts_with(expected), "{second_line}");
}

#[test]
fn tables_7_and_a_2_name_service() {
    let folder = Folder::new();
    record(&folder, "table-7-slow-service-in-group", "in.etl");
    record(&folder, "table-7-slow-service-in-no-group", "out.etl");
    for (baseline, candidate, sign, change) in [("in", "out", -1, "gone"), ("out", "in", 1, "new")] {
        let arguments = format!("compare --baseline {baseline}.etl --candidate {candidate}.etl --format json");
        let comparison = json(&folder.answer(&arguments));
        let part = &explanation(&comparison, "WinLogonInit")["parts"][0];
        assert_eq!((part["kind"].as_str(), part["name"].as_str()), (Some("service"), Some("Slowsvc")), "{part}");
        assert_eq!(part["change"], change);
        // 6.0 s, of which 517 ms precede the logon's wait for the group.
        assert!(ms(&part["difference_ns"]).abs_diff(sign * 5_482) <= 2, "{part}");
        // The initialization time of the service is unchanged.
        assert!(ms(&part["detail"]["before_ns"]).abs_diff(ms(&part["detail"]["after_ns"])) <= 4, "{part}");
    }
    let text = folder.answer("compare --baseline in.etl --candidate out.etl");
    assert!(text.contains("s in WinLogonInit: no longer waits for Slowsvc, -5.48 s"), "{text}");
}

#[test]
fn table_5_names_no_unchanged_culprit() {
    let folder = Folder::new();
    record(&folder, "table-5-run-1", "1.etl");
    record(&folder, "table-5-run-2", "2.etl");
    let comparison = json(&folder.answer("compare --baseline 1.etl --candidate 2.etl --format json"));
    let explorer = explanation(&comparison, "ExplorerInit");
    assert_eq!(ms(&explorer["difference_ns"]), -1_453);
    assert_eq!(explorer["parts"][0]["name"], "explorer.exe");
    // Decoys: WSearch and the low-priority defragmenter run in parallel with the critical path in both.
    let text = folder.answer("compare --baseline 1.etl --candidate 2.etl");
    let answer = text.lines().take(4).collect::<Vec<_>>().join("\n");
    assert!(!answer.contains("WSearch") && !answer.contains("defrag"), "{answer}");
}

#[test]
fn duplicate_recording_counts_once() {
    let folder = Folder::new();
    for name in ["a.etl", "again.etl"] {
        record(&folder, "services-wes7", name);
    }
    record_again(&folder, "services-wes7", "later.etl", 3);
    let comparison =
        json(&folder.answer("compare --baseline a.etl again.etl later.etl --candidate later.etl --format json"));
    let baseline = &comparison["configurations"][0];
    assert_eq!(baseline["compared_runs"], 2);
    assert_eq!(baseline["runs"][1]["exclusions"][0]["reason"], "same_recording");
    assert_eq!(baseline["runs"][1]["exclusions"][0]["text"], "the same recording as a.etl");
    // The same recording on both sides is allowed, but mentioned.
    assert_eq!(comparison["notes"][0]["kind"], "recording_on_both_sides");
    let arguments = "compare --baseline a.etl again.etl --candidate later.etl --include same-recording --format json";
    assert_eq!(json(&folder.answer(arguments))["configurations"][0]["compared_runs"], 2);
}

#[test]
fn reports_different_computers() {
    let folder = Folder::new();
    record(&folder, "services-wes7", "a.etl");
    record_again(&folder, "services-wes7", "b.etl", 2);
    record_changed(&folder, "services-wes7", "c.etl", |text| {
        text.replace("processors = 2", "processors = 4\nmemory_mib = 8192").replace("build = 7600", "build = 7601")
    });
    let noted_properties = |candidate: &str| {
        let comparison =
            json(&folder.answer(&format!("compare --baseline a.etl --candidate {candidate} --format json")));
        let notes = comparison["notes"].as_array().unwrap().clone();
        notes.iter().map(|note| note["property"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(noted_properties("b.etl"), Vec::<String>::new());
    assert_eq!(noted_properties("c.etl"), ["system", "processors", "memory"]);
    let text = folder.answer("compare --baseline a.etl --candidate c.etl");
    assert!(text.contains("candidate has a different number of processors: 4, was 2."), "{text}");
}

#[test]
fn ignores_logon_time() {
    let folder = Folder::new();
    record(&folder, "healthy-boot", "alone.etl");
    record(&folder, "person-logs-on", "person.etl");
    let comparison = json(&folder.answer("compare --baseline alone.etl --candidate person.etl --format json"));
    for key in ["boot.total", "boot.phase.WinLogonInit"] {
        let change = &measure(&comparison, key)["changes"][0];
        assert!(ms(&change["difference"]).abs() <= 1, "{key}: {change}");
    }
    assert_eq!(comparison["notes"][0]["kind"], "person_wait_excluded");
    assert_eq!(ms(&comparison["notes"][0]["user_input_ns"]), 6_500);
    let text = folder.answer("compare --baseline alone.etl --candidate person.etl");
    assert!(text.contains("person.etl: 6.50 s of waiting for the user is excluded from all numbers."), "{text}");
}

#[test]
fn accepts_old_and_new() {
    let folder = Folder::new();
    record(&folder, "table-5-run-1", "1.etl");
    record(&folder, "table-5-run-2", "2.etl");
    let by_option = folder.answer("compare --baseline 1.etl --candidate 2.etl");
    assert_eq!(folder.answer("compare 1.etl 2.etl"), by_option);
    let (code, message) = folder.failure("compare 1.etl");
    assert_eq!(code, 64);
    assert!(message.contains("1.etl: pass two recordings or folders"), "{message}");
    assert_eq!(folder.run("compare 1.etl 2.etl --baseline 1.etl").status.code(), Some(64));
}

#[test]
fn continues_after_unreadable_file() {
    let folder = Folder::new();
    for side in ["a", "b"] {
        std::fs::create_dir(folder.path(side)).unwrap();
        for run in 1..=3 {
            record_again(&folder, "services-wes7", &format!("{side}/{run}.etl"), run);
        }
    }
    let without_bad_files = json(&folder.answer("compare a b --format json"));
    folder.file("b/0.etl", b"no recording").file("b/4.etl", b"");
    let output = folder.run("compare a b --format json");
    assert_eq!(output.status.code(), Some(1));
    let comparison = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(comparison["measures"], without_bad_files["measures"]);
    let runs = comparison["configurations"][1]["runs"].as_array().unwrap();
    let excluded_runs: Vec<&Value> = runs.iter().filter(|run| run["compared"] == false).collect();
    assert_eq!(excluded_runs.len(), 2);
    assert!(excluded_runs.iter().all(|run| run["exclusions"][0]["reason"] == "unreadable"), "{excluded_runs:?}");
    let text = String::from_utf8(folder.run("compare a b").stdout).unwrap();
    assert!(text.contains("b/4.etl: byte offset 0: the file is empty"), "{text}");
    // If a side has no runs left, the error is the result.
    std::fs::create_dir(folder.path("c")).unwrap();
    folder.file("c/1.etl", b"");
    let (code, message) = folder.failure("compare a c");
    assert_eq!(code, 1);
    assert!(message.contains("1.etl: byte offset 0: the file is empty"), "{message}");
}

#[test]
fn shows_values_of_each_run() {
    let folder = Folder::new();
    for run in 1..=3 {
        record_again(&folder, "services-wes7", &format!("{run}.etl"), run);
    }
    let arguments = "compare --baseline 1.etl 2.etl --candidate 3.etl";
    let text = folder.answer(&format!("{arguments} --runs"));
    let table = text.split_once("\nRuns  ").unwrap().1;
    for (side, run) in [("baseline", "1.etl"), ("baseline", "2.etl"), ("candidate", "3.etl")] {
        assert!(table.lines().any(|row| row.contains(side) && row.contains(run) && row.contains("18.6 s")), "{table}");
    }
    assert!(!folder.answer(arguments).contains("\nRuns  "));
    let csv = folder.answer(&format!("{arguments} --runs --format csv"));
    assert!(csv.starts_with("configuration,run,compared,key,category,unit,value\n"), "{csv}");
    assert_eq!(csv.lines().filter(|row| row.contains(",boot.total,")).count(), 3);
    assert_eq!(folder.run(&format!("{arguments} --runs --format markdown")).status.code(), Some(64));
}

#[test]
fn headline_separates_person_from_system() {
    let folder = Folder::new();
    record(&folder, "healthy-boot", "alone.etl");
    record(&folder, "person-logs-on", "person.etl");
    let headline = |name: &str| folder.answer(&format!("boot {name}")).lines().next().unwrap().to_owned();
    let without_person = headline("alone.etl");
    let person = headline("person.etl");
    assert!(!without_person.contains("waiting"), "{without_person}");
    // The scenarios differ only by the 6.5 s that the person took.
    assert_eq!(
        person,
        without_person
            .replace('.', "#")
            .replacen("#", ".", 1)
            .replace(" s#", " s, plus 6.50 s waiting for a user to log on.")
    );
    let answer = |name: &str| json(&folder.answer(&format!("boot {name} --format json")));
    assert!(answer("alone.etl")["logon"]["to_desktop_ns"].is_null());
    let boot = answer("person.etl");
    let request = &boot["logon"]["credential_requests"][0];
    let ready_ns = boot["main_path_boot"]["end_ns"].as_i64().unwrap();
    assert_eq!(boot["logon"]["to_desktop_ns"].as_i64().unwrap(), ready_ns - request["end_ns"].as_i64().unwrap());
    assert!(folder.answer("boot person.etl").contains(" from logon to desktop)"));
}

/// Records a boot whose logon waits for services, each with its sleep in ms. `tables` are more of the scenario.
fn record_services(folder: &Folder, name: &str, services: &[(&str, u64)], tables: &str) {
    let mut text = format!("name = \"A boot\"\nover = \"healthy-boot\"\nseed = 41\n{tables}\n");
    for (service, sleep_ms) in services {
        text += &format!(
            "[[services.service]]\nname = \"{service}\"\ngroup = \"ProfSvc_Group\"\ncontainer = \"30ms\"\nload = \"4ms\"\n\
             image = \"\\\\Program Files\\\\{service}\\\\{service}.exe\"\ninit = \"60ms\"\nwork = [\"sleep {sleep_ms}ms\"]\n\n"
        );
    }
    folder.file(name, &Scenario::from_toml(&text).unwrap().simulate().unwrap().files[0]);
}

fn cause_checks(folder: &Folder, slow: &str) -> Vec<Value> {
    let comparison = json(&folder.answer(&format!("compare --baseline fast.etl --candidate {slow} --format json")));
    comparison["cause_checks"].as_array().unwrap().clone()
}

#[test]
fn slow_run_without_its_cause_takes_as_long_as_the_fast_run() {
    let folder = Folder::new();
    record_services(&folder, "fast.etl", &[("BetaAgent", 900)], "");
    record_services(&folder, "slow.etl", &[("AlphaAgent", 4_000), ("BetaAgent", 900)], "");
    let checks = cause_checks(&folder, "slow.etl");
    let [check] = checks.as_slice() else { panic!("{checks:#?}") };
    assert_eq!((&check["slow_run"], &check["fast_run"]), (&"slow.etl".into(), &"fast.etl".into()));
    assert_eq!(check["causes"][0]["name"], "AlphaAgent");
    assert_eq!(check["no_prediction"], "");
    assert_eq!(check["fast_without"], Value::Null);
    assert_eq!(check["explains_difference"], true, "{check:#}");
    let difference_ms = ms(&check["slow_ns"]) - ms(&check["fast_ns"]);
    assert!(difference_ms > 1_000, "{check:#}");
    assert!((ms(&check["slow_without"]["ns"]) - ms(&check["fast_ns"])).abs() < 150, "{check:#}");
    assert_eq!(ms(&check["explained_ns"]) + ms(&check["unexplained_ns"]), difference_ms);
    let text = folder.answer("compare --baseline fast.etl --candidate slow.etl");
    let sentence = text.lines().find(|line| line.starts_with("Without AlphaAgent, the slower run (slow.etl)"));
    assert!(sentence.is_some_and(|sentence| sentence.ends_with(": AlphaAgent explains the difference.")), "{text}");
    // The other way around, the baseline is the slower side.
    let text = folder.answer("compare --baseline slow.etl --candidate fast.etl");
    assert!(text.contains("Without AlphaAgent, the slower run (slow.etl)"), "{text}");
}

#[test]
fn cause_of_both_runs_is_removed_from_both() {
    let folder = Folder::new();
    record_services(&folder, "fast.etl", &[("AlphaAgent", 1_500)], "");
    record_services(&folder, "slow.etl", &[("AlphaAgent", 5_000)], "");
    let checks = cause_checks(&folder, "slow.etl");
    let [check] = checks.as_slice() else { panic!("{checks:#?}") };
    assert_eq!(check["causes"][0]["is_in_both"], true, "{check:#}");
    assert_eq!(check["explains_difference"], true, "{check:#}");
    let without_ms = |run: &str| ms(&check[run]["ns"]);
    assert!((without_ms("slow_without") - without_ms("fast_without")).abs() < 150, "{check:#}");
    assert!(without_ms("fast_without") < ms(&check["fast_ns"]), "{check:#}");
}

#[test]
fn causes_are_not_checked_without_context_switches_or_without_a_cause() {
    let folder = Folder::new();
    let tables = "[recording]\ncontext_switches = false\n";
    record_services(&folder, "fast.etl", &[("BetaAgent", 900)], tables);
    record_services(&folder, "slow.etl", &[("AlphaAgent", 4_000), ("BetaAgent", 900)], tables);
    for check in cause_checks(&folder, "slow.etl") {
        assert_eq!(check["no_prediction"], "no context switches were recorded, so the work cannot be replayed");
        assert_eq!(check["slow_without"], Value::Null);
        assert_eq!(check["explains_difference"], Value::Null);
    }
    let text = folder.answer("compare --baseline fast.etl --candidate slow.etl");
    assert!(!text.contains("Without "), "{text}");
    // A difference below the variation between two boots has no cause.
    record_services(&folder, "same.etl", &[("BetaAgent", 950)], "");
    record_services(&folder, "fast.etl", &[("BetaAgent", 900)], "");
    assert_eq!(cause_checks(&folder, "same.etl"), Vec::<Value>::new());
}

#[test]
fn difference_beyond_the_found_cause_is_not_explained() {
    let folder = Folder::new();
    record_services(&folder, "fast.etl", &[("BetaAgent", 900)], "");
    // The session manager starts later for a reason that no change can remove.
    let tables = "[kernel]\nsession_manager_at = \"4600ms\"\n[session]\nwinlogon_at = \"6500ms\"\n\
                  [services]\nauto_start_at = \"6600ms\"\n";
    record_services(&folder, "slow.etl", &[("AlphaAgent", 4_000), ("BetaAgent", 900)], tables);
    let checks = cause_checks(&folder, "slow.etl");
    let [check] = checks.as_slice() else { panic!("{checks:#?}") };
    assert_eq!(check["causes"].as_array().unwrap().len(), 1, "{check:#}");
    assert_eq!(check["causes"][0]["name"], "AlphaAgent");
    assert_eq!(check["explains_difference"], false, "{check:#}");
    assert!(ms(&check["unexplained_ns"]) > 1_500, "{check:#}");
    let text = folder.answer("compare --baseline fast.etl --candidate slow.etl");
    let sentence = text.lines().find(|line| line.starts_with("Without AlphaAgent")).unwrap_or_else(|| panic!("{text}"));
    assert!(sentence.contains("AlphaAgent explains ") && sentence.ends_with(" are not explained."), "{sentence}");
}
