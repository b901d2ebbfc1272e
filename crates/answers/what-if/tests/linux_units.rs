//! Linux boots without context switches: pairs of boots that differ in one unit, refusals, and real boots.

use hashbrown::HashMap;
use onoff_testkit::synthetic::{MS, as_linux, device, milestone, service};
use onoff_trace::{
    DependencyKind, DeviceOperationKind, DevicePhase, ServiceDependency, ServiceTransition, Trace, milestone as names,
};
use onoff_what_if::changes::{Change, ChangeError};
use onoff_what_if::prediction::{Assumption, Basis, NoPrediction, Prediction, WhatIfError};

use crate::support::{ask, without};

const USER_SPACE_MS: i64 = 2_000;
const LOADED_MS: i64 = 2_100;
/// Time of the service manager between a release and a start.
const GAP_MS: i64 = 5;

/// A unit with the units it is ordered after, and its time to start.
#[derive(Clone)]
struct Unit {
    name: &'static str,
    after: Vec<&'static str>,
    length_ms: i64,
    /// When something else requests it.
    requested_ms: i64,
    /// Processor time of the start, if recorded.
    cpu_ms: Option<i64>,
    /// Processor time until the unit's properties were read, if recorded.
    cpu_max_ms: Option<i64>,
}

fn unit(name: &'static str, after: &[&'static str], length_ms: i64) -> Unit {
    Unit { name, after: after.to_vec(), length_ms, requested_ms: 0, cpu_ms: None, cpu_max_ms: None }
}

/// Schedules units as systemd does: each starts after the units before it. Units are in order.
struct Boot {
    units: Vec<Unit>,
    requirements: Vec<(&'static str, &'static str)>,
}

impl Boot {
    fn new(units: &[Unit]) -> Self {
        Self { units: units.to_vec(), requirements: Vec::new() }
    }

    fn times_ms(&self) -> HashMap<&'static str, (i64, i64)> {
        let mut times: HashMap<&str, (i64, i64)> = HashMap::new();
        for unit in &self.units {
            let released = unit.after.iter().filter_map(|on| times.get(on)).map(|&(_, end)| end).max();
            let start = (released.unwrap_or(LOADED_MS) + GAP_MS).max(unit.requested_ms);
            times.insert(unit.name, (start, start + unit.length_ms));
        }
        times
    }

    fn end_ms(&self) -> i64 {
        self.times_ms().values().map(|&(_, end)| end).max().unwrap() + GAP_MS
    }

    fn trace(&self) -> Trace {
        let times = self.times_ms();
        let end_ms = self.end_ms();
        let mut trace = as_linux(Trace { duration_ns: (end_ms + 1_000) * MS, ..Trace::default() });
        trace.system.processors = 2;
        milestone(&mut trace, USER_SPACE_MS * MS, names::USER_SPACE_BEGIN, "");
        milestone(&mut trace, LOADED_MS * MS, names::UNITS_LOAD_END, "");
        milestone(&mut trace, end_ms * MS, names::STARTUP_FINISHED, "multi-user.target");
        let mut depend = |service: &str, kind, on: &str| {
            let row = ServiceDependency { service: trace.strings.intern(service), kind, on: trace.strings.intern(on) };
            trace.service_dependencies.push(row);
        };
        for unit in &self.units {
            for on in &unit.after {
                depend(unit.name, DependencyKind::After, on);
            }
            if unit.requested_ms == 0 {
                depend("multi-user.target", DependencyKind::Wants, unit.name);
            }
        }
        for (unit, on) in &self.requirements {
            depend(unit, DependencyKind::Requires, on);
        }
        for unit in &self.units {
            let (start_ms, end_ms) = times[unit.name];
            service(&mut trace, unit.name, "system.slice", (start_ms, None, None, Some(end_ms)));
        }
        let rows: Vec<ServiceTransition> = trace.service_transitions.iter().collect();
        trace.service_transitions = Default::default();
        for (row, unit) in rows.into_iter().zip(&self.units) {
            let (cpu_ns, cpu_max_ns) = (unit.cpu_ms.map(|ms| ms * MS), unit.cpu_max_ms.map(|ms| ms * MS));
            trace.service_transitions.push(ServiceTransition { cpu_ns, cpu_max_ns, ..row });
        }
        trace
    }

    fn without(&self, name: &str) -> Self {
        let units = self.units.iter().filter(|unit| unit.name != name).cloned().collect();
        Self { units, requirements: self.requirements.clone() }
    }
}

