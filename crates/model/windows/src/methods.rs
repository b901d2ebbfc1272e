//! Builds the table of .NET methods and the addresses of their code.
//!
//! The runtime logs each method when it compiles it, and lists methods compiled earlier in a rundown at the end of the
//! recording. Source: Microsoft's documentation of the CLR method and loader events.

use hashbrown::HashMap;
use onoff_trace::{Method, Methods, StringId};

use super::phase_events::{DOTNET_RUNDOWN, DOTNET_RUNTIME, Event, PhaseEvent};
use super::texts::Texts;

/// Meaning of an event.
#[derive(Clone, Copy)]
enum Step {
    Loaded,
    Unloaded,
    /// The method was already loaded when the event was logged.
    Present,
    /// A module; methods refer to it by id.
    Module,
}

/// Event ids: `MethodLoadVerbose`, `MethodUnloadVerbose`, `ModuleLoad`, and in the rundown `MethodDCStartVerbose`,
/// `MethodDCEndVerbose`, `ModuleDCStart`, `ModuleDCEnd`.
const EVENTS: &[(Event, Step)] = &[
    ((DOTNET_RUNTIME, 143), Step::Loaded),
    ((DOTNET_RUNTIME, 144), Step::Unloaded),
    ((DOTNET_RUNTIME, 152), Step::Module),
    ((DOTNET_RUNDOWN, 143), Step::Present),
    ((DOTNET_RUNDOWN, 144), Step::Present),
    ((DOTNET_RUNDOWN, 153), Step::Module),
    ((DOTNET_RUNDOWN, 154), Step::Module),
];

/// Returns the events from which the table is built.
pub(super) fn events() -> impl Iterator<Item = Event> {
    EVENTS.iter().map(|&(event, _)| event)
}

#[derive(Debug, Default)]
pub(super) struct MethodTracker {
    /// Rows with the id of their module.
    rows: Vec<(Method, u64)>,
    /// Latest row by process and address.
    latest: HashMap<(u32, u64), usize>,
    /// Module files by process and module id.
    modules: HashMap<(u32, u64), StringId>,
}

impl MethodTracker {
    /// Processes a phase event; `None` if a required field is missing.
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) -> Option<()> {
        let Some(&(_, step)) = EVENTS.iter().find(|(declared_event, _)| event.is(*declared_event)) else {
            return Some(());
        };
        let pid = event.process_id()?;
        let module = event.number("ModuleID")?;
        if matches!(step, Step::Module) {
            self.modules.insert((pid, module), event.text("ModuleILPath", texts)?);
            return Some(());
        }
        let time_ns = event.time_ns();
        let namespace = event.text("MethodNamespace", texts)?;
        let name = event.text("MethodName", texts)?;
        let name = match namespace {
            StringId::EMPTY => name,
            _ => {
                let full_name = format!("{}.{}", texts.get(namespace), texts.get(name));
                texts.str(&full_name)
            }
        };
        let method = Method {
            pid,
            address: event.number("MethodStartAddress")?,
            size: event.number("MethodSize")?,
            name,
            signature: event.text("MethodSignature", texts).unwrap_or_default(),
            ..Method::UNKNOWN
        };
        let code_location = (pid, method.address);
        let previous = self.latest.get(&code_location).and_then(|&index| self.rows.get_mut(index)).map(|(row, _)| row);
        let is_known = previous.as_ref().is_some_and(|row| row.name == name && row.end_ns.is_none());
        match (step, previous) {
            (Step::Present, Some(_)) if is_known => return Some(()),
            (Step::Unloaded, Some(row)) if is_known => {
                row.end_ns = Some(time_ns);
                return Some(());
            }
            // The address was reused, and the unload of the previous method was not recorded.
            (_, Some(row)) if row.end_ns.is_none() => row.end_ns = Some(time_ns),
            _ => {}
        }
        let is_reused = self.latest.insert(code_location, self.rows.len()).is_some();
        let row = match step {
            Step::Unloaded => Method { end_ns: Some(time_ns), ..method },
            Step::Loaded => Method { start_ns: Some(time_ns), ..method },
            // The load time is unknown; if the address was reused, the time of the event is an upper bound.
            _ => Method { start_ns: is_reused.then_some(time_ns), ..method },
        };
        self.rows.push((row, module));
        Some(())
    }

    pub(super) fn finish(self) -> Methods {
        let Self { mut rows, modules, .. } = self;
        rows.sort_by_key(|(row, _)| (row.start_ns.unwrap_or(i64::MIN), row.pid, row.address));
        let module_file = |pid, module| modules.get(&(pid, module)).copied().unwrap_or_default();
        rows.into_iter().map(|(row, module)| Method { module: module_file(row.pid, module), ..row }).collect()
    }
}

