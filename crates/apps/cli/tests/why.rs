//! `onoff why` on simulated computers: the critical path matches the simulation.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::harness::Folder;
use crate::harness::symbols::{PDB_IDENTITY, pdb, with_symbols};
use onoff_simulator::{Scenario, Truth};
use serde_json::Value;

const MS: i64 = 1_000_000;

fn answer(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(&format!("why boot.etl {arguments} --format json"))).unwrap()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

/// Checks the invariants of all intervals and returns the first one.
fn checked_first(report: &Value) -> &Value {
    for interval in report["intervals"].as_array().unwrap() {
        let path = &interval["path"];
        let duration_ns = number(&path["duration_ns"]);
        for list in ["shares", "kinds"] {
            let rows = path[list].as_array().unwrap();
            let sum: i64 = rows.iter().map(|row| number(&row["ns"])).sum();
            assert_eq!(sum, duration_ns, "{list} of {}", interval["name"]);
        }
        let certainties = ["measured_ns", "inferred_ns", "missing_ns"].map(|name| number(&path[name]));
        assert_eq!(certainties.iter().sum::<i64>(), duration_ns);
        let mut previous_end = number(&path["start_ns"]);
        for step in path["steps"].as_array().unwrap() {
            assert!(number(&step["start_ns"]) >= previous_end);
            previous_end = number(&step["end_ns"]);
        }
    }
    &report["intervals"][0]
}

fn longest_step(interval: &Value) -> &Value {
    let steps = interval["path"]["steps"].as_array().unwrap();
    steps.iter().max_by_key(|step| number(&step["duration_ns"])).unwrap()
}

fn share<'a>(interval: &'a Value, kind: &str, name: &str) -> &'a Value {
    let shares = interval["path"]["shares"].as_array().unwrap();
    let share = shares.iter().find(|share| share["kind"] == kind && share["name"].as_str().unwrap().ends_with(name));
    share.unwrap_or_else(|| panic!("no {kind} of {name}"))
}

fn pid(truth: &Truth, image: &str) -> u32 {
    let process = truth.processes.iter().find(|process| process.image.ends_with(image));
    process.unwrap().pid
}

/// Returns the thread of a single-threaded process.
fn only_thread(truth: &Truth, image: &str) -> u32 {
    let pid = pid(truth, image);
    let mut threads = truth.threads.iter().filter(|&(_, &owner)| owner == pid);
    let (&tid, _) = threads.next().unwrap();
    tid
}

/// A scenario without ready-thread events: `First` sleeps for 2 s and calls helper.exe, which takes 3 s.
const WITHOUT_READY_THREADS: &str = r#"
name = "Sequential services, without ready-thread events"
seed = 8
[machine]
processors = 2
mhz = 2400
build = 19041
[recording]
tail = "1s"
at_most = "30s"
ready_threads = false
[kernel]
session_manager_at = "1s"
[session]
winlogon_at = "2s"
[services]
auto_start_at = "2500ms"
[[services.service]]
name = "First"
group = "Early"
container = "20ms"
load = "5ms"
init = "10ms"
work = ["cpu 2ms", "sleep 2s", "signal ask", "wait answer", "cpu 3ms"]
[[services.service]]
name = "Second"
group = "Late"
container = "20ms"
load = "5ms"
init = "400ms"
[[process]]
image = "helper.exe"
at = "2200ms"
[[process.thread]]
work = ["wait ask", "sleep 3s", "signal answer"]
"#;

