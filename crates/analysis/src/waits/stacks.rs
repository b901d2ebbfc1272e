//! The call stacks of a path's steps: of a wait, the stack of the thread when it came back from it; of work that made
//! another thread ready, the stack with which it did.

use hashbrown::HashMap;
use onoff_trace::Stacks;

use super::Waits;
use super::path::{CriticalPath, StackFrame};
use crate::functions::JoinedStack;
use crate::owners::file_name;

/// Stacks are recorded up to this long after the event whose time they carry, ns: 10 s. Pieces of the table that begin
/// later are not read.
const LATEST_NS: i64 = 10_000_000_000;

impl Waits<'_> {
    /// Adds the recorded call stacks to the steps of `paths`: one pass over the table of stacks.
    pub fn add_stacks(&self, paths: Vec<&mut CriticalPath>) {
        let mut wanted: HashMap<(i64, u32), JoinedStack> = paths
            .iter()
            .flat_map(|path| &path.steps)
            .filter_map(|step| Some(((step.stack_ns?, step.thread.tid), JoinedStack::default())))
            .collect();
        let (Some(first), Some(last)) = (wanted.keys().map(|key| key.0).min(), wanted.keys().map(|key| key.0).max())
        else {
            return;
        };
        for piece in self.trace.stacks.pieces() {
            let piece: &Stacks = piece;
            if piece.time_ns.first().is_some_and(|&begin| begin > last.saturating_add(LATEST_NS)) {
                break;
            }
            let rows = piece.time_ns.iter().zip(&piece.tid).zip(&piece.stack);
            for ((&time_ns, &tid), &stack) in rows {
                if (first..=last).contains(&time_ns)
                    && let Some(found) = wanted.get_mut(&(time_ns, tid))
                {
                    found.add(&self.trace.stack_pool, stack);
                }
            }
        }
        for step in paths.into_iter().flat_map(|path| &mut path.steps) {
            let Some(stack_ns) = step.stack_ns else {
                continue;
            };
            if let Some(&stack) = wanted.get(&(stack_ns, step.thread.tid)) {
                let pid = step.thread.pid.unwrap_or(0);
                step.stack = self.frames(stack, pid, stack_ns);
            }
        }
    }

    fn frames(&self, stack: JoinedStack, pid: u32, time_ns: i64) -> Vec<StackFrame> {
        stack
            .addresses(&self.trace.stack_pool)
            .map(|address| {
                let found = self.causes.modules().row_at(pid, address, time_ns);
                match found.and_then(|row| Some((row, self.trace.images.get(row)?))) {
                    Some((row, image)) => {
                        let relative_address = address.saturating_sub(image.base);
                        StackFrame {
                            module: file_name(self.trace.text(image.path)).to_owned(),
                            function: String::new(),
                            offset: format!("{relative_address:#x}"),
                            image: Some(row),
                            relative_address,
                        }
                    }
                    None => StackFrame { offset: format!("{address:#x}"), ..StackFrame::default() },
                }
            })
            .collect()
    }
}