#[cfg(test)]
mod tests {
    use onoff_testkit::assemble::{EtlBuilder, EventHeader, Payload, Record, Session};
    use onoff_trace::{TableName, TableSet, Trace};
    use uuid::Uuid;

    use super::*;
    use onoff_input::options::Options;
    use onoff_input::unpack::Limits;
    use onoff_sources::{files_from_bytes, open_files};

    const LOADED: (Event, u8) = ((DOTNET_RUNTIME, 143), 1);
    const UNLOADED: (Event, u8) = ((DOTNET_RUNTIME, 144), 1);
    const PRESENT: (Event, u8) = ((DOTNET_RUNDOWN, 144), 1);

    /// Builds the event payload of a method of module 9, with the fields that all these events have in common.
    fn method(address: u64, namespace: &str, name: &str) -> Payload {
        let numbers = Payload::wide().u64(77).u64(9).u64(address).u32(0x40).u32(0x0600_0001).u32(4);
        numbers.text(namespace).text(name).text("void  ()").u16(11)
    }

    fn module(path: &str) -> Payload {
        Payload::wide().u64(9).u64(5).u32(0).u32(0).text(path).text("").u16(11)
    }

    /// Reads events at increasing times.
    fn read(events: Vec<((Event, u8), u32, Payload)>) -> Trace {
        let session = Session::windows_10(1);
        let start = session.start_ticks;
        let mut builder = EtlBuilder::new(session);
        for (number, (((provider, id), version), process, payload)) in (1..).zip(events) {
            let provider = provider.guid.to_string().parse::<Uuid>().unwrap();
            let event = EventHeader { provider, id, version, thread: 8, process, level: 4, ..EventHeader::default() };
            builder.push(0, &Record::manifest(event, start + number * 10, payload));
        }
        let files = files_from_bytes([("net.etl".to_owned(), builder.finish())], &Limits::default()).unwrap();
        open_files(&files, TableSet::from_names(&[TableName::Methods]), &Options::default()).unwrap()
    }

    /// Returns process, address, name, and whether load and unload are known.
    fn rows(trace: &Trace) -> Vec<(u32, u64, &str, bool, bool)> {
        let row =
            |row: Method| (row.pid, row.address, trace.text(row.name), row.start_ns.is_some(), row.end_ns.is_some());
        trace.methods.iter().map(row).collect()
    }

    #[test]
    fn method_row_has_load_unload_and_module() {
        let trace = read(vec![
            (LOADED, 4, method(0x1000, "My.Class", "Run")),
            (LOADED, 4, method(0x2000, "", "Main")),
            (UNLOADED, 4, method(0x2000, "", "Main")),
            // The rundown at the end lists a known method and a method that was loaded before; the module comes last.
            (PRESENT, 4, method(0x1000, "My.Class", "Run")),
            (PRESENT, 4, method(0x3000, "System.String", ".ctor")),
            (((DOTNET_RUNDOWN, 154), 1), 4, module("C:\\app\\my.dll")),
        ]);
        assert_eq!(
            rows(&trace),
            [
                (4, 0x3000, "System.String..ctor", false, false),
                (4, 0x1000, "My.Class.Run", true, false),
                (4, 0x2000, "Main", true, true),
            ]
        );
        let first = trace.methods.get(0).unwrap();
        assert_eq!((first.size, trace.text(first.signature)), (0x40, "void  ()"));
        assert_eq!(trace.text(first.module), "C:\\app\\my.dll");
        assert_eq!(trace.losses.count("phase_event_unreadable"), 0);
    }

    #[test]
    fn reused_address_ends_the_previous_method() {
        let trace = read(vec![
            (LOADED, 4, method(0x1000, "A", "Old")),
            (LOADED, 4, method(0x1000, "A", "New")),
            // The same address in another process, and the unload of a method that was loaded before the recording.
            (LOADED, 5, method(0x1000, "B", "Other")),
            (UNLOADED, 5, method(0x9000, "B", "Before")),
        ]);
        let rows = rows(&trace);
        assert_eq!(
            rows,
            [
                (5, 0x9000, "B.Before", false, true),
                (4, 0x1000, "A.Old", true, true),
                (4, 0x1000, "A.New", true, false),
                (5, 0x1000, "B.Other", true, false),
            ]
        );
        let times: Vec<_> = trace.methods.iter().map(|row| (row.start_ns, row.end_ns)).collect();
        assert_eq!(times[1].1, times[2].0);
    }

    #[test]
    fn ignores_other_events_and_counts_truncated_ones() {
        let short = Payload::wide().u64(77).u64(9).u64(0x1000);
        let other_event = ((super::super::phase_events::KERNEL_PROCESS, 143), 0);
        let trace = read(vec![(LOADED, 4, short), (other_event, 4, method(0x1000, "A", "B"))]);
        assert_eq!(trace.methods.len(), 0);
        assert_eq!(trace.losses.count("phase_event_unreadable"), 1);
    }
}
