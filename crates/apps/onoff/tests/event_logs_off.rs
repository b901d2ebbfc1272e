//! Shutdowns, sleeps and fast startups in Windows event logs. The order of the records, the sums and the times follow
//! logs of real computers; the truth is what the records say.

use onoff::answers::evidence::Certainty;
use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::linux::boot::BootList;
use onoff::answers::transitions::shutdown::{ShutdownOptions, ShutdownReport};
use onoff::answers::transitions::suspend::{PowerTransition, SuspendOptions};
use onoff::answers::transitions::{Phase, PhaseName, Variant};
use onoff::sources::{Limits, Options, Purpose, files_from_bytes};
use onoff::{Boot, Session, Shutdown, Sleeps};
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_testkit::event_log::{LogRecord, LogValue, log_folder};
use onoff_trace::RecordedBoot;

use crate::event_logs::{HOUR, MS, SECOND, START_NS, system};

const BOOT: &str = "Microsoft-Windows-Kernel-Boot";
const DIAGNOSTICS: &str = "Microsoft-Windows-Diagnostics-Performance";
const GENERAL: &str = "Microsoft-Windows-Kernel-General";
const POWER: &str = "Microsoft-Windows-Kernel-Power";
const TROUBLESHOOTER: &str = "Microsoft-Windows-Power-Troubleshooter";

fn diagnostics(id: u16, time_ns: i64) -> LogRecord {
    LogRecord::new("Microsoft-Windows-Diagnostics-Performance/Operational", DIAGNOSTICS, id, time_ns)
}

/// How the boot before another one ended.
enum End {
    /// The kernel stopped.
    Shutdown {
        action: u32,
        stop_ns: i64,
    },
    PowerLost,
    Crash,
}

/// The System log of a boot, as Windows writes it: the log service's records first, then the end of the previous boot,
/// then the kernel's start.
fn boot(start_ns: i64, previous: Option<End>) -> Vec<LogRecord> {
    let service_ns = start_ns + 9 * SECOND;
    let mut records = vec![
        system("EventLog", 6009, service_ns).with("", "10.00.").with("", "19045"),
        system("EventLog", 6005, service_ns),
    ];
    if let Some(End::Shutdown { action, stop_ns }) = previous {
        // Measured: up to 26 records, most of them states of services.
        let states = (0..20).map(|number| system("Service Control Manager", 7036, stop_ns - SECOND + number * 10 * MS));
        records.extend(states);
        records
            .push(system(POWER, 109, stop_ns - 500 * MS).with("ShutdownActionType", action).with("ShutdownReason", 5));
        records.push(system(GENERAL, 13, stop_ns).with("StopTime", LogValue::Time(stop_ns)));
    }
    records.push(system(GENERAL, 12, start_ns).with("BootMode", 0).with("BuildVersion", 19_041));
    records.push(system(BOOT, 27, start_ns + MS).with("BootType", 0));
    let bugcheck_code = match previous {
        Some(End::PowerLost) => 0,
        Some(End::Crash) => 0x9f,
        _ => return records,
    };
    let unclean = system(POWER, 41, start_ns + 5 * SECOND).with("BugcheckCode", bugcheck_code);
    records.push(unclean.with("SleepInProgress", 0).with("PowerButtonTimestamp", LogValue::U64(0)));
    records
}

/// A request to restart, and the stop of the log service.
fn request(time_ns: i64) -> [LogRecord; 2] {
    let request = system("User32", 1074, time_ns)
        .with("param1", r"C:\Windows\system32\winlogon.exe (DESK-7)")
        .with("param2", "DESK-7")
        .with("param3", "Operating System: Upgrade (Planned)")
        .with("param4", "0x80020003")
        .with("param5", "Neustart")
        .with("param6", "")
        .with("param7", r"NT AUTHORITY\SYSTEM");
    [request, system("EventLog", 6006, time_ns + 3 * SECOND)]
}

