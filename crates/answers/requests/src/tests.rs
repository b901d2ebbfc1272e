//! The paper's numbers, and each finding where it must speak and where it must be silent.

use onoff_trace::{FileIo, FileOperation, IoLevel, Trace};
use proptest::prelude::*;

use super::*;
use onoff_testkit::synthetic::process;

/// A request of process 100.
struct Made {
    file: &'static str,
    operation: FileOperation,
    offset: u64,
    size: u64,
}

fn recording(requests: impl IntoIterator<Item = Made>) -> Trace {
    let mut trace = Trace::default();
    process(&mut trace, 100, "app.exe", None, None);
    for (at, made) in (0..).zip(requests) {
        let file = trace.strings.intern(made.file);
        trace.file_ios.push(FileIo {
            start_ns: at * 1000,
            end_ns: Some(at * 1000 + 500),
            operation: made.operation,
            pid: Some(100),
            tid: Some(104),
            file,
            offset: made.offset,
            size: made.size,
            level: IoLevel::Application,
            unbuffered: false,
            status: Some(0),
            irp: 0,
            file_object: 0,
        });
        trace.duration_ns = at * 1000 + 500;
    }
    trace
}

fn requests(operation: FileOperation, places: impl IntoIterator<Item = (u64, u64)>) -> Vec<Made> {
    places.into_iter().map(|(offset, size)| Made { file: "a.dat", operation, offset, size }).collect()
}

fn report(trace: &Trace, options: &IoOptions) -> IoReport {
    analyze(trace, &Scope::whole(trace), options)
}

fn codes(requests: Vec<Made>) -> Vec<FindingCode> {
    report(&recording(requests), &IoOptions::default()).findings.iter().map(|finding| finding.code).collect()
}

/// The reads of the paper: 49,396 of them, 25,000 of four bytes, 411,945 bytes of two files, the largest 6,428.
fn of_the_paper() -> Vec<Made> {
    let mut sizes = vec![6428_u64];
    sizes.extend([4; 25_000]);
    sizes.extend([13; 10_444]);
    sizes.extend([12; 13_950]);
    let mut made = Vec::new();
    let mut offset = 0;
    for size in sizes {
        made.push(Made { file: "a.dat", operation: FileOperation::Read, offset, size });
        offset += size;
    }
    made.push(Made { file: "b.dat", operation: FileOperation::Read, offset: 0, size: 411_945 - offset });
    made
}

#[test]
fn the_table_of_the_paper_to_the_digit() {
    let trace = recording(of_the_paper());
    let report = report(&trace, &IoOptions::default());
    let [view] = &report.views[..] else { panic!("{}", report.views.len()) };
    let table = &view.table;
    assert_eq!((table.requests, table.bytes), (49_396, 411_945));
    assert_eq!((table.one_operation_pages, table.minimum_pages, table.optimistic_pages), (103, 202, 98_792));
    assert_eq!((table.average_bytes as u64, table.largest_bytes), (8, 6428));
    assert_eq!((table.files, table.unique_pages, table.ideal_pages), (2, 101, 101));
    // "a thousand-fold performance degradation"
    assert!((982.0..984.0).contains(&table.amplification), "{}", table.amplification);
    assert_eq!(view.histogram.exact[2].requests, 25_000);
    // One cache of one page serves a program that reads on.
    assert_eq!(view.cache.pages_for_99_percent, Some(1));
    assert_eq!(view.cache.accesses - view.cache.most_hits(), 101);
    let finding = &report.findings[0];
    assert_eq!((finding.code, finding.of_requests), (FindingCode::Amplification, 49_395));
    let small = report.findings.iter().find(|finding| finding.code == FindingCode::SmallRequests).unwrap();
    // 409,600 bytes are seven blocks of 64 KiB.
    assert_eq!(small.buffered_requests, Some(7));
    assert_eq!(small.time_ns, Some(49_395 * 500));
}

