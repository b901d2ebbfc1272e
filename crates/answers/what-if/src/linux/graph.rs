//! The units of a boot as a graph, from their recorded times and their declared order.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DependencyKind, StringId, Trace, milestone};
use onoff_usage::units::declared_order::{DEVICE_SCAN, NOTABLE_GAP_NS, UnitStarts, first_milestone};

/// Default targets, if the service manager did not report one.
const STANDARD_TARGETS: [&str; 2] = ["graphical.target", "multi-user.target"];

/// A longer gap than this share of user space, percent, and than [`NOTABLE_GAP_NS`], needs an explanation. On a slow
/// computer, the service manager needs longer between two units.
const NOTABLE_GAP_PERCENT: i64 = 1;

/// What releases a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// The end of the last predecessor, otherwise the start of user space.
    Predecessors,
    /// A device appears after the scan with this index starts.
    DeviceScan(usize),
}

/// The start of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnitNode {
    pub(super) name: String,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    /// Processor time of a unit that runs once, ns, at most its duration on all processors; `None` if not known.
    pub(super) cpu_ns: Option<i64>,
    /// Processor time of the unit with what it did after its start, ns; `None` if not known.
    pub(super) cpu_max_ns: Option<i64>,
    pub(super) release: Release,
    /// Indices of the units whose ends it waited for.
    pub(super) predecessors: Vec<usize>,
    /// Time from its release to its start, ns; negative if it started while the manager loaded its units.
    pub(super) gap_ns: i64,
    /// True if the gap is too long for the service manager alone: the unit also waited for something unknown.
    pub(super) is_gap_unknown: bool,
}

impl UnitNode {
    /// True if the unit does work: a device only appears.
    pub(super) fn works(&self) -> bool {
        !self.name.ends_with(".device")
    }
}

/// The units of a boot. The last node is the end of the boot; it waits for all units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnitGraph {
    pub(super) user_space_ns: i64,
    /// When the service manager had loaded its units: the release of units without predecessors, ns.
    pub(super) loaded_ns: i64,
    pub(super) nodes: Vec<UnitNode>,
    /// Units that did not finish their start in the boot.
    pub(super) unfinished: Vec<String>,
    /// Units that are needed by others: (unit, unit that requires it).
    pub(super) requirements: Vec<(usize, usize)>,
}

