//! `onoff why` on Linux: a small synthetic recording with manually calculated times, and real recordings compared with
//! their text.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use crate::harness::Folder;
use onoff_testkit::real_recordings::samples_folder;
use serde_json::{Value, json};

const MS: i64 = 1_000_000;

/// `slow.service` starts from 17.175 to 23.250 s in process 217, which sleeps. `late.service` starts after that.
const MANAGER: &str = "Version=252\nFirmwareTimestampMonotonic=5448538\nLoaderTimestampMonotonic=269138\n\
    KernelTimestampMonotonic=0\nInitRDTimestampMonotonic=0\nUserspaceTimestampMonotonic=11261759\n\
    FinishTimestampMonotonic=34678924\nUnitsLoadStartTimestampMonotonic=13754114\nUnitsLoadFinishTimestampMonotonic=14459293\n";
const UNITS: &str = "Id=slow.service\nLoadState=loaded\nExecMainPID=217\nExecMainStartTimestampMonotonic=17174263\n\
    InactiveExitTimestampMonotonic=17175000\nActiveEnterTimestampMonotonic=23250000\n\n\
    Id=late.service\nLoadState=loaded\nAfter=slow.service\n\
    InactiveExitTimestampMonotonic=23260000\nActiveEnterTimestampMonotonic=23360000\n\n\
    Id=multi-user.target\nNames=multi-user.target default.target\nLoadState=loaded\nAfter=late.service\n\
    InactiveExitTimestampMonotonic=23361000\nActiveEnterTimestampMonotonic=23361000\n";
const KERNEL_LOG: &str = "[    0.000000] Linux version 6.1.0-50-amd64 (debian-kernel@lists.debian.org)\n\
    [    0.000000] Command line: root=/dev/vda2\n[   11.200000] Freeing unused kernel image memory: 100K\n";
/// Task, time in seconds, event. The kernel's first thread waits for a timer in `slow_init`. Process 1 starts process
/// 217, and a timer wakes it while process 217 sleeps.
const EVENTS: [(&str, &str, &str); 23] = [
    ("swapper/0-0", "0.900000", "sched_waking: comm=swapper/0 pid=1 prio=120 target_cpu=000"),
    (
        "swapper/0-0",
        "1.000000",
        "sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=swapper/0 next_pid=1 next_prio=120",
    ),
    ("swapper/0-1", "2.000000", "initcall_start: func=slow_init+0x0/0x10"),
    (
        "swapper/0-1",
        "2.100000",
        "sched_switch: prev_comm=swapper/0 prev_pid=1 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120",
    ),
    ("<idle>-0", "3.900000", "softirq_entry: vec=1 [action=TIMER]"),
    ("<idle>-0", "3.900000", "sched_waking: comm=swapper/0 pid=1 prio=120 target_cpu=000"),
    ("<idle>-0", "3.900010", "softirq_exit: vec=1 [action=TIMER]"),
    (
        "<idle>-0",
        "3.910000",
        "sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=swapper/0 next_pid=1 next_prio=120",
    ),
    ("swapper/0-1", "4.000000", "initcall_finish: func=slow_init+0x0/0x10 ret=0"),
    ("systemd-1", "17.174200", "sched_process_fork: comm=systemd pid=1 child_comm=systemd child_pid=217"),
    ("systemd-1", "17.174300", "sched_waking: comm=sleep pid=217 prio=120 target_cpu=000"),
    (
        "systemd-1",
        "17.180000",
        "sched_switch: prev_comm=systemd prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=sleep next_pid=217 next_prio=120",
    ),
    (
        "sleep-217",
        "17.200000",
        "sched_switch: prev_comm=sleep prev_pid=217 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120",
    ),
    ("<idle>-0", "20.000000", "softirq_entry: vec=1 [action=TIMER]"),
    ("<idle>-0", "20.000000", "sched_waking: comm=systemd pid=1 prio=120 target_cpu=000"),
    ("<idle>-0", "20.000010", "softirq_exit: vec=1 [action=TIMER]"),
    (
        "<idle>-0",
        "20.000100",
        "sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=systemd next_pid=1 next_prio=120",
    ),
    (
        "systemd-1",
        "20.100000",
        "sched_switch: prev_comm=systemd prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120",
    ),
    ("<idle>-0", "23.200000", "sched_waking: comm=sleep pid=217 prio=120 target_cpu=000"),
    (
        "<idle>-0",
        "23.200100",
        "sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=sleep next_pid=217 next_prio=120",
    ),
    ("sleep-217", "23.230000", "sched_waking: comm=systemd pid=1 prio=120 target_cpu=000"),
    (
        "sleep-217",
        "23.240000",
        "sched_switch: prev_comm=sleep prev_pid=217 prev_prio=120 prev_state=X ==> next_comm=systemd next_pid=1 next_prio=120",
    ),
    (
        "systemd-1",
        "34.700000",
        "sched_switch: prev_comm=systemd prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120",
    ),
];

