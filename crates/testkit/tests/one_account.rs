//! What is true of any recording's accounts, however little of it is left: parts sum to their phase.
#![allow(clippy::unwrap_used)]

use onoff_analysis::account::{AccountMeasure, AccountSubjectKind, AccountedPhase, accounts};
use onoff_files::Options;
use onoff_findings::diagnose;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_testkit::real;
use onoff_trace::{
    ContextSwitch, ContextSwitches, Counter, ReadyThreads, ServiceTransitions, Severity, Thread, Threads, Trace,
};
use proptest::prelude::*;

use crate::accounts::{names, recorded};

/// Whether the parts of every phase sum to it, what each did to its time, and what is not known to what the account says of it.
fn assert_sums(name: &str, all: &[AccountedPhase]) {
    for phase in all {
        let account = &phase.account;
        let sum: i128 = account.entries.iter().map(|entry| i128::from(entry.ns)).sum();
        assert_eq!(sum, i128::from(account.duration_ns), "{name}: {}", phase.phase);
        assert_eq!(account.duration_ns, account.end_ns - account.start_ns, "{name}: {}", phase.phase);
        let not_known = account.entries.iter().filter(|entry| entry.kind == AccountSubjectKind::NotKnown);
        assert_eq!(not_known.map(|entry| entry.ns).sum::<i64>(), account.not_known_ns, "{name}: {}", phase.phase);
        for entry in &account.entries {
            assert!(entry.ns > 0, "{name}: {} of {}", entry.name, phase.phase);
            assert_eq!(entry.not_known.is_some(), entry.kind == AccountSubjectKind::NotKnown, "{name}: {}", entry.name);
            let did: i128 = entry.did.iter().map(|one| i128::from(one.ns)).sum();
            assert_eq!(did, i128::from(entry.ns), "{name}: {} of {}", entry.name, phase.phase);
            let listed: i64 = entry.stretches.iter().map(|one| one.end_ns - one.start_ns).sum();
            // Idle rules count slices in which several worked: their stretches are longer than what each is given of them.
            if account.measure == AccountMeasure::CriticalPath {
                assert!(listed <= entry.ns, "{name}: {} of {}", entry.name, phase.phase);
            }
        }
    }
}

#[test]
fn the_parts_of_every_phase_of_every_scenario_sum_to_it() {
    let mut phases = 0;
    for name in names() {
        let all = accounts(&recorded(&name).0, None);
        assert_sums(&name, &all);
        phases += all.len();
    }
    assert!(phases > 200, "{phases} phases");
}

