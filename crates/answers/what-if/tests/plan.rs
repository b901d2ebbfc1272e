//! Plans: the order of the changes, the first culprit after each, and when to stop. The truth is the measured total of
//! a machine with the changes.

use onoff_simulator::Scenario;
use onoff_trace::Trace;
use onoff_what_if::changes::Change;
use onoff_what_if::plan::{MIN_SAVING_NS, Plan, PlanEnd, plan};
use onoff_what_if::prediction::{NoPrediction, WhatIfQuestion};

use crate::support::{
    GROUP, ask, boot_with, driver, first, measured_ns, remove_services, scenario, service, simulate, without,
};

const MS: i64 = 1_000_000;

fn plan_of(trace: &Trace, steps: u32) -> Plan {
    let plan = plan(trace, &WhatIfQuestion::default(), steps).unwrap();
    for step in &plan.steps {
        println!(
            "STEP {:?}: saves {:.1} ms, {:.1} ms left, then {:?}; stronger {:?}",
            step.changes,
            step.saving.ns as f64 / 1e6,
            step.predicted.ns as f64 / 1e6,
            step.bottleneck.as_ref().map(|bottleneck| (&bottleneck.name, bottleneck.ns / MS)),
            step.stronger,
        );
    }
    println!("END {:?}, {} replayed", plan.end, plan.replayed);
    plan
}