fn synthetic() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("linux")).unwrap();
    let mut trace = "# tracer: nop\n#\n".to_owned();
    for (task, time, event) in EVENTS {
        trace.push_str(&format!("{task:>16} [000] d..2. {time:>12}: {event}\n"));
    }
    folder
        .file("linux/manager.txt", MANAGER.as_bytes())
        .file("linux/units.txt", UNITS.as_bytes())
        .file("linux/dmesg.txt", KERNEL_LOG.as_bytes())
        .file("linux/trace_clock", b"local global [mono] boot\n")
        .file("linux/trace.txt", trace.as_bytes());
    folder
}

fn synthetic_answer(folder: &Folder, arguments: &str) -> Value {
    let answer = folder.answer(&format!("why linux {arguments} --format json"));
    check_sums(serde_json::from_str(&answer).unwrap())
}

/// Returns the report for a sample. Prints a message and returns `None` if the sample is missing.
fn sample_answer(name: &str, arguments: &str) -> Option<Value> {
    let archive = samples_folder("linux")?.join(format!("{name}.tar.xz"));
    Some(check_sums(serde_json::from_str(&run(&archive, &format!("{arguments} --format json"))).unwrap()))
}

fn run(recording: &Path, arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onoff"));
    command.arg("why").arg(recording).args(arguments.split_whitespace());
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Checks that shares, kinds and certainties each sum exactly to the interval.
fn check_sums(report: Value) -> Value {
    for interval in report["intervals"].as_array().unwrap() {
        let path = &interval["path"];
        let duration_ns = number(&path["duration_ns"]);
        for list in ["shares", "kinds"] {
            let rows = path[list].as_array().unwrap().iter();
            let sum: i64 = rows.map(|row| number(&row["ns"])).sum();
            assert_eq!(sum, duration_ns, "{list} of {}", interval["name"]);
        }
        let certainties = ["measured_ns", "inferred_ns", "missing_ns"].map(|name| number(&path[name]));
        assert_eq!(certainties.iter().sum::<i64>(), duration_ns);
    }
    report
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

/// Returns the interval with this name and action.
fn interval<'a>(report: &'a Value, name: &str, action: &str) -> &'a Value {
    let mut intervals = report["intervals"].as_array().unwrap().iter();
    let interval = intervals.find(|row| row["name"] == name && row["action"] == action);
    interval.unwrap_or_else(|| panic!("no {action} of {name}"))
}

/// Returns the time of a share in ms.
fn share_ms(interval: &Value, kind: &str, name: &str) -> i64 {
    let mut shares = interval["path"]["shares"].as_array().unwrap().iter();
    let share = shares.find(|row| row["kind"] == kind && row["name"] == name);
    share.map_or(0, |row| number(&row["ns"]) / MS)
}

fn longest_step(interval: &Value) -> &Value {
    let steps = interval["path"]["steps"].as_array().unwrap().iter();
    steps.max_by_key(|step| number(&step["duration_ns"])).unwrap()
}

#[test]
fn process_and_thread_wait_for_timer() {
    let folder = synthetic();
    for arguments in ["--process sleep", "--thread 217", "--thread 217 --at 20s"] {
        let report = synthetic_answer(&folder, arguments);
        let wait = &report["intervals"][0];
        assert_eq!(number(&wait["start_ns"]), 17_200 * MS);
        assert_eq!(number(&wait["duration_ns"]) / 1000, 6_000_100);
        assert_eq!(wait["action"], "interruptible");
        let step = longest_step(wait);
        // No softirq was recorded at the end of the wait, and nothing else ran: kernel timers need no softirq.
        assert_eq!((&step["kind"], &step["detail"]), (&json!("timer"), &json!("")));
        assert_eq!(number(&step["duration_ns"]), 6_000 * MS);
    }
    assert_eq!(folder.failure("why linux --thread 217 --at 30s").0, 2);
    assert_eq!(folder.failure("why linux --process nobody").0, 2);
}

#[test]
fn kernel_function_waits_for_timer() {
    let report = synthetic_answer(&synthetic(), "--device slow_init");
    let request = interval(&report, "slow_init", "Initcall");
    assert_eq!(number(&request["duration_ns"]), 2_000 * MS);
    // The thread does not run from 2.1 s until the timer softirq wakes it at 3.9 s.
    let step = longest_step(request);
    assert_eq!((&step["kind"], &step["certainty"], &step["detail"]), (&json!("timer"), &json!("measured"), &json!("")));
    assert_eq!(number(&step["duration_ns"]), 1_800 * MS);
}

