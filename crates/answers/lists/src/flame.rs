//! Flame graphs: stacks as a tree of time. For samples: processes, modules and functions by CPU time. For wait chains:
//! which thread waited for which.
//!
//! Nodes are in one list and traversed without recursion, so that deep stacks cannot overflow the program's own stack.

use hashbrown::HashMap;
use onoff_trace::Trace;
use serde::Serialize;

use onoff_blame::waits::{CriticalPath, PathStep, StepKind};
use onoff_evidence::interval::Interval;
use onoff_usage::cpu::{charge_from_samples, sampling_period};
use onoff_usage::functions::{Code, FunctionNames, StackFinder};
use onoff_usage::owners::{IDLE, Owners, file_name};

/// Maximum stack depth; the time of deeper frames counts for the last frame kept.
pub const MAX_FRAMES: usize = 256;

/// A frame of a flame graph and its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlameNode {
    /// Process, module, or what was waited for.
    pub name: String,
    /// Time including all nodes below, ns.
    pub total_ns: i64,
    /// Time excluding the nodes below, ns.
    pub own_ns: i64,
    /// Index of the parent node; `None` for roots.
    pub parent: Option<usize>,
    /// Number of ancestors.
    pub depth: usize,
}

/// A flame graph. A node comes after its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flame {
    /// Nodes.
    pub nodes: Vec<FlameNode>,
    /// Total time, ns.
    pub total_ns: i64,
    #[serde(skip)]
    indexes: HashMap<(Option<usize>, String), usize>,
}

impl Flame {
    /// Adds time for a stack, outermost frame first. Repeated frames count once.
    pub fn add<'f>(&mut self, frames: impl IntoIterator<Item = &'f str>, ns: i64) {
        let ns = ns.max(0);
        self.total_ns = self.total_ns.saturating_add(ns);
        let mut parent: Option<usize> = None;
        let mut depth = 0;
        for name in frames {
            if depth >= MAX_FRAMES || parent.is_some_and(|index| self.nodes[index].name == name) {
                continue;
            }
            let next_index = self.nodes.len();
            let index = *self.indexes.entry((parent, name.to_owned())).or_insert(next_index);
            if index == next_index {
                self.nodes.push(FlameNode { name: name.to_owned(), parent, depth, ..FlameNode::default() });
            }
            self.nodes[index].total_ns = self.nodes[index].total_ns.saturating_add(ns);
            parent = Some(index);
            depth += 1;
        }
        if let Some(index) = parent {
            self.nodes[index].own_ns = self.nodes[index].own_ns.saturating_add(ns);
        }
    }

    /// Returns the stacks with own time, as node indexes, outermost first.
    pub fn stacks(&self) -> impl Iterator<Item = Vec<usize>> {
        let with_time = self.nodes.iter().enumerate().filter(|(_, node)| node.own_ns > 0);
        with_time.map(|(index, _)| {
            let mut stack: Vec<usize> = std::iter::successors(Some(index), |&index| self.nodes[index].parent).collect();
            stack.reverse();
            stack
        })
    }

    /// Returns the nodes by depth and start, with their start in ns. Siblings are sorted widest first. Nodes below
    /// `min_ns` are omitted with their descendants.
    #[must_use]
    pub fn layout(&self, min_ns: i64) -> Vec<(i64, &FlameNode)> {
        let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.total_ns >= min_ns.max(1)) {
            children.entry(node.parent).or_default().push(index);
        }
        for list in children.values_mut() {
            list.sort_by(|&a, &b| {
                let (a, b) = (&self.nodes[a], &self.nodes[b]);
                b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name))
            });
        }
        let mut layout = Vec::new();
        let mut pending: Vec<(Option<usize>, i64)> = vec![(None, 0)];
        while let Some((parent, mut start_ns)) = pending.pop() {
            for &index in children.get(&parent).map_or(&[][..], Vec::as_slice) {
                layout.push((start_ns, &self.nodes[index]));
                pending.push((Some(index), start_ns));
                start_ns = start_ns.saturating_add(self.nodes[index].total_ns);
            }
        }
        layout.sort_by_key(|(start_ns, node)| (node.depth, *start_ns));
        layout
    }
}

