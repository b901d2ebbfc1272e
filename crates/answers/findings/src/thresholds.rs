//! The thresholds of all rules, with their sources. Names end in the unit.
//!
//! "The paper" is Microsoft's *Windows On/Off Transition Performance Analysis* (2011); "the embedded paper" is
//! *Improving Performance in Windows Embedded Standard 7*. Thresholds marked *chosen* are in neither: they are low
//! enough to report what is worth changing, and high enough for a healthy computer to have no findings.
//!
//! Services, drivers, programs, scripts, subscribers and units have no threshold of their own: they are reported from
//! [`onoff_evidence::significance::min_cause_ns`], a share of the transition. A rule with a lower threshold here
//! applies the lower of the two.

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

/// Findings that cost less are noise and are dropped.
pub const NOISE_NS: i64 = onoff_evidence::significance::NOISE_NS;

/// Minimum cost of a high-severity finding, whatever the length of the transition. Chosen.
pub const HIGH_NS: i64 = 5 * SECOND;
/// Minimum share of the transition for a high-severity finding. Chosen.
pub const HIGH_PERCENT: f64 = 20.0;
/// Minimum cost of a moderate-severity finding. Chosen.
pub const MODERATE_NS: i64 = SECOND;
/// Minimum share of the transition for a moderate-severity finding. Chosen.
pub const MODERATE_PERCENT: f64 = 5.0;

/// Minimum total blocking time of a driver in start or enumeration requests. The paper: the time "should be as close to
/// 0 as possible"; chosen so that ordinary storage and bus drivers, which take up to half a second, are not reported.
pub const NOT_PENDED_NS: i64 = 700 * MS;
/// Minimum initialization time of a slow boot-start driver. Chosen.
pub const BOOT_DRIVER_NS: i64 = 500 * MS;

/// Minimum time of a slow step of the kernel's shutdown. Chosen: a healthy computer takes a few tenths of a second,
/// one with much unwritten data a second or more.
pub const KERNEL_STEP_NS: i64 = 2 * SECOND;

/// Normal maximum for the OS loader. The paper: "the OSLoader phase is generally less than 3 seconds long".
pub const OS_LOADER_NS: i64 = 3 * SECOND;
/// Normal maximum for the firmware before the loader. Chosen: 10 s, assuming fast POST, which the paper requires.
pub const FIRMWARE_NS: i64 = 10 * SECOND;

/// Normal maximum for video driver initialization in the system session. The paper describes the measurement but gives
/// no limit; its own computers take 1.3 to 1.4 s in our reconstruction: chosen.
pub const SYSTEM_VIDEO_NS: i64 = 2 * SECOND;
/// Normal maximum for video driver initialization in the user session. The paper: "typically much faster" than the
/// first. Chosen.
pub const USER_VIDEO_NS: i64 = SECOND;

/// Normal maximum for video driver initialization in the system session on a solid-state disk, where the driver files
/// load at once. Chosen: half.
pub const SYSTEM_VIDEO_SSD_NS: i64 = SECOND;
/// Normal maximum for video driver initialization in the user session on a solid-state disk. Chosen: half.
pub const USER_VIDEO_SSD_NS: i64 = 500 * MS;
/// A disk with a lower median time of small reads is a solid-state disk: 1.5 ms. No hard disk is that fast on average:
/// half a rotation takes 2 ms at 15,000 rpm and 4.2 ms at 7,200 rpm.
pub const SSD_READ_NS: i64 = 1_500_000;
/// Maximum size of a small read.
pub const SMALL_READ_BYTES: u64 = 64 << 10;
/// Minimum number of small reads to determine the disk type. Chosen.
pub const MIN_SMALL_READS: usize = 16;

/// Minimum number of services in a chain. Chosen.
pub const MIN_CHAIN_SERVICES: usize = 3;
/// Minimum duration of a chain of services. Chosen.
pub const CHAIN_NS: i64 = 3 * SECOND;
/// Maximum share of a chain for its slowest service; above it, the chain is just one slow service. Chosen.
pub const CHAIN_LARGEST_PERCENT: f64 = 60.0;
/// CPU utilization from which a Linux service would not start faster in parallel. Chosen.
pub const CHAIN_BUSY_PERCENT: f64 = 80.0;
/// Minimum start time of a service in a chain. Chosen.
pub const CHAIN_LINK_NS: i64 = 200 * MS;
/// Minimum total CPU and disk time on the main path of services that could start later. Chosen.
pub const LATER_SERVICES_NS: i64 = SECOND;

