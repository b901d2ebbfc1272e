//! Attribution of waits and of user time, on machines simulated for this purpose.
#![allow(clippy::unwrap_used)]

use onoff_blame::account::{AccountSubjectKind, AccountedPhase, accounts, culprits};
use onoff_compare::summary::{self, SummaryRow};
use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions, diagnose};
use onoff_findings::finding::{CostBasis, FindingSubjectKind};
use onoff_simulator::Scenario;
use onoff_trace::{Milestone, StringId, Trace, milestone};
use onoff_transitions::boot::{BootOptions, BootReport, analyze};

use crate::accounts::{simulate, simulate_named};
use crate::one_account::differences_of_why;

const MS: i64 = 1_000_000;

/// Simulates a healthy boot with additional scenario keys.
fn boot_with(keys: &str) -> Trace {
    let text = format!("name = \"A boot\"\nover = \"healthy-boot\"\nseed = 41\n{keys}");
    simulate(&Scenario::from_toml(&text).unwrap()).0
}

fn with_credentials(time: &str) -> Trace {
    boot_with(&format!("[logon]\ncredentials = \"{time}\"\n"))
}

fn boot(trace: &Trace) -> BootReport {
    analyze(trace, &BootOptions::default()).unwrap()
}

fn diagnosis(trace: &Trace) -> Diagnosis {
    diagnose(trace, &DiagnosisOptions::default())
}

/// Returns the culprits of a boot and the findings on the path: name, phase, and time in ms.
fn culprits_and_findings(trace: &Trace) -> [Vec<(String, Option<String>, i64)>; 2] {
    let culprits = culprits(&accounts(trace, None)).into_iter().filter(|culprit| !culprit.is_system);
    let findings = diagnosis(trace).findings.into_iter();
    [
        culprits.map(|culprit| (culprit.entry.name, Some(culprit.phase), culprit.entry.ns / MS)).collect(),
        findings.filter_map(|finding| Some((finding.subject.name, finding.phase, finding.measured_ns? / MS))).collect(),
    ]
}

fn account<'a>(phases: &'a [AccountedPhase], name: &str) -> &'a AccountedPhase {
    phases.iter().find(|phase| phase.phase == name).unwrap()
}

/// Returns the scenario keys of an additional disk with this access time.
fn slow_disk(access: &str) -> String {
    format!("[machine]\nmore_disks = [{{ model = \"SLOW DISK\", access = \"{access}\", per_mib = \"1ms\" }}]\n")
}

#[test]
fn wait_belongs_to_the_waiting_reader() {
    // The kernel reads the file first, for 40 ms; later the shell reads it for 800 ms.
    let trace = boot_with(&format!(
        "{}[kernel]\nwork = [\"read 1x4KiB D:\\\\shared.dat\"]\n[shell]\nwork = [\"read 20x4KiB D:\\\\shared.dat\"]\n",
        slow_disk("40ms")
    ));
    let all = accounts(&trace, None);
    let process_ms = |phase: &str, name: &str| {
        let account = &account(&all, phase).account;
        account.entries_named(AccountSubjectKind::Process, name).map(|entry| entry.ns).sum::<i64>() / MS
    };
    assert!(process_ms("ExplorerInit", "explorer.exe") >= 800, "{} ms", process_ms("ExplorerInit", "explorer.exe"));
    assert!(
        process_ms("ExplorerInit", "System") < 30,
        "System has {} ms in ExplorerInit",
        process_ms("ExplorerInit", "System")
    );
    assert_eq!(differences_of_why("a shared file", &trace).1, Vec::<String>::new());
}

