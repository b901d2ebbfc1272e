//! Rules for an installation that is not running, based on its registry.

pub(crate) mod active_setup;
pub(crate) mod application_waits;
pub(crate) mod autologger_on;
pub(crate) mod boot_driver_catalog;
pub(crate) mod boot_entry_limits;
pub(crate) mod boot_execute;
pub(crate) mod boot_menu_waits;
pub(crate) mod driver_verifier;
pub(crate) mod fast_startup_off;
pub(crate) mod fast_startup_power_cut;
pub(crate) mod fast_startup_without_hibernation;
pub(crate) mod file_system_filters;
pub(crate) mod filter_discards_prefetch;
pub(crate) mod filter_maintenance_on;
pub(crate) mod filter_paging_file;
pub(crate) mod filter_untrained;
pub(crate) mod firmware_post_long;
pub(crate) mod horm_blocked;
pub(crate) mod horm_data_volume;
pub(crate) mod injected_dlls;
pub(crate) mod logon_extensions;
pub(crate) mod network_drives;
pub(crate) mod network_window_small;
pub(crate) mod nfs_client;
pub(crate) mod overlay_fills;
pub(crate) mod page_file_cleared;
pub(crate) mod pending_changes;
pub(crate) mod plans_at_limit;
pub(crate) mod policy_scripts;
pub(crate) mod policy_scripts_wait;
pub(crate) mod policy_waits;
pub(crate) mod prefetch_fills_overlay;
pub(crate) mod prefetcher_off;
pub(crate) mod print_monitors;
pub(crate) mod resume_slow;
pub(crate) mod service_could_trigger;
pub(crate) mod service_dependency;
pub(crate) mod service_early_group;
pub(crate) mod service_not_needed;
pub(crate) mod shell_replaced;
pub(crate) mod shutdown_waits;
pub(crate) mod startup_programs;
pub(crate) mod superfetch_limited;
pub(crate) mod superfetch_service_off;
pub(crate) mod test_signing;
pub(crate) mod usb_devices;
pub(crate) mod write_filter_on;

mod prelude {
    pub(crate) use onoff_evidence::Certainty;
    pub(crate) use onoff_image::{
        BootEntry, EditionKind, HiveKind, HormBlocker, ServiceEntry, ServiceStart, Setting, SettingValue,
        WriteFilterKind,
    };

    pub(crate) use crate::context::missing_input;
    pub(crate) use crate::finding::{AdvisedAction, FindingSeverity, FindingSubject, FindingSubjectKind, RuleFinding};
    pub(crate) use crate::image_facts::ImageFacts;
    pub(crate) use crate::image_policy::is_horm_on;
    pub(crate) use crate::protected::{guard, with_guard};
    pub(crate) use crate::quantities::{counted, listed, time};
    pub(crate) use crate::rule::{Outcome, rule};
    pub(crate) use crate::thresholds;

    /// Key of the read-ahead settings.
    pub(crate) const PREFETCH: &str = r"CS\Control\Session Manager\Memory Management\PrefetchParameters";
    /// Key of the memory settings.
    pub(crate) const MEMORY: &str = r"CS\Control\Session Manager\Memory Management";
    /// Editions with the Unified Write Filter.
    pub(crate) const UWF_EDITIONS: &str = "Enterprise, Education and IoT Enterprise";
    /// First build of Windows 7.
    pub(crate) const WINDOWS_7: u32 = 7600;
    /// First build of Windows 8.
    pub(crate) const WINDOWS_8: u32 = 9200;
    /// Editions with fast startup.
    pub(crate) const FAST_STARTUP_EDITIONS: &str = "client editions since Windows 8";

    /// Returns the time of the last write to a key, as a clause for evidence.
    pub(crate) fn written(last_written_unix_ns: Option<i64>) -> String {
        match last_written_unix_ns {
            Some(_) => format!("; key last written {} UTC", onoff_image::format_utc(last_written_unix_ns)),
            None => String::new(),
        }
    }

    /// Turns hibernation on.
    pub(crate) fn hibernation_on(setting: &Setting) -> AdvisedAction {
        AdvisedAction::new(format!("{}\\{}", setting.key, setting.name), "1", "powercfg /hibernate on")
            .undo("powercfg /hibernate off")
            .breaks("the hibernation file takes up to 40% of the memory's size on the system volume")
            .editions("client editions")
    }

    /// Key of the fast startup setting and of the loader's records of the last start.
    pub(crate) const POWER: &str = r"CS\Control\Session Manager\Power";
}