/// Minimum duration of a slow policy script. Chosen.
pub const SCRIPT_NS: i64 = 500 * MS;
/// Minimum duration of slow policy processing. Chosen.
pub const POLICY_NS: i64 = 3 * SECOND;
/// Minimum total duration of network file operations. Chosen.
pub const NETWORK_FILES_NS: i64 = 500 * MS;

/// Minimum share of one CPU for a process that is busy throughout a phase. Chosen; the paper's example uses 44 % of two
/// CPUs, that is 88 % of one.
pub const HOG_PERCENT: f64 = 60.0;
/// Minimum CPU time in a phase of a process that is busy throughout it. Chosen.
pub const HOG_NS: i64 = 2 * SECOND;

/// Minimum disk time of a background process during shell startup. Chosen.
pub const BACKGROUND_DISK_NS: i64 = 500 * MS;
/// Minimum time of shell reads from one folder. Chosen.
pub const FOLDER_READS_NS: i64 = 2 * SECOND;
/// Minimum share of the shell's start for reads from one folder. Chosen.
pub const FOLDER_READS_PERCENT: f64 = 30.0;

/// Time per request of a healthy hard disk: one seek and half a rotation of a slow one (5,400 rpm). Chosen from data
/// sheets.
pub const DISK_REQUEST_NS: i64 = 18 * MS;
/// Time per mebibyte of a healthy hard disk: 50 MiB/s. Chosen from data sheets.
pub const DISK_MEBIBYTE_NS: i64 = 20 * MS;
/// Minimum slowdown of a slow disk compared to a healthy one. Chosen.
pub const DISK_SLOW_FACTOR: i64 = 2;
/// Minimum time lost to a slow disk before the desktop. Chosen.
pub const DISK_SLOW_NS: i64 = 2 * SECOND;

/// Minimum total CPU plus disk time of expensive startup programs after the desktop. Chosen.
pub const STARTUP_NS: i64 = 3 * SECOND;
/// Minimum number of startup programs that count as many. Chosen.
pub const MIN_STARTUP_PROGRAMS: usize = 10;
/// Normal maximum for busy time in PostBoot. Chosen: the paper's four optimized computers need 10 to 34 s in total.
pub const POST_BOOT_NS: i64 = 6 * SECOND;
/// Minimum share of the busy time in PostBoot for a program to be named. Chosen.
pub const POST_BOOT_SHARE_PERCENT: f64 = 20.0;
/// Minimum share of disk reads in the main path for read-ahead to help. Chosen.
pub const READS_PERCENT: f64 = 20.0;

/// Minimum duration of a long deferred procedure call. Chosen: the paper gives no limit; driver guidance allows 100 µs,
/// and a hundred times that blocks a CPU noticeably.
pub const DPC_NS: i64 = 10 * MS;

/// Upper end of the normal range per phase; see the account for the source.
pub const PHASE_LIMITS_NS: [(&str, i64); 4] = onoff_blame::account::MAX_NORMAL_PHASE_NS;

/// Minimum time to unlock an encrypted volume. Source: cryptsetup(8), `--iter-time`: deriving a key takes 2 s on the
/// computer where it was created.
pub const ENCRYPTED_VOLUME_NS: i64 = 2 * SECOND;
/// Minimum duration of a slow initramfs. Chosen: one that only mounts a local disk takes 1 to 3 s.
pub const INITRD_NS: i64 = 5 * SECOND;
/// Minimum duration of a slow kernel. Chosen: a computer takes 1 to 5 s.
pub const KERNEL_NS: i64 = 10 * SECOND;
/// Duration of the kernel that is normal. Chosen.
pub const NORMAL_KERNEL_NS: i64 = 5 * SECOND;
/// Minimum time to unpack a slow initramfs. Chosen: a CPU of 2015 unpacks 30 MB of Zstandard in about 0.2 s, and of XZ
/// in 2 s.
pub const INITRD_UNPACK_NS: i64 = SECOND;
/// Minimum duration of a slow initcall or probe. Chosen.
pub const LINUX_DRIVER_NS: i64 = 500 * MS;

