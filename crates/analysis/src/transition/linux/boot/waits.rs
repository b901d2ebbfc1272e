//! Who waited for whom, for the lists of services that every system has.

use hashbrown::HashMap;
use onoff_trace::{ServiceChange, ServiceTransition, Trace};

use super::units::Starts;
use crate::services::{Service, WaitKind, WaitedFor};

/// For each service the position of the one it waited for, and the evidence. `services` are by start.
pub(crate) fn declared_waits(trace: &Trace, services: &[Service]) -> Vec<Option<(usize, WaitedFor)>> {
    let mut waits: Vec<Option<(usize, WaitedFor)>> = services.iter().map(|_| None).collect();
    let places: HashMap<(&str, i64), usize> = services
        .iter()
        .enumerate()
        .filter(|(_, service)| service.kind == ServiceChange::Start)
        .map(|(at, service)| ((service.name.as_str(), service.start_ns), at))
        .collect();
    for (start, earlier, release) in Starts::of(trace).releases() {
        let place = |row: &ServiceTransition| places.get(&(trace.text(row.service), row.start_ns)).copied();
        if let (Some(at), Some(earlier)) = (place(&start), place(&earlier))
            && earlier < at
            && let Some(wait) = waits.get_mut(at)
        {
            *wait = Some((
                earlier,
                WaitedFor {
                    name: release.unit,
                    kind: WaitKind::DeclaredOrder,
                    gap_ns: release.gap_ns,
                    certainty: release.certainty,
                    evidence: release.evidence,
                },
            ));
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Certainty;
    use crate::hand_made::{MS, service};
    use crate::services::services;
    use onoff_trace::{DependencyKind, ServiceDependency, SystemKind};

    #[test]
    fn declared_order_tells_who_waited_for_whom() {
        let mut trace = Trace::default();
        trace.system.kind = SystemKind::Linux;
        for (name, start, end) in [("a.service", 10, 60), ("b.service", 10, 50), ("c.service", 61, 70)] {
            service(&mut trace, name, "system.slice", (start, None, None, Some(end)));
        }
        // Of the same slice, and nothing else between them.
        assert_eq!(services(&trace)[2].waited_for, None);
        for on in ["a.service", "b.service"] {
            let row = ServiceDependency {
                service: trace.strings.intern("c.service"),
                kind: DependencyKind::After,
                on: trace.strings.intern(on),
            };
            trace.service_dependencies.push(row);
        }
        let services = services(&trace);
        let wait = services[2].waited_for.as_ref().unwrap();
        assert_eq!((wait.name.as_str(), wait.gap_ns), ("a.service", MS));
        assert_eq!(wait.certainty, Certainty::Measured);
        assert_eq!(services[0].held_up, ["c.service"]);
        assert_eq!(services[1].held_up_in_turn, 0);
    }
}
