//! A sleep with a service that does not respond, in each format. The trace and the expected lines are hand-written.
#![allow(clippy::unwrap_used)]

use onoff_evidence::recording::summarize;
use onoff_report::text::transition::{DEFAULT_LIST_ROWS, TransitionReport};
use onoff_sections::csv::timed;
use onoff_sections::report_writer::TextWriter;
use onoff_sections::section;
use onoff_trace::{
    Activity, ActivityKind, Milestone, Notification, NotificationKind, StringId, Trace, milestone, power_phase,
};
use onoff_transitions::suspend::{SuspendOptions, TABLES, analyze};
use onoff_xperf::layouts::suspend_xml::{SuspendXmlOptions, write as write_xml};
use onoff_xperf::layouts::time_unit::TimeUnit;

const SECOND: i64 = 1_000_000_000;
const US: i64 = 1_000;

fn add_activity(trace: &mut Trace, kind: ActivityKind, name: &str, start_ns: i64, end_ns: i64) {
    let name = trace.strings.intern(name);
    let event = trace.strings.intern("Microsoft-Windows-Kernel-Power/1");
    trace.activities.push(Activity {
        kind,
        name,
        detail: StringId::EMPTY,
        start_ns,
        end_ns: Some(end_ns),
        pid: None,
        tid: None,
        end_tid: None,
        session: None,
        status: Some(0),
        event,
    });
}

fn add_milestone(trace: &mut Trace, time_ns: i64, name: &str, value: i64) {
    let event = trace.strings.intern("Microsoft-Windows-Kernel-Power/39");
    let name = trace.strings.intern(name);
    trace.milestones.push(Milestone {
        time_ns,
        name,
        detail: StringId::EMPTY,
        value: Some(value),
        pid: None,
        tid: None,
        event,
    });
}

fn add_notification(trace: &mut Trace, kind: NotificationKind, name: &str, start_ns: i64, end_ns: i64) {
    let name = trace.strings.intern(name);
    trace.notifications.push(Notification {
        kind,
        start_ns,
        end_ns: Some(end_ns),
        name,
        pid: Some(432),
        tid: None,
        session: None,
        level: None,
        flags: None,
        status: None,
        sender_pid: None,
        sender_tid: None,
        event: StringId::EMPTY,
    });
}

fn slow_service() -> Trace {
    let mut trace = Trace { duration_ns: 100 * SECOND, requested_tables: TABLES, ..Trace::default() };
    let power = ActivityKind::PowerPhase;
    add_activity(&mut trace, ActivityKind::PowerTransition, "7", 2 * SECOND, 39 * SECOND);
    let apps_end = 2 * SECOND + 1_320_415 * US;
    add_activity(&mut trace, power, power_phase::SUSPEND_APPS, 2 * SECOND, apps_end);
    add_activity(&mut trace, power, power_phase::SUSPEND_SERVICES, 4 * SECOND, 35 * SECOND);
    add_activity(&mut trace, power, power_phase::RESUME_DEVICES, 37 * SECOND, 38 * SECOND);
    let app = NotificationKind::ApplicationSuspend;
    add_notification(&mut trace, app, r"C:\a & b\slow.exe", 2 * SECOND, 2 * SECOND + 472_485 * US);
    let service = NotificationKind::ServiceSuspend;
    add_notification(&mut trace, service, "Slowsvc", 4 * SECOND, 34 * SECOND);
    add_milestone(&mut trace, 36 * SECOND, milestone::SLEEP, 4);
    add_milestone(&mut trace, 37 * SECOND, milestone::WAKE, 4);
    add_milestone(&mut trace, 2 * SECOND, milestone::POWER_BEGIN_UTC, SECOND);
    add_milestone(&mut trace, 39 * SECOND, milestone::POWER_END_UTC, 337 * SECOND);
    add_milestone(&mut trace, 39 * SECOND, milestone::POWER_SUSPEND_TIME, 33_990_000_000);
    add_milestone(&mut trace, 39 * SECOND, milestone::POWER_RESUME_TIME, 2_000_000_000);
    add_milestone(&mut trace, 39 * SECOND, milestone::POWER_FIRMWARE_TIME, 310_000_000);
    add_milestone(&mut trace, 39 * SECOND, milestone::POWER_DRIVER_WAKE_TIME, 990_000_000);
    trace
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

/// Removes the color codes.
fn strip_colors(text: &str) -> String {
    text.split('\u{1b}')
        .enumerate()
        .map(|(index, part)| match part.split_once('m') {
            Some((_, text)) if index > 0 => text,
            _ => part,
        })
        .collect()
}

#[test]
fn text_begins_with_the_summary() {
    let trace = slow_service();
    let report = analyze(&trace, &SuspendOptions::default()).unwrap();
    let text = written(|out| {
        report.write(&summarize(&trace), DEFAULT_LIST_ROWS, &mut TextWriter(out)).unwrap();
    });
    let text = strip_colors(&text);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Sleep: 34.0 s to suspend, 2.31 s to resume.");
    assert_eq!(lines[1], "SuspendServices took 31.0 s: Slowsvc did not respond within 30.0 s.");
    assert_eq!(lines[2], "Asleep for 300 s in S3.");
    for expected in [
        "1 application, 472 ms in total, plus 848 ms outside them (usually the display fading out)",
        "the trace clock missed 299 s of the sleep",
        "Asleep for 300 s (wall-clock time from start to end, minus suspend and resume); the trace clock counted 1.00 s.",
        "did not respond within 30.0 s",
        "Cross-check",
        "PostResume: ",
        "Not recorded",
        "Nothing was lost.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(lines.iter().all(|line| !line.ends_with(' ')));
}

#[test]
fn xml_has_the_names_and_numbers_of_the_paper() {
    let report = analyze(&slow_service(), &SuspendOptions::default()).unwrap();
    let xml = written(|out| write_xml(&report, &SuspendXmlOptions::default(), out).unwrap());
    assert_eq!(
        xml,
        r#"<results timeFormat="usec">
<scenario type="sleep" start="2000000" duration="35990000" suspend="33990000" biosinit="310000" resumecritical="990000" resume="2000000">
<suspendapps start="2000000" duration="1320415" totalChildrenDuration="472485">
<application start="2000000" duration="472485" exe="C:\a &amp; b\slow.exe" pid="432"/>
</suspendapps>
<suspendservices start="4000000" duration="31000000" totalChildrenDuration="30000000">
<service start="4000000" duration="30000000" name="Slowsvc"/>
</suspendservices>
<resumedevices start="37000000" duration="1000000" totalChildrenDuration="0"/>
</scenario>
</results>
"#
    );
    let options = SuspendXmlOptions { unit: TimeUnit::parse("ms").unwrap(), decimals: 3, min_ns: SECOND };
    let xml = written(|out| write_xml(&report, &options, out).unwrap());
    assert!(xml.contains(r#"<suspendapps start="2000.000" duration="1320.415" totalChildrenDuration="472.485"/>"#));
}

#[test]
fn csv_rows_are_phases_and_their_children() {
    let report = analyze(&slow_service(), &SuspendOptions::default()).unwrap();
    let csv = written(|out| section::csv::write(&[timed::sleeps(&report)], out).unwrap());
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "transition,kind,phase,what,name,driver,pid,start_ns,end_ns,duration_ns");
    assert_eq!(lines[1], "1,sleep,SuspendApps,phase,SuspendApps,,,2000000000,3320415000,1320415000");
    assert!(lines.contains(&"1,sleep,SuspendServices,service_suspend,Slowsvc,,432,4000000000,34000000000,30000000000"));
}
