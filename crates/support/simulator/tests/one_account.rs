//! Invariants of the accounts of any recording, however damaged: parts sum to their phase, and findings take their
//! cost, subject and phase from one subject.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use onoff_blame::account::{
    AccountEntry, AccountMeasure, AccountSubjectKind, AccountedPhase, PhaseAccount, VIDEO_DRIVERS, accounts, culprits,
    subject_times,
};
use onoff_blame::waits::PathOptions;
use onoff_blame::why::{ExplainedInterval, WhyQuestion, WhyTarget, why};
use onoff_files::Options;
use onoff_findings::diagnose;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_findings::finding::{CostBasis, FindingSubjectKind};
use onoff_findings::thresholds::NOISE_NS;
use onoff_simulator::Scenario;
use onoff_testkit::real_recordings;
use onoff_trace::{
    ContextSwitch, ContextSwitches, Counter, Pattern, ReadyThreads, ServiceTransitions, Severity, Thread, Threads,
    Trace,
};
use onoff_transitions::TransitionKind;
use proptest::prelude::*;

use crate::accounts::{scenario_names, simulate, simulate_named};

/// Checks that the parts of every phase sum to it, that each part's activities sum to its time, and that unknown parts
/// sum to the account's unknown time.
fn assert_sums(name: &str, phases: &[AccountedPhase]) {
    for phase in phases {
        let account = &phase.account;
        let sum: i128 = account.entries.iter().map(|entry| i128::from(entry.ns)).sum();
        assert_eq!(sum, i128::from(account.duration_ns), "{name}: {}", phase.phase);
        assert_eq!(account.duration_ns, account.end_ns - account.start_ns, "{name}: {}", phase.phase);
        let unknown = account.entries.iter().filter(|entry| entry.kind == AccountSubjectKind::Unknown);
        assert_eq!(unknown.map(|entry| entry.ns).sum::<i64>(), account.unknown_ns, "{name}: {}", phase.phase);
        for entry in &account.entries {
            assert!(entry.ns > 0, "{name}: {} of {}", entry.name, phase.phase);
            assert_eq!(
                entry.unknown_reason.is_some(),
                entry.kind == AccountSubjectKind::Unknown,
                "{name}: {}",
                entry.name
            );
            let actions_ns: i128 = entry.actions.iter().map(|action| i128::from(action.ns)).sum();
            assert_eq!(actions_ns, i128::from(entry.ns), "{name}: {} of {}", entry.name, phase.phase);
            let intervals_ns: i64 = entry.intervals.iter().map(|interval| interval.end_ns - interval.start_ns).sum();
            // Idle rules count slices in which several processes ran, so their intervals are longer than the time
            // attributed to each.
            if account.measure == AccountMeasure::CriticalPath {
                assert!(intervals_ns <= entry.ns, "{name}: {} of {}", entry.name, phase.phase);
            }
        }
    }
}