/// A boot whose first second is serial, with two chains after it, and 15 s after those.
fn two_chains(slow_ms: i64, side_ms: i64) -> Boot {
    Boot::new(&[
        unit("early.service", &[], 900),
        unit("slow.service", &["early.service"], slow_ms),
        unit("side.service", &["early.service"], side_ms),
        unit("basic.target", &["slow.service", "side.service"], 0),
        unit("late.service", &["basic.target"], 15_000),
        unit("multi-user.target", &["basic.target", "late.service"], 0),
    ])
}

fn saving_ms(prediction: &Prediction) -> (i64, i64, i64) {
    let saving = prediction.saving.unwrap_or_else(|| panic!("{:?}", prediction.no_prediction));
    (saving.ns / MS, saving.min_ns / MS, saving.max_ns / MS)
}

/// Asserts that the prediction from one boot is the other's duration, within 1 ms, and returns the saving.
fn assert_pair(from: &Boot, to: &Boot, change: Change) -> i64 {
    let prediction = ask(&from.trace(), &[change]).unwrap();
    assert_eq!(prediction.basis, Basis::UnitTimes);
    assert!(prediction.identity.holds, "{:?}", prediction.identity);
    let truth_ms = from.end_ms() - to.end_ms();
    let (likely_ms, min_ms, max_ms) = saving_ms(&prediction);
    assert!((likely_ms - truth_ms).abs() <= 1, "truth {truth_ms}, predicted {likely_ms}");
    assert!(min_ms <= truth_ms + 1 && truth_ms - 1 <= max_ms, "{truth_ms} is not in {min_ms}..{max_ms}");
    truth_ms
}

#[test]
fn unit_on_the_path_saves_until_the_next_chain() {
    let boot = two_chains(6_000, 4_000);
    assert_eq!(assert_pair(&boot, &boot.without("slow.service"), without("slow")), 2_000);
    // Alone at its time, so competition is impossible.
    let prediction = ask(&boot.trace(), &[without("late.service")]).unwrap();
    let (likely_ms, min_ms, max_ms) = saving_ms(&prediction);
    assert!((15_000..15_010).contains(&likely_ms), "{likely_ms}");
    assert_eq!((min_ms, max_ms), (likely_ms, likely_ms));
}

#[test]
fn longest_unit_off_the_path_saves_nothing() {
    let mut boot = Boot::new(&[
        unit("early.service", &[], 6_000),
        unit("middle.service", &["early.service"], 7_000),
        unit("late.service", &["middle.service"], 7_000),
        unit("multi-user.target", &["late.service"], 0),
    ]);
    boot.units.insert(0, unit("long.service", &[], 9_000));
    let truth_ms = assert_pair(&boot, &boot.without("long.service"), without("long.service"));
    assert_eq!(truth_ms, 0);
    // No change: nothing is saved, and there is no range.
    assert_eq!(saving_ms(&ask(&boot.trace(), &[]).unwrap()), (0, 0, 0));
}

#[test]
fn equal_units_in_parallel_save_together() {
    let boot = two_chains(3_000, 3_000);
    assert_eq!(assert_pair(&boot, &boot.without("slow.service"), without("slow.service")), 0);
    let both = ask(&boot.trace(), &[without("slow.service"), without("side.service")]).unwrap();
    let truth_ms = boot.end_ms() - boot.without("slow.service").without("side.service").end_ms();
    // The barrier behind both has no other predecessor left; it then starts with the loaded manager.
    let (likely_ms, ..) = saving_ms(&both);
    assert!((likely_ms - truth_ms).abs() <= 10, "{likely_ms} {truth_ms}");
}

#[test]
fn parallel_unit_runs_beside_those_that_waited() {
    let boot = Boot::new(&[
        unit("wait-online.service", &[], 5_000),
        unit("web.service", &["wait-online.service"], 4_000),
        unit("late.service", &["web.service"], 20_000),
        unit("multi-user.target", &["late.service", "wait-online.service"], 0),
    ]);
    let mut parallel = Boot::new(&boot.units);
    for unit in &mut parallel.units {
        unit.after.retain(|&on| on != "wait-online.service");
    }
    let change = || Change::Parallel { unit: "wait-online.service".to_owned() };
    assert_eq!(assert_pair(&boot, &parallel, change()), 5_005);
    // A requirement needs the order.
    let mut required = Boot::new(&boot.units);
    required.requirements.push(("web.service", "wait-online.service"));
    let error = ask(&required.trace(), &[change()]).unwrap_err();
    let WhatIfError::Change(ChangeError::Required { name, by }) = error else { panic!("{error}") };
    assert_eq!((name.as_str(), by.as_str()), ("wait-online.service", "web.service"));
    // A requirement without an order does not.
    let mut unordered = Boot::new(&boot.units);
    unordered.requirements.push(("multi-user.target", "web.service"));
    assert_eq!(assert_pair(&unordered, &parallel, change()), 5_005);
}

