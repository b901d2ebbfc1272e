//! From when on something is worth a finding, all in one place, each with where it comes from.
//!
//! "The paper" is Microsoft's *Windows On/Off Transition Performance Analysis* (2011); "the embedded paper" is
//! *Improving Performance in Windows Embedded Standard 7*. What neither says is marked *chosen*: low enough to show what a
//! person would change, high enough for a healthy computer to have no finding.

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

/// Less than this of the transition's time is noise: no finding, ns. Chosen: table 5 of the paper has two runs of one
/// unchanged computer 274 ms apart.
pub const NOISE_NS: i64 = 300 * MS;

/// A finding that costs this much is of high severity, ns, whatever the transition's length. Chosen.
pub const HIGH_NS: i64 = 5 * SECOND;
/// A finding that costs this share of its transition is of high severity, percent. Chosen.
pub const HIGH_PERCENT: f64 = 20.0;
/// A finding that costs this much is of moderate severity, ns. Chosen.
pub const MODERATE_NS: i64 = SECOND;
/// A finding that costs this share of its transition is of moderate severity, percent. Chosen.
pub const MODERATE_PERCENT: f64 = 5.0;

/// A driver that holds start or enumeration requests for this long in all before it returns does not pend them, ns.
/// The paper: the time "should be as close to 0 as possible"; the limit is chosen so that ordinary storage and bus drivers,
/// which take up to half a second, are not named.
pub const NOT_PENDED_NS: i64 = 700 * MS;
/// A boot-start driver whose initialization takes this long is slow, ns. Chosen.
pub const BOOT_DRIVER_NS: i64 = 500 * MS;
/// A driver whose image and entry routine take this long is slow to load, ns. Chosen.
pub const DRIVER_LOAD_NS: i64 = SECOND;
/// A USB device that takes this long in all is slow, ns. The embedded paper names USB devices but no limit: chosen.
pub const USB_DEVICE_NS: i64 = SECOND;

/// A loader that takes longer is long, ns. The paper: "the OSLoader phase is generally less than 3 seconds long".
pub const OS_LOADER_NS: i64 = 3 * SECOND;
/// Firmware that takes longer before the loader is long, ns. Chosen with fast POST in mind, which the paper asks for: 10 s.
pub const FIRMWARE_NS: i64 = 10 * SECOND;

/// Initialization of the video driver in the system's session that takes longer is slow, ns. The paper gives no limit, only
/// the way to measure it; its own computers take 1.3 to 1.4 s in our reconstruction: chosen.
pub const SYSTEM_VIDEO_NS: i64 = 2 * SECOND;
/// The same in the user's session, ns. The paper: "typically much faster" than the first. Chosen.
pub const USER_VIDEO_NS: i64 = SECOND;

/// The same of a computer whose disk is a solid-state one, ns: the driver's files are there at once. Chosen: half.
pub const SYSTEM_VIDEO_SOLID_NS: i64 = SECOND;
/// The same in the user's session, ns. Chosen: half.
pub const USER_VIDEO_SOLID_NS: i64 = 500 * MS;
/// A disk whose small reads take less in the middle is a solid-state one, ns: 1.5 ms. No hard disk turns by that much of a
/// track in it on average: half a turn takes 2 ms at 15,000 turns a minute, 4.2 ms at 7,200.
pub const SOLID_READ_NS: i64 = 1_500_000;
/// Reads of at most so many bytes are small: 64 KiB.
pub const SMALL_READ_BYTES: u64 = 64 << 10;
/// Small reads that say of what kind a disk is, at least. Chosen.
pub const SMALL_READS: usize = 16;

/// A service that takes longer to start is slow, ns. The paper calls 6 s "usually unacceptable"; 1 s is chosen.
pub const SERVICE_START_NS: i64 = SECOND;
/// Services in a chain, at least. Chosen: two that follow one another are a pair.
pub const CHAIN_SERVICES: usize = 3;
/// A chain of services that takes this long is long, ns. Chosen.
pub const CHAIN_NS: i64 = 3 * SECOND;
/// A part of a chain that is no longer than this share of it makes it a chain, percent: else it is one slow service. Chosen.
pub const CHAIN_LARGEST_PERCENT: f64 = 60.0;
/// A service of Linux during which the processors were this busy would not start sooner beside others, percent. Chosen.
pub const CHAIN_BUSY_PERCENT: f64 = 80.0;
/// A link of a chain takes at least this long, ns. Chosen.
pub const CHAIN_LINK_NS: i64 = 200 * MS;
/// Services that could start later are named from this processor and disk time on during the main path, ns, all together.
/// Chosen.
pub const LATER_SERVICES_NS: i64 = SECOND;

