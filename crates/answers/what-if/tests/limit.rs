//! Lower bounds.

use onoff_what_if::limit::{BoundKind, Limit, NoBound, limit};
use onoff_what_if::prediction::{NoPrediction, WhatIfQuestion};

use crate::support::{GROUP, boot_with, first, measured_ns, remove_services, scenario, service, simulate};

const MS: i64 = 1_000_000;

fn limit_of(trace: &onoff_trace::Trace) -> Limit {
    let limit = limit(trace, &WhatIfQuestion::default()).unwrap();
    let bounds: Vec<_> = limit.bounds.iter().map(|bound| (bound.bound, bound.ns.map(|ns| ns / MS))).collect();
    println!(
        "LIMIT {} ms: {bounds:?}, timers {:?}, contention {:?}, {:?}",
        limit.measured_ns / MS,
        limit.timers_ns.map(|ns| ns / MS),
        limit.contention_ns.map(|ns| ns / MS),
        limit.bottleneck
    );
    for bound in &limit.bounds {
        assert_eq!(bound.ns.is_none(), bound.no_bound.is_some());
        assert!(bound.ns.is_none_or(|ns| (0..=limit.measured_ns).contains(&ns)));
    }
    limit
}

fn bound(limit: &Limit, kind: BoundKind) -> i64 {
    limit.bounds.iter().find(|bound| bound.bound == kind).unwrap().ns.unwrap()
}

#[test]
fn timers_are_what_a_sleeping_service_costs() {
    let slow = first(boot_with(&service("SleeperSvc", GROUP, "\"sleep 4s\"")), 1);
    let limit = limit_of(&simulate(&slow));
    let timers_ns = limit.timers_ns.unwrap();
    assert!(timers_ns >= 3_500 * MS, "{timers_ns}");
    // No bound is above a machine without the sleep.
    let without_ns = measured_ns(&simulate(&remove_services(&slow, &["SleeperSvc"])));
    assert!(bound(&limit, BoundKind::ChainWithoutTimers) <= without_ns);
    assert!(bound(&limit, BoundKind::Chain) > bound(&limit, BoundKind::ChainWithoutTimers));
    let shortest_ns = limit.shortest_ns.unwrap();
    assert_eq!(
        limit.measured_ns - limit.contention_ns.unwrap() - timers_ns,
        bound(&limit, BoundKind::ChainWithoutTimers)
    );
    assert!(shortest_ns <= without_ns && shortest_ns >= bound(&limit, BoundKind::Processors));
}

#[test]
fn computing_service_stays_in_every_chain() {
    let slow = first(boot_with(&service("CruncherSvc", GROUP, "\"cpu 2500ms\"")), 1);
    let healthy = limit_of(&simulate(&boot_with("")));
    let limit = limit_of(&simulate(&slow));
    for kind in [BoundKind::Chain, BoundKind::ChainWithoutTimers] {
        assert!(bound(&limit, kind) - bound(&healthy, kind) > 2_000 * MS, "{kind:?}");
    }
    assert!(bound(&limit, BoundKind::Processors) > bound(&healthy, BoundKind::Processors) + 500 * MS);
    assert_eq!(limit.bottleneck.as_ref().unwrap().name, "CruncherSvc");
}

#[test]
fn work_off_the_path_does_not_raise_a_bound() {
    // Decoy: nothing depends on the low-priority program.
    let hog = "[[process]]\nimage = \"\\\\Program Files\\\\Fold\\\\fold.exe\"\nat = \"1s\"\n[[process.thread]]\n\
               priority = 4\nwork = [\"cpu 6s\"]\n";
    let (healthy, hog) = (limit_of(&simulate(&boot_with(""))), limit_of(&simulate(&boot_with(hog))));
    for kind in [BoundKind::Chain, BoundKind::Processors, BoundKind::ChainWithoutTimers] {
        assert!((bound(&hog, kind) - bound(&healthy, kind)).abs() < 100 * MS, "{kind:?}");
    }
}

#[test]
fn bytes_are_read_at_the_bandwidth_of_the_disk() {
    let mut slow = first(boot_with(&service("ReaderSvc", GROUP, "\"read 400x64KiB \\\\Data\\\\big.db\"")), 1);
    slow.machine.disk_per_mib = onoff_simulator::TickDuration(400_000);
    let healthy = boot_with("");
    let limit = limit_of(&simulate(&slow));
    // 25 MiB at 40 ms per MiB and an access per request.
    let pre_boot_ns = bound(&limit_of(&simulate(&healthy)), BoundKind::DiskReads).min(1_000 * MS);
    assert!(bound(&limit, BoundKind::DiskReads) >= 900 * MS, "{pre_boot_ns}");
    assert!(bound(&limit, BoundKind::DiskReads) < limit.measured_ns);
}

#[test]
fn unknown_bounds_have_a_reason() {
    let limit = limit_of(&simulate(&scenario("ready-events-missing")));
    assert_eq!(limit.no_prediction, Some(NoPrediction::PathUnknown));
    assert_eq!((limit.shortest_ns, limit.timers_ns, limit.bottleneck), (None, None, None));
    assert!(limit.bounds.iter().any(|bound| bound.no_bound == Some(NoBound::NoReplay)));
}