#[test]
fn delayed_unit_leaves_the_boot_unless_it_is_required() {
    let delay = || Change::Delay { name: "slow.service".to_owned() };
    let mut boot = two_chains(6_000, 4_000);
    assert_eq!(assert_pair(&boot, &boot.without("slow.service"), delay()), 2_000);
    boot.requirements.push(("late.service", "slow.service"));
    for change in [delay(), without("slow.service")] {
        let error = ask(&boot.trace(), &[change]).unwrap_err();
        assert_eq!(error.to_string(), "late.service requires slow.service");
    }
    // Without the unit that requires it, it can go.
    ask(&boot.trace(), &[without("slow.service"), without("late.service")]).unwrap();
}

#[test]
fn range_covers_competition_or_there_is_no_prediction() {
    // Two units that share one processor: without one, the other takes half the time.
    let shared = Boot::new(&[
        unit("first.service", &[], 6_000),
        unit("second.service", &[], 6_000),
        unit("late.service", &["first.service", "second.service"], 20_000),
        unit("multi-user.target", &["late.service"], 0),
    ]);
    let (likely_ms, min_ms, max_ms) = saving_ms(&ask(&shared.trace(), &[without("first.service")]).unwrap());
    assert_eq!((likely_ms, min_ms), (0, 0));
    assert!((2_990..=3_010).contains(&max_ms), "{max_ms}");
    // The same without the long rest: too uncertain.
    let short = Boot::new(&[
        unit("first.service", &[], 6_000),
        unit("second.service", &[], 6_000),
        unit("multi-user.target", &["first.service", "second.service"], 0),
    ]);
    let prediction = ask(&short.trace(), &[without("first.service")]).unwrap();
    assert_eq!(prediction.no_prediction, Some(NoPrediction::RangeTooWide));
    assert_eq!((prediction.predicted, prediction.saving), (None, None));
}

fn computing(name: &'static str, after: &[&'static str], length_ms: i64, cpu_ms: i64) -> Unit {
    Unit { cpu_ms: Some(cpu_ms), ..unit(name, after, length_ms) }
}

/// Asks about a boot on one processor.
fn ask_on_one_processor(units: &[Unit], change: Change) -> Prediction {
    let mut trace = Boot::new(units).trace();
    trace.system.processors = 1;
    ask(&trace, &[change]).unwrap()
}

#[test]
fn computing_unit_returns_its_processor_time() {
    let units = |second_cpu_ms| {
        [
            computing("first.service", &[], 6_000, 3_000),
            computing("second.service", &[], 6_000, second_cpu_ms),
            unit("late.service", &["first.service", "second.service"], 20_000),
            unit("multi-user.target", &["late.service"], 0),
        ]
    };
    // Together they use the whole processor: without one, the other takes half the time.
    let prediction = ask_on_one_processor(&units(3_000), without("first.service"));
    let (likely_ms, min_ms, max_ms) = saving_ms(&prediction);
    assert!((2_990..=3_010).contains(&likely_ms), "{likely_ms}");
    assert!(min_ms == 0 && max_ms >= likely_ms, "{min_ms} {max_ms}");
    assert!(prediction.assumptions.contains(&Assumption::OthersKeepProcessorTime));
    // The other unit sleeps.
    let prediction = ask_on_one_processor(&units(0), without("first.service"));
    assert_eq!(saving_ms(&prediction).0, 0);
    assert!(!prediction.assumptions.contains(&Assumption::OthersKeepProcessorTime));
}

