//! The paper's numbers, and positive and negative cases of each finding.

use onoff_trace::{FileIo, FileOperation, IoOrigin, Trace};
use proptest::prelude::*;

use super::*;
use onoff_testkit::synthetic::process;

/// A request of process 100.
struct TestRequest {
    file: &'static str,
    operation: FileOperation,
    offset: u64,
    size: u64,
}

fn recording(requests: impl IntoIterator<Item = TestRequest>) -> Trace {
    let mut trace = Trace::default();
    process(&mut trace, 100, "app.exe", None, None);
    for (index, request) in (0..).zip(requests) {
        let file = trace.strings.intern(request.file);
        trace.file_ios.push(FileIo {
            start_ns: index * 1000,
            end_ns: Some(index * 1000 + 500),
            operation: request.operation,
            pid: Some(100),
            tid: Some(104),
            file,
            offset: request.offset,
            size: request.size,
            level: IoOrigin::Application,
            unbuffered: false,
            status: Some(0),
            irp: 0,
            file_object: 0,
        });
        trace.duration_ns = index * 1000 + 500;
    }
    trace
}

fn requests(operation: FileOperation, ranges: impl IntoIterator<Item = (u64, u64)>) -> Vec<TestRequest> {
    ranges.into_iter().map(|(offset, size)| TestRequest { file: "a.dat", operation, offset, size }).collect()
}

fn report(trace: &Trace, options: &IoOptions) -> IoReport {
    analyze(trace, &Scope::whole_recording(trace), options)
}

fn codes(requests: Vec<TestRequest>) -> Vec<FindingCode> {
    let findings = report(&recording(requests), &IoOptions::default()).findings;
    findings.iter().flat_map(|finding| std::iter::once(finding.code).chain(finding.also.clone())).collect()
}

/// Returns the reads in the paper: 49,396, of which 25,000 have four bytes; 411,945 bytes in two files, the largest
/// 6,428.
fn paper_requests() -> Vec<TestRequest> {
    let mut sizes = vec![6428_u64];
    sizes.extend([4; 25_000]);
    sizes.extend([13; 10_444]);
    sizes.extend([12; 13_950]);
    let mut requests = Vec::new();
    let mut offset = 0;
    for size in sizes {
        requests.push(TestRequest { file: "a.dat", operation: FileOperation::Read, offset, size });
        offset += size;
    }
    requests.push(TestRequest { file: "b.dat", operation: FileOperation::Read, offset: 0, size: 411_945 - offset });
    requests
}

#[test]
fn reproduces_table_of_paper() {
    let trace = recording(paper_requests());
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
    // A cache of one page suffices for sequential reads.
    assert_eq!(view.cache.pages_for_99_percent, Some(1));
    assert_eq!(view.cache.accesses - view.cache.max_hits(), 101);
    // One cause is one finding.
    let [small] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
    assert_eq!((small.code, small.total_requests), (FindingCode::SmallRequests, 49_395));
    assert_eq!(small.also, [FindingCode::Amplification]);
    assert!((988.0..989.0).contains(&small.amplification.unwrap()), "{:?}", small.amplification);
    // 409,600 bytes are seven blocks of 64 KiB.
    assert_eq!(small.buffered_requests, Some(7));
    let bytes = small.files.iter().map(|file| (file.file.as_str(), file.total_requests)).collect::<Vec<_>>();
    assert_eq!(bytes, [("a.dat", 49_395)]);
    // Replayed, the buffer reads each byte once.
    let cure = small.cure.unwrap();
    assert_eq!((cure.requests, cure.helps, cure.buffer_bytes), (7, true, 65_536));
    assert_eq!(cure.bytes, table.bytes - report.views[0].groups[1].table.bytes);
    assert_eq!(small.time_ns, Some(49_395 * 500));
}