#[test]
fn service_manager_waits_for_starting_service() {
    let simulation = Scenario::from_toml(WITHOUT_READY_THREADS).unwrap().simulate().unwrap();
    let folder = Folder::new();
    folder.file("boot.etl", &simulation.files[0]);
    let truth = &simulation.truth;
    let simulated_service = |name: &str| truth.services.iter().find(|row| row.name == name).unwrap();
    let (first, second) = (simulated_service("First"), simulated_service("Second"));

    let report = answer(&folder, "--process services.exe --min 1000");
    let interval = checked_first(&report);
    let step = longest_step(interval);
    assert_eq!(step["kind"], "service_dependency");
    assert_eq!(step["certainty"], "inferred");
    assert_eq!(number(&step["duration_ns"]) / MS, 3_000);
    assert_eq!(step["thread"]["pid"], first.container_pid);
    assert_eq!(step["waiters"], serde_json::json!([interval["thread"]["tid"]]));
    let expected = serde_json::json!({
        "name": "First", "change": "start", "start_ns": first.start_ns, "ready_ns": first.end_ns,
    });
    assert_eq!(step["service"], expected);
    let dependency = share(interval, "service_dependency", "First");
    // For the first 20 ms, until the host process exists, the activity is unknown, except just after the creation of
    // the process, when its thread was ready but had no processor.
    assert_eq!(number(&dependency["ns"]) / MS, 3_019);
    // Known activity of the service's thread keeps its kind.
    let steps = interval["path"]["steps"].as_array().unwrap().iter();
    let sleeps = steps.filter(|step| step["kind"] == "timer" && step["service"] == expected);
    assert_eq!(sleeps.map(|step| number(&step["duration_ns"]) / MS).max(), Some(2_000));

    let text = folder.answer("why boot.etl --process services.exe --min 1000");
    assert!(text.contains(" waited for the start of service First"), "{text}");
    let folded = folder.answer("why boot.etl --process services.exe --min 1000 --format folded");
    assert!(folded.contains(";waiting for a service First "), "{folded}");

    // Before its start, Second waited for First, whose group starts earlier.
    let report = answer(&folder, "--service Second");
    let interval = checked_first(&report);
    assert_eq!(interval["action"], "wait");
    assert_eq!(number(&interval["start_ns"]), first.start_ns);
    assert_eq!(number(&interval["end_ns"]), second.start_ns);
    let services = interval["path"]["services"].as_array().unwrap();
    assert_eq!(services.len(), 1);
    assert_eq!(services[0]["service"], expected);
    assert_eq!(number(&services[0]["ns"]), first.end_ns - first.start_ns);
    assert_eq!(report["intervals"][1]["action"], "start");
}

/// Starts a server that serves the PDB and responds "not found" to all other requests. Returns its URL.
fn symbol_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request_line = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let expected = format!("GET /driver.pdb/{PDB_IDENTITY}/driver.pdb ");
            let (status, body) = match request_line.starts_with(&expected) {
                true => ("200 OK", pdb()),
                false => ("404 Not Found", Vec::new()),
            };
            let length = body.len();
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(&body);
        }
    });
    url
}

#[test]
fn names_functions_from_folder_and_server() {
    let folder = with_symbols();
    folder.file("driver.pdb", &pdb());
    let server = symbol_server();
    let functions = ["t::wait_for_hardware", "t::start_device", "t::DriverEntry"];
    for symbols in [".".to_owned(), format!("srv*store*{server}")] {
        let arguments = format!("--process driver.exe --min 1000 --symbols {symbols}");
        let report = answer(&folder, &arguments);
        let step = longest_step(checked_first(&report));
        assert_eq!(step["kind"], "timer");
        let actual: Vec<&Value> = step["stack"].as_array().unwrap().iter().map(|frame| &frame["function"]).collect();
        assert_eq!(actual, functions);
        assert_eq!(step["stack"][0]["module"], "driver.exe");
        assert_eq!(step["stack"][0]["offset"], "0x1045");

        let text = folder.answer(&format!("why boot.etl {arguments}"));
        for function in functions {
            assert!(text.contains(&format!("driver.exe!{function}")), "{text}");
        }
        let folded = folder.answer(&format!("why boot.etl {arguments} --format folded"));
        let [entry, start, wait] =
            ["DriverEntry", "start_device", "wait_for_hardware"].map(|function| format!("driver.exe!t::{function}"));
        assert!(folded.contains(&format!("{entry};{start};{wait};waiting for a timer")), "{folded}");
    }
    // Downloaded files are used without a server.
    let downloaded = folder.path(&format!("store/driver.pdb/{PDB_IDENTITY}/driver.pdb"));
    assert_eq!(std::fs::read(downloaded).unwrap(), pdb());
}