#[test]
fn a_filter_costs_a_thousand_fold_and_a_cache_above_it_gives_it_back() {
    let device = StorageDevice { latency_ns: 100_000, bytes_per_second: 20e6, origin: DeviceOrigin::Given };
    let options = IoOptions { device: Some(device), ..IoOptions::default() };
    let trace = recording(of_the_paper());
    let costs = report(&trace, &options).views[0].filter.unwrap();
    let seconds = |cost: FilterCost| cost.time_ns.unwrap() as f64 / 1e9;
    assert_eq!(costs.filtered.operations, 98_792);
    assert!(seconds(costs.filtered) > 150.0 * seconds(costs.plain_cached), "{costs:?}");
    assert!(seconds(costs.filtered_cached) < 3.0 * seconds(costs.plain_cached), "{costs:?}");
    // Without a device there is no time, and nothing is made up.
    let costs = report(&trace, &IoOptions::default()).views[0].filter.unwrap();
    assert_eq!((costs.device, costs.filtered.time_ns), (None, None));
}

/// The four worlds, counted by hand: 100 µs an operation, 20 bytes a microsecond.
#[test]
fn the_four_worlds_cost_what_their_operations_and_bytes_cost() {
    let device = StorageDevice { latency_ns: 100_000, bytes_per_second: 20e6, origin: DeviceOrigin::Given };
    let options = IoOptions { device: Some(device), ..IoOptions::default() };
    // Four reads of one page, then one of two pages.
    let mut places = vec![(0, 4); 4];
    places.push((4094, 4));
    let costs = |places: &[(u64, u64)], options: &IoOptions| {
        let trace = recording(requests(FileOperation::Read, places.iter().copied()));
        report(&trace, options).views[0].filter.unwrap()
    };
    let found = costs(&places, &options);
    let cost = |operations: u64, pages: u64| FilterCost {
        operations,
        bytes: pages * 4096,
        time_ns: Some((operations * 100_000 + pages * 204_800).try_into().unwrap()),
    };
    // Six pages touched, of which two are different; each request, or each miss, reads one key block more in one more operation.
    assert_eq!((found.plain, found.plain_cached), (cost(5, 6), cost(2, 2)));
    assert_eq!((found.filtered, found.filtered_cached), (cost(10, 11), cost(4, 4)));
    // Without key blocks a filter moves what the device moves.
    let without = costs(&places, &IoOptions { key_blocks: 0, ..options.clone() });
    assert_eq!((without.filtered, without.filtered_cached), (without.plain, without.plain_cached));
    // Three key blocks are neighbors: as many operations as with one.
    let three = costs(&places, &IoOptions { key_blocks: 3, ..options.clone() });
    assert_eq!((three.filtered, three.filtered_cached), (cost(10, 21), cost(4, 8)));
    // A decoy: whole pages once each. No cache helps, and the filter costs its key blocks only.
    let whole: Vec<(u64, u64)> = (0..4).map(|at| (at * 4096, 4096)).collect();
    let found = costs(&whole, &options);
    assert_eq!((found.plain, found.plain_cached), (cost(4, 4), cost(4, 4)));
    assert_eq!((found.filtered, found.filtered_cached), (cost(8, 8), cost(8, 8)));
}