/// A CPU sample of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSample {
    /// Time, ns.
    pub time_ns: i64,
    /// Time represented by the sample, ns.
    pub ns: i64,
    /// Process with id, e.g. `explorer.exe (292)`.
    pub process: String,
    /// Process id; `None` if unknown.
    pub pid: Option<u32>,
    /// Thread id.
    pub tid: u32,
    /// Functions of the call stack, outermost first, or modules for those without a name; without a stack the sampled
    /// location.
    pub frames: Vec<String>,
}

/// Returns the interval between samples on one processor, ns.
#[must_use]
pub fn sampling_period_ns(trace: &Trace) -> i64 {
    sampling_period(trace)
}

/// Visits the samples of threads in `range`, in recording order.
pub fn for_each_sample(trace: &Trace, range: Interval, names: &FunctionNames, mut visit: impl FnMut(&CpuSample)) {
    let stacks =
        StackFinder::new(trace).stacks_in((range.start_ns, range.end_ns), |(time_ns, _)| range.contains(*time_ns));
    let code = Code::new(trace);
    let mut owners = Owners::from_trace(trace);
    let processes: Vec<(String, Option<u32>)> = owners
        .list()
        .iter()
        .map(|owner| {
            let process = match (file_name(trace.text(owner.image)), owner.pid) {
                ("", None) => "not known".to_owned(),
                ("", Some(pid)) => format!("process {pid}"),
                (image, Some(pid)) => format!("{image} ({pid})"),
                (image, None) => image.to_owned(),
            };
            (process, owner.pid)
        })
        .collect();
    let mut cpu_sample = CpuSample::default();
    charge_from_samples(trace, &mut owners, &[range.start_ns, range.end_ns], |sample| {
        let Some((process, pid)) = processes.get(sample.owner as usize) else { return };
        if sample.owner == IDLE || sample.tid == 0 {
            return;
        }
        let stack = stacks.get(&(sample.start_ns, sample.tid)).copied().unwrap_or_default();
        let starts_at_sample = stack.addresses(&trace.stack_pool).next() == Some(sample.address);
        let sampled_address = (!starts_at_sample).then_some(sample.address);
        let mut addresses: Vec<u64> =
            sampled_address.into_iter().chain(stack.addresses(&trace.stack_pool)).take(MAX_FRAMES).collect();
        addresses.reverse();
        let frames = addresses
            .into_iter()
            .map(|address| code.frame((pid.unwrap_or(0), address, sample.start_ns), names).label());
        cpu_sample.frames.clear();
        cpu_sample.frames.extend(frames);
        cpu_sample.process.clone_from(process);
        (cpu_sample.time_ns, cpu_sample.ns, cpu_sample.pid, cpu_sample.tid) =
            (sample.start_ns, sample.ns, *pid, sample.tid);
        visit(&cpu_sample);
    });
}

/// Returns a flame graph of the samples in `range`, by process and the functions of their call stacks (or modules for
/// those without a name).
#[must_use]
pub fn sample_flame(trace: &Trace, range: Interval, names: &FunctionNames) -> Flame {
    let mut flame = Flame::default();
    for_each_sample(trace, range, names, |sample| {
        let frames = sample.frames.iter().map(String::as_str);
        flame.add(std::iter::once(sample.process.as_str()).chain(frames), sample.ns);
    });
    flame
}

/// Returns a flame graph of the wait chains in `range`: from the outermost waiter to what the time was spent on.
#[must_use]
pub fn path_flame(paths: &[CriticalPath], range: Interval) -> Flame {
    let mut flame = Flame::default();
    for path in paths {
        let mut names: HashMap<u32, String> = HashMap::new();
        for step in &path.steps {
            names.entry(step.thread.tid).or_insert_with(|| process_label(step));
        }
        for step in &path.steps {
            let ns = step.end_ns.min(range.end_ns).saturating_sub(step.start_ns.max(range.start_ns));
            if ns <= 0 {
                continue;
            }
            let waiters = step.waiters.iter().rev().filter_map(|tid| names.get(tid).cloned());
            let mut frames: Vec<String> = waiters.collect();
            frames.push(process_label(step));
            frames.push(state_label(step.kind).to_owned());
            if !step.detail.is_empty() {
                frames.push(step.detail.clone());
            }
            flame.add(frames.iter().map(String::as_str), ns);
        }
    }
    flame
}