#[test]
fn slow_hive_is_named_with_its_reader_and_cost() {
    let hive = |access: &str| {
        let read = "read 1x64KiB D:\\\\Windows\\\\System32\\\\config\\\\SYSTEM";
        boot_with(&format!("{}[kernel]\nwork = [\"{read}\", \"cpu 20ms\", \"{read}\"]\n", slow_disk(access)))
    };
    let name = r"D:\Windows\System32\config\SYSTEM";
    let trace = hive("3400ms");
    let [culprits, findings] = culprits_and_findings(&trace);
    assert_eq!(culprits, [(name.to_owned(), Some("PreSMSS".to_owned()), 6_800)]);
    assert_eq!(findings, culprits);
    let all = accounts(&trace, None);
    let entry = account(&all, "PreSMSS").account.entries_named(AccountSubjectKind::File, name).next().unwrap();
    let readers: Vec<(&str, i64)> = entry.read_by.iter().map(|reader| (reader.name.as_str(), reader.ns / MS)).collect();
    assert_eq!((readers, entry.device.as_str()), (vec![("System", 6_800)], "SLOW DISK"));
    // A hive that is read quickly is not a culprit.
    assert_eq!(culprits_and_findings(&hive("90ms")), [vec![], vec![]]);
    // Decoy: just as slow, but read by a service on which nothing waits.
    let decoy = boot_with(&format!(
        "{}[[services.service]]\nname = \"Archive\"\nhost = \"netsvcs\"\ncontainer = \"20ms\"\nload = \"3ms\"\ninit = \"20ms\"\n\
         after = [\"read 2x64KiB D:\\\\Windows\\\\System32\\\\config\\\\SYSTEM\"]\n",
        slow_disk("3400ms")
    ));
    // The service only keeps the computer busy after the desktop is ready.
    assert!(
        culprits_and_findings(&decoy)[0].iter().all(|(_, phase, _)| phase.as_deref() == Some("PostBoot")),
        "{:?}",
        culprits_and_findings(&decoy)
    );
    assert!(!diagnosis(&decoy).findings.iter().any(|finding| finding.subject.name == name));
}

#[test]
fn hard_faults_are_named_by_file_and_waiting_process() {
    let faults = |count: u32| {
        boot_with(&format!(
            "{}[shell]\nwork = [\"cpu 300ms\", \"fault {count} D:\\\\pagefile.sys\"]\n",
            slow_disk("28ms")
        ))
    };
    let trace = faults(100);
    let [culprits, findings] = culprits_and_findings(&trace);
    let name = r"D:\pagefile.sys";
    assert_eq!(culprits.len(), 1);
    let (culprit, phase, cost_ms) = &culprits[0];
    assert_eq!((culprit.as_str(), phase.as_deref()), (name, Some("ExplorerInit")));
    assert!((2_800..2_850).contains(cost_ms), "{cost_ms} ms");
    assert_eq!(findings, culprits);
    let finding = diagnosis(&trace).findings.remove(0);
    assert!(finding.evidence.iter().any(|evidence| evidence.text.contains("explorer.exe")), "{finding:?}");
    // Every boot has a few hard faults.
    assert_eq!(culprits_and_findings(&faults(9)), [vec![], vec![]]);
}

#[test]
fn many_fast_files_are_attributed_to_their_disk() {
    let files = |access: &str| {
        let reads: Vec<String> = (0..30).map(|number| format!("\"read 2x4KiB D:\\\\{number}\\\\part.dat\"")).collect();
        boot_with(&format!("{}[kernel]\nwork = [{}]\n", slow_disk(access), reads.join(", ")))
    };
    let trace = files("40ms");
    let culprit = culprits(&accounts(&trace, None)).remove(0);
    assert_eq!((culprit.entry.kind, culprit.entry.name.as_str()), (AccountSubjectKind::Disk, "SLOW DISK"));
    assert!((2_400..2_600).contains(&(culprit.entry.ns / MS)), "{} ms", culprit.entry.ns / MS);
    assert_eq!(culprit.entry.read_by[0].name, "System");
    let finding = diagnosis(&trace).findings.remove(0);
    assert_eq!((finding.subject.kind, finding.subject.name.as_str()), (FindingSubjectKind::Disk, "SLOW DISK"));
    assert_eq!(finding.cost_ns, Some(culprit.entry.ns));
    assert_eq!(culprits_and_findings(&files("9ms")), [vec![], vec![]]);
}