/// Caches as a program would write them that knows no distances: a list, the page used last at its end.
fn hits_of_a_list(accesses: &[(usize, u64)], most: usize) -> u64 {
    let (mut list, mut hits) = (Vec::new(), 0);
    for access in accesses.iter().take(if most == 0 { 0 } else { usize::MAX }) {
        match list.iter().position(|other| other == access) {
            Some(at) => {
                hits += 1;
                list.remove(at);
            }
            None if list.len() == most => {
                list.remove(0);
            }
            None => {}
        }
        list.push(*access);
    }
    hits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// The curves of pages, of groups of pages that are read ahead, and of pages with the files' key blocks: each point, and each
    /// smallest cache, is what a cache of that size does.
    #[test]
    fn curves_are_what_caches_do(
        made in prop::collection::vec((0..3_usize, 0..60_u64, 1..3 * 4096_u64), 1..150),
        ahead in prop_oneof![Just(8_u64), 2..12_u64],
    ) {
        const FILES: [&str; 3] = ["a", "b", "c"];
        let trace = recording(made.iter().map(|&(file, block, size)| Made {
            file: FILES[file],
            operation: FileOperation::Read,
            offset: block * 1111,
            size,
        }));
        let options = IoOptions { read_ahead_pages: ahead, ..IoOptions::default() };
        let report = report(&trace, &options);
        let (mut pages, mut units, mut keyed) = (Vec::new(), Vec::new(), Vec::new());
        for &(file, block, size) in &made {
            let (first, last) = (block * 1111 / 4096, (block * 1111 + size - 1) / 4096);
            // The key block of a file is a page that it does not have.
            keyed.push((file, u64::MAX));
            keyed.extend((first..=last).map(|page| (file, page)));
            pages.extend((first..=last).map(|page| (file, page)));
            units.extend((first / ahead..=last / ahead).map(|unit| (file, unit)));
        }
        let view = &report.views[0];
        for (curve, accesses, group) in [
            (&view.cache, &pages, 1),
            (view.cache_with_read_ahead.as_ref().unwrap(), &units, ahead),
            (view.cache_with_key_blocks.as_ref().unwrap(), &keyed, 1),
        ] {
            prop_assert_eq!(curve.accesses, accesses.len() as u64);
            prop_assert_eq!(curve.sampled, None);
            for point in &curve.points {
                prop_assert_eq!(point.hits, hits_of_a_list(accesses, (point.pages / group) as usize));
            }
            let most = hits_of_a_list(accesses, usize::MAX);
            prop_assert_eq!(curve.most_hits(), most);
            let smallest = [curve.pages_for_50_percent, curve.pages_for_90_percent, curve.pages_for_99_percent];
            for (percent, smallest) in [50, 90, 99].into_iter().zip(smallest) {
                let Some(pages) = smallest else {
                    prop_assert_eq!(most, 0);
                    continue;
                };
                let enough = |pages: u64| hits_of_a_list(accesses, (pages / group) as usize) * 100 >= most * percent;
                prop_assert!(enough(pages) && !enough(pages - group), "{} % with {} pages", percent, pages);
            }
        }
    }
}

#[test]
fn programs_the_memory_manager_and_disks_are_kept_apart() {
    let mut made = requests(FileOperation::Read, [(0, 10), (10, 10)]);
    made.push(Made { file: "a.dat", operation: FileOperation::Read, offset: 0, size: 4096 });
    made.push(Made { file: "a.dat", operation: FileOperation::Write, offset: 0, size: 100 });
    let mut trace = recording(made);
    trace.file_ios.level[2] = IoLevel::Paging;
    trace.file_ios.status.set(1, Some(0xC000_0011));
    let report = report(&trace, &IoOptions::default());
    let kinds: Vec<_> = report.views.iter().map(|view| (view.level, view.direction, view.table.requests)).collect();
    assert_eq!(kinds, [("application", "read", 1), ("application", "write", 1), ("paging", "read", 1)]);
    assert_eq!(report.reads_at_end, 1);
}

#[test]
fn groups_by_any_key_hold_all_requests() {
    let mut made = requests(FileOperation::Read, [(0, 10), (5000, 10)]);
    made.push(Made { file: r"C:\x\b.TXT", operation: FileOperation::Read, offset: 0, size: 1 });
    let trace = recording(made);
    for by in [
        vec![],
        vec![GroupKey::Process],
        vec![GroupKey::File],
        vec![GroupKey::Extension],
        vec![GroupKey::Folder],
        vec![GroupKey::Handle],
        vec![GroupKey::Process, GroupKey::Slice],
    ] {
        let options = IoOptions { by: by.clone(), slice_ns: 1000, ..IoOptions::default() };
        let groups = &report(&trace, &options).views[0].groups;
        assert_eq!(groups.iter().map(|group| group.table.requests).sum::<u64>(), 3, "{by:?}");
        assert_eq!(groups.iter().map(|group| group.table.bytes).sum::<u64>(), 21, "{by:?}");
    }
    let options = IoOptions { by: vec![GroupKey::Extension], ..IoOptions::default() };
    let report = report(&trace, &options);
    let extensions: Vec<_> = report.views[0].groups.iter().map(|group| group.extension.as_str()).collect();
    assert_eq!(extensions, ["dat", "txt"]);
}