fn process_label(step: &PathStep) -> String {
    match (step.thread.process.as_str(), step.thread.pid) {
        ("", _) => format!("thread {}", step.thread.tid),
        (process, Some(pid)) => format!("{process} ({pid})"),
        (process, None) => process.to_owned(),
    }
}

const fn state_label(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Cpu => "ran",
        StepKind::Ready => "ready, no CPU free",
        StepKind::Disk => "waited for a disk",
        StepKind::Timer => "waited for a timer",
        StepKind::Device => "waited for a device",
        StepKind::ServiceDependency => "waited for a service",
        StepKind::Other => "not known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic;
    use onoff_trace::{Sample, Samples, Stack, Stacks};

    #[test]
    fn sums_times_and_sorts_widest_first() {
        let mut flame = Flame::default();
        flame.add(["a.exe", "ntdll", "ntdll", "disk"], 30);
        flame.add(["a.exe", "ntdll"], 10);
        flame.add(["b.exe"], 60);
        let layout: Vec<(i64, &str, i64, i64)> = flame
            .layout(1)
            .into_iter()
            .map(|(start_ns, node)| (start_ns, node.name.as_str(), node.total_ns, node.own_ns))
            .collect();
        assert_eq!(layout, [(0, "b.exe", 60, 60), (60, "a.exe", 40, 0), (60, "ntdll", 40, 10), (60, "disk", 30, 30)]);
        assert_eq!(flame.layout(35).len(), 3, "omits narrow nodes");
        assert_eq!(flame.nodes.iter().map(|node| node.own_ns).sum::<i64>(), flame.total_ns);
    }

    #[test]
    fn truncates_deep_stack_and_keeps_its_time() {
        let mut flame = Flame::default();
        let names: Vec<String> = (0..100_000).map(|index| format!("f{index}")).collect();
        flame.add(names.iter().map(String::as_str), 5);
        assert_eq!(flame.nodes.len(), MAX_FRAMES);
        assert_eq!(flame.nodes[MAX_FRAMES - 1].own_ns, 5);
    }

    #[test]
    fn attributes_samples_to_modules_of_stack() {
        let mut trace = Trace { duration_ns: 100_000_000, ..Trace::default() };
        synthetic::process(&mut trace, 7, "\\Windows\\work.exe", None, None);
        synthetic::thread(&mut trace, 70, 7, None, None);
        synthetic::image(&mut trace, 7, (0x1000, 0x1000), None, "\\Windows\\outer.dll");
        synthetic::image(&mut trace, 7, (0x9000, 0x1000), None, "\\Windows\\inner.dll");
        let stack = trace.stack_pool.intern(&[0x9010, 0x1020]);
        trace.stacks.push(Stacks::from_iter([Stack { time_ns: 5_000_000, pid: 7, tid: 70, stack }]));
        let sample = |time_ns, address| Sample { time_ns, cpu: 0, tid: 70, address, count: 1, source: 0 };
        trace.samples.push(Samples::from_iter([sample(5_000_000, 0x9010), sample(6_000_000, 0x1020)]));
        let flame = sample_flame(&trace, Interval::new(0, 100_000_000), &FunctionNames::default());
        let names: Vec<(&str, i64)> =
            flame.layout(1).into_iter().map(|(_, node)| (node.name.as_str(), node.total_ns)).collect();
        assert_eq!(names, [("work.exe (7)", 2_000_000), ("outer.dll", 2_000_000), ("inner.dll", 1_000_000)]);
        assert!(
            sample_flame(&trace, Interval::new(50_000_000, 60_000_000), &FunctionNames::default()).nodes.is_empty(),
            "outside the range"
        );
    }
}