/// Checks that every finding has a subject, and that its cost equals one entry of its phase's account, one culprit, or
/// the subject's time in all phases.
fn errors_of_findings(name: &str, trace: &Trace) -> Vec<String> {
    let mut errors = Vec::new();
    let accounts_by_kind = [TransitionKind::Boot, TransitionKind::Shutdown, TransitionKind::Suspend]
        .map(|kind| (kind.as_str(), accounts(trace, Some(kind))));
    for finding in diagnose(trace, &DiagnosisOptions::default()).findings {
        let mut report = |problem: &str| {
            errors.push(format!("{name}: {} {} ({:?}): {problem}", finding.code, finding.subject.name, finding.title));
        };
        let kind = finding.transition.split(' ').next().unwrap();
        // Findings of Linux rules about the initramfs and sleeps do not come from a single entry yet.
        let Some((_, phases)) =
            accounts_by_kind.iter().find(|(name, _)| *name == kind && !finding.code.starts_with("linux/"))
        else {
            continue;
        };
        if finding.subject.kind == FindingSubjectKind::Phase {
            report("the subject is a phase");
        }
        // The time of startup programs is an upper bound, whatever a replay says.
        let is_bound = finding.cost_basis == CostBasis::AtMost || finding.code == "boot/startup-applications";
        let Some(cost_ns) = finding.measured_ns.filter(|_| !is_bound) else { continue };
        let Some(phase) = &finding.phase else {
            // There is no account before the recording, between phases, and while the computer is off.
            let evidence_ns = finding.evidence.iter().find_map(|evidence| evidence.time_ns);
            let has_account = |phase: &AccountedPhase| {
                let account = &phase.account;
                let is_inside =
                    evidence_ns.is_some_and(|time_ns| time_ns >= account.start_ns && time_ns < account.end_ns);
                is_inside && account.measure == AccountMeasure::CriticalPath
            };
            if cost_ns > 0 && phases.iter().any(has_account) {
                report("a cost on the critical path, but no phase");
            }
            continue;
        };
        let accounted: Vec<AccountedPhase> =
            phases.iter().filter(|accounted| accounted.phase == *phase).cloned().collect();
        let entries = || accounted.iter().flat_map(|phase| &phase.account.entries);
        let is_subject = |name: &str| {
            let mut members = finding.subject.name.split(" → ");
            members.any(|member| member.eq_ignore_ascii_case(name))
                || finding.subject.kind == FindingSubjectKind::Device
        };
        let is_entry = entries().any(|entry| entry.ns == cost_ns && is_subject(&entry.name));
        let is_culprit =
            culprits(&accounted).iter().any(|culprit| culprit.entry.ns == cost_ns && is_subject(&culprit.entry.name));
        let sum_of_chain = |min_ns: i64| -> i64 {
            entries().filter(|entry| is_subject(&entry.name) && entry.ns >= min_ns).map(|entry| entry.ns).sum()
        };
        // A short-lived process is not a member of the relay, even if another process of the same program is.
        let is_chain = [0, NOISE_NS].into_iter().any(|min_ns| sum_of_chain(min_ns) == cost_ns);
        let is_total = transitions_of(phases).iter().any(|phases| {
            let phases: Vec<&AccountedPhase> = phases.iter().collect();
            let mut subjects = subject_times(&phases).into_iter();
            subjects.any(|subject| subject.ns == cost_ns && is_subject(&subject.entries[0].1.name))
        });
        if cost_ns > 0 && !is_entry && !is_culprit && !is_chain && !is_total {
            report(&format!("no entry of {phase} has {cost_ns} ns"));
        }
    }
    errors
}

/// Splits the phases of one kind by transition: each begins with a phase that the previous one already has.
fn transitions_of(phases: &[AccountedPhase]) -> Vec<Vec<AccountedPhase>> {
    let mut transitions: Vec<Vec<AccountedPhase>> = Vec::new();
    for phase in phases {
        match transitions.last_mut().filter(|last| last.iter().all(|other| other.phase != phase.phase)) {
            Some(last) => last.push(phase.clone()),
            None => transitions.push(vec![phase.clone()]),
        }
    }
    transitions
}

/// Returns the number of phases, and the differences of more than 1 ms between `onoff why` for all phases and for a
/// single phase.
pub(crate) fn differences_of_why(name: &str, trace: &Trace) -> (usize, Vec<String>) {
    let question = |target| WhyQuestion {
        target,
        at_ns: None,
        within: None,
        min_duration_ns: 0,
        max_intervals: None,
        include_work_waits: false,
        path: PathOptions::default(),
    };
    let intervals = |target| why(trace, &question(target)).map(|report| report.intervals).unwrap_or_default();
    let key = |entry: &AccountEntry| (entry.kind.as_str(), entry.name.clone(), entry.device.clone(), entry.pid);
    let times = |account: &PhaseAccount| -> BTreeMap<_, i64> {
        account.entries.iter().map(|entry| (key(entry), entry.ns)).collect()
    };
    let all = intervals(WhyTarget::Phase(None, None));
    let phases = accounts(trace, None);
    let mut errors = Vec::new();
    for interval in &all {
        let expected_times = times(&interval.account);
        let compare = |source: &str, account: &PhaseAccount, errors: &mut Vec<String>| {
            let actual_times = times(account);
            for key in expected_times.keys().chain(actual_times.keys().filter(|key| !expected_times.contains_key(key)))
            {
                let time = |times: &BTreeMap<_, i64>| times.get(key).copied().unwrap_or(0);
                let (expected_ns, actual_ns) = (time(&expected_times), time(&actual_times));
                if (expected_ns - actual_ns).abs() > 1_000_000 {
                    let phase = &interval.name;
                    errors.push(format!("{name}: {phase}: {key:?}: {expected_ns} ns, {source} {actual_ns} ns"));
                }
            }
        };
        let pattern = Pattern::new(&interval.name);
        let single = intervals(WhyTarget::Phase(Some(pattern), TransitionKind::parse(&interval.action)));
        let is_same =
            |other: &&ExplainedInterval| (other.start_ns, other.end_ns) == (interval.start_ns, interval.end_ns);
        match single.iter().find(is_same) {
            Some(same) => compare("alone", &same.account, &mut errors),
            None => errors.push(format!("{name}: {} is not found alone", interval.name)),
        }
        let accounted = phases.iter().find(|phase| {
            let account = &phase.account;
            phase.phase == interval.name && (account.start_ns, account.end_ns) == (interval.start_ns, interval.end_ns)
        });
        if let Some(phase) = accounted {
            compare("in the other verbs", &phase.account, &mut errors);
        }
    }
    (all.len(), errors)
}