/// Windows' account of a shutdown, which the next boot writes at `written_ns`.
fn shutdown_account(start_ns: i64, written_ns: i64) -> LogRecord {
    diagnostics(200, written_ns)
        .with("ShutdownStartTime", LogValue::Time(start_ns))
        .with("ShutdownEndTime", LogValue::Time(start_ns + 12_019 * MS))
        .with("ShutdownTime", 12_019)
        .with("ShutdownUserSessionTime", 6_518)
        .with("ShutdownUserPolicyTime", 0)
        .with("ShutdownUserProfilesTime", 236)
        .with("ShutdownSystemSessionsTime", 5_112)
        .with("ShutdownPreShutdownNotificationsTime", 4_701)
        .with("ShutdownServicesTime", 44)
        .with("ShutdownKernelTime", 389)
        .with("ShutdownIsDegradation", LogValue::Bool(true))
}

fn open(records: &[LogRecord], options: Options) -> Session {
    Session::new(files_from_bytes(log_folder(records), &Limits::default()).unwrap(), options)
}

fn open_for(records: &[LogRecord], purpose: Purpose) -> Session {
    open(records, Options { purpose, ..Options::default() })
}

fn open_boot(records: &[LogRecord], boot: &str) -> Session {
    open(records, Options { boot: Some(boot.to_owned()), ..Options::default() })
}

fn shutdown(session: &Session) -> ShutdownReport {
    match session.shutdown(&ShutdownOptions::default()).unwrap().report {
        Shutdown::Windows(report) => *report,
        Shutdown::Linux(_) => panic!("not a shutdown of Windows"),
    }
}

fn no_shutdown(session: &Session) -> String {
    session.shutdown(&ShutdownOptions::default()).unwrap_err().to_string()
}

