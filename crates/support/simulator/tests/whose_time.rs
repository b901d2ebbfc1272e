//! Attribution of waits and of a person's time, on machines simulated for the question.
#![allow(clippy::unwrap_used)]

use onoff_blame::account::{AccountSubjectKind, AccountedPhase, accounts, culprits};
use onoff_compare::summary::{self, SummaryRow};
use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions, diagnose};
use onoff_findings::finding::{CostBasis, FindingSubjectKind};
use onoff_simulator::Scenario;
use onoff_trace::{Milestone, StringId, Trace, milestone};
use onoff_transitions::boot::{BootOptions, BootReport, analyze};

use crate::accounts::{recorded, simulate};
use crate::one_account::differences_of_why;

const MS: i64 = 1_000_000;

/// A healthy boot with additional scenario keys.
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

/// The culprits of a boot and the findings with a cost: name, phase, and cost in ms.
fn named(trace: &Trace) -> [Vec<(String, Option<String>, i64)>; 2] {
    let culprits = culprits(&accounts(trace, None)).into_iter().filter(|one| !one.is_system);
    let findings = diagnosis(trace).findings.into_iter();
    [
        culprits.map(|one| (one.entry.name, Some(one.phase), one.entry.ns / MS)).collect(),
        findings.filter_map(|one| Some((one.subject.name, one.phase, one.cost_ns? / MS))).collect(),
    ]
}

fn account<'a>(all: &'a [AccountedPhase], phase: &str) -> &'a AccountedPhase {
    all.iter().find(|one| one.phase == phase).unwrap()
}

/// An additional disk for one file, with this access time.
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
    let of = |phase: &str, name: &str| {
        let account = &account(&all, phase).account;
        account.of(AccountSubjectKind::Process, name).map(|entry| entry.ns).sum::<i64>() / MS
    };
    assert!(of("ExplorerInit", "explorer.exe") >= 800, "{} ms", of("ExplorerInit", "explorer.exe"));
    assert!(of("ExplorerInit", "System") < 30, "System has {} ms in ExplorerInit", of("ExplorerInit", "System"));
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
    let [culprits, findings] = named(&trace);
    assert_eq!(culprits, [(name.to_owned(), Some("PreSMSS".to_owned()), 6_800)]);
    assert_eq!(findings, culprits);
    let all = accounts(&trace, None);
    let entry = account(&all, "PreSMSS").account.of(AccountSubjectKind::File, name).next().unwrap();
    let readers: Vec<(&str, i64)> = entry.read_by.iter().map(|one| (one.name.as_str(), one.ns / MS)).collect();
    assert_eq!((readers, entry.device.as_str()), (vec![("System", 6_800)], "SLOW DISK"));
    // A hive that is read fast is no culprit.
    assert_eq!(named(&hive("90ms")), [vec![], vec![]]);
    // Decoy: just as slow, but read by a service on which nothing waits.
    let decoy = boot_with(&format!(
        "{}[[services.service]]\nname = \"Archive\"\nhost = \"netsvcs\"\ncontainer = \"20ms\"\nload = \"3ms\"\ninit = \"20ms\"\n\
         after = [\"read 2x64KiB D:\\\\Windows\\\\System32\\\\config\\\\SYSTEM\"]\n",
        slow_disk("3400ms")
    ));
    // It only keeps the computer busy after the desktop is ready.
    assert!(named(&decoy)[0].iter().all(|one| one.1.as_deref() == Some("PostBoot")), "{:?}", named(&decoy));
    assert!(!diagnosis(&decoy).findings.iter().any(|one| one.subject.name == name));
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
    let [culprits, findings] = named(&trace);
    let name = r"D:\pagefile.sys";
    assert_eq!(culprits.len(), 1);
    assert_eq!((culprits[0].0.as_str(), culprits[0].1.as_deref()), (name, Some("ExplorerInit")));
    assert!((2_800..2_850).contains(&culprits[0].2), "{} ms", culprits[0].2);
    assert_eq!(findings, culprits);
    let found = diagnosis(&trace).findings.remove(0);
    assert!(found.evidence.iter().any(|one| one.text.contains("explorer.exe")), "{found:?}");
    // Every boot has a few.
    assert_eq!(named(&faults(9)), [vec![], vec![]]);
}

#[test]
fn many_fast_files_are_attributed_to_their_disk() {
    let files = |access: &str| {
        let reads: Vec<String> = (0..30).map(|at| format!("\"read 2x4KiB D:\\\\{at}\\\\part.dat\"")).collect();
        boot_with(&format!("{}[kernel]\nwork = [{}]\n", slow_disk(access), reads.join(", ")))
    };
    let trace = files("40ms");
    let culprit = culprits(&accounts(&trace, None)).remove(0);
    assert_eq!((culprit.entry.kind, culprit.entry.name.as_str()), (AccountSubjectKind::Disk, "SLOW DISK"));
    assert!((2_400..2_600).contains(&(culprit.entry.ns / MS)), "{} ms", culprit.entry.ns / MS);
    assert_eq!(culprit.entry.read_by[0].name, "System");
    let found = diagnosis(&trace).findings.remove(0);
    assert_eq!((found.subject.kind, found.subject.name.as_str()), (FindingSubjectKind::Disk, "SLOW DISK"));
    assert_eq!(found.cost_ns, Some(culprit.entry.ns));
    assert_eq!(named(&files("9ms")), [vec![], vec![]]);
}

