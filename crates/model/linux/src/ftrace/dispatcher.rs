//! Dispatches every trace event to the tracker for its subject.

use hashbrown::HashMap;
use onoff_ftrace::{DataFile, Event, Kind, PowerEdge, system_call_arguments};
use onoff_trace::{CallGraphSubject, KindCount, Milestone, TableName, counters, milestone};

use super::call_graph::{CallGraphTracker, Return};
use super::disk::DiskTracker;
use super::initcalls::InitcallTracker;
use super::interrupts::InterruptTracker;
use super::power::PowerTracker;
use super::selection::TABLES;
use super::signals;
use super::stacks::StackTracker;
use super::switches::SwitchTracker;
use super::system_calls::SystemCallTracker;
use crate::assembly::Assembly;
use crate::clocks::{Clocks, SourceClock};

counters! {
    UNREADABLE = "trace_events_unreadable", Warning, TABLES,
        "Events with unreadable fields were skipped; this kernel may use a different format.";
}

/// Processes one trace.
pub(super) struct EventDispatcher<'a> {
    clocks: &'a Clocks,
    assembly: &'a mut Assembly,
    switches: SwitchTracker,
    interrupts: InterruptTracker,
    disk: DiskTracker,
    initcalls: InitcallTracker,
    power: PowerTracker,
    system_calls: SystemCallTracker,
    /// `None` if stacks are not requested or the trace is text, which has no addresses.
    stacks: Option<StackTracker<'a>>,
    /// `None` if call graphs are not requested.
    call_graphs: Option<CallGraphTracker>,
    counts: Option<HashMap<String, u64>>,
    events: u64,
}

impl<'a> EventDispatcher<'a> {
    pub(super) fn new(clocks: &'a Clocks, data: Option<&'a DataFile<'a>>, assembly: &'a mut Assembly) -> Self {
        Self {
            clocks,
            counts: assembly.wants(TableName::Inventory).then(HashMap::new),
            switches: SwitchTracker::default(),
            interrupts: InterruptTracker::default(),
            disk: DiskTracker::default(),
            initcalls: InitcallTracker::default(),
            power: PowerTracker::default(),
            system_calls: SystemCallTracker::default(),
            stacks: data.filter(|_| assembly.wants(TableName::Stacks)).map(StackTracker::new),
            call_graphs: assembly.wants(TableName::CallGraphFunctions).then(CallGraphTracker::default),
            events: 0,
            assembly,
        }
    }

