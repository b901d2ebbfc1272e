//! Services: how long each took to start or stop, in which part, and which other service it waited for.
//!
//! Windows starts load-order groups one after the other, and within a group often one service after the other; which
//! services depend on which is not in a recording. So a wait is inferred from the order of events:
//!
//! * a service of a group that was asked for within [`WAIT_GAP_NS`] of another one's end is held to have waited for it;
//! * a service that was asked for within [`CONTAINER_GAP_NS`] of the moment at which the container of one asked for
//!   before was there is held to have waited for that: containers are made one after the other.
//!
//! Of both, the later event is the cause.
//!
//! systemd declares its order, so on Linux a unit waited for whichever of those that it is declared to come after was done last.

use hashbrown::HashMap;
use onoff_trace::{ActivityKind, Duration, ServiceChange, ServiceOutcome, ServiceTransition, SystemKind, Trace};
use serde::Serialize;

use crate::activity::of_kind;
use crate::evidence::Certainty;
use crate::processes::Images;
use crate::transition::linux;

/// Longest time, ns, from a service's end to the start of one that is held to have waited for it: 50 ms. In published
/// summaries the next one starts 0 to 31 ms later.
pub const WAIT_GAP_NS: i64 = 50_000_000;

/// Longest time, ns, from the moment a container is there to the start of a service that is held to have waited for it:
/// 10 ms. In published summaries the next one starts 0 to 2 ms later.
pub const CONTAINER_GAP_NS: i64 = 10_000_000;

/// A container that took less than this, ns, kept nobody waiting: 1 ms. Services that share a container find it there.
const NOTABLE_CONTAINER_NS: i64 = 1_000_000;

/// Why a service is held to have waited for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The earlier service of the same load-order group had to finish.
    SameGroup,
    /// The load-order group before had to finish.
    EarlierGroup,
    /// The container of a service asked for before had to be there.
    Container,
    /// It is declared to be started after the other, which was the last of those to be done (Linux).
    DeclaredOrder,
}

/// The service that another one waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitedFor {
    /// Name of the service that ended, or whose container was there, just before.
    pub name: String,
    /// Why it is held to be the cause.
    pub kind: WaitKind,
    /// From its end, or from the moment its container was there, to this service's start, ns.
    pub gap_ns: i64,
    /// How certain it is; the order of starts is evidence, not proof, so never [`Certainty::Measured`] where order is not declared.
    pub certainty: Certainty,
    /// The evidence in words.
    pub evidence: String,
}

/// One service's change of state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Service {
    /// Name (the short one, not the display name).
    pub name: String,
    /// Load-order group; empty for none.
    pub group: String,
    /// Start or stop.
    pub kind: ServiceChange,
    /// Asked for, ns.
    pub start_ns: i64,
    /// Container there, ns; `None` when not recorded.
    pub container_done_ns: Option<i64>,
    /// Image loaded, ns; `None` when not recorded.
    pub load_done_ns: Option<i64>,
    /// Done, ns; `None` when it was under way at the end of the recording.
    pub end_ns: Option<i64>,
    /// All of it, ns: `end_ns - start_ns`.
    pub total_ns: Option<i64>,
    /// Making the container, ns.
    pub container_ns: Option<i64>,
    /// Loading the service's image, ns.
    pub image_load_ns: Option<i64>,
    /// The service's own initialisation, ns.
    pub initialisation_ns: Option<i64>,
    /// Command line of the container; empty when not known.
    pub container: String,
    /// Process id of the container.
    pub container_pid: Option<u32>,
    /// Image file name of the container; empty when not known.
    pub container_image: String,
    /// How it ended.
    pub outcome: ServiceOutcome,
    /// Started by the automatic start phase.
    pub automatic: bool,
    /// The service it waited for, if the order of starts shows one.
    pub waited_for: Option<WaitedFor>,
    /// Names of the services that waited for this one.
    pub held_up: Vec<String>,
    /// Services that waited for this one, or for one that waited for it, and so on.
    pub held_up_in_turn: u64,
    /// The record that set the start.
    pub event: String,
}

/// A load-order group as the service control manager started it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServiceGroup {
    /// Name.
    pub name: String,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns; `None` when it did not end in the recording.
    pub end_ns: Option<i64>,
    /// Length, ns.
    pub duration_ns: Option<i64>,
    /// Services of the group that were started.
    pub services: u64,
    /// How certain the ends are: measured from the manager's own events, inferred from its services' starts and ends.
    pub certainty: Certainty,
}

