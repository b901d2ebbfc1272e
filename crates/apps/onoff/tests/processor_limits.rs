//! Firmware that limits processors during a boot, from the System log.

use onoff::Session;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_findings::finding::RuleFinding;
use onoff_testkit::event_log::LogRecord;

use crate::event_logs::{HOUR, MS, SECOND, START_NS, files, slower_account, system, system_log};

const PROVIDER: &str = "Microsoft-Windows-Kernel-Processor-Power";

/// The record of a limit that had been in effect for `seconds` at `time_ns`.
fn limit(processor: u32, time_ns: i64, seconds: u32) -> LogRecord {
    system(PROVIDER, 37, time_ns)
        .with("Group", 0)
        .with("Number", processor)
        .with("CapDurationInSeconds", seconds)
        .with("PpcChanges", 1)
        .with("TpcChanges", 0)
        .with("PccChanges", 0)
}

fn found(limits: Vec<LogRecord>) -> Option<RuleFinding> {
    let boot = vec![slower_account(START_NS, 4_130, 0)];
    let session = Session::from_bytes(files(&[system_log(START_NS, None), limits, boot])).unwrap();
    let diagnosis = session.diagnose(&DiagnosisOptions::default()).unwrap();
    diagnosis.findings.into_iter().find(|finding| finding.code == "boot/processor-limited")
}

#[test]
fn limits_count_only_where_they_overlap_the_boot() {
    // Two processors, from 10 s on and for the whole boot, which ends 45.3 s after its start (7 s of it waiting).
    let both = found(vec![
        limit(0, START_NS + 70 * SECOND, 60),
        limit(1, START_NS + 71 * SECOND, 71),
        limit(2, START_NS + HOUR, 60),
    ]);
    let both = both.unwrap();
    assert!(both.title.contains("the speed of 2 processors"), "{both:#?}");
    assert_eq!(both.cost_ns, None);
    assert!(both.evidence[0].text.starts_with("processor 1 was limited for "), "{both:#?}");
    // Later, or before the kernel started, or without any time.
    assert_eq!(found(vec![limit(0, START_NS + HOUR, 600)]), None);
    assert_eq!(found(vec![limit(0, START_NS + 40 * MS, 3_600)]), None);
    assert_eq!(found(vec![limit(0, START_NS + 20 * SECOND, 0)]), None);
    assert_eq!(found(Vec::new()), None);
}