#[test]
fn kernel_runs_before_first_switch() {
    let report = synthetic_answer(&synthetic(), "--phase kernel");
    let phase = interval(&report, "kernel", "boot");
    assert_eq!(number(&phase["start_ns"]), 0);
    // Thread 1 was woken at 0.9 s and ran from 1.0 s. Earlier, only the kernel ran.
    let kernel_ms = share_ms(phase, "cpu", "kernel (before the first recorded context switch)");
    assert_eq!(kernel_ms, 900);
    assert_eq!(number(&phase["path"]["missing_ns"]), 0);
}

#[test]
fn reports_service_start_and_wait_before_it() {
    let folder = synthetic();
    let report = synthetic_answer(&folder, "--service slow.service");
    let start = interval(&report, "slow.service", "start");
    assert_eq!(number(&start["duration_ns"]), 6_075 * MS);
    assert_eq!(longest_step(start)["thread"]["tid"], 217);

    // The target does no work: it waited for late.service, which waited for slow.service.
    let report = synthetic_answer(&folder, "--service multi-user.target");
    let wait = interval(&report, "multi-user.target", "wait");
    assert_eq!(number(&wait["start_ns"]), 17_175 * MS);
    assert_eq!(number(&wait["end_ns"]), 23_361 * MS);
    let services = wait["path"]["services"].as_array().unwrap();
    let service_ms: Vec<(&str, i64)> =
        services.iter().map(|row| (row["service"]["name"].as_str().unwrap(), number(&row["ns"]) / MS)).collect();
    assert_eq!(service_ms, [("slow.service", 6_075), ("late.service", 100)]);
    assert_eq!(share_ms(wait, "service_dependency", "late.service"), 100);
    let step = longest_step(wait);
    assert_eq!(step["thread"]["tid"], 217);
    assert_eq!(step["waiters"], json!([1]));
    assert_eq!(step["service"]["ready_ns"], 23_250 * MS);
    let text = folder.answer("why linux --service multi-user.target");
    assert!(text.contains("The wait for service multi-user.target to start took 6.19 s"));
    assert!(text.contains("thread 1 → 217 (sleep) of sleep (217) waited for a timer"), "{text}");
}

#[test]
fn systemd_timer_does_not_hide_unit() {
    let report = synthetic_answer(&synthetic(), "--phase user_space");
    let phase = interval(&report, "user_space", "boot");
    let services = phase["path"]["services"].as_array().unwrap();
    assert_eq!(services[0]["service"]["name"], "slow.service");
    // The complete start counts, whatever process 1 did in the meantime.
    assert_eq!(number(&services[0]["ns"]) / MS, 6_075);
}

#[test]
fn names_slow_unit_of_real_boot() {
    let Some(report) = sample_answer("boot-2", "--service slowearly.service") else {
        return;
    };
    // systemd-analyze blame reports 6.107 s. The unit runs /bin/sleep 6.
    let start = interval(&report, "slowearly.service", "start");
    assert_eq!(number(&start["duration_ns"]) / MS, 6_107);
    let step = longest_step(start);
    assert_eq!(step["thread"]["process"], "sleep");
    assert!((5_990..6_010).contains(&(number(&step["duration_ns"]) / MS)));

    let report = sample_answer("boot-2", "--service multi-user.target").unwrap();
    let wait = interval(&report, "multi-user.target", "wait");
    let services = wait["path"]["services"].as_array().unwrap();
    let slow = services.iter().find(|row| row["service"]["name"] == "slowearly.service");
    assert_eq!(number(&slow.unwrap()["ns"]) / MS, 6_107);
    assert!(share_ms(wait, "service_dependency", "slowearly.service") > 5_990);

    let report = sample_answer("boot-2", "").unwrap();
    let kernel = interval(&report, "kernel", "boot");
    let before_first_switch_ms = share_ms(kernel, "cpu", "kernel (before the first recorded context switch)");
    assert_eq!(before_first_switch_ms, 420);
    let user_space = interval(&report, "user_space", "boot");
    assert!(share_ms(user_space, "service_dependency", "slowearly.service") > 5_990);
}

