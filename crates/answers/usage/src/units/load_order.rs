//! Infers waits between Windows services from the order of starts.
//!
//! * A service in a group counts as having waited for another service if it was requested within [`WAIT_GAP_NS`] after
//!   the other service had started.
//! * A service counts as having waited for the host process of an earlier service if it was requested within
//!   [`CONTAINER_GAP_NS`] of its creation, because host processes are created one at a time.
//!
//! If both apply, the later event is the cause.

use hashbrown::HashMap;
use onoff_trace::{ActivityKind, ServiceChange, Trace};

use super::unit::{ServiceGroup, Unit, UnitWait, WaitKind};
use onoff_evidence::Certainty;
use onoff_evidence::activity::{NamedActivity, activities_of_kind};

/// Maximum time, ns, from the end of a service start to the start of a service that counts as having waited for it:
/// 50 ms. In published summaries the gap is 0 to 31 ms.
pub const WAIT_GAP_NS: i64 = 50_000_000;

/// Maximum time, ns, from the creation of a host process to the start of a service that counts as having waited for it:
/// 10 ms. In published summaries the gap is 0 to 2 ms.
pub const CONTAINER_GAP_NS: i64 = 10_000_000;

/// Minimum duration of a host process creation that delays other services, ns: 1 ms. Services that share a host find
/// it running.
const NOTABLE_CONTAINER_NS: i64 = 1_000_000;

/// Returns, for each service, the index of the service it waited for, and the evidence. `services` must be sorted by
/// start.
pub(super) fn waits(trace: &Trace, services: &[Unit]) -> Vec<Option<(Option<usize>, UnitWait)>> {
    let groups = activities_of_kind(trace, ActivityKind::ServiceGroup);
    let starts = || services.iter().enumerate().filter(|(_, service)| is_ordered_start(service));
    // Candidates, ordered by time: the latest candidate before a start counts. Services without a group start in
    // parallel once the groups are done, so only services in groups can delay others until they have started.
    let mut start_ends: Vec<(i64, usize)> = starts()
        .filter(|(_, service)| delays_groups(&groups, service))
        .filter_map(|(index, service)| Some((service.end_ns?, index)))
        .collect();
    start_ends.sort();
    let mut host_creations: Vec<(i64, usize)> = starts()
        .filter(|(_, service)| service.container_ns >= Some(NOTABLE_CONTAINER_NS))
        .filter_map(|(index, service)| Some((service.checkpoint_ns?, index)))
        .collect();
    host_creations.sort();

    services
        .iter()
        .map(|service| {
            if !is_ordered_start(service) {
                return None;
            }
            let candidate = |events: &[(i64, usize)], gap_ns: i64| -> Option<(i64, usize)> {
                let count = events.partition_point(|&(time, _)| time <= service.start_ns);
                let (time, earlier) = *events.get(count.checked_sub(1)?)?;
                // A service that was requested at the same time or later did not delay it.
                let is_earlier = services.get(earlier)?.start_ns < service.start_ns;
                (is_earlier && service.start_ns.saturating_sub(time) <= gap_ns).then_some((time, earlier))
            };
            let end = candidate(&start_ends, WAIT_GAP_NS);
            let container = candidate(&host_creations, CONTAINER_GAP_NS);
            let by_container = match (end, container) {
                (Some((end, _)), Some((container, _))) => container > end,
                (end, _) => end.is_none(),
            };
            let (time, earlier) = if by_container { container? } else { end? };
            let gap_ns = service.start_ns.saturating_sub(time);
            let earlier_service = services.get(earlier)?;
            Some((Some(earlier), unit_wait(service, earlier_service, time, gap_ns, by_container)))
        })
        .collect()
}

/// Returns whether later load-order groups waited until `service` had started: it is an automatic start in a group, and
/// there is no record that the service control manager proceeded to the next group before the service was running.
#[must_use]
pub fn delays_later_groups(trace: &Trace, service: &Unit) -> bool {
    delays_groups(&activities_of_kind(trace, ActivityKind::ServiceGroup), service)
}

fn delays_groups(groups: &[NamedActivity], service: &Unit) -> bool {
    if !is_ordered_start(service) || service.group.is_empty() || service.start_type == Some(DEMAND_START) {
        return false;
    }
    // Only a start during the start of the group counts; services of the group may also start later.
    let mut same_group = groups.iter().filter(|group| group.name.eq_ignore_ascii_case(&service.group)).peekable();
    if same_group.peek().is_none() {
        return true;
    }
    same_group.any(|group| {
        group.start_ns <= service.start_ns
            && match (group.end_ns, service.end_ns) {
                // A group that was unfinished when the recording ended waits for all services that have not started.
                (None, _) => true,
                (Some(group_end), Some(end)) => end <= group_end,
                (Some(_), None) => false,
            }
    })
}

/// Start type of demand-start services.
const DEMAND_START: u32 = 3;

fn is_ordered_start(service: &Unit) -> bool {
    service.kind == ServiceChange::Start && service.automatic
}