/// A policy script that takes this long is worth a finding, ns. Chosen.
pub const SCRIPT_NS: i64 = 500 * MS;
/// Applying policy for this long is slow, ns. Chosen.
pub const POLICY_NS: i64 = 3 * SECOND;
/// A subscriber of the logon's notifications that takes this long is slow, ns. Chosen.
pub const SUBSCRIBER_NS: i64 = SECOND;
/// Work with files on a network that takes this long is worth a finding, ns. Chosen.
pub const NETWORK_FILES_NS: i64 = 500 * MS;

/// A process that uses this share of one processor throughout a phase is a hog, percent. Chosen; the paper's example takes
/// 44 % of two processors, that is 88 % of one.
pub const HOG_PERCENT: f64 = 60.0;
/// And it used this much in that phase, ns. Chosen.
pub const HOG_NS: i64 = 2 * SECOND;

/// A background process is named when it kept the disk busy for this long in the phase, ns. Chosen.
pub const BACKGROUND_DISK_NS: i64 = 500 * MS;
/// The antivirus program is named when it used this much of processors and disk while the shell started, ns. Chosen.
pub const ANTIVIRUS_NS: i64 = SECOND;
/// Reads of the shell in one folder for this long are worth a finding, ns. Chosen.
pub const FOLDER_READS_NS: i64 = 2 * SECOND;
/// And they are this share of the shell's start, percent. Chosen.
pub const FOLDER_READS_PERCENT: f64 = 30.0;

/// A request to a healthy hard disk, ns: one seek and half a turn of a slow one (5,400 rpm). Chosen from data sheets.
pub const DISK_REQUEST_NS: i64 = 18 * MS;
/// And a mebibyte takes it, ns: 50 MiB/s. Chosen, as above.
pub const DISK_MEBIBYTE_NS: i64 = 20 * MS;
/// A disk that takes this many times as long is slow. Chosen.
pub const DISK_SLOW_FACTOR: i64 = 2;
/// And it lost this much on the main path, ns. Chosen.
pub const DISK_SLOW_NS: i64 = 2 * SECOND;

/// Startup programs that use this much of processors and disk in all after the desktop are many, ns. Chosen.
pub const STARTUP_NS: i64 = 3 * SECOND;
/// This many startup programs are many. Chosen.
pub const STARTUP_PROGRAMS: usize = 10;
/// PostBoot that is busy for longer is long, ns. Chosen: the paper's four optimized computers need 10 to 34 s in all.
pub const POST_BOOT_NS: i64 = 6 * SECOND;
/// Who is named for it used at least this share of what was used, percent. Chosen.
pub const POST_BOOT_SHARE_PERCENT: f64 = 20.0;
/// Disk reads on the main path take at least this share of it where a read-ahead would help, percent. Chosen.
pub const READS_PERCENT: f64 = 20.0;

/// A deferred procedure call this long is long, ns. Chosen: the paper names no limit; driver guidance asks for at most
/// 100 µs, and a hundred times that holds a processor noticeably.
pub const DPC_NS: i64 = 10 * MS;

/// Normal range of a phase's length, ns, upper end; with its source where accounts are.
pub const PHASE_LIMITS_NS: [(&str, i64); 4] = onoff_blame::account::NORMAL_PHASES_NS;

