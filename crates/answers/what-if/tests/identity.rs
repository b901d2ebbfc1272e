//! The identity replay over all scenarios and over real recordings.

use onoff_blame::waits::Waits;
use onoff_trace::Trace;
use onoff_what_if::identity::Identity;
use onoff_what_if::model::Model;

use crate::support::{GROUP, ask, boot_with, first, scenario, scenario_paths, service, simulate, without};

/// Prints how well the replay reproduces a recording; with `ONOFF_WHAT_IF_ALL`, every phase.
fn measure(name: &str, trace: &Trace) -> Identity {
    let waits = Waits::new(trace);
    let model = Model::new(trace, &waits);
    let identity = model.identity();
    if model.has_recorded_order() {
        let phases: Vec<_> = model.phases.iter().collect();
        let free = model.replay_freely(&model.graph, &model.horizon(&phases));
        let errors_ns = model.phases.iter().filter_map(|phase| {
            let end_ns = model.replayed_phase(phase, &model.graph, &free).end_ns?;
            Some((end_ns - model.clock.awake(phase.phase.range.end_ns)).abs())
        });
        println!("     in the order of readiness: at most {:?} ms off", errors_ns.max().map(|ns| ns as f64 / 1e6));
    }
    let word = if identity.holds { "ok  " } else { "FAIL" };
    let ms = |ns: i64| ns as f64 / 1e6;
    println!(
        "{word} {name}: {} phases, at most {:?} ms off, {} services out of order",
        identity.phases.len(),
        identity.max_error_ns.map(ms),
        identity.services_out_of_order
    );
    if !identity.holds || std::env::var_os("ONOFF_WHAT_IF_ALL").is_some() {
        for phase in &identity.phases {
            let word = if phase.holds { "  " } else { "X " };
            let (name, end_ms) = (&phase.phase, ms(phase.measured_end_ns));
            println!(
                "     {word} {} {name}: ends at {end_ms:.1} ms, off by {:?} ms",
                phase.transition,
                phase.error_ns.map(ms)
            );
        }
    }
    identity
}

#[test]
fn holds_for_every_scenario() {
    let missed: Vec<String> = scenario_paths()
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        // Large recordings.
        .filter(|name| name != "benchmark" && name != "long-boot")
        .filter(|name| !measure(name, &simulate(&scenario(name))).holds)
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}

/// Real recordings of machines with two busy processors.
#[test]
fn holds_for_real_recordings() {
    let Some(folder) = onoff_testkit::real_recordings::samples_folder("linux") else { return };
    let mut recordings = 0;
    let mut missed: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(trace) =
            onoff_files::open(std::slice::from_ref(&path), onoff_what_if::TABLES, &onoff_files::Options::default())
        else {
            continue;
        };
        if trace.context_switches.is_empty() {
            continue;
        }
        recordings += 1;
        let name = path.display().to_string();
        if !measure(&name, &trace).holds {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
    println!("{recordings} real recordings");
}

#[test]
fn refuses_when_the_replay_misses() {
    // A phase that ends with what no thread did is reproduced; one that waits for a lost thread is not. Without the
    // ready-thread events most of the path is unknown.
    let trace = simulate(&scenario("ready-events-missing"));
    let prediction = crate::support::ask(&trace, &[]).unwrap();
    println!("{:?}, unknown {:.1} %", prediction.no_prediction, prediction.unknown_percent);
    assert_eq!(prediction.no_prediction, Some(onoff_what_if::prediction::NoPrediction::PathUnknown));
    assert_eq!(prediction.predicted, None);
}

/// Five minutes of work after a boot instead of one make the model no larger, and changes no prediction.
#[test]
fn does_not_depend_on_what_follows_the_boot() {
    let slow = service("SlowAgent", GROUP, "\"cpu 300ms\", \"sleep 2s\"");
    let boot = |tail: &str| {
        let recording = format!("[recording]\ntail = \"{tail}\"\nat_most = \"500s\"\n");
        simulate(&first(boot_with(&format!("{slow}{recording}")), 1))
    };
    let (short, long) = (boot("60s"), boot("300s"));
    assert!(long.context_switches.len() > short.context_switches.len() * 3 / 2);
    let segments = |trace: &Trace| {
        let waits = Waits::new(trace);
        let model = Model::new(trace, &waits);
        model.graph.tasks.iter().map(|task| task.segments.len()).sum::<usize>()
    };
    let (of_short, of_long) = (segments(&short), segments(&long));
    println!("{of_short} segments with a minute after the boot, {of_long} with five");
    assert!(of_long < of_short * 5 / 4);
    let saving = |trace: &Trace| ask(trace, &[without("SlowAgent")]).unwrap().saving.unwrap().ns;
    assert!(saving(&long) > 1_500_000_000);
    assert_eq!(saving(&long), saving(&short));
}