    /// Processes one event. Events must arrive in time order.
    pub(super) fn on_event(&mut self, event: &Event<'_>) {
        self.events += 1;
        if let Some(counts) = &mut self.counts {
            match counts.get_mut(event.name) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(event.name.to_owned(), 1);
                }
            }
        }
        let trace_ns = i64::try_from(event.time_ns).unwrap_or(i64::MAX);
        let time_ns = self.clocks.axis_ns_or_unchanged(SourceClock::Trace, trace_ns);
        let assembly = &mut *self.assembly;
        assembly.extend_to(time_ns);
        assembly.trace_begin_ns.get_or_insert(time_ns);
        let Some(kind) = Kind::from_event(event) else {
            assembly.losses.add_at(&UNREADABLE, || format!("{} at {time_ns} ns", event.name));
            return;
        };
        if let Some(stacks) = &mut self.stacks
            && !matches!(kind, Kind::KernelStack(_) | Kind::UserStack { .. })
        {
            stacks.on_event(time_ns, event, &kind, assembly);
        }
        match kind {
            Kind::KernelStack(addresses) => {
                if let Some(stacks) = &mut self.stacks {
                    stacks.on_kernel(event, addresses, assembly);
                }
            }
            Kind::UserStack { process, addresses } => {
                assembly.processes.set_process(event.pid, process);
                if let Some(stacks) = &mut self.stacks {
                    stacks.on_user(event, process, addresses, assembly);
                }
            }
            Kind::Switch { .. } => self.switches.on_switch(time_ns, event.cpu, &kind, assembly),
            Kind::Waking { task, pid, first } => {
                let in_interrupt = self.interrupts.is_open(event);
                self.switches.on_waking(time_ns, event, (task, pid, first), in_interrupt, assembly);
            }
            Kind::Fork { parent_pid, child_task, child_pid } => {
                let name = assembly.intern(child_task);
                assembly.processes.fork(time_ns, parent_pid, child_pid, name);
            }
            Kind::Exec { file, pid } => {
                let path = assembly.intern(file);
                let name = assembly.intern(file.rsplit('/').next().unwrap_or(file));
                assembly.processes.exec(pid, name, path);
            }
            Kind::Exit { task, pid } => {
                let name = assembly.intern(task);
                assembly.processes.exit(time_ns, pid, name);
            }
            Kind::InterruptBegin { number, name } => {
                let name = assembly.intern(name);
                self.interrupts.on_begin(time_ns, event.cpu, number, name);
            }
            Kind::InterruptEnd { number } => {
                self.interrupts.on_end(time_ns, event.cpu, number, assembly);
            }
            Kind::SoftInterruptBegin { vector } => {
                self.interrupts.on_soft_begin(time_ns, event.cpu, vector);
            }
            Kind::SoftInterruptEnd { vector } => {
                self.interrupts.on_soft_end(time_ns, event.cpu, vector, assembly);
            }
            Kind::Request(request) => self.disk.on_request(time_ns, event.pid, &request, assembly),
            Kind::InitcallBegin(function) => {
                self.initcalls.on_begin(time_ns, event.pid, function, assembly);
                if let Some(graphs) = &mut self.call_graphs {
                    // For a function of a module, the row's description is the module.
                    let driver = assembly.device_operations.last().map(|row| row.description).unwrap_or_default();
                    let name = assembly.intern(function);
                    graphs.begin(time_ns, event.pid, CallGraphSubject::Initcall, (name, driver), assembly);
                }
            }
            Kind::InitcallEnd { function, result } => {
                self.initcalls.on_end(time_ns, event.pid, function, result, assembly);
                if let Some(graphs) = &mut self.call_graphs {
                    // A module's function may have a different name at its end.
                    graphs.end(time_ns, event.pid, CallGraphSubject::Initcall, None, assembly);
                }
            }
            Kind::ModuleLoad(module) => {
                self.initcalls.on_module(time_ns, event.pid, module, assembly);
            }
            Kind::DevicePower { driver, device, edge } => {
                self.power.on_device(time_ns, event.pid, driver, device, edge, assembly);
                if let Some(graphs) = &mut self.call_graphs {
                    let (name, driver) = (assembly.intern(device), assembly.intern(driver));
                    let subject = CallGraphSubject::DeviceCallback;
                    match edge {
                        PowerEdge::Begin { .. } => graphs.begin(time_ns, event.pid, subject, (name, driver), assembly),
                        PowerEdge::End { .. } => graphs.end(time_ns, event.pid, subject, Some(name), assembly),
                    }
                }
            }
            Kind::SuspendStep { action, value, begin } => {
                self.power.on_step(time_ns, event.pid, action, value, begin, assembly);
            }
            Kind::WakeupSource { name, active: true } => {
                self.power.on_wakeup_source(time_ns, name, assembly);
            }
            Kind::RuntimePower(step) => {
                self.power.on_runtime(time_ns, event.pid, step, assembly);
            }
            Kind::Mark(text) => {
                let row = Milestone {
                    time_ns,
                    name: assembly.intern(milestone::MARK),
                    detail: assembly.intern(text),
                    value: None,
                    pid: Some(event.pid),
                    tid: Some(event.pid),
                    event: assembly.intern("ftrace/tracing_mark_write"),
                };
                assembly.milestones.push(row);
            }
            Kind::FunctionBegin { function, depth } => {
                if let Some(graphs) = &mut self.call_graphs {
                    graphs.on_call(time_ns, event.pid, function, depth, assembly);
                }
            }
            Kind::FunctionEnd { depth, duration_ns, overrun } => {
                if let Some(graphs) = &mut self.call_graphs {
                    graphs.on_return(event.pid, &Return { time_ns, depth, duration_ns, overrun }, assembly);
                }
            }
            Kind::FunctionCall { function, depth, duration_ns } => {
                if let Some(graphs) = &mut self.call_graphs {
                    graphs.on_call(time_ns, event.pid, function, depth, assembly);
                    graphs.on_return(event.pid, &Return { time_ns, depth, duration_ns, overrun: 0 }, assembly);
                }
            }
            Kind::SystemCallBegin(name) => {
                let arguments = system_call_arguments(event);
                self.system_calls.on_begin(time_ns, (event.pid, event.task), name, &arguments, assembly);
            }
            Kind::SystemCallEnd { name, result } => {
                self.system_calls.on_end(time_ns, event.pid, name, result, assembly);
            }
            Kind::Signal { number, task, pid } => {
                signals::on_signal(time_ns, event.pid, number, (task, pid), assembly);
            }
            Kind::InitcallLevel(_)
            | Kind::ModuleFree(_)
            | Kind::ModuleRequest(_)
            | Kind::WakeupSource { .. }
            | Kind::Other => {
                if !event.task.is_empty() {
                    assembly.processes.observe(event.pid, event.task, &mut assembly.texts);
                }
            }
        }
    }

    /// Closes everything that is still open at the end of the trace.
    pub(super) fn finish(self) {
        let Self {
            assembly,
            switches,
            interrupts,
            initcalls,
            power,
            system_calls,
            stacks,
            call_graphs,
            counts,
            events,
            ..
        } = self;
        switches.finish(assembly);
        interrupts.finish(assembly);
        initcalls.finish(assembly);
        power.finish(assembly);
        system_calls.finish(assembly);
        if let Some(stacks) = stacks {
            stacks.finish(assembly);
        }
        if let Some(graphs) = call_graphs {
            graphs.finish(assembly);
        }
        let inventory = &mut assembly.inventory;
        inventory.events += events;
        for (name, count) in counts.into_iter().flatten() {
            inventory.kinds.push(KindCount {
                provider: "ftrace".to_owned(),
                name,
                events: count,
                ..KindCount::default()
            });
        }
    }
}
