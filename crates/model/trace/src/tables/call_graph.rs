//! Kernel call graphs of slow device work.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// The work covered by a call graph.
    pub enum CallGraphSubject {
        /// An initcall; name = function.
        Initcall = "initcall",
        /// A device's suspend or resume callback; name = device.
        DeviceCallback = "device_callback",
    }
}

table! {
    /// A kernel function called by a slow initcall or device callback (function_graph tracer): all calls from one place
    /// in the call tree. Short calls are left out.
    CallGraphFunctions of CallGraphFunction {
        /// Kind of work.
        subject: CallGraphSubject,
        /// Name of the work; see [`CallGraphSubject`].
        name: StringId,
        /// Driver of the device, or module of the function; empty for none.
        driver: StringId,
        /// Start of the work, ns.
        start_ns: i64 as Start,
        /// End of the work, ns; `None` when it did not end in the recording.
        end_ns: Option<i64> as End,
        /// Thread that did the work.
        tid: u32 as Thread,
        /// Function; its address where the recording has no name.
        function: StringId,
        /// Depth in the call graph; 0 for functions called by the work itself.
        depth: u32,
        /// Number of calls.
        calls: u64,
        /// Number of calls without an end in the recording; their time is not included.
        unfinished: u64,
        /// Total time of the calls, including callees, ns.
        duration_ns: i64 as Duration,
        /// Time of the calls without callees, ns.
        own_ns: i64 as Duration,
    }
}