#[test]
fn reports_missing_symbols_reason() {
    let folder = with_symbols();
    let closed_server = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let text = |arguments: &str| folder.answer(&format!("why boot.etl --process driver.exe {arguments}"));
    let output = text(&format!("--symbols srv*store*{closed_server}"));
    assert_eq!(output.matches(&format!("{closed_server}: cannot be reached: ")).count(), 1);
    assert!(output.contains("driver.exe+0x1045"), "{output}");
    let output = text(&format!("--offline --symbols srv*store*{closed_server}"));
    assert!(output.contains("No function names: symbol servers were not contacted."));
    assert!(output.contains(&format!("driver.pdb {PDB_IDENTITY}: not in the symbol path's folders")));
    let output = text(&format!("--symbols srv*store*{}", symbol_server()));
    assert!(output.contains("driver.exe!t::wait_for_hardware"), "{output}");

    // A PDB of another build is rejected; the report works without it.
    let mut other_pdb = pdb();
    let guid = [0x26, 0x43, 0x2C, 0x66, 0x04, 0x0F];
    let offset = other_pdb.windows(guid.len()).position(|window| window == guid).unwrap();
    other_pdb[offset] ^= 0xFF;
    folder.file("driver.pdb", &other_pdb);
    let output = text("--symbols .");
    assert!(output.contains("driver.pdb: from another build"), "{output}");
}

/// Checks appendix A of the paper: thread 44 → 64 → 16 → 20 → timer expiration.
#[test]
fn paper_driver_blocks_through_three_threads() {
    let (folder, truth) = Folder::boot_and_truth("sleep-slow-driver.toml");
    let report = answer(&folder, r"--device ROOT\MSPIWDDEV\0000 --min 1000");
    let interval = checked_first(&report);
    let request = truth
        .transitions
        .power_requests
        .iter()
        .find(|row| row.scope == "device" && row.driver == "piwddev" && row.kind == "set")
        .unwrap();
    assert_eq!(number(&interval["start_ns"]), request.start_ns);
    assert_eq!(Some(number(&interval["end_ns"])), request.end_ns);
    let step = longest_step(interval);
    assert_eq!(step["thread"]["tid"], 20);
    assert_eq!(step["waiters"], serde_json::json!([16, 64, 44]));
    assert_eq!((&step["kind"], &step["certainty"]), (&"timer".into(), &"measured".into()));
    assert_eq!(number(&step["duration_ns"]) / MS, 20_000);
    assert_eq!(step["device"], r"ROOT\MSPIWDDEV\0000");

    let text = folder.answer("why boot.etl --phase SuspendDevices");
    assert!(text.contains("thread 44 → 64 → 16 → 20 of System (4) waited for a timer"), "{text}");
    let folded = folder.answer("why boot.etl --phase SuspendDevices --format folded");
    let sum: i64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()).sum();
    let phases = answer(&folder, "--phase SuspendDevices");
    assert_eq!(sum, number(&checked_first(&phases)["duration_ns"]));
}

#[test]
fn service_waits_for_sleeping_process() {
    let (folder, truth) = Folder::boot_and_truth("why-chains.toml");
    let report = answer(&folder, "--service Waiter");
    let interval = checked_first(&report);
    let service = truth.services.iter().find(|row| row.name == "Waiter").unwrap();
    assert_eq!(number(&interval["start_ns"]), service.start_ns);
    assert_eq!(number(&interval["end_ns"]), service.end_ns);
    let sleeper = share(interval, "timer", "helper.exe");
    assert_eq!(number(&sleeper["ns"]) / MS, 20_000);
    let step = longest_step(interval);
    assert_eq!(step["thread"]["tid"], only_thread(&truth, "helper.exe"));
    let waiters = step["waiters"].as_array().unwrap();
    let waiter = waiters.last().unwrap().as_u64().unwrap();
    assert_eq!(truth.threads[&u32::try_from(waiter).unwrap()], service.container_pid);
    assert_eq!(number(&interval["path"]["missing_ns"]) / MS, 0);

    // The logon waits for the group of the service, so the same sleep and the service are on the path of the phase.
    let report = answer(&folder, "--phase WinLogonInit");
    let phase = checked_first(&report);
    assert_eq!(number(&share(phase, "timer", "helper.exe")["ns"]) / MS, 20_000);
    let on_path = phase["path"]["on_path"].as_array().unwrap();
    let ms_on_path = |kind: &str, name: &str| {
        let subject = on_path.iter().find(|row| row["kind"] == kind && row["name"] == name);
        number(&subject.unwrap()["ns"]) / MS
    };
    assert_eq!(ms_on_path("process", "helper.exe"), 20_002);
    assert!((20_000..20_040).contains(&ms_on_path("service", "Waiter")));
}