impl UnitGraph {
    /// Builds the graph of the boot that started user space and ended at the given times. Returns `None` if the
    /// order of units was not recorded completely.
    pub(super) fn new(trace: &Trace, user_space_ns: i64, finished_ns: i64) -> Option<Self> {
        // `systemd-analyze critical-chain` has the order of only some units, and no requirements.
        if trace.service_dependencies.iter().all(|row| row.kind == DependencyKind::After) {
            return None;
        }
        let starts = UnitStarts::new(trace);
        let rows = starts.rows();
        let is_of_boot = |start_ns: i64| (user_space_ns..=finished_ns).contains(&start_ns);
        let scan_start_ns = rows
            .iter()
            .filter(|row| is_of_boot(row.start_ns) && trace.text(row.service) == DEVICE_SCAN)
            .filter(|row| row.end_ns.is_some())
            .map(|row| row.start_ns)
            .min();
        let mut unfinished = Vec::new();
        // (row, recorded start), ordered by start. A device that appears after the scan starts with it.
        let mut order: Vec<(i64, usize)> = Vec::new();
        for (index, row) in rows.iter().enumerate().filter(|(_, row)| is_of_boot(row.start_ns)) {
            match row.end_ns {
                Some(end_ns) => {
                    let is_device = trace.text(row.service).ends_with(".device");
                    let scan_ns = scan_start_ns.filter(|&scan_ns| is_device && scan_ns <= end_ns);
                    order.push((scan_ns.map_or(row.start_ns, |scan_ns| scan_ns.max(row.start_ns)), index));
                }
                None => unfinished.push(trace.text(row.service).to_owned()),
            }
        }
        // A scan comes before the devices that it finds.
        order.sort_by_key(|&(start_ns, row)| (start_ns, is_device(trace, rows, row), row));
        let nodes_by_row: HashMap<usize, usize> =
            order.iter().enumerate().map(|(node, &(_, row))| (row, node)).collect();
        let scan = order.iter().position(|&(start_ns, row)| {
            scan_start_ns == Some(start_ns) && rows.get(row).is_some_and(|row| trace.text(row.service) == DEVICE_SCAN)
        });
        let mut nodes: Vec<UnitNode> = Vec::with_capacity(order.len() + 1);
        for (node, &(start_ns, row_index)) in order.iter().enumerate() {
            let Some(row) = rows.get(row_index) else { continue };
            let name = trace.text(row.service).to_owned();
            let mut predecessors: Vec<usize> = starts
                .predecessors(row)
                .filter_map(|(_, row)| nodes_by_row.get(&row).copied())
                .filter(|&predecessor| predecessor < node)
                .collect();
            predecessors.sort_unstable();
            predecessors.dedup();
            let end_ns = row.end_ns.unwrap_or(start_ns).max(start_ns);
            let release = match (scan, scan_start_ns) {
                (Some(scan), Some(scan_ns)) if name.ends_with(".device") && scan_ns <= end_ns && scan < node => {
                    Release::DeviceScan(scan)
                }
                _ => Release::Predecessors,
            };
            nodes.push(UnitNode {
                name,
                start_ns,
                end_ns,
                cpu_ns: row.cpu_ns,
                cpu_max_ns: row.cpu_max_ns,
                release,
                predecessors,
                gap_ns: 0,
                is_gap_unknown: false,
            });
        }
        let last = nodes.iter().enumerate().filter(|(_, node)| node.works() && node.end_ns <= finished_ns);
        let predecessors: Vec<usize> = last.map(|(index, _)| index).collect();
        nodes.push(UnitNode {
            name: String::new(),
            start_ns: finished_ns,
            end_ns: finished_ns,
            cpu_ns: None,
            cpu_max_ns: None,
            release: Release::Predecessors,
            predecessors,
            gap_ns: 0,
            is_gap_unknown: false,
        });
        let loaded_ns = starts.loaded_ns().unwrap_or(user_space_ns).clamp(user_space_ns, finished_ns);
        let mut graph = Self { user_space_ns, loaded_ns, nodes, unfinished, requirements: Vec::new() };
        graph.requirements = graph.requirements_in(trace);
        graph.set_gaps(trace);
        Some(graph)
    }