#[test]
fn work_of_others_limits_the_saving() {
    // While one unit sleeps, the other computes; what waits for the first computes, too.
    let units = |cpu_ms| {
        [
            computing("sleep.service", &[], 6_000, 0),
            computing("work.service", &[], 5_000, cpu_ms),
            computing("web.service", &["sleep.service"], 3_000, 3_000),
            unit("late.service", &["web.service", "work.service"], 20_000),
            unit("multi-user.target", &["late.service"], 0),
        ]
    };
    // Order alone: 4 s, until `work.service` ends. Its 5 s and the 3 s of `web.service` share the processor.
    assert_eq!(saving_ms(&ask_on_one_processor(&units(0), without("sleep.service"))).0, 4_005);
    let late = |units: [Unit; 5]| {
        units.map(|unit| {
            if unit.name == "late.service" {
                computing("late.service", &["web.service", "work.service"], 20_000, 20_000)
            } else {
                unit
            }
        })
    };
    let (likely_ms, min_ms, max_ms) = saving_ms(&ask_on_one_processor(&late(units(5_000)), without("sleep.service")));
    assert!((1_000..=1_030).contains(&likely_ms), "{likely_ms}");
    assert!(min_ms <= likely_ms && max_ms >= 4_005, "{min_ms} {max_ms}");
}

#[test]
fn processor_time_of_services_widens_the_range() {
    let range_ms = |cpu_max_ms, recorded_after_ms| {
        let boot = Boot::new(&[
            computing("sleep.service", &[], 6_000, 0),
            Unit { cpu_max_ms: Some(cpu_max_ms), ..unit("daemon.service", &[], 500) },
            unit("late.service", &["sleep.service"], 20_000),
            unit("multi-user.target", &["late.service", "daemon.service"], 0),
        ]);
        let mut trace = boot.trace();
        trace.system.processors = 1;
        trace.duration_ns = (boot.end_ms() + recorded_after_ms) * MS;
        let (_, min_ms, max_ms) = saving_ms(&ask(&trace, &[without("sleep.service")]).unwrap());
        (min_ms, max_ms)
    };
    let (idle, busy) = (range_ms(100, 1_000), range_ms(23_000, 1_000));
    // A daemon that used 23 s of 26 s, perhaps after its start, leaves at least 3 s.
    assert!(idle.0 > 5_000, "{idle:?}");
    assert!((2_900..=3_100).contains(&busy.0) && busy.1 == idle.1, "{busy:?} {idle:?}");
    // If it was asked soon after the boot, it may have used the whole boot; processor time of days says nothing about it.
    assert_eq!(range_ms(100_000, 1_000), (0, idle.1));
    assert_eq!(range_ms(100_000, 86_400_000), idle);
}

#[test]
fn unexplained_start_widens_the_range_or_refuses() {
    let mut boot = two_chains(6_000, 4_000);
    // A unit that something requested 2 s later.
    boot.units.insert(4, Unit { requested_ms: 11_000, ..unit("triggered.service", &["basic.target"], 1_000) });
    boot.units[5].after.push("triggered.service");
    let (likely_ms, min_ms, max_ms) = saving_ms(&ask(&boot.trace(), &[without("slow.service")]).unwrap());
    assert!(
        (1_995..=2_005).contains(&likely_ms) && min_ms == 0 && max_ms >= likely_ms,
        "{likely_ms} {min_ms} {max_ms}"
    );
    boot.units[4].requested_ms = 25_000;
    let prediction = ask(&boot.trace(), &[without("slow.service")]).unwrap();
    assert_eq!(prediction.no_prediction, Some(NoPrediction::PathUnknown));
}

#[test]
fn needs_the_declared_order() {
    let trace = two_chains(6_000, 4_000).trace();
    let with_dependencies = |is_kept: &dyn Fn(DependencyKind) -> bool| {
        let mut changed = two_chains(6_000, 4_000).trace();
        changed.service_dependencies = Default::default();
        for row in trace.service_dependencies.iter().filter(|row| is_kept(row.kind)) {
            changed.service_dependencies.push(row);
        }
        changed
    };
    assert!(ask(&with_dependencies(&|_| true), &[without("slow")]).is_ok());
    // systemd-analyze critical-chain has only the order of some units.
    for incomplete in [with_dependencies(&|_| false), with_dependencies(&|kind| kind == DependencyKind::After)] {
        assert_eq!(ask(&incomplete, &[without("slow")]).unwrap_err(), WhatIfError::NoUnitOrder);
    }
}

#[test]
fn refuses_what_is_no_unit_of_user_space() {
    let trace = two_chains(6_000, 4_000).trace();
    let error = |change: Change| ask(&trace, &[change]).unwrap_err().to_string();
    let unknown = error(without("slov.service"));
    assert!(unknown.contains("no unit that started in user space named 'slov.service'"), "{unknown}");
    assert!(unknown.contains("slow.service") && !unknown.contains(".target"), "{unknown}");
    assert!(error(without("basic.target")).contains("do no work"));
    assert!(error(Change::Ungroup { service: "slow".to_owned() }).contains("load-order groups"));
    assert!(error(Change::Processors { count: 8 }).contains("does not know the work of processors"));
}

