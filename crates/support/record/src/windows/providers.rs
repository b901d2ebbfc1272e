//! Providers and kernel flags that the analyses need on Windows.
//!
//! They match the missing evidence that reports list; a test compares the two.

/// An ETW provider with the events to enable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    pub name: &'static str,
    /// GUID in lower case.
    pub guid: &'static str,
    /// Bit mask of keywords; all bits set for all keywords.
    pub keyword: u64,
    /// Level; 5 is verbose.
    pub level: u8,
    /// True for a kernel provider, whose buffers must not be paged out.
    pub in_kernel: bool,
}

const ALL: u64 = u64::MAX;

const fn provider(name: &'static str, guid: &'static str, keyword: u64, level: u8) -> Provider {
    Provider { name, guid, keyword, level, in_kernel: false }
}

const fn in_kernel(provider: Provider) -> Provider {
    Provider { in_kernel: true, ..provider }
}

/// The providers, sorted by name.
pub const PROVIDERS: [Provider; 11] = [
    provider("Microsoft-Windows-Diagnostics-PerfTrack", "030f2f57-abd0-4427-bcf1-3a3587d7dc7d", ALL, 4),
    provider("Microsoft-Windows-GroupPolicy", "aea1b4fa-97d1-45f2-a64c-4d69fffd92c9", ALL, 5),
    in_kernel(provider("Microsoft-Windows-Kernel-Boot", "15ca44ff-4d7a-4baa-bba5-0998955e531e", ALL, 5)),
    in_kernel(provider("Microsoft-Windows-Kernel-PnP", "9c205a39-1250-487d-abd7-e831c6290539", 0x1f_f020, 5)),
    in_kernel(provider("Microsoft-Windows-Kernel-Power", "331c3b3a-2005-44c2-ac5e-77220c37d6b4", 0xd, 5)),
    provider("Microsoft-Windows-Services", "0063715b-eeda-4007-9429-ad526f62696e", 0x1_0000, 5),
    provider("Microsoft-Windows-Shell-Core", "30336ed4-e327-447c-9de0-51b652c86108", 0x2_0400_0000, 5),
    provider("Microsoft-Windows-Subsys-Csr", "e8316a2d-0d94-4f52-85dd-1e15b66c5891", 0x1_0000, 5),
    provider("Microsoft-Windows-Wininit", "206f6dea-d3c5-4d10-bc72-989f03c8b84b", 0x1_0000, 5),
    provider("Microsoft-Windows-Winlogon", "dbe9b383-7cf3-4331-91cc-a3cb16a3b538", 0x3_0000, 5),
    provider("Microsoft-Windows-Winsrv", "9d55b53d-449b-4824-a637-24f9d69aa02f", 0x100, 5),
];

/// A flag of the kernel logger, with its names in `xperf` and in a profile (`SystemKeywordEnumeration`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelFlag {
    pub xperf: &'static str,
    pub profile: &'static str,
}

const fn flag(xperf: &'static str, profile: &'static str) -> KernelFlag {
    KernelFlag { xperf, profile }
}

/// Flags of a timing trace: phases, CPU usage, disks and interrupts.
pub const LIGHT: [KernelFlag; 9] = [
    flag("PROC_THREAD", "ProcessThread"),
    flag("LOADER", "Loader"),
    flag("CSWITCH", "CSwitch"),
    flag("DISK_IO", "DiskIO"),
    flag("DISK_IO_INIT", "DiskIOInit"),
    flag("FILENAME", "Filename"),
    flag("HARD_FAULTS", "HardFaults"),
    flag("DPC", "DPC"),
    flag("INTERRUPT", "Interrupt"),
];

/// Additional flags of an analysis trace: ready threads, CPU samples, power and file I/O.
pub const VERBOSE: [KernelFlag; 5] = [
    flag("DISPATCHER", "ReadyThread"),
    flag("PROFILE", "SampledProfile"),
    flag("POWER", "Power"),
    flag("FILE_IO", "FileIO"),
    flag("FILE_IO_INIT", "FileIOInit"),
];

/// Events of an analysis trace with stacks, as in Microsoft's paper.
pub const STACKS: [&str; 3] = ["SampledProfile", "CSwitch", "ReadyThread"];
