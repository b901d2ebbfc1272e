//! Spilled tables give the same results as tables in memory, and extra events do not change results.

use std::fs::File;
use std::path::Path;

use onoff::Session;
use onoff::answers::blame::waits::PathOptions;
use onoff::answers::blame::why::{WhyQuestion, WhyTarget};
use onoff::answers::transitions::boot::BootOptions;
use onoff::trace::{Batches, Table, TableName, TableSet};
use onoff_simulator::Scenario;

/// Returns the reports to compare, as JSON and text.
fn reports(session: &Session) -> Vec<String> {
    let mut reports = Vec::new();
    let mut push_report = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        reports.push(String::from_utf8(out).unwrap());
    };
    let boot = session.boot(&BootOptions::default()).unwrap();
    push_report(&|out| boot.write_json(&[], out).unwrap());
    push_report(&|out| boot.write_text(out).unwrap());
    reports.extend(paths(session));
    reports.push(format!("{:?}", session.diagnose(&Default::default()).unwrap()));
    reports
}

/// Returns the critical path of every phase, step by step.
fn paths(session: &Session) -> Vec<String> {
    let query = WhyQuestion {
        target: WhyTarget::Phase(None, None),
        at_ns: None,
        within: None,
        min_duration_ns: 0,
        max_intervals: None,
        include_work_waits: false,
        path: PathOptions { min_step_ns: 0, max_steps: usize::MAX },
    };
    session.why(&query).unwrap().intervals.iter().map(|interval| format!("{interval:?}")).collect()
}

fn open(path: &Path, tables_in_memory_bytes: Option<usize>) -> Session {
    let options = onoff_files::Options { tables_in_memory_bytes, ..onoff_files::Options::default() };
    Session::open(&[path.to_owned()], &options).unwrap()
}

/// Returns the rows of a table, and its size in memory.
fn size<T: Table>(batches: &Batches<T>) -> (usize, usize) {
    (batches.len(), batches.memory())
}

/// Simulates the benchmark boot with 1/40 of the thread wake-ups, extended to `records` records.
fn simulate(path: &Path, records: u64) {
    let text = include_str!("../../../support/simulator/scenarios/benchmark.toml");
    let text = ["us/390us", "us/410us", "us/420us"]
        .iter()
        .fold(text.to_owned(), |text, interval| text.replace(interval, "us/16ms"));
    Scenario::from_toml(&text).unwrap().simulate_into(File::create(path).unwrap(), None, Some(records)).unwrap();
}

#[test]
fn spilled_tables_give_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.etl");
    simulate(&path, 0);

    let (resident, spilled) = (open(&path, None), open(&path, Some(0)));
    let wanted = TableSet::from_names(&[TableName::ContextSwitches, TableName::ReadyThreads, TableName::Stacks]);
    let (in_memory, in_file) = (resident.tables(wanted).unwrap(), spilled.tables(wanted).unwrap());
    for (resident, spilled) in [
        (size(&in_memory.context_switches), size(&in_file.context_switches)),
        (size(&in_memory.ready_threads), size(&in_file.ready_threads)),
        (size(&in_memory.stacks), size(&in_file.stacks)),
    ] {
        let ((resident_rows, resident_bytes), (spilled_rows, spilled_bytes)) = (resident, spilled);
        assert_eq!(resident_rows, spilled_rows);
        assert!(resident_rows > 10_000, "{resident_rows} rows");
        assert!(spilled_bytes < resident_bytes / 10, "{spilled_bytes} of {resident_bytes} bytes are in memory");
    }
    assert!(in_file.stack_pool.memory() <= in_memory.stack_pool.memory());
    for (resident, spilled) in reports(&resident).iter().zip(&reports(&spilled)) {
        assert_eq!(resident, spilled);
    }
}

#[test]
fn extra_events_do_not_change_results() {
    let folder = tempfile::tempdir().unwrap();
    let (short, long) = (folder.path().join("short.etl"), folder.path().join("long.etl"));
    simulate(&short, 0);
    simulate(&long, 1_000_000);
    let (short, long) = (open(&short, None), open(&long, Some(1 << 20)));
    let duration_ns = |session: &Session| session.tables(TableSet::default()).unwrap().duration_ns;
    assert!(duration_ns(&long) > duration_ns(&short) * 2, "{} ns, {} ns", duration_ns(&long), duration_ns(&short));
    let (expected, actual) = (paths(&short), paths(&long));
    assert!(expected.len() > 4, "{} phases", expected.len());
    assert_eq!(expected, actual);
}
