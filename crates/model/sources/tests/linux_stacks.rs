//! Tests call stacks in trace-cmd files: owners, function names, and losses.

use onoff_sources::{Limits, Options, files_from_bytes, open_files};
use onoff_testkit::linux::{EventOrigin, TraceDatBuilder};
use onoff_trace::{TableSet, Trace};

const KALLSYMS: &str = "\
ffffffff81000000 T _stext
ffffffff81000100 t trace_event_raw_event_sched_switch
ffffffff81000200 T __traceiter_sched_switch
ffffffff81000300 t __schedule
ffffffff81000400 T schedule
ffffffff81000500 T do_nanosleep
ffffffff81000600 T blk_mq_start_request
ffffffff81000700 T _etext
ffffffffc0000000 t ext4_read\t[ext4]
ffffffffc0000100 d ext4_data\t[ext4]
";
const TRACER: [u64; 2] = [0xffff_ffff_8100_0136, 0xffff_ffff_8100_0271];
const SCHEDULE: [u64; 2] = [0xffff_ffff_8100_0388, 0xffff_ffff_8100_040a];
const SLEEP: u64 = 0xffff_ffff_8100_0525;
const READ: u64 = 0xffff_ffff_c000_0042;

fn read(data: &TraceDatBuilder) -> Trace {
    let files = files_from_bytes([("trace.dat".to_owned(), data.bytes())], &Limits::default()).unwrap();
    open_files(&files, TableSet::all(), &Options::default()).unwrap()
}

fn schedule_stack(addresses: &[u64]) -> Vec<u64> {
    [&TRACER[..], &SCHEDULE, addresses].concat()
}

/// Returns the rows as time, process, thread and addresses.
fn stacks(trace: &Trace) -> Vec<(i64, u32, u32, &[u64])> {
    let row = |row: onoff_trace::Stack| (row.time_ns, row.pid, row.tid, trace.stack_pool.get(row.stack));
    trace.stacks.iter().map(row).collect()
}

fn losses(trace: &Trace) -> Vec<(&str, u64)> {
    trace.losses.iter().map(|loss| (loss.counter, loss.count)).collect()
}

/// Thread 70 sleeps from 1 to 3 ms, and reads from a disk at 4 ms.
fn sleeper() -> TraceDatBuilder {
    let origin = |time_ns, tid| EventOrigin::new(time_ns, 0, tid);
    TraceDatBuilder::new()
        .kallsyms(KALLSYMS)
        .switch(origin(1_000_000, 70), ("sleeper", 1), (0, "swapper/0"))
        .kernel_stack(origin(1_000_500, 70), &schedule_stack(&[SLEEP]))
        .switch(origin(3_000_000, 0), ("swapper/0", 0), (70, "sleeper"))
        .kernel_stack(origin(3_000_500, 0), &schedule_stack(&[]))
        .disk_read(origin(4_000_000, 70), 64, &[0xffff_ffff_8100_0610, READ], 5_000_000)
}

#[test]
fn stacks_belong_to_previous_event_and_wait_stacks_to_the_end_of_the_wait() {
    let trace = read(&sleeper());
    let wait_stack = [&SCHEDULE[..], &[SLEEP]].concat();
    assert_eq!(
        stacks(&trace),
        [
            (3_000_000, 70, 70, &wait_stack[..]),
            (3_000_000, 0, 0, &SCHEDULE[..]),
            (4_000_000, 70, 70, &[0xffff_ffff_8100_0610, READ]),
        ]
    );
    let disk_io = trace.disk_ios.get(0).unwrap();
    assert_eq!((disk_io.issue_ns, disk_io.tid), (Some(4_000_000), Some(70)));
    // Only functions in stacks have rows, and the tracer's own functions are in no stack.
    let functions: Vec<_> = trace.methods.iter().map(|row| (trace.text(row.name), trace.text(row.module))).collect();
    let expected = ["__schedule", "schedule", "do_nanosleep", "blk_mq_start_request"].map(|name| (name, "[kernel]"));
    assert_eq!(functions, [&expected[..], &[("ext4_read", "[ext4]")]].concat());
    let images: Vec<_> = trace.images.iter().map(|row| (trace.text(row.path), row.base, row.size)).collect();
    assert_eq!(images, [("[kernel]", 0xffff_ffff_8100_0000, 0x700), ("[ext4]", 0xffff_ffff_c000_0000, 0x100)]);
    assert_eq!(losses(&trace), []);
}

#[test]
fn trace_without_stacks_has_none() {
    let trace =
        read(&TraceDatBuilder::new().kallsyms(KALLSYMS).switch(EventOrigin::new(1, 0, 70), ("a", 1), (0, "swapper/0")));
    assert!(trace.stacks.is_empty() && trace.methods.is_empty() && trace.images.is_empty());
}