fn names(changes: &[Change]) -> Vec<&str> {
    let mut names: Vec<&str> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Without { name } | Change::Delay { name } => Some(name.as_str()),
            Change::Pend { driver } => Some(driver.as_str()),
            Change::Ungroup { service } => Some(service.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names
}

/// Asserts that the predicted duration after the last step equals the duration of the machine with the changes.
fn assert_truth(plan: &Plan, changed: &Scenario) {
    let truth_ns = measured_ns(&simulate(changed));
    let predicted_ns = plan.steps.last().unwrap().predicted.ns;
    let tolerance_ns = ((plan.measured_ns - truth_ns).abs() / 10).max(50 * MS);
    assert!((predicted_ns - truth_ns).abs() <= tolerance_ns, "truth {truth_ns}, predicted {predicted_ns}");
}

fn one_after_another() -> Scenario {
    first(
        boot_with(&format!(
            "{}{}",
            service("AlphaAgent", "Alpha Group", "\"sleep 2500ms\""),
            service("BetaAgent", GROUP, "\"sleep 1500ms\"")
        )),
        2,
    )
}

#[test]
fn first_change_exposes_the_second() {
    let slow = one_after_another();
    let trace = simulate(&slow);
    let plan = plan_of(&trace, 2);
    assert_eq!(plan.no_prediction, None);
    assert_eq!(plan.bottleneck.as_ref().unwrap().name, "AlphaAgent");
    let [step, next] = plan.steps.as_slice() else { panic!("{plan:?}") };
    assert_eq!(names(&step.changes), ["AlphaAgent"]);
    assert_eq!(step.bottleneck.as_ref().unwrap().name, "BetaAgent");
    assert_eq!(names(&next.changes), ["BetaAgent"]);
    assert_ne!(next.bottleneck.as_ref().map(|bottleneck| bottleneck.name.as_str()), Some("BetaAgent"));
    // A service can rarely be removed: a milder change gets the saving.
    for step in &plan.steps {
        assert!(!matches!(step.changes.as_slice(), [Change::Without { .. }]), "{step:?}");
        assert!(step.saving.ns >= MIN_SAVING_NS && step.saving.min_ns <= step.saving.ns);
    }
    assert_eq!(plan.measured_ns - step.saving.ns, step.predicted.ns);
    assert_eq!(step.predicted.ns - next.saving.ns, next.predicted.ns);
    // The ordinary answer names the same first culprit.
    let prediction = ask(&trace, &[without("AlphaAgent")]).unwrap();
    assert_eq!(prediction.bottleneck.unwrap().name, "BetaAgent");
    let mut ungrouped = slow;
    for service in &mut ungrouped.services.service {
        if matches!(service.name.as_str(), "AlphaAgent" | "BetaAgent") {
            service.group.clear();
        }
    }
    if plan.steps.iter().all(|step| matches!(step.changes.as_slice(), [Change::Ungroup { .. }])) {
        assert_truth(&plan, &ungrouped);
    }
}

#[test]
fn equal_services_are_found_together() {
    let slow = first(
        boot_with(&format!(
            "{}{}",
            service("AlphaAgent", GROUP, "\"sleep 3s\""),
            service("BetaAgent", GROUP, "\"sleep 3s\"")
        )),
        2,
    );
    let trace = simulate(&slow);
    let alone = ask(&trace, &[without("BetaAgent")]).unwrap().saving.unwrap();
    assert!(alone.ns < MIN_SAVING_NS, "{alone:?}");
    let plan = plan_of(&trace, 1);
    let step = plan.steps.first().unwrap();
    assert_eq!(names(&step.changes), ["AlphaAgent", "BetaAgent"]);
    assert!(step.saving.ns > 2_500 * MS, "{step:?}");
    let truth_ns = measured_ns(&simulate(&remove_services(&slow, &["AlphaAgent", "BetaAgent"])));
    assert!(step.predicted.ns + 300 * MS >= truth_ns, "{step:?}, {truth_ns}");
}

#[test]
fn healthy_boot_needs_no_change() {
    let trace = simulate(&boot_with(""));
    let plan = plan_of(&trace, 5);
    assert_eq!(plan.no_prediction, None);
    for step in &plan.steps {
        assert!(step.saving.ns >= MIN_SAVING_NS);
        assert!(!names(&step.changes).iter().any(|name| onoff_blame::account::is_system_component_name(name)));
    }
    assert_eq!(plan.end, Some(PlanEnd::NoSaving));
}

#[test]
fn hog_off_the_path_is_no_candidate() {
    // Decoys: a low-priority program on an idle machine, and a long service that nothing waits for.
    let hog = "[[process]]\nimage = \"\\\\Program Files\\\\Fold\\\\fold.exe\"\nat = \"1s\"\n[[process.thread]]\n\
               priority = 4\nwork = [\"cpu 6s\"]\n";
    for slow in [boot_with(hog), scenario("decoy-off-path")] {
        let plan = plan_of(&simulate(&slow), 5);
        for step in &plan.steps {
            let names = names(&step.changes);
            assert!(!names.contains(&"fold.exe") && !names.contains(&"LongAlone"), "{step:?}");
        }
    }
}

#[test]
fn driver_is_pended_rather_than_removed() {
    let slow = boot_with(&format!(
        "{}{}",
        driver("LegacyScan", "start = \"3500ms\""),
        driver("OtherBus", "start = \"3300ms\"\nenumerate = \"85ms\"")
    ));
    let plan = plan_of(&simulate(&slow), 1);
    let step = plan.steps.first().unwrap();
    assert!(matches!(step.changes.as_slice(), [Change::Pend { .. } | Change::Without { .. }]), "{step:?}");
    if let Some(stronger) = &step.stronger {
        assert!(stronger.saving_ns > step.saving.ns, "{step:?}");
    }
}

#[test]
fn hogs_on_every_processor_are_found() {
    let hogs = "[[process]]\nimage = \"\\\\Program Files\\\\Fold\\\\fold.exe\"\nat = \"1s\"\n[[process.thread]]\n\
                count = 4\npriority = 13\nwork = [\"cpu 3s\"]\n";
    let plan = plan_of(&simulate(&boot_with(hogs)), 1);
    assert_eq!(names(&plan.steps.first().unwrap().changes), ["fold.exe"]);
}

#[test]
fn recordings_without_ready_events_have_no_plan() {
    let plan = plan_of(&simulate(&scenario("ready-events-missing")), 5);
    assert_eq!(plan.no_prediction, Some(NoPrediction::PathUnknown));
    assert!(plan.steps.is_empty() && plan.end.is_none() && plan.bottleneck.is_none());
}

#[test]
fn lost_events_widen_the_range() {
    let trace = simulate(&scenario("lost-events"));
    let whole = simulate(&one_after_another());
    let lost = ask(&trace, &[]).unwrap();
    let complete = ask(&whole, &[]).unwrap();
    println!("uncertain waits: {} with lost events, {} without", lost.uncertain_waits, complete.uncertain_waits);
    assert!(lost.uncertain_waits > complete.uncertain_waits);
}