/// The times are in the scenarios' texts: sleeps of a service, and waits for a driver after each read.
#[test]
fn causes_count_over_all_phases() {
    let parts_of = |name: &str, subject: &str| {
        let trace = simulate_named(name).0;
        let [found, findings] = culprits_and_findings(&trace);
        assert_eq!(found, findings, "{name}");
        assert_eq!((found.len(), found[0].0.as_str()), (1, subject), "{name}: {found:?}");
        let culprit = culprits(&accounts(&trace, None)).remove(0);
        assert_eq!(culprit.phases.iter().map(|part| part.ns).sum::<i64>(), culprit.entry.ns, "{name}");
        assert_eq!(culprit.entry.actions.iter().map(|share| share.ns).sum::<i64>(), culprit.entry.ns, "{name}");
        let mut parts: Vec<(String, i64)> = culprit.phases.into_iter().map(|part| (part.phase, part.ns / MS)).collect();
        parts.sort();
        parts
    };
    let check = |name: &str, subject: &str, expected: &[(&str, i64)]| {
        let parts = parts_of(name, subject);
        let is_equal = parts.len() == expected.len()
            && parts.iter().zip(expected).all(|(part, expected)| {
                // A service also starts in the first phase, for 75 ms.
                part.0 == expected.0 && (expected.1..expected.1 + 80).contains(&part.1)
            });
        assert!(is_equal, "{name}: {parts:?}, expected {expected:?}");
    };
    check("service-in-two-phases", "SignOnAgent", &[("ExplorerInit", 900), ("WinLogonInit", 900)]);
    check("service-in-short-boot", "KioskAgent", &[("WinLogonInit", 800)]);
    let scans = [("ExplorerInit", 38 * 18), ("PreSMSS", 36 * 18), ("WinLogonInit", 38 * 18)];
    check("filter-on-every-read", "scanfilt", &scans);
    // 4 % of the boot, and more time off the path.
    assert_eq!(culprits_and_findings(&simulate_named("causes-below-share").0), [vec![], vec![]]);
}

fn summary_row(trace: &Trace) -> SummaryRow {
    let diagnosis = diagnosis(trace);
    let fix_first = |kind, number| diagnosis.transition(kind, number)?.fix_first.clone();
    summary::summary_rows("a", trace, fix_first).remove(0)
}

/// Returns the durations of the boot in different reports, in ms.
fn durations_ms(trace: &Trace) -> Vec<i64> {
    let report = boot(trace);
    let row = summary_row(trace);
    let transition = diagnosis(trace).transitions.remove(0);
    [report.total_ns, row.duration_ns, transition.duration_ns].into_iter().map(|ns| ns.unwrap() / MS).collect()
}

#[test]
fn boot_duration_excludes_person_time() {
    let healthy = durations_ms(&simulate_named("healthy-boot").0);
    assert!(healthy.iter().all(|ms| *ms == healthy[0]), "{healthy:?}");
    let (trace, _) = simulate_named("person-logs-on");
    for ms in durations_ms(&trace) {
        assert!((ms - healthy[0]).abs() <= 1, "{ms} ms, without a person {} ms", healthy[0]);
    }
    let report = boot(&trace);
    assert_eq!(report.user_input_ns / MS, 6_500);
    // The phases include the person's time once.
    assert_eq!(report.phases.iter().map(|phase| phase.user_input_ns).sum::<i64>(), report.user_input_ns);
    // The account attributes to the person all time that the durations exclude.
    let all = accounts(&trace, None);
    let user_input =
        all.iter().flat_map(|phase| &phase.account.entries).filter(|entry| entry.kind == AccountSubjectKind::UserInput);
    assert_eq!(user_input.map(|entry| entry.ns).sum::<i64>(), report.user_input_ns);
    let row = summary_row(&trace);
    assert!(row.subject != "credentials" && row.phase == "PreSMSS", "{row:?}");
}