fn unit_wait(service: &Unit, earlier: &Unit, time_ns: i64, gap_ns: i64, by_container: bool) -> UnitWait {
    let kind = if by_container {
        WaitKind::Container
    } else if service.group == earlier.group {
        WaitKind::SameGroup
    } else {
        WaitKind::EarlierGroup
    };
    UnitWait { name: earlier.name.clone(), kind, time_ns, gap_ns, certainty: Certainty::Inferred }
}

/// Returns the load-order groups as reported by the service control manager, otherwise derived from their services.
#[must_use]
pub fn groups(trace: &Trace, services: &[Unit]) -> Vec<ServiceGroup> {
    let mut groups: Vec<ServiceGroup> = Vec::new();
    let mut index_by_name: HashMap<&str, usize> = HashMap::new();
    for service in services.iter().filter(|service| is_ordered_start(service) && !service.group.is_empty()) {
        match index_by_name.get(service.group.as_str()) {
            Some(&index) => {
                let group = &mut groups[index];
                group.end_ns = group.end_ns.zip(service.end_ns).map(|(a, b)| a.max(b));
                group.services += 1;
            }
            None => {
                index_by_name.insert(&service.group, groups.len());
                groups.push(ServiceGroup {
                    name: service.group.clone(),
                    start_ns: service.start_ns,
                    end_ns: service.end_ns,
                    duration_ns: None,
                    services: 1,
                    certainty: Certainty::Inferred,
                });
            }
        }
    }
    for group in &mut groups {
        group.duration_ns = group.end_ns.map(|end| end.saturating_sub(group.start_ns));
    }
    let reported = activities_of_kind(trace, ActivityKind::ServiceGroup);
    if !reported.is_empty() {
        return reported
            .into_iter()
            .map(|group| ServiceGroup {
                services: index_by_name.get(group.name.as_str()).map_or(0, |&index| groups[index].services),
                name: group.name,
                start_ns: group.start_ns,
                end_ns: group.end_ns,
                duration_ns: group.duration_ns,
                certainty: Certainty::Measured,
            })
            .collect();
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::units;
    use onoff_testkit::synthetic::{MS, activity, service};

    /// Returns the excerpt from the paper on Windows Embedded Standard 7.
    fn excerpt() -> Trace {
        let mut trace = Trace::default();
        let plug_play = "PlugPlay";
        let com = "COM Infrastructure";
        service(&mut trace, "PlugPlay", plug_play, (8532, Some(8654), None, Some(9153)));
        service(&mut trace, "Power", plug_play, (9154, Some(9154), None, Some(9235)));
        service(&mut trace, "DcomLaunch", com, (9246, Some(9246), None, Some(9278)));
        service(&mut trace, "RpcEptMapper", com, (9247, Some(9295), None, Some(9313)));
        service(&mut trace, "RpcSs", com, (9313, Some(9314), None, Some(9381)));
        service(&mut trace, "eventlog", "Event Log", (9382, Some(9599), None, Some(9674)));
        trace
    }

    #[test]
    fn parts_add_up_to_the_total() {
        let mut trace = excerpt();
        service(&mut trace, "Loaded", "", (9700, Some(9710), Some(9758), Some(9774)));
        service(&mut trace, "Endless", "", (9701, None, None, None));
        let services = units(&trace);
        let times: Vec<_> = services
            .iter()
            .map(|service| {
                let ms = |ns: Option<i64>| ns.map(|ns| ns / MS);
                (
                    service.name.as_str(),
                    ms(service.duration_ns),
                    ms(service.container_ns),
                    ms(service.image_load_ns),
                    ms(service.initialization_ns),
                )
            })
            .collect();
        assert_eq!(times[0], ("PlugPlay", Some(621), Some(122), None, Some(499)));
        assert_eq!(times[5], ("eventlog", Some(292), Some(217), None, Some(75)));
        assert_eq!(times[6], ("Loaded", Some(74), Some(10), Some(48), Some(16)));
        assert_eq!(times[7], ("Endless", None, None, None, None));
    }

    #[test]
    fn waits_follow_the_order_of_groups() {
        let services = units(&excerpt());
        let waits: Vec<_> = services
            .iter()
            .map(|service| {
                let wait = service.waited_for.as_ref();
                wait.map(|wait| (wait.name.as_str(), wait.kind, wait.gap_ns / MS))
            })
            .collect();
        use WaitKind::{EarlierGroup, SameGroup};
        assert_eq!(
            waits,
            [
                None,
                Some(("PlugPlay", SameGroup, 1)),
                Some(("Power", EarlierGroup, 11)),
                Some(("Power", EarlierGroup, 12)),
                Some(("RpcEptMapper", SameGroup, 0)),
                Some(("RpcSs", EarlierGroup, 1)),
            ]
        );
        assert_eq!(services[1].held_up, ["DcomLaunch", "RpcEptMapper"]);
        let wait = services[1].waited_for.as_ref().unwrap();
        assert_eq!((wait.name.as_str(), wait.kind), ("PlugPlay", WaitKind::SameGroup));
    }

    #[test]
    fn parallel_services_do_not_wait() {
        let mut trace = Trace::default();
        service(&mut trace, "grouped", "AudioGroup", (0, None, None, Some(100)));
        service(&mut trace, "first", "", (110, None, None, Some(200)));
        service(&mut trace, "second", "", (112, None, None, Some(210)));
        service(&mut trace, "third", "", (201, None, None, Some(220)));
        service(&mut trace, "late", "Late", (5000, None, None, Some(5001)));
        let services = units(&trace);
        let waited: Vec<_> =
            services.iter().map(|service| service.waited_for.as_ref().map(|wait| wait.name.as_str())).collect();
        let grouped = Some("grouped");
        assert_eq!(waited, [None, grouped, grouped, None, None]);
    }

    /// The beginning of published output of `xperf -a services`.
    #[test]
    fn slow_host_creation_delays_the_next_service() {
        let mut trace = Trace::default();
        let com = "COM Infrastructure";
        service(&mut trace, "DcomLaunch", com, (46_237, Some(46_238), Some(46_306), Some(46_319)));
        service(&mut trace, "FontCache3.0.0.0", com, (46_239, Some(47_037), Some(47_037), Some(47_530)));
        service(&mut trace, "RpcEptMapper", com, (47_039, Some(47_057), Some(47_062), Some(47_078)));
        service(&mut trace, "RpcSs", com, (47_078, Some(47_079), Some(47_081), Some(47_131)));
        service(&mut trace, "eventlog", "Event Log", (47_530, Some(47_552), Some(47_560), Some(47_591)));
        let services = units(&trace);
        let waits: Vec<_> = services
            .iter()
            .map(|service| {
                let wait = service.waited_for.as_ref();
                wait.map(|wait| (wait.name.as_str(), wait.kind))
            })
            .collect();
        assert_eq!(
            waits,
            [
                None,
                Some(("DcomLaunch", WaitKind::Container)),
                Some(("FontCache3.0.0.0", WaitKind::Container)),
                Some(("RpcEptMapper", WaitKind::SameGroup)),
                Some(("FontCache3.0.0.0", WaitKind::EarlierGroup)),
            ]
        );
        assert_eq!(services[1].held_up, ["RpcEptMapper", "eventlog"]);
        // The host process of DcomLaunch was created within 1 ms.
        assert!(services[0].held_up.is_empty(), "{:?}", services[0].held_up);
        assert!(services[1].notable_wait().is_none() && services[2].notable_wait().is_some());
        let totals: Vec<_> = services.iter().map(|service| service.held_up_total).collect();
        assert_eq!(totals, [0, 3, 1, 0, 0]);
    }

    #[test]
    fn groups_are_measured_if_reported_otherwise_inferred() {
        let mut trace = excerpt();
        let inferred = groups(&trace, &units(&trace));
        let rows: Vec<_> = inferred
            .iter()
            .map(|group| (group.name.as_str(), group.services, group.duration_ns.map(|ns| ns / MS)))
            .collect();
        assert_eq!(
            rows,
            [("PlugPlay", 2, Some(703)), ("COM Infrastructure", 3, Some(135)), ("Event Log", 1, Some(292))]
        );
        assert_eq!(inferred[0].certainty, Certainty::Inferred);
        activity(&mut trace, ActivityKind::ServiceGroup, "PlugPlay", 8531 * MS, Some(9240 * MS));
        let measured = groups(&trace, &units(&trace));
        assert_eq!(measured.len(), 1);
        assert_eq!((measured[0].services, measured[0].certainty), (2, Certainty::Measured));
    }

    #[test]
    fn demand_start_services_and_those_the_group_did_not_wait_for_hold_up_nothing() {
        let held_up = |start_type: Option<u32>, group_end_ms: Option<i64>| {
            let mut trace = Trace::default();
            if let Some(end_ms) = group_end_ms {
                activity(&mut trace, ActivityKind::ServiceGroup, "Network", 90 * MS, Some(end_ms * MS));
            }
            service(&mut trace, "Slow", "Network", (100, Some(110), None, Some(3_000)));
            let rows: Vec<_> = trace.service_transitions.iter().collect();
            trace.service_transitions =
                rows.into_iter().map(|row| onoff_trace::ServiceTransition { start_type, ..row }).collect();
            service(&mut trace, "Next", "Later", (3_005, Some(3_010), None, Some(3_020)));
            let services = units(&trace);
            let has_waited = services[1].waited_for.as_ref().is_some_and(|wait| wait.name == "Slow");
            assert_eq!(has_waited, delays_later_groups(&trace, &services[0]));
            has_waited
        };
        assert!(held_up(None, None));
        assert!(held_up(Some(2), None));
        assert!(held_up(Some(2), Some(3_001)));
        // The service control manager proceeded to other groups long before the service was running.
        assert!(!held_up(Some(2), Some(200)));
        // A demand start while the group was being started.
        assert!(!held_up(Some(3), None));
        assert!(!held_up(Some(3), Some(3_001)));
    }
}