    /// Returns the index of the end of the boot.
    pub(super) fn end(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// Returns the unit nodes, without the end of the boot.
    pub(super) fn units(&self) -> impl Iterator<Item = (usize, &UnitNode)> {
        self.nodes.iter().enumerate().take(self.end())
    }

    /// Returns the share of the critical path, from the end of the boot back to the start of user space, in which
    /// units waited for something unknown, percent.
    pub(super) fn unknown_percent(&self) -> f64 {
        let (mut unknown_ns, mut next) = (0_i64, self.nodes.last());
        // Predecessors come first, so the walk ends.
        while let Some(node) = next {
            if node.is_gap_unknown {
                unknown_ns = unknown_ns.saturating_add(node.gap_ns);
            }
            next = match node.release {
                Release::DeviceScan(scan) => self.nodes.get(scan),
                Release::Predecessors => {
                    let nodes = node.predecessors.iter().filter_map(|&index| self.nodes.get(index));
                    nodes.max_by_key(|predecessor| predecessor.end_ns)
                }
            };
        }
        let total_ns = self.nodes.last().map_or(0, |end| end.end_ns.saturating_sub(self.user_space_ns));
        if total_ns <= 0 { 100.0 } else { 100.0 * unknown_ns as f64 / total_ns as f64 }
    }

    fn set_gaps(&mut self, trace: &Trace) {
        let loaded_ns = self.loaded_ns;
        let mut times: Vec<i64> = self.nodes.iter().flat_map(|node| [node.start_ns, node.end_ns]).collect();
        times.push(loaded_ns);
        times.sort_unstable();
        let user_space_ns = self.nodes.last().map_or(0, |end| end.end_ns.saturating_sub(self.user_space_ns));
        let notable_ns = (user_space_ns / 100 * NOTABLE_GAP_PERCENT).max(NOTABLE_GAP_NS);
        let requested = self.requested_with_the_boot(trace);
        for index in 0..self.nodes.len() {
            let Some(node) = self.nodes.get(index) else { continue };
            let released_ns = match node.release {
                Release::DeviceScan(_) => node.start_ns,
                Release::Predecessors => {
                    let ends = node.predecessors.iter().filter_map(|&index| Some(self.nodes.get(index)?.end_ns));
                    // A time from a message may be late.
                    ends.max().map_or(loaded_ns, |end_ns| end_ns.min(node.start_ns))
                }
            };
            let gap_ns = node.start_ns.saturating_sub(released_ns);
            let idle_ns = longest_gap_ns(&times, released_ns, node.start_ns);
            let was_requested = index == self.end() || requested.contains(&index);
            let is_gap_unknown = gap_ns > notable_ns && (idle_ns > notable_ns || !was_requested);
            if let Some(node) = self.nodes.get_mut(index) {
                (node.gap_ns, node.is_gap_unknown) = (gap_ns, is_gap_unknown);
            }
        }
    }

    /// Returns the units that the default target pulls in. Others are requested later, at a time that the units'
    /// order does not explain.
    fn requested_with_the_boot(&self, trace: &Trace) -> HashSet<usize> {
        let nodes_by_name: HashMap<&str, usize> =
            self.units().map(|(index, node)| (node.name.as_str(), index)).collect();
        let mut pulled_in: HashMap<StringId, Vec<StringId>> = HashMap::new();
        for row in trace.service_dependencies.iter() {
            if !matches!(row.kind, DependencyKind::After | DependencyKind::PartOf) {
                pulled_in.entry(row.service).or_default().push(row.on);
            }
        }
        let reported = first_milestone(trace, milestone::STARTUP_FINISHED).map(|row| row.detail);
        let standard = STANDARD_TARGETS.iter().filter_map(|name| trace.strings.find(name));
        let mut queue: Vec<StringId> = reported.into_iter().chain(standard).collect();
        let mut seen: HashSet<StringId> = queue.iter().copied().collect();
        let mut requested = HashSet::new();
        while let Some(unit) = queue.pop() {
            requested.extend(nodes_by_name.get(trace.text(unit)));
            let others = pulled_in.get(&unit).into_iter().flatten();
            queue.extend(others.filter(|&&other| seen.insert(other)));
        }
        requested
    }

    fn requirements_in(&self, trace: &Trace) -> Vec<(usize, usize)> {
        let mut nodes_by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, node) in self.units() {
            nodes_by_name.entry(&node.name).or_default().push(index);
        }
        let is_requirement =
            |kind| matches!(kind, DependencyKind::Requires | DependencyKind::Requisite | DependencyKind::BindsTo);
        let nodes_of = |unit| nodes_by_name.get(trace.text(unit)).into_iter().flatten().copied();
        let rows = trace.service_dependencies.iter().filter(|row| is_requirement(row.kind));
        rows.flat_map(|row| nodes_of(row.on).flat_map(move |on| nodes_of(row.service).map(move |by| (on, by))))
            .collect()
    }
}

fn is_device(trace: &Trace, rows: &[onoff_trace::ServiceTransition], row: usize) -> bool {
    rows.get(row).is_some_and(|row| trace.text(row.service).ends_with(".device"))
}

/// Returns the longest interval without a recorded time between two times, ns.
fn longest_gap_ns(times: &[i64], from_ns: i64, to_ns: i64) -> i64 {
    let first = times.partition_point(|&time_ns| time_ns <= from_ns);
    let (mut last_ns, mut longest_ns) = (from_ns, 0_i64);
    for &time_ns in times.iter().skip(first) {
        let time_ns = time_ns.min(to_ns);
        longest_ns = longest_ns.max(time_ns.saturating_sub(last_ns));
        last_ns = time_ns;
        if time_ns >= to_ns {
            break;
        }
    }
    longest_ns
}