#[test]
fn automatic_logon_has_no_person_time() {
    let trace = with_credentials("5ms");
    let report = boot(&trace);
    assert_eq!(report.user_input_ns, 0);
    assert_eq!(report.details.logon.credential_requests.len(), 1, "the request is recorded anyway");
    let has_user_input =
        |phase: &AccountedPhase| phase.account.entries.iter().any(|entry| entry.kind == AccountSubjectKind::UserInput);
    assert!(!accounts(&trace, None).iter().any(has_user_input));
    assert!(!diagnosis(&trace).caveats.iter().any(|caveat| caveat.code == "recording/user-wait"));
    // A fast user still counts; a user in another session does not.
    assert_eq!(boot(&with_credentials("1500ms")).user_input_ns / MS, 1_500);
    assert_eq!(boot(&simulate_named("remote-session").0).user_input_ns, 0);
}

#[test]
fn disk_password_counts_only_in_time_from_reset() {
    let (mut trace, _) = simulate_named("person-logs-on");
    let before = boot(&trace);
    let (name, event) = (trace.strings.intern(milestone::BOOT_USER_INPUT), StringId::EMPTY);
    trace.milestones.push(Milestone {
        time_ns: 50 * MS,
        name,
        value: Some(4_000 * MS),
        detail: StringId::EMPTY,
        pid: None,
        tid: None,
        event,
    });
    let after = boot(&trace);
    assert_eq!((after.total_ns, after.user_input_ns), (before.total_ns, before.user_input_ns));
    assert_eq!(after.main_path_ns(), before.main_path_ns());
    // The time from the reset includes the time for the password.
    let from_reset = |report: &BootReport| report.details.total_from_reset_ns.unwrap();
    assert_eq!(from_reset(&before) - from_reset(&after), 4_000 * MS);
    assert_eq!(after.details.axis.as_ref().unwrap().total_ns, after.details.total_from_reset_ns);
    let caveat = |trace: &Trace| {
        let caveat = diagnosis(trace).caveats.into_iter().find(|caveat| caveat.code == "recording/user-wait").unwrap();
        caveat.evidence.iter().map(|evidence| evidence.text.clone()).collect::<Vec<_>>().join("; ")
    };
    assert!(
        caveat(&trace).contains("before the kernel, at a boot menu or a disk password prompt: 4.00 s"),
        "{}",
        caveat(&trace)
    );
    assert_eq!(durations_ms(&trace)[0], before.total_ns.unwrap() / MS);
}

#[test]
fn truncated_boot_keeps_person_time() {
    let (mut trace, _) = simulate_named("person-logs-on");
    // Everything after the welcome screen is missing.
    trace.duration_ns = 5_000 * MS;
    let report = boot(&trace);
    assert!(report.total_at_least_ns >= 3_500 * MS, "{} ms", report.total_at_least_ns / MS);
}

#[test]
fn parallel_service_reduces_cost() {
    let services = |beta_time: &str| {
        let service = |name: &str, time: &str| {
            format!(
                "[[services.service]]\nname = \"{name}\"\ngroup = \"ProfSvc_Group\"\nimage = \"\\\\Program Files\\\\{name}.exe\"\n\
                 container = \"30ms\"\nload = \"5ms\"\ninit = \"{time}\"\n"
            )
        };
        boot_with(&format!("{}{}", service("AlphaSvc", "3000ms"), service("BetaSvc", beta_time)))
    };
    let first_cost = |trace: &Trace| {
        let finding = diagnosis(trace).findings.remove(0);
        ((finding.cost_ns.unwrap() + 50 * MS) / (100 * MS), finding.cost_basis)
    };
    // Without the other service, the boot would wait for this one.
    let parallel = services("3000ms");
    assert_eq!(first_cost(&parallel), (0, CostBasis::Predicted));
    let finding = diagnosis(&parallel).findings.remove(0);
    assert!(finding.evidence[1].text.contains("took as long at the same time: without both, "), "{finding:#?}");
    // Without a parallel service, the cost is the service's entire time.
    let (cost, basis) = first_cost(&services("60ms"));
    assert!((29..=30).contains(&cost) && basis == CostBasis::Predicted, "{cost} {basis:?}");
}