#[test]
fn asynchronous_probe_runs_beside_other_drivers() {
    let kernel = |processors: u32| {
        let mut trace = two_chains(6_000, 4_000).trace();
        trace.system.processors = processors;
        let calls = [("pci_init", 100, 200), ("slow_pci_driver_init", 200, 1_000), ("net_init", 1_000, 1_500)];
        for (function, start_ms, end_ms) in calls {
            let times = (start_ms, None, Some(end_ms));
            device(&mut trace, DeviceOperationKind::Initcall, ("", function), times, DevicePhase::SystemStart);
        }
        trace
    };
    let probe = |driver: &str| Change::Async { driver: driver.to_owned() };
    // 800 ms beside 500 ms of the others: the probe ends last.
    assert_eq!(saving_ms(&ask(&kernel(2), &[probe("slow")]).unwrap()), (500, 500, 500));
    // Both drivers: the first two probes and the last driver's 500 ms run beside each other.
    assert_eq!(saving_ms(&ask(&kernel(2), &[probe("slow"), probe("net")]).unwrap()), (500, 500, 500));
    // One processor: nothing is saved if the driver computes.
    assert_eq!(saving_ms(&ask(&kernel(1), &[probe("slow")]).unwrap()), (500, 0, 500));
    // The last driver has nothing beside it.
    assert_eq!(saving_ms(&ask(&kernel(2), &[probe("net_init")]).unwrap()), (0, 0, 0));
    let error = ask(&kernel(2), &[probe("ahci")]).unwrap_err().to_string();
    assert!(error.contains("slow_pci_driver_init"), "{error}");
}

/// Boots of one virtual machine; in the second, a unit that sleeps 6 s was planted before the device scan.
#[test]
fn real_boots() {
    let Some(folder) = onoff_testkit::real_recordings::samples_folder("linux") else { return };
    let open_traced = |name: &str| {
        let path = folder.join(format!("{name}.tar.xz"));
        onoff_files::open(&[path], onoff_what_if::TABLES, &onoff_files::Options::default()).unwrap()
    };
    let open = |name: &str| {
        let mut trace = open_traced(name);
        trace.context_switches = Default::default();
        trace
    };
    let user_space_ms = |prediction: &Prediction| {
        prediction.phases.iter().find(|phase| phase.phase == "user_space").unwrap().measured_ns / MS
    };
    let plain = ask(&open("boot-1"), &[]).unwrap();
    assert!(plain.identity.holds && plain.no_prediction.is_none(), "{plain:?}");
    let slow = open("boot-2");
    let prediction = ask(&slow, &[without("slowearly.service")]).unwrap();
    assert!(prediction.identity.holds, "{:?}", prediction.identity);
    let truth_ms = user_space_ms(&prediction) - user_space_ms(&plain);
    println!(
        "REAL boot-2 without slowearly: truth {truth_ms} ms, {:?}, unknown {:.1} %, {:?}",
        prediction.saving, prediction.unknown_percent, prediction.no_prediction
    );
    if prediction.saving.is_some() {
        let (_, min_ms, max_ms) = saving_ms(&prediction);
        assert!((min_ms..=max_ms).contains(&truth_ms), "{truth_ms} is not in {min_ms}..{max_ms}");
    }
    // With context switches: the service manager waits for several units at once, so the declared order answers.
    let traced = open_traced("boot-2");
    let by_unit = ask(&traced, &[without("slowearly.service")]).unwrap();
    assert_eq!(by_unit.basis, Basis::UnitTimes);
    println!("REAL boot-2 without slowearly, with context switches: {:?}", by_unit.saving);
    // Context switches show how busy the processors were: the likely value gets better.
    let error_ms = |prediction: &Prediction| prediction.saving.map(|saving| (saving.ns / MS - truth_ms).abs());
    assert!(error_ms(&by_unit) < error_ms(&prediction), "{:?} {:?}", by_unit.saving, prediction.saving);
    // Other subjects are replayed by thread.
    let by_thread = ask(&traced, &[]).unwrap();
    assert_eq!((by_thread.basis, by_thread.identity.holds), (Basis::Threads, true));
    assert!(by_thread.identity.free_running_error_ns > by_thread.identity.max_error_ns, "{:?}", by_thread.identity);
    // A unit that ends long before the default target is reached.
    let off_path = ask(&slow, &[without("systemd-logind.service")]).unwrap();
    assert_eq!(saving_ms(&off_path).0, 0);
}
