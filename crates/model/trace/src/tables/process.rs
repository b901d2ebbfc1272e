//! Processes, their threads and modules.

use crate::string::StringId;
use crate::table::table;

table! {
    /// Lifetime of a process. Process ids are reused: (`pid`, interval) identifies it.
    Processes of Process {
        /// Process id.
        pid: u32 as Process,
        /// Process id of the creator.
        parent_pid: Option<u32> as OtherProcess,
        /// Thread that created it, from the header of the start record; `None` when no start was recorded.
        creator_tid: Option<u32> as OtherThread,
        /// Creation, ns; `None` when it existed before the recording.
        start_ns: Option<i64> as Start,
        /// Exit, ns; `None` when it was still running at the end of the recording.
        end_ns: Option<i64> as End,
        /// Image file name, e.g. `svchost.exe`.
        image: StringId,
        /// Command line.
        command_line: StringId,
        /// Session (0 services, 1 and up users).
        session: Option<u32>,
        /// Exit status.
        exit_status: Option<i32>,
        /// User: SID on Windows, user name or id elsewhere.
        user: StringId,
        /// Kernel's unique key of the process object; 0 when unknown.
        unique_key: u64,
        /// Page-table base; 0 when unknown.
        page_directory: u64,
        /// Package name of a packaged application.
        package: StringId,
    }
}

table! {
    /// Lifetime of a thread.
    Threads of Thread {
        /// Thread id.
        tid: u32 as Thread,
        /// Owning process id.
        pid: u32 as Process,
        /// Thread that created it, from the header of the start record; `None` when no start was recorded.
        creator_tid: Option<u32> as OtherThread,
        /// Creation, ns; `None` when it existed before the recording.
        start_ns: Option<i64> as Start,
        /// Exit, ns; `None` when it was still running at the end of the recording.
        end_ns: Option<i64> as End,
        /// Start address, in user mode if the thread has two; 0 when unknown.
        start_address: u64 as Address,
        /// Base priority.
        base_priority: Option<u8>,
        /// Page priority.
        page_priority: Option<u8>,
        /// I/O priority.
        io_priority: Option<u8>,
        /// Service tag of the service the thread works for; 0 for none.
        service_tag: u32,
        /// Thread environment block; 0 when unknown.
        teb: u64 as Address,
        /// Kernel stack base; 0 when unknown.
        stack_base: u64 as Address,
        /// Kernel stack limit; 0 when unknown.
        stack_limit: u64 as Address,
        /// User stack base; 0 when unknown.
        user_stack_base: u64 as Address,
        /// User stack limit; 0 when unknown.
        user_stack_limit: u64 as Address,
        /// Thread name.
        name: StringId,
    }
}

impl Process {
    /// Creates a process with only its id known.
    #[must_use]
    pub const fn unknown(pid: u32) -> Self {
        Self { pid, ..Self::UNKNOWN }
    }
}

impl Thread {
    /// Creates a thread with only its ids known.
    #[must_use]
    pub const fn unknown(tid: u32, pid: u32) -> Self {
        Self { tid, pid, ..Self::UNKNOWN }
    }
}

table! {
    /// A module in a process's address space.
    Images of Image {
        /// Owning process id; 0 for the kernel.
        pid: u32 as Process,
        /// First address.
        base: u64 as Address,
        /// Bytes mapped.
        size: u64 as Bytes,
        /// Load, ns; `None` when loaded before the recording.
        load_ns: Option<i64> as Start,
        /// Unload, ns; `None` when it stayed loaded.
        unload_ns: Option<i64> as End,
        /// File path as recorded (an NT path on Windows).
        path: StringId,
        /// Link time from the PE header, seconds since 1970, or a hash; 0 when unknown.
        time_stamp: u32,
        /// Checksum from the PE header; 0 when unknown.
        checksum: u32,
        /// Address the image was linked for; 0 when unknown.
        default_base: u64 as Address,
        /// Symbol file name.
        pdb_name: StringId,
        /// Symbol file identity as used by symbol stores: the GUID's 32 hex digits in upper case, followed by the age
        /// in hex.
        pdb_id: StringId,
        /// File version.
        version: StringId,
    }
}

table! {
    /// A method compiled or mapped by a .NET runtime; on Linux, a kernel function named by the recording in a call
    /// stack.
    Methods of Method {
        /// Process id; 0 for the kernel.
        pid: u32 as Process,
        /// First address of its code.
        address: u64 as Address,
        /// Bytes of code.
        size: u64 as Bytes,
        /// Load, ns; `None` when it was loaded before the recording, or not recorded.
        start_ns: Option<i64> as Start,
        /// Unload, ns; `None` when it stayed loaded.
        end_ns: Option<i64> as End,
        /// Namespace, class and name, e.g. `System.String.Concat`.
        name: StringId,
        /// Parameters, as written by the runtime.
        signature: StringId,
        /// Module file; empty when not recorded.
        module: StringId,
    }
}
