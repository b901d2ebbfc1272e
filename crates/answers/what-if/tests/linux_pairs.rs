//! Pairs of boots that the lab recorded (`make lab-pairs`): the same guest with and without a cause, most from logs alone.

use std::path::Path;

use onoff_testkit::synthetic::MS;
use onoff_trace::Trace;
use onoff_what_if::changes::Change;
use onoff_what_if::prediction::{Basis, Prediction};

use crate::support::{ask, without};

/// Boots of one variant differ by about this, ms.
const SPREAD_MS: i64 = 250;

fn recording(variant: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../samples/pairs/{variant}.tar.xz"));
    onoff_files::open(&[path], onoff_what_if::TABLES, &onoff_files::Options::default()).unwrap()
}

fn user_space_ms(prediction: &Prediction) -> i64 {
    prediction.phases.iter().find(|phase| phase.phase == "user_space").unwrap().measured_ns / MS
}

/// Asserts that the saving of the change is within the predicted range, on a processor that is busy during the boot.
fn assert_slow_pair(variant: &str, counterpart: &str, change: Change) {
    assert_pair(&format!("slow-processor-{variant}"), &format!("slow-processor-{counterpart}"), change);
}

/// Returns the error of the likely value, percent of the measured duration.
fn assert_pair(variant: &str, counterpart: &str, change: Change) -> i64 {
    let prediction = ask(&recording(variant), &[change]).unwrap();
    let plain = ask(&recording(counterpart), &[]).unwrap();
    assert_eq!(prediction.basis, Basis::UnitTimes);
    assert!(prediction.identity.holds, "{:?}", prediction.identity);
    let (measured_ms, truth_ms) = (user_space_ms(&prediction), user_space_ms(&plain));
    let saving = prediction.saving.unwrap_or_else(|| panic!("{variant}: {:?}", prediction.no_prediction));
    let (likely_ms, min_ms, max_ms) = (saving.ns / MS, saving.min_ns / MS, saving.max_ns / MS);
    println!("PAIR {variant}: truth {}, predicted {likely_ms} ({min_ms} to {max_ms})", measured_ms - truth_ms);
    let saved_ms = measured_ms - truth_ms;
    assert!(
        (min_ms - SPREAD_MS..=max_ms + SPREAD_MS).contains(&saved_ms),
        "{variant}: {saved_ms} is not in {min_ms}..{max_ms}"
    );
    (likely_ms - saved_ms).abs() * 100 / measured_ms
}

#[test]
fn unit_that_sleeps_on_the_path() {
    assert_slow_pair("sleep", "plain", without("onoff-pair-sleep.service"));
}

#[test]
fn unit_that_sleeps_off_the_path() {
    assert_slow_pair("aside", "plain", without("onoff-pair-aside.service"));
}

#[test]
fn unit_that_computes() {
    assert_slow_pair("burn", "plain", without("onoff-pair-burn.service"));
}

#[test]
fn module_with_a_slow_initialization() {
    assert_slow_pair("module", "plain", without("systemd-modules-load.service"));
}

#[test]
fn units_that_could_start_in_parallel() {
    assert_slow_pair("serial", "parallel", Change::Parallel { unit: "onoff-pair-first.service".to_owned() });
}

/// With context switches, the likely value is good, too: while the unit sleeps, others compute.
#[test]
fn unit_that_sleeps_on_the_path_of_a_trace() {
    assert!(!recording("sleep").context_switches.is_empty());
    assert!(assert_pair("sleep", "plain", without("onoff-pair-sleep.service")) <= 10);
}
