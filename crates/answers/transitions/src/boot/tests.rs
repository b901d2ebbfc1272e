//! Analyzes complete synthetic boots with the numbers from table 5 of the Microsoft paper.

use onoff_trace::{Counter, IoPriority, Severity, TableName, Trace, milestone};

use super::*;
use onoff_testkit::hostile::hostile_trace;
use onoff_testkit::synthetic::{MS, disk, milestone, milestone_value, process, switches, thread};
use onoff_usage::idle::IdleMetric;

/// Phase durations from the paper, ms. The synthetic boots add a fraction of a millisecond, because the paper rounds.
struct Run {
    phases: [i64; 4],
    post_boot_busy: i64,
}

const US: i64 = 1000;

fn boot(run: &Run) -> Trace {
    let mut trace = Trace::default();
    trace.system.processors = 1;
    let mut end_ns = 0;
    let mut ends = run.phases.iter().map(|&length| {
        end_ns += length * MS + 300 * US;
        end_ns
    });
    let (smss, winlogon, explorer, ready) =
        (ends.next().unwrap(), ends.next().unwrap(), ends.next().unwrap(), ends.next().unwrap());
    process(&mut trace, 4, "System", None, None);
    process(&mut trace, 300, "smss.exe", Some(smss), None);
    process(&mut trace, 500, "winlogon.exe", Some(winlogon), None);
    process(&mut trace, 600, "explorer.exe", Some(explorer), None);
    thread(&mut trace, 604, 600, Some(explorer), None);
    milestone(&mut trace, ready, milestone::DESKTOP_READY, "");
    milestone_value(&mut trace, 1, milestone::OS_LOADER, "", Some(1926 * MS));
    // The CPU is idle until the shell starts. The shell then runs until the busy part of PostBoot is over.
    let quiet = ready + run.post_boot_busy * MS;
    switches(
        &mut trace,
        &[(1, 0, 0, 0, 0), (explorer, 0, 0, 604, 9), (quiet, 0, 604, 0, 0), (quiet + 30_000 * MS, 0, 0, 0, 0)],
    );
    disk(&mut trace, smss - MS, 5 * MS, IoPriority::Normal, "");
    disk(&mut trace, explorer + 10 * MS, 4 * MS, IoPriority::Normal, r"\Windows\explorer.exe");
    trace.duration_ns = quiet + 30_000 * MS;
    trace
}

fn ms(ns: Option<i64>) -> Option<i64> {
    ns.map(|ns| ns / MS)
}

fn analyze_with_defaults(trace: &Trace) -> BootReport {
    analyze(trace, &BootOptions::default()).unwrap()
}

#[test]
fn phases_match_table_five() {
    let runs = [
        (Run { phases: [10_753, 5461, 3697, 4861], post_boot_busy: 6200 }, 16_200, 24_773, 30_973),
        (Run { phases: [10_642, 5601, 3947, 3408], post_boot_busy: 7100 }, 17_100, 23_599, 30_699),
    ];
    for (run, post_boot, main_path, total) in runs {
        let trace = boot(&run);
        let report = analyze_with_defaults(&trace);
        let lengths: Vec<_> = report.phases.iter().map(|phase| ms(phase.duration_ns)).collect();
        let [pre_smss, smss, winlogon, explorer] = run.phases.map(Some);
        assert_eq!(lengths[..5], [pre_smss, smss, winlogon, explorer, Some(post_boot)]);
        assert_eq!(ms(report.details.main_path_boot.duration_ns), Some(main_path));
        assert_eq!(ms(report.total_ns), Some(total));
        assert_eq!(ms(report.details.total_with_idle_ns), Some(total + 10_000));
        assert_eq!(ms(report.details.os_loader_ns), Some(1926));
        assert_eq!(ms(report.details.total_with_loader_ns), Some(total + 1926));
        assert_eq!(report.total_at_least_ns, report.total_ns.unwrap());
        assert_eq!(ms(Some(report.settling.as_ref().unwrap().idle_ns)), Some(10_000));
        assert_eq!(ms(Some(report.settling.as_ref().unwrap().busy_ns)), Some(post_boot - 10_000));
        assert_eq!(report.total_certainty, Certainty::Measured);
    }
}

#[test]
fn phases_are_contiguous_up_to_the_end_of_the_recording() {
    let trace = boot(&Run { phases: [100, 200, 300, 400], post_boot_busy: 500 });
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.phases[0].start_ns, Some(0));
    assert!(report.phases.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
    assert_eq!(report.phases[5].end_ns, Some(trace.duration_ns));
    let names: Vec<_> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["PreSMSS", "SMSSInit", "WinLogonInit", "ExplorerInit", "PostBoot", "TraceTail"]);
}

#[test]
fn each_phase_has_its_own_usage() {
    let trace = boot(&Run { phases: [100, 200, 300, 400], post_boot_busy: 500 });
    let report = analyze_with_defaults(&trace);
    let explorer = report.phase(PhaseName::ExplorerInit).unwrap();
    let cpu = explorer.cpu.as_ref().unwrap();
    assert_eq!(cpu.by_process[0].image, "explorer.exe");
    assert_eq!(cpu.busy_ns, explorer.duration_ns.unwrap());
    assert_eq!(cpu.by_priority[0].priority, 9);
    let files = &explorer.disk.as_ref().unwrap().by_file;
    assert_eq!(files[0].name, r"\Windows\explorer.exe");
    let post_boot = report.phase(PhaseName::PostBoot).unwrap();
    assert_eq!(post_boot.cpu.as_ref().unwrap().busy_ns, 500 * MS);
    let pre_smss = report.phase(PhaseName::PreSmss).unwrap();
    assert_eq!(pre_smss.disk.as_ref().unwrap().read_ahead.operations, 1);
    assert_eq!(pre_smss.cpu.as_ref().unwrap().busy_ns, 0);
}

