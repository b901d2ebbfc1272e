//! Statistics over the sleeps of many recordings: median, extremes, slowest device, failures.

use std::path::PathBuf;

use onoff::answers::compare::summary::Summary;
use onoff::sections::lists::write_on;
use onoff::sections::report_writer::TextWriter;
use onoff::summarize_all;
use onoff_testkit::linux::{LinuxDevice, LinuxMachine, LinuxSleepPlan};

const MS: i64 = 1_000_000;

/// Plans a sleep whose disk takes `disk_ms` to suspend. With `is_aborted`, the network device refuses to suspend.
fn sleep(disk_ms: i64, is_aborted: bool) -> LinuxSleepPlan {
    let network = LinuxDevice::new("eth0", "e1000e").callbacks_ms(40, 50);
    LinuxSleepPlan {
        devices: vec![
            LinuxDevice::new("sda", "sd").callbacks_ms(disk_ms, 70),
            if is_aborted { network.fails_suspend(-16) } else { network },
        ],
        asleep_ms: 5_000,
        ..LinuxSleepPlan::default()
    }
}

fn summary(plans: &[LinuxSleepPlan]) -> (Summary, String) {
    let folder = tempfile::tempdir().unwrap();
    let recordings: Vec<Vec<PathBuf>> = plans
        .iter()
        .enumerate()
        .map(|(index, plan)| {
            let run = folder.path().join(format!("suspend-{}", index + 1));
            for (name, bytes) in LinuxMachine::healthy().simulate_sleep(plan).files.all_files() {
                let path = run.join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
            }
            vec![run]
        })
        .collect();
    let summary = summarize_all(&recordings, &onoff_files::Options::default(), &|| {});
    let mut text = Vec::new();
    write_on(&summary, 0, &mut TextWriter(&mut text)).unwrap();
    (summary, String::from_utf8(text).unwrap())
}

#[test]
fn sleep_statistics_have_median_extremes_and_failures() {
    // The third sleep is slow, the fifth is aborted.
    let plans = [sleep(60, false), sleep(80, false), sleep(900, false), sleep(70, false), sleep(75, true)];
    let (summary, text) = summary(&plans);
    let [sleeps] = &summary.sleeps[..] else { panic!("{:?}", summary.sleeps) };
    assert_eq!((sleeps.sleeps, sleeps.aborted, sleeps.unfinished), (5, 1, 0), "{sleeps:#?}");
    let suspend = sleeps.suspend.as_ref().unwrap();
    assert_eq!(suspend.sleeps, 4, "the aborted suspend is not counted");
    assert!(suspend.max_recording.ends_with("suspend-3"), "{suspend:?}");
    // In these plans, only the disk differs between runs.
    let assert_close = |ns: i64, ms: i64| assert!((ns - ms * MS).abs() <= 3 * MS, "{ns} ns, {ms} ms: {suspend:?}");
    assert_close(suspend.max_ns - suspend.min_ns, 840);
    assert_close(suspend.median_ns - suspend.min_ns, 15);
    let resume = sleeps.resume.as_ref().unwrap();
    assert_close(resume.max_ns - resume.min_ns, 0);
    let worst = &sleeps.devices[0];
    assert_eq!((worst.device.as_str(), worst.driver.as_str(), worst.sleeps, worst.failed), ("sda", "sd", 5, 0));
    assert!((worst.worst_ns - 970 * MS).abs() <= 2 * MS && worst.worst_recording.ends_with("suspend-3"), "{worst:?}");
    let network = sleeps.devices.iter().find(|device| device.device == "eth0").unwrap();
    assert_eq!(network.failed, 1);
    assert!(text.contains("5 × ") && text.contains("1 aborted"), "{text}");
    assert!(text.contains("sda (sd)  median"), "{text}");
}

#[test]
fn single_sleep_has_no_statistics() {
    let (summary, text) = summary(&[sleep(60, false)]);
    assert!(summary.sleeps.is_empty() && !text.contains("median"), "{text}");
}