#[test]
fn the_same_is_true_of_real_recordings() {
    let mut paths = Vec::new();
    for part in ["etl", "linux"] {
        let Some(folder) = real::samples(part) else { continue };
        paths.extend(std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    let mut phases = 0;
    for path in &paths {
        // Lists of sources, baselines and the like are no recordings.
        let Ok(trace) = onoff_files::open(std::slice::from_ref(path), onoff_findings::TABLES, &Options::default())
        else {
            continue;
        };
        let name = path.display().to_string();
        let all = accounts(&trace, None);
        phases += all.len();
        assert_sums(&name, &all);
    }
    assert!(paths.is_empty() || phases > 20, "{phases} phases");
}

/// What the recorder says when it lost events.
const EVENTS_LOST: Counter =
    Counter { name: "events_lost_by_recorder", severity: Severity::Error, help: "", touches: &[] };

/// How a recording is spoilt.
#[derive(Clone, Debug)]
struct Damage {
    seed: u64,
    /// Of 100 rows of each table, how many are dropped, given another thread's id, another processor, another time, or exchanged with the
    /// row before.
    dropped: u64,
    renumbered: u64,
    moved: u64,
    exchanged: u64,
    /// A stretch of which nothing is left, in thousandths of the recording.
    hole: (i64, i64),
    says_it_lost: bool,
}

fn damage() -> impl Strategy<Value = Damage> {
    let share = || prop_oneof![Just(0_u64), 1_u64..5, 30_u64..101];
    (any::<u64>(), share(), share(), share(), share(), (0_i64..1_001, 0_i64..400), any::<bool>()).prop_map(
        |(seed, dropped, renumbered, moved, exchanged, (from, length), says_it_lost)| Damage {
            seed,
            dropped,
            renumbered,
            moved,
            exchanged,
            hole: (from, from + length),
            says_it_lost,
        },
    )
}

/// Numbers in a fixed order from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

fn spoil(trace: &mut Trace, damage: &Damage) {
    let mut numbers = Numbers(damage.seed);
    let per_mille = |part: i64| trace.duration_ns / 1_000 * part;
    let hole = per_mille(damage.hole.0)..per_mille(damage.hole.1);
    let duration = u64::try_from(trace.duration_ns.max(1)).unwrap();
    let mut rows: Vec<ContextSwitch> = Vec::new();
    for mut row in trace.context_switches.iter() {
        if hole.contains(&row.time_ns) || numbers.below(100) < damage.dropped {
            continue;
        }
        if numbers.below(100) < damage.renumbered {
            row.new_tid = row.old_tid;
            row.cpu = u16::try_from(numbers.below(5)).unwrap();
        }
        if numbers.below(1_000) < damage.moved {
            row.time_ns = i64::try_from(numbers.below(duration)).unwrap();
        }
        rows.push(row);
        let last = rows.len() - 1;
        if last > 0 && numbers.below(100) < damage.exchanged {
            rows.swap(last, last - 1);
        }
    }
    trace.context_switches = [ContextSwitches::from_iter(rows)].into_iter().collect();
    let mut rows = Vec::new();
    for mut row in trace.ready_threads.iter() {
        if hole.contains(&row.time_ns) || numbers.below(100) < damage.dropped {
            continue;
        }
        if numbers.below(100) < damage.renumbered {
            row.readying_tid = Some(row.ready_tid);
        }
        if numbers.below(1_000) < damage.moved {
            row.time_ns = i64::try_from(numbers.below(duration)).unwrap();
        }
        rows.push(row);
    }
    trace.ready_threads = [ReadyThreads::from_iter(rows)].into_iter().collect();
    let threads: Vec<Thread> = trace.threads.iter().collect();
    trace.threads = threads.iter().fold(Threads::new(), |mut table, thread| {
        let mut thread = *thread;
        if numbers.below(100) < damage.renumbered {
            // Another's id: lives of one id overlap.
            thread.tid = threads[usize::try_from(numbers.below(threads.len() as u64)).unwrap()].tid;
        }
        if numbers.below(100) < damage.dropped {
            thread.start_ns = None;
        }
        table.push(thread);
        table
    });
    trace.service_transitions =
        trace.service_transitions.iter().fold(ServiceTransitions::new(), |mut table, mut row| {
            if numbers.below(100) < damage.dropped {
                row.end_ns = None;
            }
            table.push(row);
            table
        });
    if damage.says_it_lost {
        trace.losses.add(&EVENTS_LOST, 1 + damage.dropped);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_sum_to_their_phase_in_any_recording(damage in damage(), which in 0_usize..4) {
        let name = ["ids-used-twice", "starved-relay", "two-devices-one-after-the-other", "two-programs-at-shutdown"][which];
        let (mut trace, _) = recorded(name);
        spoil(&mut trace, &damage);
        assert_sums(name, &accounts(&trace, None));
        let diagnosis = diagnose(&trace, &DiagnosisOptions::default());
        prop_assert!(diagnosis.findings.iter().all(|one| one.cost_ns.is_none_or(|ns| ns >= 0)));
    }
}

#[test]
fn a_thread_that_was_made_ready_before_its_phase_gives_it_no_more_than_the_phase() {
    let damage = Damage {
        seed: 18_317_954_499_583_151_163,
        dropped: 81,
        renumbered: 32,
        moved: 37,
        exchanged: 0,
        hole: (900, 1_000),
        says_it_lost: false,
    };
    let (mut trace, _) = recorded("starved-relay");
    spoil(&mut trace, &damage);
    assert_sums("starved-relay", &accounts(&trace, None));
}
