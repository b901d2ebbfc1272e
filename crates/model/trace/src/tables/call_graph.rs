//! What the kernel called while it worked on a device.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// The work that a call graph is of.
    pub enum CallGraphSubject {
        /// An initialization function; name = function.
        Initcall = "initcall",
        /// A device's callback of a suspend or resume; name = device.
        DeviceCallback = "device_callback",
    }
}

table! {
    /// A function of the kernel that a slow initialization function or device callback called (function_graph tracer):
    /// all calls of it from one place of the tree. Small ones are left out.
    CallGraphFunctions of CallGraphFunction {
        /// What the graph is of.
        subject: CallGraphSubject,
        /// Its name; see [`CallGraphSubject`].
        name: StringId,
        /// Driver of the device, or module of the function; empty when there is none.
        driver: StringId,
        /// Begin of that work, ns.
        start_ns: i64 as Start,
        /// Its end, ns; `None` when it did not end in the recording.
        end_ns: Option<i64> as End,
        /// Thread that did it.
        tid: u32 as Thread,
        /// Function; its address where the recording does not name it.
        function: StringId,
        /// How deep in the graph: 0 for what the work itself called.
        depth: u32,
        /// Calls.
        calls: u64,
        /// Of these, how many have no end in the recording: their time is not in the sums.
        unfinished: u64,
        /// Time of the calls with all that they called, ns.
        duration_ns: i64 as Duration,
        /// The same without what they called, ns.
        own_ns: i64 as Duration,
    }
}