/// A unit that holds the way to the default target for this long is slow, ns. Chosen.
pub const UNIT_NS: i64 = SECOND;
/// A unit that opens an encrypted volume for this long is slow, ns. Source: cryptsetup(8), `--iter-time`: deriving a key takes 2 s on
/// the computer on which it was made.
pub const ENCRYPTED_VOLUME_NS: i64 = 2 * SECOND;
/// An initial file system that takes this long is slow, ns. Chosen: one that only mounts a local disk takes 1 s to 3 s.
pub const INITRD_NS: i64 = 5 * SECOND;
/// Unpacking the initial file system for this long is slow, ns. Chosen: 30 MB of Zstandard take a processor of 2015 some 0.2 s, of XZ 2 s.
pub const INITRD_UNPACK_NS: i64 = SECOND;
/// An initialization function or a probe that takes this long is slow, ns. Chosen.
pub const LINUX_DRIVER_NS: i64 = 500 * MS;

/// A device whose callbacks of one half of a sleep of Linux take this long in all is slow, ns. Chosen: sleepgraph, the
/// kernel's own tool, draws every callback and has no limit; less than this is noise for any transition here.
pub const LINUX_CALLBACK_NS: i64 = 300 * MS;
/// Freezing processes for this long is slow, ns. Chosen: the kernel gives up after 20 s.
pub const FREEZE_NS: i64 = 500 * MS;
/// A suspend to idle whose hardware is in its low-power state for less than this share of it does not sleep deep, percent. Chosen: what
/// works reaches more than 90 %.
pub const LOW_POWER_PERCENT: f64 = 50.0;
/// A shorter suspend to idle says nothing of that, ns. Chosen: entering takes seconds.
pub const LOW_POWER_SLEEP_NS: i64 = 10 * SECOND;
/// A network interface that needs this long after the machine is back is slow, ns. Chosen: association takes one to two seconds, and a
/// lease that is known one more.
pub const NETWORK_RESUME_NS: i64 = 4 * SECOND;
/// Firmware that takes this long on the way up from S3 is slow, ns. Chosen: the ACPI specification defines the figure and no
/// limit.
pub const FIRMWARE_RESUME_NS: i64 = SECOND;

/// An application that takes this long to end at a shutdown is slow, ns. Chosen.
pub const APPLICATION_END_NS: i64 = 500 * MS;
/// A service that takes this long to stop is slow, ns. Chosen.
pub const SERVICE_STOP_NS: i64 = SECOND;
/// Flushes of one process that take this long at a shutdown are worth a finding, ns. Chosen.
pub const FLUSH_NS: i64 = 100 * MS;

/// A device that takes this long to go to sleep is slow, ns. Chosen.
pub const DEVICE_SUSPEND_NS: i64 = 500 * MS;
/// A device that alone holds the resume for this long is slow, ns. Chosen.
pub const DEVICE_RESUME_NS: i64 = 500 * MS;
/// An application or service that takes this long to answer a suspend is slow, ns. Chosen: the limit is 2 s.
pub const ANSWER_NS: i64 = 300 * MS;
/// A memory image that takes more than this share of its transition is large, percent. Chosen: half.
pub const MEMORY_IMAGE_PERCENT: f64 = 50.0;
/// And it takes this long, ns. Chosen.
pub const MEMORY_IMAGE_NS: i64 = 3 * SECOND;
/// A resumed computer that is busy for longer before it settles is busy for long, ns. Chosen.
pub const POST_RESUME_NS: i64 = 5 * SECOND;

/// Automatic services that wait for each other one after the other from which on the chain is long (source: four
/// installations of Windows 7 to 10, whose longest chains are four and five).
pub const SERVICE_CHAIN: usize = 6;
/// Programs that start with the session beyond which there are many. Chosen.
pub const START_PROGRAMS: usize = 5;
/// Different USB devices beyond which there are many. Chosen.
pub const USB_DEVICES: usize = 10;
/// Time in the firmware from which on it is long, ms (source: the rule for `firmware_long`, and the table of phases in the Microsoft paper).
pub const FIRMWARE_POST_MS: u64 = 10_000;
/// Time for services to stop beyond which it was raised, ms: the default of Windows Vista, the longest of all.
pub const SERVICE_STOP_MS: u64 = 20_000;
/// Reading the hibernation file slower than this is slow, MB/s. Chosen: what a rotating disk of 2010 reads.
pub const RESUME_READ_MB: u64 = 100;
/// An overlay that is full sooner than this fills fast, ns. Chosen: a day.
pub const OVERLAY_FULL_NS: i64 = 86_400 * SECOND;
