//! The registry of tables. Each table is listed once, with its field in [`Trace`]; its description and columns are in
//! the declaration of the table. [`Trace::table`] returns any table by name.

use serde::Serialize;

use crate::Trace;
use crate::column::{ColumnDeclaration, Value};
pub use crate::table::TableRows;
use crate::table::{Batches, Declared, Table};
use crate::tables;

/// The declaration of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDeclaration {
    pub name: TableName,
    /// Description of a row.
    pub documentation: &'static str,
    /// Order of the rows.
    pub order: &'static str,
    pub columns: &'static [ColumnDeclaration],
}

/// Untyped view of a table: its declaration and its rows in consecutive chunks.
#[derive(Clone, Debug)]
pub struct TableView<'a> {
    declaration: Option<&'static TableDeclaration>,
    chunks: Vec<&'a dyn TableRows>,
}

impl<'a> TableView<'a> {
    /// Returns the table's declaration; `None` for [`TableName::Inventory`], which has counts instead of rows.
    #[must_use]
    pub fn declaration(&self) -> Option<&'static TableDeclaration> {
        self.declaration
    }
    /// Returns the consecutive chunks of rows.
    #[must_use]
    pub fn chunks(&self) -> &[&'a dyn TableRows] {
        &self.chunks
    }
    #[must_use]
    pub fn into_chunks(self) -> Vec<&'a dyn TableRows> {
        self.chunks
    }
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.rows()).sum()
    }
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Counts the non-null cells of each column, in column order.
    #[must_use]
    pub fn known_cells(&self) -> Vec<u64> {
        let mut counts = vec![0; self.declaration.map_or(0, |table| table.columns.len())];
        for chunk in &self.chunks {
            for (count, column) in counts.iter_mut().zip(chunk.columns()) {
                *count += (0..chunk.rows()).filter(|&row| column.value(row) != Value::Null).count() as u64;
            }
        }
        counts
    }
}

/// Implemented by the fields of [`Trace`] that contain a table or batches of a table.
trait TableField {
    type Rows: Declared;
    fn chunks(&self) -> Vec<&dyn TableRows>;
}

impl<T: TableRows + Declared> TableField for T {
    type Rows = T;
    fn chunks(&self) -> Vec<&dyn TableRows> {
        vec![self]
    }
}

impl<T: Table + TableRows + Declared> TableField for Batches<T> {
    type Rows = T;
    fn chunks(&self) -> Vec<&dyn TableRows> {
        Batches::chunks(self).iter().map(|chunk| chunk as &dyn TableRows).collect()
    }
}

macro_rules! tables {
    ($(#[doc = $order:literal] $name:ident = $text:literal, $holder:ty, $field:ident;)*) => {
        /// A table of the model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[repr(u8)]
        pub enum TableName {
            $(#[doc = $order] #[serde(rename = $text)] $name,)*
            /// Event counts by provider and kind. Has no rows: see [`crate::Inventory`].
            #[serde(rename = "inventory")]
            Inventory,
        }

        impl TableName {
            /// Every table.
            pub const ALL: &'static [TableName] = &[$(Self::$name,)* Self::Inventory];
            /// Returns the table's name in exports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* Self::Inventory => "inventory" }
            }
            /// Finds a table by its name in exports.
            #[must_use]
            pub fn named(name: &str) -> Option<TableName> {
                Self::ALL.iter().copied().find(|table| table.as_str() == name)
            }
        }

        /// Declarations of all tables with rows.
        pub const DECLARATIONS: &[TableDeclaration] = &[$(TableDeclaration {
            name: TableName::$name,
            documentation: <<$holder as TableField>::Rows as Declared>::DOCUMENTATION,
            order: $order,
            columns: <<$holder as TableField>::Rows as Declared>::COLUMNS,
        }),*];

        impl Trace {
            /// Returns a table by name.
            #[must_use]
            pub fn table(&self, name: TableName) -> TableView<'_> {
                let chunks = match name {
                    $(TableName::$name => TableField::chunks(&self.$field),)*
                    TableName::Inventory => Vec::new(),
                };
                TableView { declaration: DECLARATIONS.iter().find(|table| table.name == name), chunks }
            }
        }
    };
}