/// The services of a recording, by start, with their waits.
#[must_use]
pub fn services(trace: &Trace) -> Vec<Service> {
    let images = Images::of(trace);
    let mut services: Vec<Service> =
        trace.service_transitions.iter().map(|row| service(trace, &images, &row)).collect();
    services.sort_by(|a, b| (a.start_ns, &a.name).cmp(&(b.start_ns, &b.name)));
    let waits = match trace.system.kind {
        SystemKind::Linux => linux::boot::declared_waits(trace, &services),
        _ => waits(&services),
    };
    // Who waits starts after the one it waits for, so from the last start to the first every count is complete when it
    // is passed on.
    for (at, wait) in waits.into_iter().enumerate().rev() {
        if let Some((earlier, wait)) = wait {
            let name = services[at].name.clone();
            let in_turn = services[at].held_up_in_turn.saturating_add(1);
            services[earlier].held_up.push(name);
            services[earlier].held_up_in_turn += in_turn;
            services[at].waited_for = Some(wait);
        }
    }
    for service in &mut services {
        service.held_up.reverse();
    }
    services
}

fn service(trace: &Trace, images: &Images<'_>, row: &ServiceTransition) -> Service {
    let since = |from: Option<i64>, to: Option<i64>| from.zip(to).map(|(from, to)| to.saturating_sub(from).max(0));
    // Parts that were not recorded count for the next one: without an image load, initialisation begins when the
    // container is there; without either, it is the whole start.
    let start = Some(row.start_ns);
    let loaded_from = row.checkpoint_ns.or(start);
    let initialised_from = row.load_ns.or(loaded_from);
    Service {
        name: trace.text(row.service).to_owned(),
        group: trace.text(row.group).to_owned(),
        kind: row.kind,
        start_ns: row.start_ns,
        container_done_ns: row.checkpoint_ns,
        load_done_ns: row.load_ns,
        end_ns: row.end_ns,
        total_ns: since(start, row.end_ns),
        container_ns: since(start, row.checkpoint_ns),
        image_load_ns: since(loaded_from, row.load_ns),
        initialisation_ns: since(initialised_from, row.end_ns),
        container: trace.text(row.container).to_owned(),
        container_pid: row.container_pid,
        container_image: row
            .container_pid
            .and_then(|pid| images.at(pid, row.end_ns.unwrap_or(trace.duration_ns)))
            .unwrap_or_default()
            .to_owned(),
        outcome: row.outcome,
        automatic: row.automatic,
        waited_for: None,
        held_up: Vec::new(),
        held_up_in_turn: 0,
        event: trace.text(row.event).to_owned(),
    }
}

/// For each service the position of the one it waited for, and the evidence. `services` are by start.
fn waits(services: &[Service]) -> Vec<Option<(usize, WaitedFor)>> {
    let starts = || services.iter().enumerate().filter(|(_, service)| is_ordered_start(service));
    // What a start can have waited for, by time: of each, the latest before it is the candidate. Services without a group
    // start side by side once the groups are done, so only services of groups are waited for to their end.
    let mut ended: Vec<(i64, usize)> = starts()
        .filter(|(_, service)| !service.group.is_empty())
        .filter_map(|(at, service)| Some((service.end_ns?, at)))
        .collect();
    ended.sort_unstable();
    let mut contained: Vec<(i64, usize)> = starts()
        .filter(|(_, service)| service.container_ns >= Some(NOTABLE_CONTAINER_NS))
        .filter_map(|(at, service)| Some((service.container_done_ns?, at)))
        .collect();
    contained.sort_unstable();

    services
        .iter()
        .map(|service| {
            if !is_ordered_start(service) {
                return None;
            }
            let candidate = |events: &[(i64, usize)], gap_ns: i64| -> Option<(i64, usize)> {
                let before = events.partition_point(|&(time, _)| time <= service.start_ns);
                let (time, earlier) = *events.get(before.checked_sub(1)?)?;
                // One that was asked for at the same time or later kept nobody waiting.
                let asked_before = services.get(earlier)?.start_ns < service.start_ns;
                (asked_before && service.start_ns.saturating_sub(time) <= gap_ns).then_some((time, earlier))
            };
            let end = candidate(&ended, WAIT_GAP_NS);
            let container = candidate(&contained, CONTAINER_GAP_NS);
            let by_container = match (end, container) {
                (Some((end, _)), Some((container, _))) => container > end,
                (end, _) => end.is_none(),
            };
            let (time, earlier) = if by_container { container? } else { end? };
            let gap_ns = service.start_ns.saturating_sub(time);
            let before = services.get(earlier)?;
            Some((earlier, waited_for(service, before, gap_ns, by_container)))
        })
        .collect()
}

fn is_ordered_start(service: &Service) -> bool {
    service.kind == ServiceChange::Start && service.automatic
}