#[test]
fn stacks_without_event_are_counted() {
    let origin = |time_ns, tid| EventOrigin::new(time_ns, 0, tid);
    let interrupt = origin(2_000, 70).in_interrupt();
    let data = TraceDatBuilder::new()
        .kallsyms(KALLSYMS)
        // An interrupt between an event and its stack has a separate event and stack.
        .waking(origin(1_000, 70), (71, "other"))
        .waking(interrupt, (72, "third"))
        .kernel_stack(EventOrigin { time_ns: 2_100, ..interrupt }, &[SLEEP])
        .kernel_stack(origin(2_200, 70), &[READ])
        // A second stack of an event, a stack of a thread without an event, and a stack on another processor.
        .kernel_stack(origin(2_300, 70), &[SLEEP])
        .kernel_stack(origin(2_400, 99), &[SLEEP])
        .kernel_stack(EventOrigin::new(2_500, 1, 70), &[SLEEP]);
    let trace = read(&data);
    assert_eq!(stacks(&trace), [(1_000, 70, 70, &[READ][..]), (2_000, 70, 70, &[SLEEP])]);
    assert_eq!(losses(&trace), [("stacks_without_event", 3)]);
}

#[test]
fn unfinished_wait_keeps_stack_at_its_start() {
    let origin = |time_ns, tid| EventOrigin::new(time_ns, 0, tid);
    let data = TraceDatBuilder::new()
        .kallsyms(KALLSYMS)
        .switch(origin(1_000, 70), ("a", 1), (71, "b"))
        .kernel_stack(origin(1_001, 70), &[SLEEP])
        // Events were lost: the thread is switched out twice in a row.
        .switch(origin(2_000, 70), ("a", 1), (0, "swapper/0"))
        .kernel_stack(origin(2_001, 70), &[READ]);
    assert_eq!(stacks(&read(&data)), [(1_000, 70, 70, &[SLEEP][..]), (2_000, 70, 70, &[READ])]);
}

#[test]
fn unlisted_addresses_are_counted_and_unnamed() {
    let origin = |time_ns| EventOrigin::new(time_ns, 0, 70);
    // One byte past the end of the kernel's code, and the module's data.
    let outside = [0xffff_ffff_8100_0700, 0xffff_ffff_c000_0100];
    let data = TraceDatBuilder::new()
        .kallsyms(KALLSYMS)
        .waking(origin(1_000), (71, "other"))
        .kernel_stack(origin(1_100), &outside);
    let trace = read(&data);
    assert_eq!(stacks(&trace), [(1_000, 70, 70, &outside[..])]);
    assert!(trace.methods.is_empty() && trace.images.is_empty());
    assert_eq!(losses(&trace), [("kernel_addresses_unlisted", 2)]);
}

#[test]
fn hidden_addresses_are_reported() {
    let hidden: String =
        KALLSYMS.lines().map(|line| format!("{}{}\n", "0".repeat(16), line.get(16..).unwrap_or_default())).collect();
    let trace = read(&sleeper().kallsyms(&hidden));
    assert_eq!(trace.stacks.len(), 3);
    assert!(trace.methods.is_empty() && trace.images.is_empty());
    assert_eq!(losses(&trace), [("kernel_addresses_hidden", 1)]);
}

#[test]
fn user_stacks_follow_kernel_stacks_and_identify_the_process() {
    let origin = |time_ns, tid| EventOrigin::new(time_ns, 0, tid);
    let data = TraceDatBuilder::new()
        .kallsyms(KALLSYMS)
        .switch(origin(1_000_000, 71), ("worker", 1), (0, "swapper/0"))
        .kernel_stack(origin(1_000_500, 71), &schedule_stack(&[SLEEP]))
        .user_stack(origin(1_000_600, 71), 70, &[0x5010, 0x5020])
        .switch(origin(3_000_000, 0), ("swapper/0", 0), (71, "worker"))
        .process_map(
            70,
            "/bin/sleeper",
            &[
                (0x5000, 0x6000, "/bin/sleeper"),
                (0x6000, 0x7000, "/bin/sleeper"),
                (0x8000, 0x9000, "[heap]"),
                (0xa000, 0xb000, "[vdso]"),
            ],
        );
    let trace = read(&data);
    let wait_stack = [&SCHEDULE[..], &[SLEEP]].concat();
    assert_eq!(stacks(&trace), [(3_000_000, 70, 71, &wait_stack[..]), (3_000_000, 70, 71, &[0x5010, 0x5020])]);
    let images: Vec<_> =
        trace.images.iter().filter(|row| row.pid == 70).map(|row| (trace.text(row.path), row.base, row.size)).collect();
    assert_eq!(images, [("/bin/sleeper", 0x5000, 0x2000), ("[vdso]", 0xa000, 0x1000)]);
    let threads: Vec<_> = trace.threads.iter().filter(|row| row.tid == 71).map(|row| row.pid).collect();
    assert_eq!(threads, [70]);
    let processes: Vec<_> = trace.processes.iter().map(|row| row.pid).collect();
    assert!(processes.contains(&70) && !processes.contains(&71), "{processes:?}");
}

proptest::proptest! {
    #[test]
    fn corruption_does_not_panic(position in 0_usize..1 << 16, byte: u8, cut in 0_usize..1 << 16) {
        let mut bytes = sleeper().user_stack(EventOrigin::new(6_000_000, 0, 70), 70, &[0x5010]).process_map(70, "a", &[(1, 2, "b")]).bytes();
        let length = bytes.len();
        bytes[position % length] = byte;
        bytes.truncate(length - cut % length / 8);
        if let Ok(files) = files_from_bytes([("trace.dat".to_owned(), bytes)], &Limits::default()) {
            let _ = open_files(&files, TableSet::all(), &Options::default());
        }
    }
}
