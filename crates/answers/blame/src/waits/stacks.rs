//! Call stacks of path steps: for a wait, the stack when the thread resumed; for CPU time that ended by readying
//! another thread, the stack of that call.

use hashbrown::HashMap;
use onoff_trace::Stacks;

use super::Waits;
use super::path::{CriticalPath, StackFrame};
use onoff_usage::functions::{CompiledMethods, JoinedStack};
use onoff_usage::owners::file_name;

/// Maximum time from an event until its stack event, ns: 10 s. Later chunks of the table are not read.
const MAX_STACK_DELAY_NS: i64 = 10_000_000_000;

impl Waits<'_> {
    /// Adds the recorded call stacks to the steps of `paths` in one pass over the stack table.
    pub fn add_stacks(&self, paths: Vec<&mut CriticalPath>) {
        let mut stacks: HashMap<(i64, u32), JoinedStack> = paths
            .iter()
            .flat_map(|path| &path.steps)
            .filter_map(|step| Some(((step.stack_ns?, step.thread.tid), JoinedStack::default())))
            .collect();
        let (Some(first_ns), Some(last_ns)) =
            (stacks.keys().map(|&(time_ns, _)| time_ns).min(), stacks.keys().map(|&(time_ns, _)| time_ns).max())
        else {
            return;
        };
        for chunk in self.trace.stacks.chunks() {
            let chunk: &Stacks = chunk;
            if chunk
                .time_ns
                .first()
                .is_some_and(|&chunk_start| chunk_start > last_ns.saturating_add(MAX_STACK_DELAY_NS))
            {
                break;
            }
            let rows = chunk.time_ns.iter().zip(&chunk.tid).zip(&chunk.stack);
            for ((&time_ns, &tid), &stack) in rows {
                if (first_ns..=last_ns).contains(&time_ns)
                    && let Some(joined) = stacks.get_mut(&(time_ns, tid))
                {
                    joined.add(&self.trace.stack_pool, stack);
                }
            }
        }
        let methods = CompiledMethods::from_trace(self.trace);
        for step in paths.into_iter().flat_map(|path| &mut path.steps) {
            let Some(stack_ns) = step.stack_ns else { continue };
            if let Some(&stack) = stacks.get(&(stack_ns, step.thread.tid)) {
                let pid = step.thread.pid.unwrap_or(0);
                step.stack = self.frames(&methods, stack, (pid, stack_ns));
            }
        }
    }

    fn frames(&self, methods: &CompiledMethods, stack: JoinedStack, (pid, time_ns): (u32, i64)) -> Vec<StackFrame> {
        let frame = |address: u64| {
            let row = self.causes.modules().row_at(pid, address, time_ns);
            let image = row.and_then(|row| self.trace.images.get(row));
            let method = methods.method_at(self.trace, pid, address, time_ns);
            let base = image.as_ref().map(|image| image.base).or(method.as_ref().map(|method| method.address));
            let relative_address = address.saturating_sub(base.unwrap_or(0));
            let module = image.map(|image| image.path).or(method.as_ref().map(|method| method.module));
            StackFrame {
                module: module.map(|path| file_name(self.trace.text(path)).to_owned()).unwrap_or_default(),
                function: method.map(|method| self.trace.text(method.name).to_owned()).unwrap_or_default(),
                offset: format!("{relative_address:#x}"),
                image: row,
                relative_address,
            }
        };
        stack.addresses(&self.trace.stack_pool).map(frame).collect()
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::{Method, Methods, Pattern, Stack, Stacks, StringId, Trace};

    use crate::waits::PathOptions;
    use crate::why::{WhyQuestion, WhyTarget, why};
    use onoff_testkit::synthetic;

    const MS: i64 = 1_000_000;

    /// A thread waits from 10 to 40 ms and resumes with a stack of kernel, module, JIT-compiled and unknown frames. Its
    /// kernel and user parts are recorded separately.
    fn trace() -> Trace {
        const KERNEL: u64 = 0xFFFF_F800_0000_0000;
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        synthetic::process(&mut trace, 7, "\\Windows\\work.exe", None, None);
        synthetic::thread(&mut trace, 70, 7, None, None);
        synthetic::image(&mut trace, 7, (0x9000, 0x1000), None, "\\Windows\\inner.dll");
        synthetic::image(&mut trace, 0, (KERNEL, 0x1000), None, "\\Windows\\kernel.exe");
        let switches = [(1, 0, 0, (2, 0), 70), (10, 0, 70, (5, 4), 0), (40, 0, 0, (2, 0), 70), (90, 0, 70, (5, 0), 0)];
        synthetic::switches_in_ms(&mut trace, &switches);
        let parts: [&[u64]; 2] = [&[KERNEL + 0x10], &[0x9010, 0x5020, 0x7777]];
        let parts = parts.map(|frames| trace.stack_pool.intern(frames));
        trace.stacks.push(Stacks::from_iter(parts.map(|stack| Stack { time_ns: 40 * MS, pid: 7, tid: 70, stack })));
        trace
    }

    fn labels(trace: &Trace) -> Vec<String> {
        let question = WhyQuestion {
            target: WhyTarget::Process(Pattern::new("work.exe")),
            at_ns: None,
            within: None,
            min_duration_ns: 20 * MS,
            max_intervals: None,
            include_work_waits: true,
            path: PathOptions::default(),
        };
        let report = why(trace, &question).unwrap();
        let steps = report.intervals.iter().flat_map(|interval| &interval.path.steps);
        steps.flat_map(|step| &step.stack).map(super::StackFrame::label).collect()
    }

    #[test]
    fn joins_split_stack_and_names_jit_methods() {
        let mut trace = trace();
        assert_eq!(labels(&trace), ["kernel.exe+0x10", "inner.dll+0x10", "0x5020", "0x7777"]);
        let mut method = |pid, name| Method {
            pid,
            address: 0x5000,
            size: 0x100,
            start_ns: None,
            end_ns: None,
            name: trace.strings.intern(name),
            signature: StringId::EMPTY,
            module: StringId::EMPTY,
        };
        trace.methods = Methods::from_iter([method(7, "My.Class.Wait"), method(8, "Decoy")]);
        assert_eq!(labels(&trace), ["kernel.exe+0x10", "inner.dll+0x10", "My.Class.Wait", "0x7777"]);
    }
}