#[test]
fn waits_for_files_and_processors() {
    let (folder, truth) = Folder::boot_and_truth("why-chains.toml");
    let report = answer(&folder, "--service Reader");
    // 200 requests of 64 KiB take 7 ms each, plus 16 ms per MiB. All are attributed to the process and to one file.
    let shares = checked_first(&report)["path"]["shares"].as_array().unwrap().iter();
    let disk: Vec<&Value> = shares.filter(|share| share["kind"] == "disk").collect();
    assert_eq!((disk.len(), number(&disk[0]["ns"]) / MS), (1, 200 * 8));
    assert!(disk[0]["pid"].is_number(), "{}", disk[0]);
    let groups = checked_first(&report)["path"]["groups"].as_array().unwrap();
    let is_file = |group: &&Value| group["detail"].as_str().unwrap().ends_with(r"\Windows\System32\large.db");
    let file = groups.iter().find(is_file).unwrap();
    assert_eq!((number(&file["ns"]) / MS, number(&file["count"])), (200 * 8, 200));

    let report = answer(&folder, "--process victim.exe");
    let interval = checked_first(&report);
    assert_eq!(interval["thread"]["pid"], pid(&truth, "victim.exe"));
    assert_eq!(longest_step(interval)["kind"], "ready");
    assert_eq!(number(&interval["duration_ns"]) / MS, 5_000);
    let text = folder.answer("why boot.etl --process victim.exe");
    assert!(text.contains("no CPU was free"), "{text}");
}

#[test]
fn rejects_unanswerable_queries_with_reason() {
    let folder = Folder::boot("why-chains.toml");
    for (arguments, reason) in [
        ("--process nobody.exe", "no such process in this recording"),
        ("--thread 99999", "no such thread in this recording"),
        ("--service Nobody", "no such service"),
        ("--device Nobody", "no request to this device in this recording"),
        ("--phase Nobody", "no such phase"),
        ("--process victim.exe --min 900000", "no wait took"),
        ("--process victim.exe --at yesterday", "is not a time"),
    ] {
        let (code, message) = folder.failure(&format!("why boot.etl {arguments}"));
        let expected_code = if arguments.ends_with("yesterday") { 64 } else { 2 };
        assert_eq!(code, expected_code, "{arguments}");
        assert!(message.contains(reason), "{arguments}: {message}");
    }
    // A time within the wait selects it, another time does not.
    folder.answer("why boot.etl --process victim.exe --at 42s");
    assert_eq!(folder.failure("why boot.etl --process victim.exe --at 47s").0, 2);
}

/// The sums are exact in every phase, whatever was recorded.
#[test]
fn shares_sum_to_phase() {
    for scenario in ["slow-boot", "shutdown-slow-console", "sleep-slow-service"] {
        let (folder, _) = Folder::boot_and_truth(&format!("{scenario}.toml"));
        let report = answer(&folder, "--min 0");
        assert!(!report["intervals"].as_array().unwrap().is_empty(), "{scenario}");
        checked_first(&report);
    }
}

/// Returns the headline for a phase of a scenario.
fn headline(scenario: &str, phase: &str) -> String {
    let text = Folder::boot(scenario).answer(&format!("why boot.etl --phase {phase}"));
    text.lines().next().unwrap().to_owned()
}