fn waited_for(service: &Service, before: &Service, gap_ns: i64, by_container: bool) -> WaitedFor {
    let (kind, event, relation) = if by_container {
        (WaitKind::Container, "had its container", "containers are made one after the other".to_owned())
    } else if service.group == before.group {
        (WaitKind::SameGroup, "was done", format!("both are of group {}", service.group))
    } else if service.group.is_empty() {
        (WaitKind::EarlierGroup, "was done", format!("group {} comes before services without a group", before.group))
    } else {
        (WaitKind::EarlierGroup, "was done", format!("group {} comes before group {}", before.group, service.group))
    };
    WaitedFor {
        name: before.name.clone(),
        kind,
        gap_ns,
        certainty: Certainty::Inferred,
        evidence: format!(
            "{} was asked for {} after {} {event}, and {relation}",
            service.name,
            Duration::from_ns(gap_ns),
            before.name
        ),
    }
}

/// The load-order groups: as the service control manager reports them, else from their services.
#[must_use]
pub fn groups(trace: &Trace, services: &[Service]) -> Vec<ServiceGroup> {
    let mut groups: Vec<ServiceGroup> = Vec::new();
    let mut positions: HashMap<&str, usize> = HashMap::new();
    for service in services.iter().filter(|service| is_ordered_start(service) && !service.group.is_empty()) {
        match positions.get(service.group.as_str()) {
            Some(&at) => {
                let group = &mut groups[at];
                group.end_ns = group.end_ns.zip(service.end_ns).map(|(a, b)| a.max(b));
                group.services += 1;
            }
            None => {
                positions.insert(&service.group, groups.len());
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
    let reported = of_kind(trace, ActivityKind::ServiceGroup);
    if !reported.is_empty() {
        return reported
            .into_iter()
            .map(|work| ServiceGroup {
                services: positions.get(work.name.as_str()).map_or(0, |&at| groups[at].services),
                name: work.name,
                start_ns: work.start_ns,
                end_ns: work.end_ns,
                duration_ns: work.duration_ns,
                certainty: Certainty::Measured,
            })
            .collect();
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{MS, activity, service};

    /// The excerpt of the paper on Windows Embedded Standard 7.
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
        let services = services(&trace);
        let times: Vec<_> = services
            .iter()
            .map(|service| {
                let ms = |ns: Option<i64>| ns.map(|ns| ns / MS);
                (
                    service.name.as_str(),
                    ms(service.total_ns),
                    ms(service.container_ns),
                    ms(service.image_load_ns),
                    ms(service.initialisation_ns),
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
        let services = services(&excerpt());
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
        let evidence = &services[1].waited_for.as_ref().unwrap().evidence;
        assert_eq!(evidence, "Power was asked for 1.00 ms after PlugPlay was done, and both are of group PlugPlay");
    }

    #[test]
    fn services_side_by_side_do_not_wait() {
        let mut trace = Trace::default();
        service(&mut trace, "grouped", "AudioGroup", (0, None, None, Some(100)));
        service(&mut trace, "first", "", (110, None, None, Some(200)));
        service(&mut trace, "second", "", (112, None, None, Some(210)));
        service(&mut trace, "third", "", (201, None, None, Some(220)));
        service(&mut trace, "late", "Late", (5000, None, None, Some(5001)));
        let services = services(&trace);
        let waited: Vec<_> =
            services.iter().map(|service| service.waited_for.as_ref().map(|wait| wait.name.as_str())).collect();
        let grouped = Some("grouped");
        assert_eq!(waited, [None, grouped, grouped, None, None]);
    }

    /// The beginning of a published list of `xperf -a services`.
    #[test]
    fn a_slow_container_keeps_the_next_service_waiting() {
        let mut trace = Trace::default();
        let com = "COM Infrastructure";
        service(&mut trace, "DcomLaunch", com, (46_237, Some(46_238), Some(46_306), Some(46_319)));
        service(&mut trace, "FontCache3.0.0.0", com, (46_239, Some(47_037), Some(47_037), Some(47_530)));
        service(&mut trace, "RpcEptMapper", com, (47_039, Some(47_057), Some(47_062), Some(47_078)));
        service(&mut trace, "RpcSs", com, (47_078, Some(47_079), Some(47_081), Some(47_131)));
        service(&mut trace, "eventlog", "Event Log", (47_530, Some(47_552), Some(47_560), Some(47_591)));
        let services = services(&trace);
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
        let in_turn: Vec<_> = services.iter().map(|service| service.held_up_in_turn).collect();
        assert_eq!(in_turn, [4, 3, 1, 0, 0]);
    }

    #[test]
    fn groups_are_measured_when_reported_else_inferred() {
        let mut trace = excerpt();
        let inferred = groups(&trace, &services(&trace));
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
        let measured = groups(&trace, &services(&trace));
        assert_eq!(measured.len(), 1);
        assert_eq!((measured[0].services, measured[0].certainty), (2, Certainty::Measured));
    }
}