#[test]
fn without_the_desktop_event_the_result_is_inferred() {
    let run = Run { phases: [100, 200, 300, 400], post_boot_busy: 500 };
    let mut trace = boot(&run);
    trace.milestones = onoff_trace::Milestones::new();
    milestone(&mut trace, 1100 * MS, milestone::SHELL_INITIALIZATION_END, "");
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.details.main_path_boot.end_ns, Some(1100 * MS));
    assert_eq!(report.details.main_path_boot.certainty, Certainty::Inferred);
    assert_eq!(report.total_certainty, Certainty::Inferred);
    assert!(report.total_ns.is_some());
    let explorer = report.phase(PhaseName::ExplorerInit).unwrap();
    assert_eq!(explorer.ends.unmatched_rules.len(), 2);
    assert_eq!(explorer.ends.rule, Rule::ShellInitializationEnds);
}

#[test]
fn without_a_desktop_later_phases_have_no_end() {
    let mut trace = boot(&Run { phases: [100, 200, 300, 400], post_boot_busy: 500 });
    trace.milestones = onoff_trace::Milestones::new();
    let report = analyze_with_defaults(&trace);
    assert_eq!((report.total_ns, report.total_certainty), (None, Certainty::Missing));
    assert_eq!(report.total_at_least_ns, 600 * MS + 900 * US);
    assert_eq!(report.phase(PhaseName::ExplorerInit).unwrap().end_ns, None);
    assert_eq!(report.phase(PhaseName::PostBoot).unwrap().certainty, Certainty::Missing);
    assert_eq!(report.phase(PhaseName::WinLogonInit).unwrap().certainty, Certainty::Measured);
    assert!(report.phase(PhaseName::WinLogonInit).unwrap().cpu.is_some());
}

#[test]
fn a_recording_cut_off_in_post_boot_gives_a_lower_bound() {
    let mut trace = boot(&Run { phases: [100, 200, 300, 400], post_boot_busy: 500 });
    let ready = 1001 * MS + 200 * US;
    trace.duration_ns = ready + 2500 * MS;
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.total_ns, None);
    assert_eq!(report.total_at_least_ns, ready + 500 * MS);
    assert_eq!(report.settling.as_ref().unwrap().idle_ns, 2000 * MS);
    let post_boot = report.phase(PhaseName::PostBoot).unwrap();
    assert_eq!(post_boot.cpu.as_ref().unwrap().busy_ns, 500 * MS);
    assert_eq!(report.phase(PhaseName::TraceTail).unwrap().start_ns, None);
}

#[test]
fn idle_metric_is_configurable() {
    let trace = boot(&Run { phases: [100, 200, 300, 400], post_boot_busy: 500 });
    let options = BootOptions { idle: IdleMetric::ADK, ..BootOptions::default() };
    let report = analyze(&trace, &options).unwrap();
    assert_eq!(report.settling.as_ref().unwrap().idle_ns, 5000 * MS);
    assert_eq!(report.settling.as_ref().unwrap().busy_ns, 500 * MS);
    assert_eq!(ms(report.total_ns), Some(1001 + 500));
}

#[test]
fn losses_are_listed_only_where_they_apply() {
    const SWITCHES: Counter = Counter {
        name: "switches_lost",
        severity: Severity::Error,
        help: "lost",
        affects: &[TableName::ContextSwitches],
    };
    let mut trace = boot(&Run { phases: [100, 200, 300, 400], post_boot_busy: 500 });
    trace.losses.add(&SWITCHES, 3);
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.settling.as_ref().unwrap().affecting_losses, ["switches_lost"]);
    assert!(report.phases[0].affecting_losses.is_empty());
    assert_eq!(report.phases[0].cpu.as_ref().unwrap().affecting_losses, ["switches_lost"]);
    assert!(report.details.losses_affecting_units.is_empty());
}

#[test]
fn error_for_a_recording_without_a_boot() {
    let error = analyze(&Trace::default(), &BootOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("no boot in this recording"));
}

#[test]
fn random_traces_are_analyzed_without_panic() {
    let mut report_count = 0;
    for seed in 0..600 {
        let trace = hostile_trace(seed);
        for idle in [IdleMetric::XPERF, IdleMetric::ADK] {
            let options = BootOptions { idle, ..BootOptions::default() };
            if let Ok(report) = analyze(&trace, &options) {
                report_count += 1;
                assert_eq!(report.phases.len(), 6, "seed {seed}");
                let boundaries: Vec<i64> =
                    report.phases.iter().take(5).flat_map(|phase| [phase.start_ns, phase.end_ns]).flatten().collect();
                assert!(boundaries.is_sorted(), "seed {seed}: {boundaries:?}");
            }
        }
    }
    assert!(report_count > 100, "only {report_count} recordings contained a boot");
}