#[test]
fn headline_names_paper_driver_and_service() {
    // Tables 6 and A-1: Ramdisk's load, start and enumeration take 9.2 s + 3 s + 3 s, until it pends the last two.
    let without_pending = headline("table-6-no-pended-requests.toml", "PreSMSS");
    assert!(
        without_pending.starts_with("Ramdisk blocked PreSMSS for 15.2 s of 26.6 s in 3 requests it did not pend"),
        "{without_pending}"
    );
    let both_pended = headline("table-6-pended-start-and-enumeration.toml", "PreSMSS");
    assert!(!both_pended.contains("Ramdisk"), "{both_pended}");
    // Tables 7 and A-2: a service in a group that later groups wait for, and the same service without a group.
    let in_group = headline("table-7-slow-service-in-group.toml", "WinLogonInit");
    assert!(in_group.starts_with("Slowsvc blocked WinLogonInit for"), "{in_group}");
    let in_no_group = headline("table-7-slow-service-in-no-group.toml", "WinLogonInit");
    assert!(!in_no_group.contains("Slowsvc"), "{in_no_group}");
}

#[test]
fn merges_similar_steps_and_names_hosted_services() {
    let folder = Folder::boot("slow-boot.toml");
    let text = folder.answer("why boot.etl --phase WinLogonInit");
    let reads = text.lines().find(|line| line.contains("profiles.db")).unwrap();
    assert!(reads.contains("×12 thread"), "{reads}");
    // The times match the requests; each step takes more than a hundredth of the total.
    let report = answer(&folder, "--phase WinLogonInit");
    let groups = report["intervals"][0]["path"]["groups"].as_array().unwrap();
    let group = groups.iter().find(|group| group["detail"].as_str().unwrap().ends_with("profiles.db")).unwrap();
    assert_eq!(group["count"], 12);
    let steps = report["intervals"][0]["path"]["steps"].as_array().unwrap().iter();
    let reads = steps.filter(|step| step["kind"] == "disk" && step["detail"] == group["detail"]);
    let (count, ns) = reads.fold((0, 0), |(count, ns), step| (count + 1, ns + number(&step["duration_ns"])));
    assert_eq!((count, ns), (12, number(&group["ns"])));
    // A host process is output with its services.
    assert!(text.contains("of svchost.exe (436: ProfSvc, Schedule, gpsvc)") || text.contains(": ProfSvc"), "{text}");
    assert!(text.contains("of winlogon.exe (276)"), "{text}");
    // Ready times of a few hundred ns are not output as steps.
    assert!(!text.contains("no CPU was free"), "{text}");
    let lines = text.lines().skip_while(|line| !line.contains("Critical path, backwards"));
    assert!(!lines.take_while(|line| !line.is_empty()).any(|line| line.contains("<1 µs  ")), "{text}");
}

#[test]
fn disk_waits_name_process_first() {
    let report = answer(&Folder::boot("slow-boot.toml"), "");
    let intervals = report["intervals"].as_array().unwrap().iter();
    let shares = intervals.flat_map(|interval| interval["path"]["shares"].as_array().unwrap());
    let disk: Vec<&Value> = shares.filter(|share| share["kind"] == "disk").collect();
    assert!(disk.len() >= 4, "{}", disk.len());
    for share in disk {
        assert!(share["pid"].is_number() && !share["name"].as_str().unwrap().contains('\\'), "{share}");
    }
}

#[test]
fn phase_without_name_is_longest() {
    for (scenario, phase) in [("slow-boot.toml", "WinLogonInit"), ("table-6-no-pended-requests.toml", "PreSMSS")] {
        let folder = Folder::boot(scenario);
        let longest = answer(&folder, "--phase");
        let names: Vec<&str> = longest["intervals"]
            .as_array()
            .unwrap()
            .iter()
            .map(|interval| interval["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, [phase], "{scenario}");
    }
    let folder = Folder::boot("slow-sleep.toml");
    let text = folder.answer("why boot.etl --phase");
    assert!(!text.contains("Asleep (suspend)"), "{text}");
}

#[test]
fn post_boot_reports_only_busy_programs() {
    let folder = Folder::boot("startup-applications.toml");
    let text = folder.answer("why boot.etl --phase PostBoot");
    assert!(text.lines().next().unwrap().contains("kept the computer busy in PostBoot"), "{text}");
    assert!(!text.contains("Critical path, backwards") && !text.contains("ended by"), "{text}");
}
