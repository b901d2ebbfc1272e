//! What the kinds of transitions, their halves and their phases are called.

use onoff_trace::power_phase;
use serde::Serialize;

/// Kind of power transition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerTransitionKind {
    /// Memory stays powered (S1 to S3).
    Sleep,
    /// Memory goes to a file, the computer off (S4).
    Hibernate,
    /// Memory goes to a file and stays powered as well.
    HybridSleep,
    /// The computer stays on in its deepest idle state (S0).
    ModernStandby,
    /// The user's session ends, then the kernel's goes to a file; the next start resumes it.
    FastStartup,
    /// The recording cannot tell.
    #[default]
    Unknown,
}

impl PowerTransitionKind {
    /// The name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Hibernate => "hibernate",
            Self::HybridSleep => "hybrid_sleep",
            Self::ModernStandby => "modern_standby",
            Self::FastStartup => "fast_startup",
            Self::Unknown => "unknown",
        }
    }
}

/// Part of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerHalf {
    /// The way down.
    Suspend,
    /// Between the halves.
    Asleep,
    /// The way up.
    Resume,
    /// After the resume, until the computer has settled.
    After,
}

macro_rules! phase_names {
    ($(#[$meta:meta])* pub enum $enum:ident {
        $($(#[$comment:meta])* $name:ident = $text:literal in $half:ident),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        pub enum $enum { $($(#[$comment])* #[serde(rename = $text)] $name),* }

        impl $enum {
            /// Every phase, in the order in which they usually come.
            pub const ALL: &'static [$enum] = &[$(Self::$name),*];

            /// The name, as in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The part of the transition it belongs to.
            #[must_use]
            pub const fn half(self) -> PowerHalf {
                match self { $(Self::$name => PowerHalf::$half),* }
            }
        }
    };
}

phase_names! {
    /// A phase of a power transition. Names are those of the Microsoft paper where it has one.
    pub enum PowerPhaseName {
        /// The user's session ends: the first half of a fast startup.
        UserSession = "UserSession" in Suspend,
        /// Applications are asked whether the system may suspend (Vista and 7).
        QueryApps = "QueryApps" in Suspend,
        /// Services are asked whether the system may suspend (Vista and 7).
        QueryServices = "QueryServices" in Suspend,
        /// The screen shows that the system suspends.
        ShowUi = "ShowUI" in Suspend,
        /// Applications are told that the system suspends, one after the other.
        SuspendApps = "SuspendApps" in Suspend,
        /// Services are told that the system suspends, one after the other.
        SuspendServices = "SuspendServices" in Suspend,
        /// Preparation as a whole, on versions that record it.
        PrepareSleep = "PrepareSleep" in Suspend,
        /// Memory is prepared by the memory manager's prefetcher.
        Superfetch = "Superfetch" in Suspend,
        /// The logon process prepares.
        Winlogon = "Winlogon" in Suspend,
        /// Callbacks before sleep.
        PreSleepCallbacks = "PreSleepCallbacks" in Suspend,
        /// Devices are asked whether the system may suspend.
        QueryDevices = "QueryDevices" in Suspend,
        /// Volumes are flushed.
        FlushVolumes = "FlushVolumes" in Suspend,
        /// Pages are written out before the memory image is made.
        FlushAllPages = "FlushAllPages" in Suspend,
        /// The order in which devices are told is worked out.
        BuildNotifyList = "BuildNotifyList" in Suspend,
        /// Devices are told to go to sleep.
        SuspendDevices = "SuspendDevices" in Suspend,
        /// The memory image is written.
        HiberWrite = "HiberWrite" in Suspend,
        /// The computer sleeps or is off.
        Asleep = "Asleep" in Asleep,
        /// Modern standby: the computer is on, in an idle state.
        Standby = "Standby" in Asleep,
        /// Firmware on the way back.
        BiosInit = "BiosInit" in Resume,
        /// Boot manager on the way back from a memory image.
        BootManager = "BootManager" in Resume,
        /// Resume loader, with its share of reading the memory image.
        ResumeLoader = "ResumeLoader" in Resume,
        /// The memory image is read.
        HiberRead = "HiberRead" in Resume,
        /// What the kernel counts as critical to the resume: devices woken.
        ResumeCritical = "ResumeCritical" in Resume,
        /// Devices are told to wake up.
        ResumeDevices = "ResumeDevices" in Resume,
        /// The screen comes back.
        HideUi = "HideUI" in Resume,
        /// Services are told that the system resumed.
        ResumeServices = "ResumeServices" in Resume,
        /// Applications are told that the system resumed.
        ResumeApps = "ResumeApps" in Resume,
        /// The file of the memory image is overwritten with zeros.
        ZeroHiberFile = "ZeroHiberFile" in Resume,
        /// Fast startup: a new session and its logon, until the shell starts.
        WinLogonInit = "WinLogonInit" in After,
        /// Fast startup: the shell, until the desktop is ready.
        ExplorerInit = "ExplorerInit" in After,
        /// Work after the resume, until the computer has settled.
        PostResume = "PostResume" in After,
        /// The same after a fast startup: work after the desktop.
        PostBoot = "PostBoot" in After,
    }
}

impl PowerPhaseName {
    /// The phase that a row of the model is about.
    pub(super) fn of_row(name: &str) -> Option<Self> {
        Some(match name {
            power_phase::QUERY_APPS => Self::QueryApps,
            power_phase::QUERY_SERVICES => Self::QueryServices,
            power_phase::SUSPEND_APPS => Self::SuspendApps,
            power_phase::SUSPEND_SERVICES => Self::SuspendServices,
            power_phase::SHOW_UI => Self::ShowUi,
            power_phase::HIDE_UI => Self::HideUi,
            power_phase::SUPERFETCH => Self::Superfetch,
            power_phase::WINLOGON => Self::Winlogon,
            power_phase::PRE_SLEEP_CALLBACKS => Self::PreSleepCallbacks,
            power_phase::PREPARE_SLEEP => Self::PrepareSleep,
            power_phase::QUERY_DEVICES => Self::QueryDevices,
            power_phase::FLUSH_VOLUMES => Self::FlushVolumes,
            power_phase::SUSPEND_DEVICES => Self::SuspendDevices,
            power_phase::FLUSH_ALL_PAGES => Self::FlushAllPages,
            power_phase::BUILD_NOTIFY_LIST => Self::BuildNotifyList,
            power_phase::ZERO_HIBERNATION_FILE => Self::ZeroHiberFile,
            power_phase::RESUME_DEVICES => Self::ResumeDevices,
            power_phase::RESUME_SERVICES => Self::ResumeServices,
            power_phase::RESUME_APPS => Self::ResumeApps,
            _ => return None,
        })
    }
}