fn shutdown_text(session: &Session) -> String {
    let mut text = Vec::new();
    session.shutdown(&ShutdownOptions::default()).unwrap().write_text_with(10, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn sleeps(session: &Session) -> Vec<PowerTransition> {
    match session.sleeps(&SuspendOptions::default()).unwrap().report {
        Sleeps::Windows(report) => report.transitions,
        Sleeps::Linux(_) => panic!("not a sleep of Windows"),
    }
}

fn ms(ns: Option<i64>) -> Option<i64> {
    ns.map(|ns| ns / MS)
}

fn phase(phases: &[Phase], name: PhaseName) -> &Phase {
    phases.iter().find(|phase| phase.name == name).unwrap()
}

#[test]
fn phases_of_a_shutdown_are_those_of_windows() {
    let shutdown_ns = START_NS + HOUR;
    let restart_ns = shutdown_ns + 30 * SECOND;
    let mut records = boot(START_NS, None);
    records.extend(request(shutdown_ns - 400 * MS));
    records.extend(boot(restart_ns, Some(End::Shutdown { action: 5, stop_ns: shutdown_ns + 12 * SECOND })));
    let delay = |start_ns: i64, name: &str| {
        let delay = diagnostics(203, restart_ns + 110 * SECOND).with("StartTime", LogValue::Time(start_ns));
        delay.with("Name", name).with("TotalTime", 4_978).with("DegradationTime", 978)
    };
    records.push(shutdown_account(shutdown_ns, restart_ns + 110 * SECOND));
    records.push(delay(shutdown_ns, "SlowSvc"));
    records.push(delay(shutdown_ns + SECOND, "DecoySvc"));
    let session = open_for(&records, Purpose::Shutdown);
    let report = shutdown(&session);
    let lengths = PhaseName::WINDOWS_SHUTDOWN.map(|name| ms(phase(&report.phases, name).duration_ns));
    assert_eq!(lengths, [Some(6_518), Some(5_112), Some(389)]);
    assert_eq!((ms(report.total_ns), report.total_certainty), (Some(12_019), Certainty::Measured));
    // The action is from the kernel, because the text of the request is in the language of that Windows.
    assert_eq!(report.variant, Variant::Restart);
    let request = report.details.request.as_ref().unwrap();
    assert_eq!((request.user.as_str(), request.reason_code.as_str()), (r"NT AUTHORITY\SYSTEM", "0x80020003"));
    assert_eq!(report.start_ns.unwrap() - request.time_ns, 400 * MS);
    let names: Vec<&str> = report.details.reported_delays.iter().map(|delay| delay.name.as_str()).collect();
    assert_eq!(names, ["SlowSvc"]);
    let findings = session.diagnose(&DiagnosisOptions::default()).unwrap().findings;
    let reported = findings.iter().filter(|finding| finding.code == "shutdown/reported-slow");
    let subjects: Vec<_> = reported.map(|finding| (finding.subject.name.as_str(), ms(finding.cost_ns))).collect();
    assert_eq!(subjects, [("SlowSvc", Some(978))]);
    let text = shutdown_text(&session);
    assert!(text.contains("Shutdown for a restart took 12.0 s"), "{text}");
    assert!(text.contains("winlogon.exe (DESK-7) for NT AUTHORITY\\SYSTEM, 400 ms before"), "{text}");
    // The boot that wrote the account has not shut down.
    let reason = no_shutdown(&open_boot(&records, "0"));
    assert!(reason.contains("the boot may not have ended"), "{reason}");
}

#[test]
fn the_requester_is_the_first_of_the_requests_that_succeeded() {
    let shutdown_ns = START_NS + HOUR;
    let request_of = |program: &str, time_ns: i64| system("User32", 1074, time_ns).with("param1", program);
    let requester = |requests: Vec<LogRecord>| {
        let mut records = boot(START_NS, None);
        records.extend(requests);
        records.extend(boot(shutdown_ns + HOUR, Some(End::Shutdown { action: 6, stop_ns: shutdown_ns + 7 * SECOND })));
        shutdown(&open_for(&records, Purpose::Shutdown)).details.request.map(|request| request.program)
    };
    let winlogon = || request_of("winlogon.exe", shutdown_ns);
    assert_eq!(requester(vec![request_of("Explorer.EXE", shutdown_ns - SECOND), winlogon()]).unwrap(), "Explorer.EXE");
    // An earlier request failed or was aborted, or belongs to nothing that happened now.
    for id in [1073, 1075] {
        let failed = [request_of("Updater.exe", shutdown_ns - 60 * SECOND), system("User32", id, shutdown_ns - SECOND)];
        assert_eq!(requester([failed.to_vec(), vec![winlogon()]].concat()).unwrap(), "winlogon.exe");
        assert_eq!(requester(failed.to_vec()), None);
    }
    assert_eq!(requester(vec![request_of("Updater.exe", START_NS + 60 * SECOND), winlogon()]).unwrap(), "winlogon.exe");
}

#[test]
fn a_shutdown_without_an_account_has_no_duration() {
    let shutdown_ns = START_NS + HOUR;
    let mut records = boot(START_NS, None);
    records.extend(request(shutdown_ns));
    records.extend(boot(shutdown_ns + HOUR, Some(End::Shutdown { action: 6, stop_ns: shutdown_ns + 7 * SECOND })));
    let session = open_for(&records, Purpose::Shutdown);
    let report = shutdown(&session);
    assert_eq!((report.total_ns, report.total_certainty), (None, Certainty::Missing));
    // From the stop of the log service to the last record; not from the request, which may come long before.
    assert_eq!(report.total_at_least_ns, 4 * SECOND);
    assert_eq!(report.variant, Variant::PowerOff);
    let text = shutdown_text(&session);
    assert!(text.contains("unknown: the logs have no account of it (event 200). At least 4.00 s."), "{text}");
}

#[test]
fn an_account_before_all_boots_is_counted_and_not_attached() {
    let shutdown_ns = START_NS - 24 * HOUR;
    let mut records = boot(START_NS, None);
    records.push(shutdown_account(shutdown_ns, START_NS + 110 * SECOND));
    let session = open_for(&records, Purpose::Shutdown);
    no_shutdown(&session);
    assert_eq!(session.summary().unwrap().losses.count("event_log_accounts_without_boot"), 1);
}

#[test]
fn an_end_without_a_shutdown_is_named() {
    let mut records = boot(START_NS, None);
    records.extend(boot(START_NS + HOUR, Some(End::PowerLost)));
    records.extend(boot(START_NS + 2 * HOUR, Some(End::Crash)));
    let reason = |boot: &str| no_shutdown(&open_boot(&records, boot));
    assert!(reason("-2").contains("power was lost, or the computer was reset"), "{}", reason("-2"));
    assert!(reason("-1").contains("Windows crashed with bug check 0x9f"), "{}", reason("-1"));
    assert!(!reason("0").contains("power was lost") && !reason("0").contains("crashed"), "{}", reason("0"));
    let stopped: Vec<bool> = open_boot(&records, "0").boots().unwrap().iter().map(|boot| boot.stopped).collect();
    assert_eq!(stopped, [false; 3]);
}

#[test]
fn the_end_of_a_shutdown_is_not_part_of_the_next_boot() {
    let stop_ns = START_NS + HOUR;
    let mut records = boot(START_NS, None);
    records.extend(boot(stop_ns + HOUR, Some(End::Shutdown { action: 6, stop_ns })));
    let boots = open_boot(&records, "0").boots().unwrap();
    let last_ns: Vec<i64> = boots.iter().map(|boot| boot.last_unix_ns.unwrap()).collect();
    // The log service of the second boot writes its records before the records of the shutdown.
    assert_eq!(last_ns, [stop_ns, stop_ns + HOUR + 9 * SECOND]);
}

/// A sleep from `sleep_ns` to `wake_ns`: the decision is 3 s before the kernel's record, the clock stops a second later,
/// and the first record afterwards still has that time.
struct Sleep {
    decision_ns: i64,
    wake_ns: i64,
    target: u32,
    effective: u32,
    firmware_ms: u32,
    image_ms: (u32, u32),
}

impl Sleep {
    fn records(&self) -> Vec<LogRecord> {
        let Self { decision_ns, wake_ns, target, effective, firmware_ms, image_ms } = *self;
        let stopped_ns = decision_ns + 4 * SECOND;
        let end_ns = wake_ns + 1_845 * MS;
        let mut records = vec![
            system(POWER, 42, decision_ns + 3 * SECOND).with("TargetState", target).with("EffectiveState", effective),
            system(POWER, 107, stopped_ns + MS / 10).with("TargetState", target).with("WakeFromState", effective),
            system(GENERAL, 1, wake_ns + MS / 5)
                .with("NewTime", LogValue::Time(wake_ns))
                .with("OldTime", LogValue::Time(stopped_ns))
                .with("Reason", 2),
        ];
        if effective == 5 {
            let times = system(BOOT, 30, wake_ns + SECOND).with("ResetEndStart", LogValue::U64(6_568_027_066_368));
            let times =
                times.with("LoadOSImageStart", LogValue::U64(5_112)).with("StartOSImageStart", LogValue::U64(5_151));
            records.push(
                times
                    .with("ExitBootServicesEntry", LogValue::U64(5_993))
                    .with("ExitBootServicesExit", LogValue::U64(6_001)),
            );
        }
        records.push(
            system(TROUBLESHOOTER, 1, end_ns + 600 * MS)
                .with("SleepTime", LogValue::Time(decision_ns))
                .with("WakeTime", LogValue::Time(end_ns))
                .with("SleepDuration", 3_011)
                .with("WakeDuration", 1_845)
                .with("DriverInitDuration", 928)
                .with("BiosInitDuration", firmware_ms)
                .with("HiberWriteDuration", image_ms.0)
                .with("HiberReadDuration", image_ms.1)
                .with("HiberPagesWritten", 0)
                .with("TargetState", target)
                .with("EffectiveState", effective)
                .with("WakeSourceType", 0)
                .with("WakeSourceText", if effective == 4 { "Power Button" } else { "" }),
        );
        records
    }
}

const S3: Sleep = Sleep {
    decision_ns: START_NS + HOUR,
    wake_ns: START_NS + 3 * HOUR,
    target: 4,
    effective: 4,
    firmware_ms: 561,
    image_ms: (0, 0),
};

#[test]
fn a_sleep_has_both_halves_and_the_kernels_own_figures() {
    let mut records = boot(START_NS, None);
    records.extend(S3.records());
    let [sleep] = &sleeps(&open_for(&records, Purpose::Sleep))[..] else { panic!("one sleep") };
    assert_eq!(sleep.variant, Variant::Sleep);
    // The clock stopped 4 s after the decision; Windows' own figure ends with the kernel's record after 3 s.
    assert_eq!((ms(sleep.details.suspend.whole_ns), ms(sleep.details.suspend.kernel_ns)), (Some(4_000), Some(3_011)));
    assert_eq!(
        (ms(sleep.details.resume.whole_ns), ms(sleep.details.resume.kernel_ns)),
        (Some(1_844 + 561), Some(1_845))
    );
    let asleep_ns = sleep.details.asleep.wall_ns.unwrap();
    assert!((asleep_ns - (2 * HOUR - 4 * SECOND - 561 * MS)).abs() < 5 * MS, "{asleep_ns}");
    assert_eq!(sleep.details.wake_source, "Power Button");
    assert!(sleep.settling.is_none(), "logs do not show when the computer was idle");
}

#[test]
fn waking_up_to_hibernate_is_not_a_resume() {
    let mut records = boot(START_NS, None);
    let mut woken = S3.records();
    let account = woken.pop().unwrap();
    // The record without durations has the time of the decision to hibernate, and so has the account of the hibernation.
    let decision_ns = S3.wake_ns + 900 * MS;
    let data = account.data.into_iter().map(|(name, value)| match name.as_str() {
        "SleepTime" | "WakeTime" => (name, LogValue::Time(decision_ns)),
        "WakeSourceType" => (name, LogValue::U32(3)),
        _ if name.ends_with("Duration") => (name, LogValue::U32(0)),
        _ => (name, value),
    });
    woken.push(LogRecord { data: data.collect(), ..account });
    records.extend(woken);
    let hibernation =
        Sleep { decision_ns, wake_ns: START_NS + 9 * HOUR, target: 5, effective: 5, image_ms: (2_882, 4_038), ..S3 };
    records.extend(hibernation.records());
    let transitions = sleeps(&open_for(&records, Purpose::Sleep));
    let kinds: Vec<_> =
        transitions.iter().map(|sleep| (sleep.variant, sleep.details.resume.whole_ns.is_some())).collect();
    assert_eq!(kinds, [(Variant::Sleep, false), (Variant::Hibernate, true)]);
    assert!(transitions[0].details.kernel_account.is_empty());
    assert_eq!(transitions[0].details.wake_source, "Windows, in order to hibernate");
    assert_eq!(transitions[1].details.wake_source, "");
}

#[test]
fn firmware_of_a_hibernation_comes_from_its_own_record_if_the_resume_has_none() {
    let mut records = boot(START_NS, None);
    let hibernation = Sleep { target: 5, effective: 5, firmware_ms: 0, image_ms: (5_541, 2_145), ..S3 };
    records.extend(hibernation.records());
    let [sleep] = &sleeps(&open_for(&records, Purpose::Sleep))[..] else { panic!("one hibernation") };
    assert_eq!(sleep.variant, Variant::Hibernate);
    let firmware = phase(&sleep.phases, PhaseName::BiosInit);
    assert_eq!(
        (ms(firmware.duration_ns), firmware.ends.event.as_str()),
        (Some(5_151), "Microsoft-Windows-Kernel-Boot/30")
    );
    assert_eq!(ms(sleep.details.suspend.whole_ns), Some(4_000 + 5_541));
    assert_eq!(ms(sleep.details.resume.whole_ns), Some(1_844 + 5_151 + 2_145));
    // A sleep has the firmware time of its resume, never of an earlier start.
    let [sleep] = &sleeps(&open_for(&[boot(START_NS, None), S3.records()].concat(), Purpose::Sleep))[..] else {
        panic!("one sleep")
    };
    assert_eq!(ms(phase(&sleep.phases, PhaseName::BiosInit).duration_ns), Some(561));
}

#[test]
fn a_fast_startup_is_a_boot() {
    let mut records = boot(START_NS, None);
    let startup = Sleep { target: 6, effective: 5, firmware_ms: 0, image_ms: (1_311, 1_126), ..S3 };
    records.extend(startup.records());
    records.extend(Sleep { decision_ns: START_NS + 5 * HOUR, wake_ns: START_NS + 6 * HOUR, ..S3 }.records());
    let boots = open_boot(&records, "0").boots().unwrap();
    let listed: Vec<_> = boots
        .iter()
        .map(|boot| ((boot.first_unix_ns.unwrap() - START_NS) / HOUR, boot.fast_startup, boot.started, boot.stopped))
        .collect();
    assert_eq!(listed, [(0, false, true, true), (3, true, true, false)]);
    let session = open_boot(&records, "0");
    let Boot::FastStartup(report) = session.boot(&BootOptions::default()).unwrap().report else {
        panic!("not a fast startup")
    };
    let [startup] = &report.transitions[..] else { panic!("{:?}", report.transitions.len()) };
    assert_eq!(ms(startup.details.suspend.whole_ns), Some(4_000 + 1_311));
    assert_eq!(startup.details.resume.at_least_ns / MS, 1_844 + 5_151 + 1_126);
    assert_eq!(startup.details.resume.whole_ns, None, "the desktop is not in the logs");
    // The sleep after it belongs to the fast startup, and none to the boot before.
    assert_eq!(
        sleeps(&session).iter().map(|sleep| sleep.variant).collect::<Vec<_>>(),
        [Variant::FastStartup, Variant::Sleep]
    );
    let reason = no_shutdown(&open_boot(&records, "-1"));
    assert!(reason.contains("shut down for a fast startup; 'onoff suspend --boot 0'"), "{reason}");
}

/// Sets the clock from `old_ns` to `new_ns`, as a program does.
fn clock_step(old_ns: i64, new_ns: i64) -> LogRecord {
    let step = system(GENERAL, 1, new_ns).with("NewTime", LogValue::Time(new_ns));
    step.with("OldTime", LogValue::Time(old_ns)).with("Reason", 1)
}

/// Figures of a real virtual machine that its host paused for 30 hours.
#[test]
fn steps_of_the_clock_are_not_part_of_a_shutdown() {
    let step_ns = 108_215_224 * MS;
    let end_ns = START_NS + step_ns + HOUR;
    let mut records = boot(START_NS, None);
    records.push(clock_step(START_NS + 60 * SECOND, START_NS + 60 * SECOND + step_ns));
    records.extend(boot(end_ns + 30 * SECOND, Some(End::Shutdown { action: 5, stop_ns: end_ns - 16 * MS })));
    let start_ns = end_ns - 108_236_622 * MS;
    records.push(
        diagnostics(200, end_ns + 150 * SECOND)
            .with("ShutdownStartTime", LogValue::Time(start_ns))
            .with("ShutdownEndTime", LogValue::Time(end_ns))
            .with("ShutdownTime", 108_236_622)
            .with("ShutdownUserSessionTime", 1_350)
            .with("ShutdownSystemSessionsTime", 19_423)
            .with("ShutdownKernelTime", 108_215_848),
    );
    let report = shutdown(&open_for(&records, Purpose::Shutdown));
    let lengths = PhaseName::WINDOWS_SHUTDOWN.map(|name| ms(phase(&report.phases, name).duration_ns));
    assert_eq!(lengths, [Some(1_350), Some(19_423), Some(625)]);
    assert_eq!(ms(report.total_ns), Some(21_398));
    assert_eq!(report.details.windows_account.unwrap().clock_steps_ns, step_ns);
    // The axis leaves the step out too: the shutdown ends an hour after the start.
    assert_eq!(report.end_ns.unwrap() / SECOND, HOUR / SECOND);
}

#[test]
fn a_fast_startup_without_an_account_of_its_resume_is_a_boot() {
    let startup = Sleep { target: 6, effective: 5, firmware_ms: 0, image_ms: (1_311, 1_126), ..S3 };
    let mut without_account = startup.records();
    let account = without_account.pop().unwrap();
    let boot_type = system(BOOT, 27, S3.wake_ns + SECOND).with("BootType", 1);
    let boots_of = |startup: Vec<LogRecord>| {
        let boots = open_boot(&[boot(START_NS, None), startup].concat(), "0").boots().unwrap();
        boots.iter().map(|boot| (boot.fast_startup, boot.stopped)).collect::<Vec<_>>()
    };
    let both = [(false, true), (true, false)];
    assert_eq!(boots_of([without_account.clone(), vec![boot_type.clone()]].concat()), both);
    assert_eq!(boots_of([without_account.clone(), vec![boot_type, account]].concat()), both, "counted once");
    let resumed = system(BOOT, 27, S3.wake_ns + SECOND).with("BootType", 2);
    assert_eq!(boots_of([without_account, vec![resumed]].concat()), [(false, false)]);
    // Logs that start with the account of the resume.
    let report = sleeps(&open_for(&startup.records()[4..], Purpose::Sleep));
    assert_eq!(report.iter().map(|sleep| sleep.variant).collect::<Vec<_>>(), [Variant::FastStartup]);
}

#[test]
fn the_log_service_notices_the_end_of_a_boot_in_which_it_ran() {
    let no_log =
        [system(GENERAL, 12, START_NS + HOUR), system(POWER, 41, START_NS + HOUR + SECOND).with("BugcheckCode", 0)];
    let stop = [system(POWER, 109, START_NS + HOUR + 5 * SECOND), system(GENERAL, 13, START_NS + HOUR + 6 * SECOND)];
    let noticed = system("EventLog", 6008, START_NS + HOUR + 28 * SECOND);
    let last = boot(START_NS + HOUR + 20 * SECOND, None);
    let records = [boot(START_NS, None), no_log.to_vec(), stop.to_vec(), vec![noticed.clone()], last.clone()].concat();
    let reason = no_shutdown(&open_boot(&records, "-2"));
    assert!(reason.contains("power was lost") && reason.contains("Kernel-Power/41"), "{reason}");
    // The boot without the log service was restarted.
    assert_eq!(shutdown(&open_boot(&records, "-1")).total_ns, None);
    let only_noticed = [boot(START_NS, None), vec![noticed], last].concat();
    let reason = no_shutdown(&open_boot(&only_noticed, "-1"));
    assert!(reason.contains("according to EventLog/6008"), "{reason}");
}

#[test]
fn the_next_boot_or_the_stop_of_the_log_service_shows_a_shutdown() {
    let stopped = |end: Option<LogRecord>, last_shutdown_good: bool| {
        let last = system(BOOT, 20, START_NS + HOUR + SECOND);
        let last = last.with("LastShutdownGood", LogValue::Bool(last_shutdown_good));
        let first = [boot(START_NS, None), end.into_iter().collect()].concat();
        let records = [first, boot(START_NS + HOUR, None), vec![last]].concat();
        open_boot(&records, "0").boots().unwrap().iter().map(|boot| boot.stopped).collect::<Vec<_>>()
    };
    assert_eq!(stopped(None, false), [false, false]);
    assert_eq!(stopped(None, true), [true, false]);
    assert_eq!(stopped(Some(system("EventLog", 6006, START_NS + 60 * SECOND)), false), [true, false]);
}

#[test]
fn records_of_other_logs_belong_to_the_boot_of_the_corrected_clock() {
    // A hardware clock in local time is 13 h ahead at the start of each boot.
    let ahead_ns = 13 * HOUR;
    let boot_with_wrong_clock = |start_ns: i64| {
        let mut records = boot(start_ns + ahead_ns, None);
        records.push(clock_step(start_ns + ahead_ns + 30 * SECOND, start_ns + 30 * SECOND));
        records
    };
    let authentication = |id: u16, time_ns: i64| {
        LogRecord::new("Microsoft-Windows-Winlogon/Operational", "Microsoft-Windows-Winlogon", id, time_ns)
    };
    let second_ns = START_NS + 2 * HOUR;
    let logon = [authentication(1, second_ns + 40 * SECOND), authentication(2, second_ns + 41 * SECOND)];
    let records = [boot_with_wrong_clock(START_NS), boot_with_wrong_clock(second_ns), logon.to_vec()].concat();
    let logons = |boot: &str| match open_boot(&records, boot).boot(&BootOptions::default()).unwrap().report {
        Boot::Windows(report) => report.details.logon.authentications.iter().map(|row| row.start_ns / SECOND).collect(),
        _ => Vec::new(),
    };
    assert_eq!((logons("-1"), logons("0")), (vec![], vec![40]));
}

#[test]
fn a_boot_without_the_log_service_says_so() {
    // The kernel starts, and the computer is reset before the log service runs.
    let second_ns = START_NS + HOUR;
    let kernel_only = vec![system(GENERAL, 12, second_ns).with("BootMode", 0).with("BuildVersion", 19_041)];
    let records = [boot(START_NS, None), kernel_only, boot(second_ns + HOUR, Some(End::PowerLost))].concat();
    let boots = open_boot(&records, "0").boots().unwrap();
    let states: Vec<_> = boots.iter().map(|boot| (boot.kernel_start, boot.started)).collect();
    assert_eq!(states, [(Some(true), true), (Some(true), false), (Some(true), true)]);
    let text = boot_list_text(boots);
    assert!(text.contains("no record of the log service; no shutdown recorded"), "{text}");
    assert!(!text.contains("start not recorded"), "{text}");
    // Records before the first start of a kernel are of a boot whose start was overwritten.
    let end = system(GENERAL, 13, START_NS - HOUR).with("StopTime", LogValue::Time(START_NS - HOUR));
    let boots = open_boot(&[vec![end], boot(START_NS, None)].concat(), "0").boots().unwrap();
    assert_eq!(boots.iter().map(|boot| boot.kernel_start).collect::<Vec<_>>(), [Some(false), Some(true)]);
    let text = boot_list_text(boots);
    assert!(text.contains("start not recorded") && !text.contains("log service"), "{text}");
}

fn boot_list_text(boots: Vec<RecordedBoot>) -> String {
    let mut text = Vec::new();
    onoff::report::text::boot_list::write(&BootList { boots }, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn the_last_record_alone_is_no_lower_bound_of_a_shutdown() {
    let stop_ns = START_NS + HOUR;
    let end = system(GENERAL, 13, stop_ns).with("StopTime", LogValue::Time(stop_ns));
    let records = [boot(START_NS, None), vec![end], boot(START_NS + 2 * HOUR, None)].concat();
    let report = shutdown(&open_boot(&records, "-1"));
    assert_eq!((report.total_ns, report.total_at_least_ns, report.start_ns), (None, 0, None));
}