#[test]
fn why_divides_a_phase_the_same_alone_and_among_all() {
    let (mut phases, mut errors) = (0, Vec::new());
    for name in scenario_names() {
        let (count, differences) = differences_of_why(&name, &simulate_named(&name).0);
        phases += count;
        errors.extend(differences);
    }
    assert!(phases > 200, "{phases} phases");
    assert!(errors.is_empty(), "{} of {phases} phases:\n{}", errors.len(), errors.join("\n"));
}

#[test]
fn accounts_sum_up_and_findings_match_entries_in_every_scenario() {
    let (mut phases, mut errors) = (0, Vec::new());
    for name in scenario_names() {
        let (trace, _) = simulate_named(&name);
        let accounted = accounts(&trace, None);
        assert_sums(&name, &accounted);
        phases += accounted.len();
        errors.extend(errors_of_findings(&name, &trace));
    }
    assert!(phases > 200, "{phases} phases");
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn accounts_sum_up_and_findings_match_entries_in_real_recordings() {
    let mut paths = Vec::new();
    for part in ["etl", "linux"] {
        let Some(folder) = real_recordings::samples_folder(part) else { continue };
        paths.extend(std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    let (mut phases, mut errors) = (0, Vec::new());
    for path in &paths {
        // The folder also contains files that are not recordings.
        let Ok(trace) = onoff_files::open(std::slice::from_ref(path), onoff_findings::TABLES, &Options::default())
        else {
            continue;
        };
        let name = path.display().to_string();
        let accounted = accounts(&trace, None);
        phases += accounted.len();
        assert_sums(&name, &accounted);
        errors.extend(errors_of_findings(&name, &trace));
        errors.extend(differences_of_why(&name, &trace).1);
    }
    assert!(paths.is_empty() || phases > 20, "{phases} phases");
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

const EVENTS_LOST: Counter =
    Counter { name: "events_lost_by_recorder", severity: Severity::Error, help: "", affects: &[] };

/// Damage to a recording.
#[derive(Clone, Debug)]
struct Damage {
    seed: u64,
    /// Percentages of rows of each table that are dropped, get another thread id and processor, get another time (per
    /// mille), or are swapped with the previous row.
    dropped: u64,
    renumbered: u64,
    moved: u64,
    exchanged: u64,
    /// Interval without rows, in thousandths of the recording.
    hole: (i64, i64),
    reports_loss: bool,
}

fn damage() -> impl Strategy<Value = Damage> {
    let share = || prop_oneof![Just(0_u64), 1_u64..5, 30_u64..101];
    (any::<u64>(), share(), share(), share(), share(), (0_i64..1_001, 0_i64..400), any::<bool>()).prop_map(
        |(seed, dropped, renumbered, moved, exchanged, (start, length), reports_loss)| Damage {
            seed,
            dropped,
            renumbered,
            moved,
            exchanged,
            hole: (start, start + length),
            reports_loss,
        },
    )
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

fn apply_damage(trace: &mut Trace, damage: &Damage) {
    let mut random = Random(damage.seed);
    let per_mille = |part: i64| trace.duration_ns / 1_000 * part;
    let hole = per_mille(damage.hole.0)..per_mille(damage.hole.1);
    let duration = u64::try_from(trace.duration_ns.max(1)).unwrap();
    let mut rows: Vec<ContextSwitch> = Vec::new();
    for mut row in trace.context_switches.iter() {
        if hole.contains(&row.time_ns) || random.below(100) < damage.dropped {
            continue;
        }
        if random.below(100) < damage.renumbered {
            row.new_tid = row.old_tid;
            row.cpu = u16::try_from(random.below(5)).unwrap();
        }
        if random.below(1_000) < damage.moved {
            row.time_ns = i64::try_from(random.below(duration)).unwrap();
        }
        rows.push(row);
        let last = rows.len() - 1;
        if last > 0 && random.below(100) < damage.exchanged {
            rows.swap(last, last - 1);
        }
    }
    trace.context_switches = [ContextSwitches::from_iter(rows)].into_iter().collect();
    let mut rows = Vec::new();
    for mut row in trace.ready_threads.iter() {
        if hole.contains(&row.time_ns) || random.below(100) < damage.dropped {
            continue;
        }
        if random.below(100) < damage.renumbered {
            row.readying_tid = Some(row.ready_tid);
        }
        if random.below(1_000) < damage.moved {
            row.time_ns = i64::try_from(random.below(duration)).unwrap();
        }
        rows.push(row);
    }
    trace.ready_threads = [ReadyThreads::from_iter(rows)].into_iter().collect();
    let threads: Vec<Thread> = trace.threads.iter().collect();
    trace.threads = threads.iter().fold(Threads::new(), |mut table, thread| {
        let mut thread = *thread;
        if random.below(100) < damage.renumbered {
            // A reused id, so that lifetimes with the same id overlap.
            thread.tid = threads[usize::try_from(random.below(threads.len() as u64)).unwrap()].tid;
        }
        if random.below(100) < damage.dropped {
            thread.start_ns = None;
        }
        table.push(thread);
        table
    });
    trace.service_transitions =
        trace.service_transitions.iter().fold(ServiceTransitions::new(), |mut table, mut row| {
            if random.below(100) < damage.dropped {
                row.end_ns = None;
            }
            table.push(row);
            table
        });
    if damage.reports_loss {
        trace.losses.add(&EVENTS_LOST, 1 + damage.dropped);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn accounts_sum_up_in_damaged_recordings(damage in damage(), index in 0_usize..4) {
        let name = ["ids-used-twice", "starved-relay", "two-devices-one-after-the-other", "two-programs-at-shutdown"][index];
        let (mut trace, _) = simulate_named(name);
        apply_damage(&mut trace, &damage);
        assert_sums(name, &accounts(&trace, None));
        let diagnosis = diagnose(&trace, &DiagnosisOptions::default());
        prop_assert!(diagnosis.findings.iter().all(|finding| finding.cost_ns.is_none_or(|ns| ns >= 0)));
    }
}

#[test]
fn thread_readied_before_a_phase_counts_only_within_it() {
    let damage = Damage {
        seed: 18_317_954_499_583_151_163,
        dropped: 81,
        renumbered: 32,
        moved: 37,
        exchanged: 0,
        hole: (900, 1_000),
        reports_loss: false,
    };
    let (mut trace, _) = simulate_named("starved-relay");
    apply_damage(&mut trace, &damage);
    assert_sums("starved-relay", &accounts(&trace, None));
}

/// Returns the findings about the video driver in a healthy boot with additional scenario keys, with costs in 10 ms.
fn video_findings(keys: &str) -> Vec<(String, i64)> {
    let text = format!("name = \"A video driver\"\nover = \"healthy-boot\"\nseed = 7\n{keys}");
    let (trace, _) = simulate(&Scenario::from_toml(&text).unwrap());
    let findings = diagnose(&trace, &DiagnosisOptions::default()).findings;
    let video_findings = findings.into_iter().filter(|finding| finding.code == "boot/video-driver-slow");
    video_findings.map(|finding| (finding.subject.name, (finding.cost_ns.unwrap() + 5_000_000) / 10_000_000)).collect()
}

#[test]
fn slow_video_driver_depends_on_disk_type_and_other_blockers() {
    const SLOW_VIDEO: &str = "[session]\nsystem_video = \"1500ms\"\nwinlogon_at = \"6s\"\n";
    let system = |centiseconds| vec![(VIDEO_DRIVERS[0].to_owned(), centiseconds)];
    // 1.5 s is slow with a solid-state disk and normal with a hard disk.
    assert_eq!(video_findings(SLOW_VIDEO), system(150));
    let hard_disk = "[machine]\ndisk_access = \"9ms\"\n";
    assert_eq!(video_findings(&format!("{hard_disk}{SLOW_VIDEO}")), []);
    let longer = SLOW_VIDEO.replace("1500ms", "2600ms");
    assert_eq!(video_findings(&format!("{hard_disk}{longer}")), system(260));
    // Decoy: the same gap, in which the session manager waits for another disk.
    let disk = "[machine]\nmore_disks = [{ model = \"SLOW\", access = \"45ms\", per_mib = \"12ms\" }]\n";
    let held =
        "[session]\nsystem_video_work = [\"read 60x64KiB D:\\\\Prepared\\\\prepared.bin\"]\nwinlogon_at = \"6s\"\n";
    assert_eq!(video_findings(&format!("{disk}{held}")), [("D:\\Prepared\\prepared.bin".to_owned(), 275)]);
}