#[test]
fn cache_above_filter_recovers_its_cost() {
    let device = StorageDevice { latency_ns: 100_000, bytes_per_second: 20e6, origin: DeviceOrigin::Given };
    let options = IoOptions { device: Some(device), ..IoOptions::default() };
    let trace = recording(paper_requests());
    let costs = report(&trace, &options).views[0].filter.unwrap();
    let seconds = |cost: FilterCost| cost.time_ns.unwrap() as f64 / 1e9;
    assert_eq!(costs.filtered.operations, 98_792);
    assert!(seconds(costs.filtered) > 150.0 * seconds(costs.plain_cached), "{costs:?}");
    assert!(seconds(costs.filtered_cached) < 3.0 * seconds(costs.plain_cached), "{costs:?}");
    // Without a device there are no times.
    let costs = report(&trace, &IoOptions::default()).views[0].filter.unwrap();
    assert_eq!((costs.device, costs.filtered.time_ns), (None, None));
}

/// The four configurations computed by hand: 100 µs per operation, 20 bytes per µs.
#[test]
fn computes_cost_of_each_configuration() {
    let device = StorageDevice { latency_ns: 100_000, bytes_per_second: 20e6, origin: DeviceOrigin::Given };
    let options = IoOptions { device: Some(device), ..IoOptions::default() };
    // Four reads of one page, then one of two pages.
    let mut ranges = vec![(0, 4); 4];
    ranges.push((4094, 4));
    let costs = |ranges: &[(u64, u64)], options: &IoOptions| {
        let trace = recording(requests(FileOperation::Read, ranges.iter().copied()));
        report(&trace, options).views[0].filter.unwrap()
    };
    let actual = costs(&ranges, &options);
    let cost = |operations: u64, pages: u64| FilterCost {
        operations,
        bytes: pages * 4096,
        time_ns: Some((operations * 100_000 + pages * 204_800).try_into().unwrap()),
    };
    // Six page accesses to two distinct pages. Each request, or each miss, reads one key block more in one more
    // operation.
    assert_eq!((actual.plain, actual.plain_cached), (cost(5, 6), cost(2, 2)));
    assert_eq!((actual.filtered, actual.filtered_cached), (cost(10, 11), cost(4, 4)));
    // Without key blocks a filter transfers what the device transfers.
    let without_keys = costs(&ranges, &IoOptions { key_blocks: 0, ..options.clone() });
    assert_eq!((without_keys.filtered, without_keys.filtered_cached), (without_keys.plain, without_keys.plain_cached));
    // Three contiguous key blocks need as many operations as one.
    let three_keys = costs(&ranges, &IoOptions { key_blocks: 3, ..options.clone() });
    assert_eq!((three_keys.filtered, three_keys.filtered_cached), (cost(10, 21), cost(4, 8)));
    // Decoy: whole pages, once each. No cache helps, and the filter adds only its key blocks.
    let full_pages: Vec<(u64, u64)> = (0..4).map(|page| (page * 4096, 4096)).collect();
    let actual = costs(&full_pages, &options);
    assert_eq!((actual.plain, actual.plain_cached), (cost(4, 4), cost(4, 4)));
    assert_eq!((actual.filtered, actual.filtered_cached), (cost(8, 8), cost(8, 8)));
}