/// Minimum total duration of a device's callbacks in a Linux suspend or resume. Chosen: sleepgraph, the kernel's own
/// tool, shows every callback without a limit; less than this is noise for all transitions here.
pub const LINUX_CALLBACK_NS: i64 = 300 * MS;
/// Minimum duration of a device phase of a sleep without callbacks. Chosen: most computers take less than 1 s.
pub const SLEEP_DEVICES_NS: i64 = 2 * SECOND;
/// Minimum duration of slow process freezing. Chosen: the kernel gives up after 20 s.
pub const FREEZE_NS: i64 = 500 * MS;
/// Minimum share of the low-power state in a suspend to idle or modern standby. Chosen: working systems reach more than 90 %.
pub const LOW_POWER_PERCENT: f64 = 50.0;
/// Minimum duration of a suspend to idle to check its low-power share. Chosen: entering the state takes seconds.
pub const LOW_POWER_SLEEP_NS: i64 = 10 * SECOND;
/// Minimum duration of a modern standby to check its low-power share. Chosen: the sleep study of Windows hides shorter
/// ones on request, and on a shorter one, entering the state takes a notable share.
pub const STANDBY_NS: i64 = 600 * SECOND;
/// Minimum time awake without a user to check what kept a computer awake. Chosen: Windows 10 sleeps after 30 minutes by
/// default when plugged in, and sooner on battery.
pub const KEPT_AWAKE_NS: i64 = 1_800 * SECOND;
/// Minimum share of that time with a request of one program or device. Chosen: on the computer that was checked, all of
/// its intervals of 30 minutes or more without a sleep reach 97 %, and the shorter ones reach 99 % or stay below 1 %.
pub const KEPT_AWAKE_PERCENT: f64 = 90.0;
/// Minimum reconnection time of a slow network interface after a resume. Chosen: association takes one to two seconds,
/// and renewing a known lease one more.
pub const NETWORK_RESUME_NS: i64 = 4 * SECOND;
/// Minimum duration of slow firmware on a resume from S3. Chosen: the ACPI specification defines the value but no
/// limit.
pub const FIRMWARE_RESUME_NS: i64 = SECOND;

/// Minimum time by which a disk request exceeds what its size explains if the disk tries again. Chosen: a hard disk
/// needs 18 ms; after an unreadable sector, it tries again for one second or more.
pub const DISK_STUCK_NS: i64 = 500 * MS;

/// Minimum exit time of a slow application at shutdown. Chosen.
pub const APPLICATION_EXIT_NS: i64 = 500 * MS;
/// Minimum total flush time of a process at shutdown. Chosen.
pub const FLUSH_NS: i64 = 100 * MS;

/// Minimum suspend time of a slow device. Chosen.
pub const DEVICE_SUSPEND_NS: i64 = 500 * MS;
/// Minimum time a slow device delays the resume alone. Chosen.
pub const DEVICE_RESUME_NS: i64 = 500 * MS;
/// Minimum response time of a slow application or service to a suspend notification. Chosen: the timeout is 2 s.
pub const RESPONSE_NS: i64 = 300 * MS;
/// Minimum share of a large memory image in its suspend or resume. Chosen: half.
pub const MEMORY_IMAGE_PERCENT: f64 = 50.0;
/// Minimum time to write or read a large memory image. Chosen.
pub const MEMORY_IMAGE_NS: i64 = 3 * SECOND;
/// Minimum busy time between a resume and idle. Chosen.
pub const POST_RESUME_NS: i64 = 5 * SECOND;

/// Minimum length of a long dependency chain of automatic services (source: four installations of Windows 7 to 10,
/// whose longest chains have four and five).
pub const MIN_SERVICE_CHAIN_LEN: usize = 6;
/// Maximum number of startup programs of an installation before there are too many. Chosen.
pub const MAX_STARTUP_PROGRAMS: usize = 5;
/// Maximum number of different USB devices before there are too many. Chosen.
pub const MAX_USB_DEVICES: usize = 10;
/// Minimum time of slow firmware, ms (source: the rule `firmware_long`, and the table of phases in the Microsoft
/// paper).
pub const FIRMWARE_POST_MS: u64 = 10_000;
/// Longest default timeout for services to stop, ms: that of Windows Vista.
pub const SERVICE_STOP_MS: u64 = 20_000;
/// Minimum read rate of the hibernation file, MB/s. Chosen: the rate of a hard disk of 2010.
pub const RESUME_READ_MB: u64 = 100;
/// Minimum time until the overlay is full. Chosen: one day.
pub const OVERLAY_FULL_NS: i64 = 86_400 * SECOND;