fn summary_row(trace: &Trace) -> SummaryRow {
    let diagnosis = diagnosis(trace);
    let fix_first = |kind, number| diagnosis.transition(kind, number)?.fix_first.clone();
    summary::rows("a", trace, fix_first).remove(0)
}

/// Durations of the boot in different reports, ms.
fn lengths(trace: &Trace) -> Vec<i64> {
    let report = boot(trace);
    let row = summary_row(trace);
    let diagnosed = diagnosis(trace).transitions.remove(0);
    [report.total_ns, row.duration_ns, diagnosed.duration_ns].into_iter().map(|ns| ns.unwrap() / MS).collect()
}

#[test]
fn boot_duration_excludes_person_time() {
    let alone = lengths(&recorded("healthy-boot").0);
    assert!(alone.iter().all(|ms| *ms == alone[0]), "{alone:?}");
    let (trace, _) = recorded("person-logs-on");
    for ms in lengths(&trace) {
        assert!((ms - alone[0]).abs() <= 1, "{ms} ms, without a person {} ms", alone[0]);
    }
    let report = boot(&trace);
    assert_eq!(report.user_input_ns / MS, 6_500);
    // The phases include the person's time once.
    assert_eq!(report.phases.iter().map(|phase| phase.user_input_ns).sum::<i64>(), report.user_input_ns);
    // The account attributes to the person all time that the durations exclude.
    let all = accounts(&trace, None);
    let persons =
        all.iter().flat_map(|one| &one.account.entries).filter(|one| one.kind == AccountSubjectKind::UserInput);
    assert_eq!(persons.map(|entry| entry.ns).sum::<i64>(), report.user_input_ns);
    let row = summary_row(&trace);
    assert!(row.subject != "credentials" && row.phase == "PreSMSS", "{row:?}");
}

#[test]
fn automatic_logon_has_no_person_time() {
    let trace = with_credentials("5ms");
    let report = boot(&trace);
    assert_eq!(report.user_input_ns, 0);
    assert_eq!(report.details.logon.credential_requests.len(), 1, "the request is recorded anyway");
    let is_person =
        |one: &AccountedPhase| one.account.entries.iter().any(|it| it.kind == AccountSubjectKind::UserInput);
    assert!(!accounts(&trace, None).iter().any(is_person));
    let about_person = |one: &Diagnosis| one.caveats.iter().any(|one| one.code == "recording/user-wait");
    assert!(!about_person(&diagnosis(&trace)));
    // A fast user still counts; a user in another session does not.
    assert_eq!(boot(&with_credentials("1500ms")).user_input_ns / MS, 1_500);
    assert_eq!(boot(&recorded("remote-session").0).user_input_ns, 0);
}

#[test]
fn disk_password_counts_only_in_time_from_reset() {
    let (mut trace, _) = recorded("person-logs-on");
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
    // The time from the reset includes it.
    let from_reset = |report: &BootReport| report.details.total_from_reset_ns.unwrap();
    assert_eq!(from_reset(&before) - from_reset(&after), 4_000 * MS);
    assert_eq!(after.details.axis.as_ref().unwrap().total_ns, after.details.total_from_reset_ns);
    let caveat = |trace: &Trace| {
        let found = diagnosis(trace).caveats.into_iter().find(|one| one.code == "recording/user-wait").unwrap();
        found.evidence.iter().map(|one| one.text.clone()).collect::<Vec<_>>().join("; ")
    };
    assert!(
        caveat(&trace).contains("before the kernel, at a boot menu or a disk password prompt: 4.00 s"),
        "{}",
        caveat(&trace)
    );
    assert_eq!(lengths(&trace)[0], before.total_ns.unwrap() / MS);
}

#[test]
fn truncated_boot_keeps_person_time() {
    let (mut trace, _) = recorded("person-logs-on");
    // Everything after the welcome screen is missing.
    trace.duration_ns = 5_000 * MS;
    let report = boot(&trace);
    assert!(report.total_at_least_ns >= 3_500 * MS, "{} ms", report.total_at_least_ns / MS);
}

#[test]
fn parallel_services_have_upper_bound_costs() {
    let services = |second: &str| {
        let service = |name: &str, time: &str| {
            format!(
                "[[services.service]]\nname = \"{name}\"\ngroup = \"ProfSvc_Group\"\nimage = \"\\\\Program Files\\\\{name}.exe\"\n\
                 container = \"30ms\"\nload = \"5ms\"\ninit = \"{time}\"\n"
            )
        };
        boot_with(&format!("{}{}", service("AlphaSvc", "3000ms"), service("BetaSvc", second)))
    };
    let first = |trace: &Trace| {
        let found = diagnosis(trace).findings.remove(0);
        ((found.cost_ns.unwrap() + 50 * MS) / (100 * MS), found.cost_basis)
    };
    assert_eq!(first(&services("3000ms")), (30, CostBasis::AtMost));
    // Without a parallel service, it costs all of its time.
    assert_eq!(first(&services("60ms")), (30, CostBasis::CriticalPath));
}
