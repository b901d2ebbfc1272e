//! Maps row names to phases.

use onoff_evidence::phase_name::PhaseName;
use onoff_trace::power_phase;

/// Returns the phase that a row belongs to.
pub(crate) fn phase_of_row(name: &str) -> Option<PhaseName> {
    Some(match name {
        power_phase::QUERY_APPS => PhaseName::QueryApps,
        power_phase::QUERY_SERVICES => PhaseName::QueryServices,
        power_phase::SUSPEND_APPS => PhaseName::SuspendApps,
        power_phase::SUSPEND_SERVICES => PhaseName::SuspendServices,
        power_phase::SHOW_UI => PhaseName::ShowUi,
        power_phase::HIDE_UI => PhaseName::HideUi,
        power_phase::SUPERFETCH => PhaseName::Superfetch,
        power_phase::WINLOGON => PhaseName::Winlogon,
        power_phase::PRE_SLEEP_CALLBACKS => PhaseName::PreSleepCallbacks,
        power_phase::PREPARE_SLEEP => PhaseName::PrepareSleep,
        power_phase::QUERY_DEVICES => PhaseName::QueryDevices,
        power_phase::FLUSH_VOLUMES => PhaseName::FlushVolumes,
        power_phase::SUSPEND_DEVICES => PhaseName::SuspendDevices,
        power_phase::FLUSH_ALL_PAGES => PhaseName::FlushAllPages,
        power_phase::BUILD_NOTIFY_LIST => PhaseName::BuildNotifyList,
        power_phase::ZERO_HIBERNATION_FILE => PhaseName::ZeroHiberFile,
        power_phase::RESUME_DEVICES => PhaseName::ResumeDevices,
        power_phase::RESUME_SERVICES => PhaseName::ResumeServices,
        power_phase::RESUME_APPS => PhaseName::ResumeApps,
        _ => return None,
    })
}