#[test]
fn requests_belong_to_the_phase_in_which_they_begin() {
    // One request each microsecond.
    let trace = recording(requests(FileOperation::Read, (0..10).map(|at| (at * 4096, 4096))));
    let phase = |name: &str, start_ns, end_ns| TransitionPhase {
        transition: onoff_transitions::TransitionKind::Boot,
        name: name.to_owned(),
        range: Interval::new(start_ns, end_ns),
    };
    let phases = vec![phase("PreSMSS", 0, 2000), phase("SMSSInit", 2000, 7000)];
    let options = IoOptions { by: vec![GroupKey::Phase], phases, ..IoOptions::default() };
    let groups = report(&trace, &options).views[0].groups.clone();
    let counts: Vec<_> = groups.iter().map(|group| (group.phase.as_str(), group.table.requests)).collect();
    assert_eq!(counts, [("SMSSInit", 5), ("", 3), ("PreSMSS", 2)]);
}

#[test]
fn the_curves_of_groups_are_those_of_their_own_requests() {
    // Two processes take turns: one reads one page again and again, the other goes round eight pages.
    let mut made = Vec::new();
    for at in 0..4000_u64 {
        made.push(Made { file: "one", operation: FileOperation::Read, offset: 0, size: 4096 });
        made.push(Made { file: "eight", operation: FileOperation::Read, offset: at * 3 % 8 * 4096, size: 4096 });
    }
    let trace = recording(made);
    for by in [vec![GroupKey::Process, GroupKey::File], vec![GroupKey::File], vec![GroupKey::File, GroupKey::Slice]] {
        let options = IoOptions { by, slice_ns: i64::MAX, ..IoOptions::default() };
        let report = report(&trace, &options);
        let pages: Vec<_> = report.views[0]
            .groups
            .iter()
            .map(|group| (group.file.as_str(), group.cache.as_ref().and_then(|curve| curve.pages_for_99_percent)))
            .collect();
        assert_eq!(pages, [("eight", Some(8)), ("one", Some(1))]);
        // Over all, both share a cache.
        assert_eq!(report.views[0].cache.pages_for_99_percent, Some(9));
        assert_eq!(report.findings.iter().map(|finding| finding.cache_pages).collect::<Vec<_>>(), [Some(8), Some(1)]);
    }
}

#[test]
fn small_requests_speak_above_the_limit_only() {
    let small = |count| requests(FileOperation::Read, (0..count).map(|at| (at * 4, 4)));
    assert!(codes(small(2000)).contains(&FindingCode::SmallRequests));
    assert_eq!(codes(small(1000)), []);
    // As many small ones among four times as many large ones: a share that nobody notices.
    let mut mixed = small(1500);
    mixed.extend(requests(FileOperation::Read, (0..6000).map(|at| (at * 65_536, 65_536))));
    assert!(!codes(mixed).contains(&FindingCode::SmallRequests));
}

#[test]
fn amplification_is_what_a_filter_would_move_and_not_the_number_of_requests() {
    // 3,000 reads of 600 bytes: each reads its block and the key block, 13.7 times its bytes.
    let speaks = codes(requests(FileOperation::Read, (0..3000).map(|at| (at * 4096, 600))));
    assert_eq!(speaks, [FindingCode::Amplification]);
    // As many of 2,048 bytes: four times.
    assert_eq!(codes(requests(FileOperation::Read, (0..3000).map(|at| (at * 4096, 2048)))), []);
    // A decoy: many requests are small, but the bytes come in large ones.
    let mut mixed = requests(FileOperation::Read, (0..1000).map(|at| (at * 4096, 600)));
    mixed.extend(requests(FileOperation::Read, (0..3000).map(|at| (at * 65_536, 65_536))));
    assert_eq!(codes(mixed), []);
    // Too few to be worth a change.
    assert_eq!(codes(requests(FileOperation::Read, (0..1000).map(|at| (at * 4096, 600)))), []);
}