#[test]
fn explains_slow_unit_stop() {
    let Some(report) = sample_answer("shutdown-slowstop", "") else {
        return;
    };
    let names: Vec<&str> =
        report["intervals"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    // The trace covers only the shutdown. For the boot, which has only units and logs, there is nothing to report.
    assert_eq!(names[0], "stop_units");
    assert!(!names.contains(&"user_space"));
    let unexplained: Vec<&str> =
        report["unexplained"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(unexplained, ["kernel", "user_space"]);
    let services = report["intervals"][0]["path"]["services"].to_string();
    assert!(services.contains("slowstop.service"), "{services}");

    let report = sample_answer("shutdown-slowstop", "--service slowstop.service").unwrap();
    let stop = interval(&report, "slowstop.service", "stop");
    assert_eq!(number(&stop["duration_ns"]) / MS, 5_166);
    let step = longest_step(stop);
    assert_eq!(step["thread"]["process"], "sleep");
    assert!((4_990..5_060).contains(&(number(&step["duration_ns"]) / MS)));
}

#[test]
fn real_sleep_phases_have_paths() {
    let Some(report) = sample_answer("suspend-s3", "") else {
        return;
    };
    let intervals = report["intervals"].as_array().unwrap();
    assert!(intervals.iter().all(|row| row["action"] == "suspend"));
    let resume = interval(&report, "devices_resume_noirq", "suspend");
    let thread = &resume["path"]["end_thread"];
    assert_eq!(resume["path"]["end_certainty"], "measured");
    assert!(thread["tid"].as_u64().is_some_and(|tid| tid > 0));
    let report = sample_answer("suspend-s3", "--device 0000:00:10.0").unwrap();
    let request = interval(&report, "0000:00:10.0", "resume_noirq");
    assert_eq!(number(&request["duration_ns"]) / MS, 448);
}

/// Returns the phases in `onoff boot`, `shutdown` or `suspend` with their durations in ns.
fn phase_durations(report: &Value) -> Vec<(String, i64)> {
    let phases = report["phases"].as_array().unwrap().iter();
    let durations =
        phases.filter_map(|phase| Some((phase["name"].as_str()?.to_owned(), phase["duration_ns"].as_i64()?)));
    durations.filter(|(name, ns)| *ns > 0 && name != "TraceTail").collect()
}

#[test]
fn phases_match_transition_and_shares_sum() {
    let Some(samples) = samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    for (name, verb) in
        [("boot-1", "boot"), ("boot-2", "boot"), ("boot-fpdt", "boot"), ("shutdown-slowstop", "shutdown")]
    {
        let path = samples.join(format!("{name}.tar.xz"));
        let transition = folder.answer(&format!("{verb} {} --format json", path.display()));
        let expected = phase_durations(&serde_json::from_str(&transition).unwrap());
        let report = sample_answer(name, &format!("--transition {verb} --min 0")).unwrap();
        let intervals = report["intervals"].as_array().unwrap();
        let actual: Vec<(String, i64)> = intervals
            .iter()
            .map(|row| (row["name"].as_str().unwrap().to_owned(), number(&row["duration_ns"])))
            .collect();
        assert_eq!(actual, expected, "{name}");
        for interval in intervals {
            let account = &interval["account"];
            let sum: i64 = account["entries"].as_array().unwrap().iter().map(|entry| number(&entry["ns"])).sum();
            assert_eq!(sum, number(&account["duration_ns"]), "{name}");
            assert_eq!(sum, number(&interval["duration_ns"]), "{name}");
        }
    }
    let text = folder.answer(&format!("why {}", samples.join("boot-2.tar.xz").display()));
    assert!(text.contains("user space (boot) took 23.4 s"), "{text}");
}

/// Returns the culprits in a verb's report: phase, name, ms.
fn culprits(folder: &Folder, arguments: &str) -> Vec<(String, String, i64)> {
    let report: Value = serde_json::from_str(&folder.answer(&format!("{arguments} --format json"))).unwrap();
    let culprits = report["culprits"].as_array().unwrap().iter();
    culprits
        .map(|culprit| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&culprit["phase"]), text(&culprit["entry"]["name"]), number(&culprit["entry"]["ns"]) / MS)
        })
        .collect()
}

