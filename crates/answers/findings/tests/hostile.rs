//! Runs every rule on invalid recordings: no panics, and no negative costs.
#![allow(clippy::unwrap_used)]

use onoff_findings::diagnose;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_testkit::hostile::{ExtremeValues, hostile_trace};
use onoff_trace::{
    Activity, ActivityKind, Interrupt, InterruptKind, Interrupts, Milestone, ReadyThread, ReadyThreads, StringId,
    SystemKind, TableSet, Trace, milestone, power_phase,
};

use std::collections::BTreeSet;

const SEEDS: u64 = 1_500;

fn below(any: &mut ExtremeValues, limit: usize) -> usize {
    usize::try_from(any.value() % limit as u64).unwrap()
}

/// An invalid recording of everything the rules read.
fn recording(seed: u64) -> Trace {
    let mut trace = hostile_trace(seed);
    trace.requested_tables = TableSet::all();
    let mut any = ExtremeValues(seed.rotate_left(32));
    let mut time = || {
        let small = i64::try_from(any.value() % 40_000_000_000).unwrap();
        let extremes = [small, small, small, small, 0, -1, i64::MIN, i64::MAX];
        let pick = below(&mut any, extremes.len());
        extremes[pick]
    };
    let times: Vec<i64> = (0..40).map(|_| time()).collect();
    let ids = [0, 4, 8, 100, 104, u32::MAX];
    let ready: ReadyThreads = (times.iter())
        .map(|&time_ns| ReadyThread {
            time_ns,
            cpu: 0,
            ready_tid: ids[below(&mut any, ids.len())],
            readying_tid: Some(ids[below(&mut any, ids.len())]),
            adjust_reason: 0,
            adjust_increment: 0,
            flags: u8::try_from(below(&mut any, 256)).unwrap(),
            after_switches: None,
        })
        .collect();
    trace.ready_threads.push(ready);
    let calls: Interrupts = (times.windows(2))
        .map(|ends| Interrupt {
            start_ns: ends[0],
            end_ns: ends[1],
            cpu: 0,
            kind: [InterruptKind::Dpc, InterruptKind::TimerDpc, InterruptKind::Interrupt][below(&mut any, 3)],
            routine: any.value(),
            vector: 0,
            name: StringId::EMPTY,
        })
        .collect();
    trace.interrupts.push(calls);
    // Values that only milestones contain.
    for name in [
        milestone::OS_LOADER,
        milestone::WAKE,
        milestone::FIRMWARE_RESUME_TIME,
        milestone::POWER_HIBERNATE_PAGES,
        milestone::DESKTOP_READY,
    ] {
        let name = trace.strings.intern(name);
        trace.milestones.push(Milestone {
            time_ns: times[below(&mut any, times.len())],
            name,
            detail: StringId::EMPTY,
            value: Some(times[below(&mut any, times.len())]),
            pid: None,
            tid: None,
            event: StringId::EMPTY,
        });
    }
    trace
}

/// Checks that the diagnosis is plausible, and collects the codes of its findings.
fn check(trace: &Trace, seed: u64, codes: &mut BTreeSet<&'static str>) {
    let options = DiagnosisOptions {
        // No noise threshold, so that every rule builds its findings.
        noise_ns: i64::MIN,
        ..DiagnosisOptions::default()
    };
    let diagnosis = diagnose(trace, &options);
    for finding in diagnosis.findings.iter().chain(&diagnosis.caveats) {
        let label = format!("seed {seed}: {} {}", finding.code, finding.title);
        let cost = finding.cost_ns;
        assert!(cost.is_none_or(|ns| ns >= 0), "{label}: {cost:?}");
        assert!(!finding.title.is_empty(), "{label}");
        assert!(!finding.advice.is_empty(), "{label}");
        assert!(!finding.transition.is_empty(), "{label}");
    }
    // How a boot ended comes before all costs.
    let is_outcome = |code: &str| ["linux/boot-failed", "linux/boot-unfinished"].contains(&code);
    let costs = diagnosis.findings.iter().filter(|finding| !is_outcome(finding.code)).map(|finding| finding.cost_ns);
    let costs: Vec<_> = costs.map(std::cmp::Reverse).collect();
    assert!(costs.is_sorted(), "seed {seed}");
    let findings = diagnosis.findings.iter().chain(&diagnosis.caveats);
    codes.extend(findings.map(|finding| finding.code));
}

#[test]
fn windows_rules_survive_invalid_recordings() {
    let mut codes = BTreeSet::new();
    for seed in 0..SEEDS {
        check(&recording(seed), seed, &mut codes);
    }
    assert!(codes.len() > 15, "{codes:?}");
}

#[test]
fn linux_rules_survive_invalid_recordings() {
    let mut codes = BTreeSet::new();
    for seed in 0..SEEDS {
        let mut trace = recording(seed);
        trace.system.kind = SystemKind::Linux;
        let mut any = ExtremeValues(!seed);
        let names = [
            power_phase::FREEZE_PROCESSES,
            power_phase::DEVICES_SUSPEND,
            power_phase::MACHINE,
            power_phase::DEVICES_RESUME,
            power_phase::THAW_PROCESSES,
            "mem",
            "disk",
        ];
        let names: Vec<StringId> = names.iter().map(|name| trace.strings.intern(name)).collect();
        let rows: Vec<Activity> = trace.activities.iter().collect();
        let mut pick = |limit: usize| below(&mut any, limit);
        trace.activities = rows
            .into_iter()
            .map(|row| match pick(2) {
                // Half of them keep their kind, such as unit jobs.
                0 => row,
                _ => Activity {
                    kind: [ActivityKind::PowerPhase, ActivityKind::PowerTransition][pick(2)],
                    name: names[pick(names.len())],
                    ..row
                },
            })
            .collect();
        check(&trace, seed, &mut codes);
    }
    assert!(codes.len() > 5, "{codes:?}");
}