#[test]
fn reading_again_is_not_reading_on() {
    let again = requests(FileOperation::Read, (0..5000).map(|at| ((at * 7 % 10) * 4096, 4096)));
    assert_eq!(codes(again), [FindingCode::ReadAgain]);
    let once = requests(FileOperation::Read, (0..5000).map(|at| (at * 4096, 4096)));
    assert_eq!(codes(once), []);
    // Small steps touch each page often, but never go back.
    let on = requests(FileOperation::Read, (0..5000).map(|at| (at * 600, 600)));
    assert!(!codes(on).contains(&FindingCode::ReadAgain));
}

#[test]
fn writes_in_no_order_and_flushes_after_each() {
    let scattered = requests(FileOperation::Write, (0..3000_u64).map(|at| (at * 7_919 % 3001 * 4096, 4096)));
    assert!(codes(scattered).contains(&FindingCode::ScatteredWrites));
    let ordered = requests(FileOperation::Write, (0..3000).map(|at| (at * 4096, 4096)));
    assert_eq!(codes(ordered), []);
    let strided = requests(FileOperation::Write, (0..3000).map(|at| (at * 65_536, 4096)));
    assert_eq!(codes(strided), []);

    let flushed = |every: u64| {
        let mut made = Vec::new();
        for at in 0..500 {
            made.extend(requests(FileOperation::Write, [(at * 4096, 4096)]));
            if at % every == 0 {
                made.extend(requests(FileOperation::Flush, [(0, 0)]));
            }
        }
        made
    };
    assert_eq!(codes(flushed(1)), [FindingCode::FlushAfterWrite]);
    assert_eq!(codes(flushed(10)), []);
    // Reads do not wait for flushes of others.
    let mut reads = requests(FileOperation::Read, (0..500).map(|at| (at * 4096, 4096)));
    reads.extend(requests(FileOperation::Flush, (0..500).map(|_| (0, 0))));
    assert_eq!(codes(reads), []);
}

#[test]
fn misaligned_large_requests_and_small_ones_past_the_cache() {
    let off = requests(FileOperation::Read, (0..3000).map(|at| (at * 8192 + 512, 8192)));
    assert_eq!(codes(off), [FindingCode::Misaligned]);
    let aligned = requests(FileOperation::Read, (0..3000).map(|at| (at * 8192, 8192)));
    assert_eq!(codes(aligned), []);

    let mut trace = recording(requests(FileOperation::Read, (0..3000).map(|at| (at * 512, 512))));
    trace.file_ios.unbuffered.fill(true);
    let found = |trace: &Trace| {
        let report = report(trace, &IoOptions::default());
        report.findings.iter().any(|finding| finding.code == FindingCode::Unbuffered)
    };
    assert!(found(&trace));
    trace.file_ios.unbuffered.fill(false);
    assert!(!found(&trace));
    // Decoys: whole pages past the cache are how it is meant, and small requests that start inside pages cannot be aligned.
    let mut trace = recording(requests(FileOperation::Read, (0..3000).map(|at| (at * 4096, 4096))));
    trace.file_ios.unbuffered.fill(true);
    assert!(!found(&trace));
    let small = requests(FileOperation::Read, (0..3000).map(|at| (at * 8192 + 512, 2048)));
    assert_eq!(codes(small), []);
}

#[test]
fn a_comparison_names_what_only_one_side_has() {
    let with = report(&recording(requests(FileOperation::Read, [(0, 10), (10, 10)])), &IoOptions::default());
    let without = report(&recording(requests(FileOperation::Write, [(0, 10)])), &IoOptions::default());
    let changes = compare(&without, &with).changes;
    let of = |direction: &str, measure: &str| {
        let change = changes.iter().find(|change| (change.direction, change.measure) == (direction, measure)).unwrap();
        (change.was, change.is)
    };
    assert_eq!(of("read", "requests"), (None, Some(2.0)));
    assert_eq!(of("write", "bytes"), (Some(10.0), None));
}

#[test]
fn requests_larger_than_anything_end() {
    let trace = recording(requests(FileOperation::Read, [(0, u64::MAX), (u64::MAX, u64::MAX), (5, 0)]));
    let report = report(&trace, &IoOptions::default());
    assert!(report.pages_not_followed > 0);
    assert_eq!(report.views[0].table.requests, 3);
}