tables! {
    /// Processes, by start.
    Processes = "processes", tables::Processes, processes;
    /// Threads, by start.
    Threads = "threads", tables::Threads, threads;
    /// Modules, by load.
    Images = "images", tables::Images, images;
    /// Methods of .NET programs, by load.
    Methods = "methods", tables::Methods, methods;
    /// Context switches, by time.
    ContextSwitches = "context_switches", Batches<tables::ContextSwitches>, context_switches;
    /// Threads made ready, by time.
    ReadyThreads = "ready_threads", Batches<tables::ReadyThreads>, ready_threads;
    /// Profile samples, by time.
    Samples = "samples", Batches<tables::Samples>, samples;
    /// Call stacks, in recorded order: shortly after the events they belong to, with the time of the event.
    Stacks = "stacks", Batches<tables::Stacks>, stacks;
    /// Interrupts and DPCs, by end.
    Interrupts = "interrupts", Batches<tables::Interrupts>, interrupts;
    /// Disk requests, by completion.
    DiskIos = "disk_ios", tables::DiskIos, disk_ios;
    /// File operations, by start.
    FileIos = "file_ios", tables::FileIos, file_ios;
    /// Hard faults, by end.
    HardFaults = "hard_faults", tables::HardFaults, hard_faults;
    /// Service transitions, by start.
    ServiceTransitions = "service_transitions", tables::ServiceTransitions, service_transitions;
    /// Declared dependencies of services, by service.
    ServiceDependencies = "service_dependencies", tables::ServiceDependencies, service_dependencies;
    /// Processes of services' commands, by service.
    ServiceProcesses = "service_processes", tables::ServiceProcesses, service_processes;
    /// Device operations, by start.
    DeviceOperations = "device_operations", tables::DeviceOperations, device_operations;
    /// Milestones, by time.
    Milestones = "milestones", tables::Milestones, milestones;
    /// Activities, by start.
    Activities = "activities", tables::Activities, activities;
    /// Notifications of a transition, by start.
    Notifications = "notifications", tables::Notifications, notifications;
    /// Power requests to devices, by start.
    PowerRequests = "power_requests", tables::PowerRequests, power_requests;
    /// Call graphs of slow device work, by start of the work, then depth first: callers precede their callees.
    CallGraphFunctions = "call_graph_functions", tables::CallGraphFunctions, call_graph_functions;
    /// Delays that Windows itself reported, as recorded.
    ReportedDelays = "reported_delays", tables::ReportedDelays, reported_delays;
    /// Changes of the computer before this boot, as recorded.
    SystemChanges = "system_changes", tables::SystemChanges, system_changes;
    /// Failures of services, by time.
    ServiceFailures = "service_failures", tables::ServiceFailures, service_failures;
    /// Sessions of power reports, by start.
    PowerSessions = "power_sessions", tables::PowerSessions, power_sessions;
    /// What kept a computer out of its low-power state, by session, longest first.
    LowPowerBlockers = "low_power_blockers", tables::LowPowerBlockers, low_power_blockers;
    /// Intervals in which no user was present, by start.
    UserAbsences = "user_absences", tables::UserAbsences, user_absences;
    /// Requests that the computer stays available, by start.
    AvailabilityRequests = "availability_requests", tables::AvailabilityRequests, availability_requests;
    /// Generic events, by time.
    Events = "events", Batches<tables::Events>, events;
    /// Fields of generic events, in the order of their events.
    EventFields = "event_fields", Batches<tables::EventFields>, event_fields;
    /// Files requested over the network, by request.
    NetworkTransfers = "network_transfers", tables::NetworkTransfers, network_transfers;
    /// DHCP messages, by time.
    DhcpMessages = "dhcp_messages", tables::DhcpMessages, dhcp_messages;
    /// DNS lookups, by time.
    NameLookups = "name_lookups", tables::NameLookups, name_lookups;
    /// Firmware measurements, in the order written by the firmware.
    FirmwareMeasurements = "firmware_measurements", tables::FirmwareMeasurements, firmware_measurements;
}
