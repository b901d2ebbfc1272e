//! A recording with many sleeps, which are analyzed independently.

use onoff::answers::blame::account;
use onoff::answers::evidence::transition_kind::TransitionKind;
use onoff::answers::transitions::suspend::{PowerTransition, SuspendOptions};
use onoff::{Session, Sleeps};
use onoff_simulator::Scenario;

const MS: i64 = 1_000_000;
/// Number of sleeps, which is more than the former limit.
const SLEEPS: u32 = 40;
/// Time between sleeps, in ms.
const INTERVAL_MS: u32 = 20_000;
/// Busy time after every third sleep, in ms.
const BUSY_MS: i64 = 1_500;

fn scenario() -> Scenario {
    let mut text = String::from(
        "name = \"Many sleeps\"\nseed = 5\n[machine]\nprocessors = 2\nbuild = 19045\ncomputer = \"LAPTOP10\"\n\
         [recording]\ntail = \"14s\"\nat_most = \"2000s\"\n[running]\nbackground = [\"loop 1ms/90ms\"]\n\
         [[device]]\ninstance = \"PCI\\\\VEN_8086&DEV_24FD\"\ndescription = \"Wireless adapter\"\ndriver = \"Netwtw06\"\n\
         order = 2\nquery = \"0.2ms\"\nsuspend = \"55ms\"\nresume = \"480ms\"\n",
    );
    for number in 0..SLEEPS {
        text += &format!(
            "[[power]]\nkind = \"sleep\"\nat = \"{}ms\"\nfade_out = \"20ms\"\nasleep = \"2s\"\n",
            500 + number * INTERVAL_MS
        );
        if number % 3 == 0 {
            text += &format!("after = [\"cpu {BUSY_MS}ms\"]\n");
        }
    }
    Scenario::from_toml(&text).unwrap()
}

fn sleeps(session: &Session, transition: Option<u32>) -> Vec<PowerTransition> {
    let result = session.sleeps(&SuspendOptions { transition, ..SuspendOptions::default() }).unwrap();
    let Sleeps::Windows(report) = result.report else { panic!("{:?}", result.report) };
    report.transitions
}

#[test]
fn last_of_many_sleeps_equals_single_query() {
    let simulated = scenario().simulate().unwrap().files.remove(0);
    let session = Session::from_bytes([("sleeps.etl".to_owned(), simulated)]).unwrap();
    let all_sleeps = sleeps(&session, None);
    assert_eq!(all_sleeps.len(), SLEEPS as usize);
    for number in [1, 33, SLEEPS] {
        let single = sleeps(&session, Some(number));
        let from_all = &all_sleeps[number as usize - 1];
        assert_eq!(serde_json::to_value(&single[0]).unwrap(), serde_json::to_value(from_all).unwrap(), "{number}");
    }
    // The injected work is found after exactly the sleeps that it was injected after.
    for (number, sleep) in (0..).zip(&all_sleeps) {
        let settling = sleep.settling.as_ref().unwrap();
        assert!(settling.end_ns.is_some(), "{number}: {settling:?}");
        let injected_ns = if number % 3 == 0 { BUSY_MS * MS } else { 0 };
        let difference_ns = settling.busy_ns - injected_ns;
        // Busy time counts in slices of 100 ms; the resume itself may take some.
        assert!((0..=300 * MS).contains(&difference_ns), "{number}: {} ns busy", settling.busy_ns);
        assert!(sleep.phases.iter().filter(|phase| phase.duration_ns > Some(0)).all(|phase| phase.cpu.is_some()));
    }
    let trace = session.tables(onoff::answers::blame::waits::TABLES).unwrap();
    let accounts = account::accounts(&trace, Some(TransitionKind::Suspend));
    let settled = accounts.iter().filter(|phase| phase.phase == "PostResume").count();
    assert_eq!(settled, SLEEPS as usize);
}