/// Checks that the transition's verb, why, diagnose and compare agree on an injected cause.
fn assert_verbs_agree(folder: &Folder, path: &Path, (verb, phase, name): (&str, &str, &str), blamed_ms: i64) {
    let recording = path.display();
    let (first_phase, first_name, ms) = culprits(folder, &format!("{verb} {recording}")).swap_remove(0);
    assert_eq!((first_phase.as_str(), first_name.as_str()), (phase, name));
    // Within 5 % of 'systemd-analyze blame' or the unit properties.
    assert!((ms - blamed_ms).abs() * 20 <= blamed_ms, "{name}: {ms} ms");
    let headline = format!("{name} blocked {}", phase.replace('_', " "));
    let cost = format!(" for {}", onoff_trace::Duration::from_ns(ms * MS));
    let has_headline = |text: &str| text.lines().any(|line| line.starts_with(&headline) && line.contains(&cost));
    assert!(has_headline(&folder.answer(&format!("{verb} {recording}"))), "{headline}{cost}");
    assert!(has_headline(&folder.answer(&format!("why {recording} --phase {phase}"))), "{headline}{cost}");
    let diagnosis: Value =
        serde_json::from_str(&folder.answer(&format!("diagnose {recording} --format json"))).unwrap();
    let mut findings = diagnosis["findings"].as_array().unwrap().iter();
    let finding = findings.find(|finding| finding["subject"]["name"] == name).unwrap();
    assert_eq!((number(&finding["cost_ns"]) / MS, &finding["phase"]), (ms, &json!(phase)));
    folder.answer(&format!("gate --baseline {recording} --transition {verb} --save-baseline baseline.json"));
    let baseline: Value = serde_json::from_slice(&std::fs::read(folder.path("baseline.json")).unwrap()).unwrap();
    let mut measures = baseline["runs"][0]["measures"].as_array().unwrap().iter();
    let measure =
        measures.find(|measure| measure["category"] == "account" && measure["subject"]["name"] == name).unwrap();
    assert_eq!(number(&measure["value"]) / MS, ms);
}

#[test]
fn verbs_agree_on_injected_unit() {
    let Some(samples) = samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    assert_verbs_agree(&folder, &samples.join("boot-2.tar.xz"), ("boot", "user_space", "slowearly.service"), 6_107);
    let shutdown = samples.join("shutdown-slowstop.tar.xz");
    assert_verbs_agree(&folder, &shutdown, ("shutdown", "stop_units", "slowstop.service"), 5_166);
    // Off the critical path, e2scrub_reap.service took 8.17 s of the boot and ifup@enp0s16.service 3.88 s of the
    // shutdown.
    let boot = culprits(&folder, &format!("boot {}", samples.join("boot-2.tar.xz").display()));
    assert!(!boot.iter().any(|(_, name, _)| name == "e2scrub_reap.service" || name == "CPU"), "{boot:?}");
    let stop = culprits(&folder, &format!("shutdown {}", shutdown.display()));
    assert!(!stop.iter().any(|(_, name, _)| name == "ifup@enp0s16.service"), "{stop:?}");
}

#[test]
fn reports_cpu_bound_boot() {
    let Some(samples) = samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    for name in ["boot-1", "boot-fpdt"] {
        let path = samples.join(format!("{name}.tar.xz"));
        let (phase, culprit, ms) = culprits(&folder, &format!("boot {}", path.display())).swap_remove(0);
        assert_eq!((phase.as_str(), culprit.as_str()), ("user_space", "CPU"), "{name}");
        let text = folder.answer(&format!("boot {}", path.display()));
        let headline = format!("CPU contention blocked user space for {}", onoff_trace::Duration::from_ns(ms * MS));
        assert!(text.contains(&headline), "{text}");
    }
    let sleep = samples.join("suspend-s3.tar.xz");
    // Without context switches and unit properties, the order and durations come from systemd-analyze critical-chain.
    let chain_units: Vec<(String, i64)> = culprits(&folder, &format!("boot {}", sleep.display()))
        .into_iter()
        .map(|(phase, name, ms)| {
            assert_eq!(phase, "user_space");
            (name, ms)
        })
        .collect();
    let expected = [("networking.service", 6_105), ("systemd-udev-trigger.service", 5_038), ("ssh.service", 4_206)];
    assert_eq!(chain_units[..3], expected.map(|(name, ms)| (name.to_owned(), ms)));
    // Without the critical chain too, no unit is named.
    assert_eq!(culprits(&Folder::linux_boot(), "boot linux/journal.export"), []);
    let reason = folder.answer(&format!("why {} --transition boot", sleep.display()));
    assert!(reason.contains("of kernel (boot) is unattributed: context switches were not recorded"), "{reason}");
}

#[test]
fn names_injected_kernel_function() {
    let folder = synthetic();
    let culprits = culprits(&folder, "boot linux");
    // Process 1 was running for the first 5 ms of the unit's 6.075 s.
    assert_eq!(culprits[0], ("user_space".to_owned(), "slow.service".to_owned(), 6_070), "{culprits:?}");
    assert_eq!(culprits[1], ("kernel".to_owned(), "slow_init".to_owned(), 2_000), "{culprits:?}");
    let text = folder.answer("why linux --phase kernel");
    assert!(text.starts_with("slow_init blocked kernel for 2.00 s"), "{text}");
}