/// Counts the hits of a naive LRU cache: a list with the most recent page at its end.
fn naive_lru_hits(accesses: &[(usize, u64)], capacity: usize) -> u64 {
    let (mut list, mut hits) = (Vec::new(), 0);
    for access in accesses.iter().take(if capacity == 0 { 0 } else { usize::MAX }) {
        match list.iter().position(|item| item == access) {
            Some(position) => {
                hits += 1;
                list.remove(position);
            }
            None if list.len() == capacity => {
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
    /// Curves for pages, for read-ahead groups, and for pages with key blocks: every point and every smallest cache
    /// matches a naive cache of that size.
    #[test]
    fn curves_match_naive_caches(
        requests in prop::collection::vec((0..3_usize, 0..60_u64, 1..3 * 4096_u64), 1..150),
        read_ahead_pages in prop_oneof![Just(8_u64), 2..12_u64],
        key_blocks in 1..4_u64,
    ) {
        const FILES: [&str; 3] = ["a", "b", "c"];
        let trace = recording(requests.iter().map(|&(file, block, size)| TestRequest {
            file: FILES[file],
            operation: FileOperation::Read,
            offset: block * 1111,
            size,
        }));
        let options = IoOptions { read_ahead_pages, key_blocks, ..IoOptions::default() };
        let report = report(&trace, &options);
        let (mut pages, mut units, mut keyed) = (Vec::new(), Vec::new(), Vec::new());
        for &(file, block, size) in &requests {
            let (first, last) = (block * 1111 / 4096, (block * 1111 + size - 1) / 4096);
            // The key blocks of a file are modeled as nonexistent pages.
            keyed.extend((0..key_blocks).map(|key| (file, u64::MAX - key)));
            keyed.extend((first..=last).map(|page| (file, page)));
            pages.extend((first..=last).map(|page| (file, page)));
            units.extend((first / read_ahead_pages..=last / read_ahead_pages).map(|unit| (file, unit)));
        }
        let view = &report.views[0];
        for (curve, accesses, group) in [
            (&view.cache, &pages, 1),
            (view.cache_with_read_ahead.as_ref().unwrap(), &units, read_ahead_pages),
            (view.cache_with_key_blocks.as_ref().unwrap(), &keyed, 1),
        ] {
            prop_assert_eq!(curve.accesses, accesses.len() as u64);
            prop_assert_eq!(curve.sampled, None);
            for point in &curve.points {
                prop_assert_eq!(point.hits, naive_lru_hits(accesses, (point.pages / group) as usize));
            }
            let max_hits = naive_lru_hits(accesses, usize::MAX);
            prop_assert_eq!(curve.max_hits(), max_hits);
            let smallest = [curve.pages_for_50_percent, curve.pages_for_90_percent, curve.pages_for_99_percent];
            for (percent, smallest) in [50, 90, 99].into_iter().zip(smallest) {
                let Some(pages) = smallest else {
                    prop_assert_eq!(max_hits, 0);
                    continue;
                };
                let hits = |pages: u64| naive_lru_hits(accesses, (pages / group) as usize);
                let is_enough = |pages: u64| hits(pages) * 100 >= max_hits * percent;
                prop_assert!(is_enough(pages) && !is_enough(pages - group), "{} % with {} pages", percent, pages);
            }
        }
    }
}

#[test]
fn separates_levels() {
    let mut requests = requests(FileOperation::Read, [(0, 10), (10, 10)]);
    requests.push(TestRequest { file: "a.dat", operation: FileOperation::Read, offset: 0, size: 4096 });
    requests.push(TestRequest { file: "a.dat", operation: FileOperation::Write, offset: 0, size: 100 });
    let mut trace = recording(requests);
    trace.file_ios.level[2] = IoOrigin::Paging;
    trace.file_ios.status.set(1, Some(0xC000_0011));
    let report = report(&trace, &IoOptions::default());
    let kinds: Vec<_> = report.views.iter().map(|view| (view.level, view.direction, view.table.requests)).collect();
    assert_eq!(kinds, [("application", "read", 1), ("application", "write", 1), ("paging", "read", 1)]);
    assert_eq!(report.reads_at_end, 1);
}

#[test]
fn groups_contain_all_requests() {
    let mut requests = requests(FileOperation::Read, [(0, 10), (5000, 10)]);
    requests.push(TestRequest { file: r"C:\x\b.TXT", operation: FileOperation::Read, offset: 0, size: 1 });
    let trace = recording(requests);
    for by in [
        vec![],
        vec![GroupKey::Process],
        vec![GroupKey::File],
        vec![GroupKey::Extension],
        vec![GroupKey::Folder],
        vec![GroupKey::Handle],
        vec![GroupKey::Process, GroupKey::Slice],
    ] {
        let options = IoOptions { group_by: by.clone(), slice_ns: 1000, ..IoOptions::default() };
        let groups = &report(&trace, &options).views[0].groups;
        assert_eq!(groups.iter().map(|group| group.table.requests).sum::<u64>(), 3, "{by:?}");
        assert_eq!(groups.iter().map(|group| group.table.bytes).sum::<u64>(), 21, "{by:?}");
    }
    let options = IoOptions { group_by: vec![GroupKey::Extension], ..IoOptions::default() };
    let report = report(&trace, &options);
    let extensions: Vec<_> = report.views[0].groups.iter().map(|group| group.extension.as_str()).collect();
    assert_eq!(extensions, ["dat", "txt"]);
}

#[test]
fn assigns_requests_to_phase_of_their_start() {
    // One request per microsecond.
    let trace = recording(requests(FileOperation::Read, (0..10).map(|index| (index * 4096, 4096))));
    let phase = |name: &str, start_ns, end_ns| TransitionPhase {
        transition: onoff_transitions::TransitionKind::Boot,
        name: name.to_owned(),
        range: Interval::new(start_ns, end_ns),
    };
    let phases = vec![phase("PreSMSS", 0, 2000), phase("SMSSInit", 2000, 7000)];
    let options = IoOptions { group_by: vec![GroupKey::Phase], phases, ..IoOptions::default() };
    let groups = report(&trace, &options).views[0].groups.clone();
    let counts: Vec<_> = groups.iter().map(|group| (group.phase.as_str(), group.table.requests)).collect();
    assert_eq!(counts, [("SMSSInit", 5), ("", 3), ("PreSMSS", 2)]);
}

#[test]
fn group_curves_cover_own_requests_only() {
    // Alternating files: one reads one page repeatedly, the other cycles through eight pages.
    let mut requests = Vec::new();
    for index in 0..4000_u64 {
        requests.push(TestRequest { file: "one", operation: FileOperation::Read, offset: 0, size: 4096 });
        requests.push(TestRequest {
            file: "eight",
            operation: FileOperation::Read,
            offset: index * 3 % 8 * 4096,
            size: 4096,
        });
    }
    let trace = recording(requests);
    for by in [vec![GroupKey::Process, GroupKey::File], vec![GroupKey::File], vec![GroupKey::File, GroupKey::Slice]] {
        let options = IoOptions { group_by: by, slice_ns: i64::MAX, ..IoOptions::default() };
        let report = report(&trace, &options);
        let pages: Vec<_> = report.views[0]
            .groups
            .iter()
            .map(|group| (group.file.as_str(), group.cache.as_ref().and_then(|curve| curve.pages_for_99_percent)))
            .collect();
        assert_eq!(pages, [("eight", Some(8)), ("one", Some(1))]);
        // In the total, both share a cache.
        assert_eq!(report.views[0].cache.pages_for_99_percent, Some(9));
        let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
        assert_eq!((finding.file_count, finding.cache_pages), (2, Some(9)));
    }
}

#[test]
fn reports_small_requests_above_limit() {
    let small = |count| requests(FileOperation::Read, (0..count).map(|index| (index * 4, 4)));
    assert!(codes(small(2000)).contains(&FindingCode::SmallRequests));
    assert_eq!(codes(small(1000)), []);
    // Small requests among four times as many large ones: an insignificant share.
    let mut mixed = small(1500);
    mixed.extend(requests(FileOperation::Read, (0..6000).map(|index| (index * 65_536, 65_536))));
    assert!(!codes(mixed).contains(&FindingCode::SmallRequests));
}

#[test]
fn reports_amplification_by_bytes() {
    // 3,000 reads of 600 bytes: each reads its block and the key block, 13.7 times its bytes.
    let reported = codes(requests(FileOperation::Read, (0..3000).map(|index| (index * 4096, 600))));
    assert_eq!(reported, [FindingCode::Amplification]);
    // 2,048 bytes each: four times.
    assert_eq!(codes(requests(FileOperation::Read, (0..3000).map(|index| (index * 4096, 2048)))), []);
    // Decoy: many small requests, but most bytes come in large ones.
    let mut mixed = requests(FileOperation::Read, (0..1000).map(|index| (index * 4096, 600)));
    mixed.extend(requests(FileOperation::Read, (0..3000).map(|index| (index * 65_536, 65_536))));
    assert_eq!(codes(mixed), []);
    // Too few requests.
    assert_eq!(codes(requests(FileOperation::Read, (0..1000).map(|index| (index * 4096, 600)))), []);
}

#[test]
fn reports_repeated_but_not_sequential_reads() {
    let repeated = requests(FileOperation::Read, (0..5000).map(|index| ((index * 7 % 10) * 4096, 4096)));
    assert_eq!(codes(repeated), [FindingCode::RepeatedReads]);
    let once = requests(FileOperation::Read, (0..5000).map(|index| (index * 4096, 4096)));
    assert_eq!(codes(once), []);
    // Small sequential reads access each page often, but never go back.
    let sequential = requests(FileOperation::Read, (0..5000).map(|index| (index * 600, 600)));
    assert!(!codes(sequential).contains(&FindingCode::RepeatedReads));
}

#[test]
fn reports_scattered_writes_and_flushes() {
    let scattered = requests(FileOperation::Write, (0..3000_u64).map(|index| (index * 7_919 % 3001 * 4096, 4096)));
    assert!(codes(scattered).contains(&FindingCode::ScatteredWrites));
    let ordered = requests(FileOperation::Write, (0..3000).map(|index| (index * 4096, 4096)));
    assert_eq!(codes(ordered), []);
    let strided = requests(FileOperation::Write, (0..3000).map(|index| (index * 65_536, 4096)));
    assert_eq!(codes(strided), []);

    let flushed = |writes_per_flush: u64| {
        let mut list = Vec::new();
        for index in 0..500 {
            list.extend(requests(FileOperation::Write, [(index * 4096, 4096)]));
            if index % writes_per_flush == 0 {
                list.extend(requests(FileOperation::Flush, [(0, 0)]));
            }
        }
        list
    };
    assert_eq!(codes(flushed(1)), [FindingCode::FlushAfterWrite]);
    assert_eq!(codes(flushed(10)), []);
    // Reads do not wait for flushes.
    let mut reads = requests(FileOperation::Read, (0..500).map(|index| (index * 4096, 4096)));
    reads.extend(requests(FileOperation::Flush, (0..500).map(|_| (0, 0))));
    assert_eq!(codes(reads), []);
}

#[test]
fn reports_misaligned_and_unbuffered_requests() {
    let misaligned = requests(FileOperation::Read, (0..3000).map(|index| (index * 8192 + 512, 8192)));
    assert_eq!(codes(misaligned), [FindingCode::Misaligned]);
    let aligned = requests(FileOperation::Read, (0..3000).map(|index| (index * 8192, 8192)));
    assert_eq!(codes(aligned), []);

    let mut trace = recording(requests(FileOperation::Read, (0..3000).map(|index| (index * 512, 512))));
    trace.file_ios.unbuffered.fill(true);
    let has_small_unbuffered = |trace: &Trace| {
        let report = report(trace, &IoOptions::default());
        report.findings.iter().any(|finding| finding.code == FindingCode::SmallUnbuffered)
    };
    assert!(has_small_unbuffered(&trace));
    trace.file_ios.unbuffered.fill(false);
    assert!(!has_small_unbuffered(&trace));
    // Decoys: uncached whole pages are normal, and small requests inside pages cannot be aligned.
    let mut trace = recording(requests(FileOperation::Read, (0..3000).map(|index| (index * 4096, 4096))));
    trace.file_ios.unbuffered.fill(true);
    assert!(!has_small_unbuffered(&trace));
    let small = requests(FileOperation::Read, (0..3000).map(|index| (index * 8192 + 512, 2048)));
    assert_eq!(codes(small), []);
}

#[test]
fn compares_measures_of_one_side() {
    let reads = report(&recording(requests(FileOperation::Read, [(0, 10), (10, 10)])), &IoOptions::default());
    let writes = report(&recording(requests(FileOperation::Write, [(0, 10)])), &IoOptions::default());
    let changes = compare(&writes, &reads).changes;
    let change_of = |direction: &str, measure: &str| {
        let change = changes.iter().find(|change| (change.direction, change.measure) == (direction, measure)).unwrap();
        (change.was, change.is)
    };
    assert_eq!(change_of("read", "requests"), (None, Some(2.0)));
    assert_eq!(change_of("write", "bytes"), (Some(10.0), None));
}

#[test]
fn handles_implausibly_large_requests() {
    let trace = recording(requests(FileOperation::Read, [(0, u64::MAX), (u64::MAX, u64::MAX), (5, 0)]));
    let report = report(&trace, &IoOptions::default());
    assert!(report.uncounted_pages > 0);
    assert_eq!((report.views[0].table.requests, report.empty_requests), (2, 1));
}

#[test]
fn reports_small_requests_of_program_over_many_files() {
    let many = |reads_per_file: u64| {
        let mut trace = Trace::default();
        process(&mut trace, 100, "app.exe", None, None);
        let list = (0..1200_u64).flat_map(|file| (0..reads_per_file).map(move |read| (file, read)));
        for (index, (file, read)) in (0..).zip(list) {
            let name = trace.strings.intern(&format!("settings{file}.dat"));
            trace.file_ios.push(FileIo {
                start_ns: index * 1000,
                end_ns: Some(index * 1000 + 500),
                operation: FileOperation::Read,
                pid: Some(100),
                tid: Some(104),
                file: name,
                offset: read * 4,
                size: 4,
                level: IoOrigin::Application,
                unbuffered: false,
                status: Some(0),
                irp: 0,
                file_object: file + 1,
            });
            trace.duration_ns = index * 1000 + 500;
        }
        report(&trace, &IoOptions::default()).findings
    };
    let findings = many(5);
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((finding.code, finding.requests, finding.total_requests), (FindingCode::SmallRequests, 6000, 6000));
    assert_eq!((finding.file_count, finding.files.len(), finding.file.as_str()), (1200, 1000, ""));
    assert_eq!((finding.buffered_requests, finding.time_ns), (Some(1200), Some(6000 * 500)));
    assert!(finding.cure.unwrap().helps);
    // Decoy: reading many small files once each is normal, because a buffer saves nothing.
    assert_eq!(many(1), []);
}

#[test]
fn files_with_same_cause_are_one_finding() {
    let mut list = Vec::new();
    for file in ["a.dat", "b.dat"] {
        list.extend((0..2000).map(|index| TestRequest {
            file,
            operation: FileOperation::Read,
            offset: index * 4,
            size: 4,
        }));
    }
    let findings = report(&recording(list), &IoOptions::default()).findings;
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    let files: Vec<_> = finding.files.iter().map(|file| (file.file.as_str(), file.requests)).collect();
    assert_eq!((finding.requests, files), (4000, vec![("a.dat", 2000), ("b.dat", 2000)]));
}

#[test]
fn replay_refutes_buffer_for_random_requests() {
    let random = requests(FileOperation::Read, (0..3000_u64).map(|index| (index * 7_919 % 3001 * 65_536, 4)));
    let findings = report(&recording(random), &IoOptions::default()).findings;
    let cure = findings[0].cure.unwrap();
    assert!(!cure.helps && cure.requests == 3000, "{cure:?}");
}

#[test]
fn names_tracer_that_slows_requests_down() {
    let mut trace = recording(requests(FileOperation::Read, (0..2000).map(|index| (index * 4, 4))));
    assert_eq!(report(&trace, &IoOptions::default()).tracer, None);
    trace.recorder = "strace output".to_owned();
    let report = report(&trace, &IoOptions::default());
    assert_eq!((report.tracer, report.findings[0].tracer), (Some("strace"), Some("strace")));
}

#[test]
fn curve_needs_few_key_blocks() {
    let trace = recording(requests(FileOperation::Read, [(0, 4), (0, 4)]));
    let accesses = |key_blocks| {
        let report = report(&trace, &IoOptions { key_blocks, ..IoOptions::default() });
        report.views[0].cache_with_key_blocks.as_ref().map(|curve| (curve.accesses, curve.max_hits()))
    };
    assert_eq!((accesses(0), accesses(1), accesses(3)), (None, Some((4, 2)), Some((8, 4))));
    assert_eq!(accesses(1 << 40), None);
}

#[test]
fn compares_requests_by_file() {
    let was =
        report(&recording(requests(FileOperation::Read, (0..50).map(|index| (index * 4, 4)))), &IoOptions::default());
    let is = report(&recording(requests(FileOperation::Read, [(0, 200)])), &IoOptions::default());
    let [file] = &compare(&was, &is).files[..] else { panic!() };
    assert_eq!((file.file.as_str(), file.was_requests, file.is_requests, file.is_bytes), ("a.dat", 50, 1, 200));
    assert_eq!((file.was_time_ns, file.is_time_ns), (Some(25_000), Some(500)));
    let ungrouped = report(
        &recording(requests(FileOperation::Read, [(0, 4)])),
        &IoOptions { group_by: vec![], ..IoOptions::default() },
    );
    assert_eq!(compare(&ungrouped, &is).files, []);
}
