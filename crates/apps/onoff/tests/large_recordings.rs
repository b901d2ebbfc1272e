//! Spilled tables give the same results as tables in memory, and extra events do not change results.

use std::fs::File;
use std::path::Path;

use onoff::Session;
use onoff::answers::blame::waits::PathOptions;
use onoff::answers::blame::why::{WhyQuestion, WhyTarget};
use onoff::answers::transitions::boot::BootOptions;
use onoff::trace::{Batches, Table, TableName, TableSet};
use onoff_simulator::Scenario;

/// The reports to compare, as JSON and text.
fn answers(session: &Session) -> Vec<String> {
    let mut answers = Vec::new();
    let mut answer = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        answers.push(String::from_utf8(out).unwrap());
    };
    let boot = session.boot(&BootOptions::default()).unwrap();
    answer(&|out| boot.write_json(&[], out).unwrap());
    answer(&|out| boot.write_text(out).unwrap());
    answers.extend(paths(session));
    answers.push(format!("{:?}", session.diagnose(&Default::default()).unwrap()));
    answers
}

/// The critical path of every phase, step by step.
fn paths(session: &Session) -> Vec<String> {
    let question = WhyQuestion {
        target: WhyTarget::Phase(None, None),
        at_ns: None,
        within: None,
        min_duration_ns: 0,
        max_intervals: None,
        include_work_waits: false,
        path: PathOptions { min_step_ns: 0, max_steps: usize::MAX },
    };
    session.why(&question).unwrap().intervals.iter().map(|interval| format!("{interval:?}")).collect()
}

fn open(path: &Path, tables_in_memory_bytes: Option<usize>) -> Session {
    let options = onoff_files::Options { tables_in_memory_bytes, ..onoff_files::Options::default() };
    Session::open(&[path.to_owned()], &options).unwrap()
}

/// The rows of a table, and its size in memory.
fn size<T: Table>(batches: &Batches<T>) -> (usize, usize) {
    (batches.len(), batches.memory())
}

/// The benchmark boot with 1/40 of the thread wake-ups, extended to `records` records.
fn simulate(path: &Path, records: u64) {
    let text = include_str!("../../../support/simulator/scenarios/benchmark.toml");
    let text =
        ["us/390us", "us/410us", "us/420us"].iter().fold(text.to_owned(), |text, often| text.replace(often, "us/16ms"));
    Scenario::from_toml(&text).unwrap().simulate_into(File::create(path).unwrap(), None, Some(records)).unwrap();
}

#[test]
fn spilled_tables_give_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.etl");
    simulate(&path, 0);

    let (resident, spilled) = (open(&path, None), open(&path, Some(0)));
    let wanted = TableSet::of(&[TableName::ContextSwitches, TableName::ReadyThreads, TableName::Stacks]);
    let (in_memory, in_file) = (resident.tables(wanted).unwrap(), spilled.tables(wanted).unwrap());
    for (resident, spilled) in [
        (size(&in_memory.context_switches), size(&in_file.context_switches)),
        (size(&in_memory.ready_threads), size(&in_file.ready_threads)),
        (size(&in_memory.stacks), size(&in_file.stacks)),
    ] {
        assert_eq!(resident.0, spilled.0);
        assert!(resident.0 > 10_000, "{} rows", resident.0);
        assert!(spilled.1 < resident.1 / 10, "{} of {} bytes are in memory", spilled.1, resident.1);
    }
    assert!(in_file.stack_pool.memory() <= in_memory.stack_pool.memory());
    for (resident, spilled) in answers(&resident).iter().zip(&answers(&spilled)) {
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
    let recorded = |session: &Session| session.tables(TableSet::default()).unwrap().duration_ns;
    assert!(recorded(&long) > recorded(&short) * 2, "{} ns, {} ns", recorded(&long), recorded(&short));
    let (expected, found) = (paths(&short), paths(&long));
    assert!(expected.len() > 4, "{} phases", expected.len());
    assert_eq!(expected, found);
}
